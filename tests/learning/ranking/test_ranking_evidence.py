from __future__ import annotations

from math import log

import numpy as np
import pytest

from prowess.learning.ranking.evidence import Document, gather, parts_of, rarity, standing
from prowess.learning.ranking.fusion import fits, fused, relative
from prowess.learning.ranking.views import blended, views


def test_a_question_of_one_sentence_is_one_part() -> None:
    assert parts_of("Deploy the service to staging now.") == ["Deploy the service to staging now."]


def test_each_sentence_that_says_something_is_a_part_beside_the_whole() -> None:
    text = "Thanks! Deploy the service to staging.\nRestore the backup of yesterday."
    assert parts_of(text) == [text, "Deploy the service to staging.", "Restore the backup of yesterday."]


def test_no_more_than_six_sentences_are_parts() -> None:
    assert len(parts_of(" ".join(f"Deploy service alpha{n} today." for n in "abcdefghij"))) == 1 + 6


def test_of_a_path_the_file_counts_and_not_where_it_is() -> None:
    assert parts_of("Read /home/someone/reports/sales.xlsx and ~/work/cases/open now") == ["Read sales.xlsx and   now"]
    assert parts_of("see https://example.org/a/b and either/or") == ["see https://example.org/a/b and either/or"]


def test_a_question_that_is_a_path_is_asked_as_it_is() -> None:
    assert parts_of("/srv/data/files") == ["/srv/data/files"]


def test_rarity_falls_with_the_number_of_texts_that_have_the_word() -> None:
    # ln(1 + (10 - n + .5) / (n + .5))
    assert rarity({"a": 0, "b": 4}, 10) == pytest.approx({"a": log(22), "b": log(1 + 6.5 / 4.5)})


def test_a_count_beyond_the_total_is_no_negative_rarity() -> None:
    assert rarity({"a": 12}, 10)["a"] > 0


DOCUMENTS = [
    Document("a", "deploy-service", "Bring a release to staging"),
    Document("b", "restore", "Deploy what was lost", more="backup"),
    Document("c", "bake", "A cake"),
]
RARE = {"deploy": 2.0, "backup": 1.0, "restor": 3.0}


def test_a_word_counts_most_in_the_name_and_least_in_the_steps() -> None:
    found = gather(["deploy backup"], DOCUMENTS, None, RARE)
    in_name, in_text_and_steps, without = found.lexical[0]
    assert in_name > in_text_and_steps > without == 0
    only_steps = gather(["backup"], DOCUMENTS, None, RARE).lexical[0]
    assert list(only_steps > 0) == [False, True, False]


def test_a_word_counts_by_field_and_length_and_saturates() -> None:
    # Alone: 2 x 1.5 / (2 + .5) in the name, .25 x 1.5 / .75 in the steps. Of texts with 1 and 3 words the lengths are
    # half and one and a half of the average: 1 / (.25 + .75 x .5) = 1.6 and 1 / (.25 + .75 x 1.5) = 8/11.
    in_name, in_steps = Document("a", "deploy", "x"), Document("a", "x", "x", more="deploy")
    for document, counted in ((in_name, 1.2), (in_steps, 0.5)):
        assert gather(["deploy"], [document], None, RARE).lexical == pytest.approx(2.0 * counted)
    texts = [Document("a", "x", "deploy"), Document("b", "x", "deploy old clusters")]
    short, long = gather(["deploy"], texts, None, RARE).lexical[0] / 2.0
    assert (short, long) == (pytest.approx(1.6 * 1.5 / 2.1), pytest.approx(8 / 11 * 1.5 / (8 / 11 + 0.5)))


def test_evidence_stands_out_by_standard_deviations_of_its_row() -> None:
    rows = standing(np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]))
    assert rows == pytest.approx(np.array([[-(1.5**0.5), 0, 1.5**0.5], [0, 0, 0]]), abs=1e-5)


def test_words_of_name_and_text_are_also_counted_without_the_steps() -> None:
    found = gather(["deploy backup"], DOCUMENTS, None, RARE)
    # Only "restore" has "backup", in its steps; otherwise both ways to count agree.
    assert found.lexical_told == pytest.approx(gather(["deploy"], DOCUMENTS, None, RARE).lexical[0])
    assert found.lexical[0, 1] > found.lexical_told[1]


def test_long_texts_need_less_cosine_and_coverage() -> None:
    # Of 1,000: .12 - 1.48 ln 1000 = -10.10; + 18.69 x .4 = 7.48; + 3.36 where texts have 60 words and more.
    found = gather(["an unheard of thing"], DOCUMENTS[2:], np.array([[0.4]]), {})
    assert fits(found, 1_000) == [False]
    assert fits(found._replace(text_length=60.0), 1_000) == [True]
    assert fits(found._replace(text_length=600.0, cosines=np.array([[0.35]])), 1_000) == [False]


def test_coverage_is_by_rarity() -> None:
    found = gather(["deploy backup restore", "deploy"], DOCUMENTS, None, RARE)
    assert found.covered == pytest.approx([2 / 6, 1.0, 0.0])
    assert found.length == 3


def test_coverage_of_the_best_part_counts_three_rarest_words_on_top() -> None:
    # 3 x 3.0 more: deploy is 2 of 6 + 9 and 2 of 2 + 9, all three words are 6 of 15.
    found = gather(["deploy backup restore", "deploy"], DOCUMENTS, None, RARE)
    assert found.covered_part == pytest.approx([2 / 11, 6 / 15, 0.0])


def test_a_question_names_a_skill_however_its_name_is_spelled() -> None:
    documents = [Document("a", "rdkit", "Molecules"), Document("b", "molecule-tool", "Wraps RDKit")]
    assert list(gather(["Draw it by RDKit"], documents, None, {"draw": 1.0}).named) == [1.0, 0.0]


def test_a_frequent_word_hardly_names_a_skill() -> None:
    # "build" is the whole name, but a quarter as rare as the rarest word of the question.
    documents = [Document("a", "builds", "x"), Document("b", "build", "x")]
    found = gather(["build the zeppelin"], documents, None, {"build": 1.0, "zeppelin": 4.0})
    assert found.named == pytest.approx([0.25, 0.25])


def test_words_that_are_neighbours_in_the_question_and_a_text_count_by_rarity() -> None:
    documents = [
        Document("a", "x", "Deploy backups weekly, deploy backups daily"),
        Document("b", "deploy-backup", "x"),
        Document("c", "x", "Deploy the backup"),
        Document("d", "deploy", "Backup of what was lost"),
        Document("e", "x", "A backup to deploy"),
        Document("f", "x", "Deploy it", more="deploy backup"),
    ]
    found = gather(["Deploying the backup: restore it"], documents, None, RARE)
    # The rarest word, 3.0, is restore: (2 + 1) / 2 / 3. Once is enough; a name does not run on into its text.
    assert found.together == pytest.approx([log(1.5), log(1.5), log(1.5), 0, 0, 0])


def test_a_pair_counts_once_however_often_the_question_says_it() -> None:
    documents = [Document("a", "x", "Deploy backup restore")]
    once, twice, both = (
        gather([said], documents, None, RARE).together
        for said in ("deploy backup", "deploy backup deploy backup", "deploy backup restore")
    )
    assert once == twice == pytest.approx([log(1 + 1.5 / 2)])
    assert both == pytest.approx([log(1 + 1.5 / 3 + 2 / 3)])


def test_of_two_with_the_same_words_the_one_that_has_them_together_is_first() -> None:
    documents = [
        Document("a", "x", "Review a design, then check the system"),
        Document("b", "y", "Check a review, then the design system"),
    ]
    rare = {"review": 1.0, "design": 2.0, "system": 2.0, "check": 1.0}
    apart, together = fused(gather(["Make a design system"], documents, None, rare))
    assert together > apart


def test_a_question_without_words_says_nothing_for_anybody() -> None:
    found = gather(["?!"], DOCUMENTS, None, {})
    assert not found.lexical.any()
    assert not found.covered.any()
    assert list(relative(fused(found))) == [1.0, 1.0, 1.0]


def test_what_has_both_word_and_meaning_is_first() -> None:
    cosines = np.array([[0.6, 0.3, 0.1]])
    scores = fused(gather(["deploy the service"], DOCUMENTS, cosines, RARE | {"servic": 2.0}))
    assert list(np.argsort(-scores)) == [0, 1, 2]
    assert max(relative(scores)) == 1.0


def test_the_best_of_one_sentence_outranks_what_is_middling_for_all() -> None:
    parts = ["Deploy the thing. Bake the thing.", "Deploy the thing.", "Bake the thing."]
    cosines = np.array([[0.4, 0.4, 0.4], [0.7, 0.5, 0.1], [0.1, 0.4, 0.7]])
    documents = [Document("a", "x", "one"), Document("b", "y", "two"), Document("c", "z", "three")]
    first, middling, last = fused(gather(parts, documents, cosines, {}))
    assert first == pytest.approx(last)  # each is the best of its sentence
    assert middling < first


def test_nothing_near_fits_however_it_compares_to_the_others() -> None:
    found = gather(["an unheard of thing"], DOCUMENTS, np.array([[0.2, 0.05, 0.0]]), {})
    assert fits(found, 1_000) == [False, False, False]


def test_once_one_fits_others_need_not_be_as_near() -> None:
    # Of 1,000, texts of two words: .12 - 1.48 ln 1000 + 3.36 x 2/60 = -9.99; + 18.69 x .55: .29, x .38: -2.89,
    # x .25: -5.32. Slack is 4.
    found = gather(["an unheard of thing"], DOCUMENTS, np.array([[0.55, 0.38, 0.25]]), {})
    assert fits(found, 1_000) == [True, True, False]
    alone = gather(["an unheard of thing"], DOCUMENTS, np.array([[0.45, 0.35, 0.25]]), {})
    assert fits(alone, 1_000) == [False, False, False]


def test_a_sentence_alone_must_be_nearer_than_a_question_of_one() -> None:
    # Of 1,000, texts of 2/3 of a word: -10.07 + 18.69 x (.5 + .6) / 2 = .21, x (.2 + .6) / 2 = -2.59.
    parts = ["Melt the teapot. Focus on the thing.", "Melt the teapot.", "Focus on the thing."]
    cosines = np.array([[0.5, 0.2, 0.1], [0.6, 0.6, 0.1], [0.1, 0.1, 0.1]])
    documents = [Document("a", "x", "one"), Document("b", "y", "two"), Document("c", "z", "three")]
    assert fits(gather(parts, documents, cosines, {}), 1_000) == [True, True, False]
    assert fits(gather(parts, documents[1:], cosines[:, 1:], {}), 1_000) == [False, False]


@pytest.mark.parametrize(
    "question",
    [
        "What did Jolene bake for the fair?",
        "When was the service deployed?",
        "Who had the keys?",
        "Did the deployment end?",
        "which of them were received?",
    ],
)
def test_a_question_about_what_was_must_be_nearer(question: str) -> None:
    found = gather([question], DOCUMENTS[2:], np.array([[0.6]]), {})
    assert found.of_the_past
    assert fits(found, 1_000) == [False]
    assert fits(found._replace(of_the_past=False), 1_000) == [True]


@pytest.mark.parametrize(
    "request_",
    [
        "How do I undo what was deployed?",
        "Why did the deployment fail?",
        "How was the archive made?",
        "Can you tell what was said?",
        "What is the weather in Paris?",
        "Which service has the best rating?",
        "Restore what was lost",
        "What tools would restore a file that was lost?",
        "",
    ],
)
def test_a_question_of_somebody_who_has_something_to_do_is_none_about_the_past(request_: str) -> None:
    assert not gather([request_], DOCUMENTS, None, {}).of_the_past


def test_a_skill_has_a_view_of_its_name_and_one_of_what_it_does() -> None:
    assert views("cancel-orderById. Cancel it. refund, stop") == ("cancel order by id", "Cancel it. refund, stop")
    assert views("cancel") == ("cancel", "cancel")
    assert views("") == ("", "")


def test_the_blend_is_a_unit_vector_nearer_to_the_description() -> None:
    blend = blended(np.array([[1.0, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32))
    assert blend == pytest.approx(np.array([[1.0, 2.0]]) / 5**0.5)


def test_where_views_cancel_each_other_the_description_speaks() -> None:
    told = np.array([[0.5, 0.0]], np.float32)
    assert blended(np.array([[-1.0, 0.0]], np.float32), told).tolist() == told.tolist()
