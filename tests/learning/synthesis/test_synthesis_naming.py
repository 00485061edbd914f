"""Names and descriptions of skills, as episodes give them."""

from __future__ import annotations

from time import process_time

from made_episodes import call, episode, skill

from prowess.learning.synthesis.drafts import propose
from prowess.learning.synthesis.grammar import Act
from prowess.learning.synthesis.naming import moves_in_words, name_of
from prowess.learning.synthesis.placeholders import placeholder_in_words
from prowess.learning.synthesis.usage import Usage
from prowess.storage.models import Parameter, Skill, Trajectory

FLIGHT = {"travel_from": "SFO", "travel_to": "LAX"}
FLIGHTS = [
    "Please book a flight to Rome in business class, with the credit card.",
    "I want to book a flight with the credit card and be insured.",
    "Can you book a flight for me, in business class, with the credit card?",
    "We would like to book a flight in business class. Take the credit card.",
    "My credit card shall be charged: book a flight in business class.",
]
ROOMS = [
    "Please rent a room with a view for two nights.",
    "I need a room for the conference, with a view.",
    "Can you rent a room in Rome for me, with a view?",
    "We would like to rent a room. The view counts.",
    "A room with a view would be nice to rent.",
]


def trips() -> list[Trajectory]:
    flights = [
        episode(f"f{n}", [("book_flight", {"card": f"c{n}", **FLIGHT}), ("purchase_insurance", {"id": n})], task=text)
        for n, text in enumerate(FLIGHTS)
    ]
    rooms = [episode(f"r{n}", [("rentRoom", {"nights": n})], task=text) for n, text in enumerate(ROOMS)]
    return [*flights, *rooms]


def by_tool(found: list[Skill]) -> dict[str, Skill]:
    return {one.steps[0].tool or "": one for one in found if len(one.steps) == 2 or one.steps[0].tool == "rentRoom"}


def test_a_skill_is_called_by_what_it_does_and_tells_when_to_use_it() -> None:
    found = by_tool(propose(trips()))["book_flight"]
    assert found.name == "book-flight-and-purchase-insurance"
    assert found.description == (
        "Book a flight and purchase insurance. Use when the task mentions the credit card or business class."
    )


def test_what_the_description_leaves_out_is_a_keyword_still() -> None:
    found = by_tool(propose(trips()))["book_flight"]
    assert {"flight", "credit", "book"} <= set(found.keywords)


def made(keys: list[str], args: dict[str, object] | None = None, task: str = "") -> Skill:
    """The longest skill of two episodes that make these moves."""
    runs = [episode(f"e{n}", [(key, {**(args or {}), "n": n}) for key in keys], task=task) for n in range(2)]
    return max(propose(runs), key=lambda one: len(one.steps))


def test_where_not_all_moves_fit_the_first_and_the_last_are_in_the_name() -> None:
    found = made(["fillFuelTank", "lockDoors", "pressBrakePedal", "startEngine"])
    assert found.name == "fill-fuel-tank-lock-doors-and-start-engine"
    assert found.description == "Fill the fuel tank, lock the doors, press the brake pedal and start the engine."


def test_a_name_of_many_moves_is_soon_found() -> None:
    programs = "|".join(f"tool{number}" for number in range(60))
    usage = Usage([])
    acts = moves_in_words([f"bash:{programs}"], [], usage)
    assert name_of(acts, [], usage, ()) == "run-tool0-tool1-tool2-tool3-tool4-tool5-and-tool59"


def test_moves_with_one_verb_or_one_object_are_told_together() -> None:
    assert made(["modify_user_address", "modify_order_items"]).description == (
        "Modify the user address and the order items."
    )
    assert made(["toggle_roaming", "toggle_data", "reboot_device"]).description == (
        "Toggle roaming and data, and reboot the device."
    )
    assert made(["build_image", "push_image"]).name == "build-image-and-push-image"
    assert made(["enable_roaming", "toggle_roaming"]).description == "Enable and toggle roaming."


def test_acronyms_and_joined_verbs_are_words_of_a_name() -> None:
    found = made(["parseXMLFile", "login_user"])
    assert found.name == "parse-xml-file-and-log-in-user"
    assert found.description == "Parse the XML file and log in a user."
    assert made(["deleteIDs", "openURLs"]).name == "delete-ids-and-open-urls"
    assert made(["create_or_update_file", "browser_take_screenshot"]).name == (
        "create-or-update-file-and-take-screenshot-with-browser"
    )


def test_what_follows_the_colon_of_a_tools_name_is_no_program() -> None:
    found = made(["github:create_issue", "github:close_milestone"])
    assert found.name == "create-issue-and-close-milestone"
    assert found.description == "Create an issue and close the milestone."


def test_a_name_has_the_letters_under_their_accents() -> None:
    found = made(["\u00dcberweisung", "na\u00efve_search"])
    assert found.name == "uberweisung-and-naive-search"
    assert found.description == "\u00dcberweisung and na\u00efve search."


def test_letters_that_have_no_accent_to_take_away_are_written_in_others() -> None:
    found = made(["k\u00f8b_stra\u00dfe", "\u0142adowanie_\u0111a\u010dko", "\u00e6ble_\u0153uvre_\u00feing"])
    assert found.name == "kob-strasse-ladowanie-dacko-and-aeble-oeuvre-thing"


def test_a_figure_of_speech_says_nothing_about_when() -> None:
    stop = [f"On second thought, cancel the order {n}, at the moment it is too dear." for n in range(5)]
    buy = [f"Buy shares of the company {n}." for n in range(5)]
    runs = [episode(f"c{n}", ["cancel_order", "notify_broker"], task=text) for n, text in enumerate(stop)]
    runs += [episode(f"b{n}", ["buy_shares", "notify_bank"], task=text) for n, text in enumerate(buy)]
    found = {one.name: one for one in propose(runs)}["cancel-order-and-notify-broker"]
    assert {"thought", "moment"} <= set(found.keywords)
    assert found.description == "Cancel the order and notify the broker."


def test_a_verb_without_an_article_is_what_is_asked_for() -> None:
    mend = ["fix lint, please", "the build: fix it", "about fix and lint", "Please fix this."]
    rest = ["Show the weather.", "Show a map.", "Show the time.", "Show a page."]
    runs = [episode(f"m{n}", ["open_repo", "run_linter"], task=text) for n, text in enumerate(mend)]
    runs += [episode(f"r{n}", ["display_page", "close_page"], task=text) for n, text in enumerate(rest)]
    found = {one.name: one for one in propose(runs)}["open-repo-and-run-linter"]
    assert found.description == "Open a repo and run a linter. Use when the task asks to fix."


def of(keys: list[str], tasks: list[str]) -> str:
    """When to use a skill of ``keys``, which these tasks were done by and others were not."""
    rest = ["Show the weather.", "Show a map.", "Show the time.", "Show a page."]
    runs = [episode(f"m{n}", [*keys], task=text) for n, text in enumerate(tasks)]
    runs += [episode(f"r{n}", ["display_page", "close_page"], task=text) for n, text in enumerate(rest)]
    (found,) = [one for one in propose(runs) if [step.tool for step in one.steps] == keys]
    return found.description.partition(". ")[2]


def test_a_verb_is_told_with_its_particle_and_what_is_mostly_done_so() -> None:
    keys = ["start_job", "end_job"]
    out = ["Please roll out version 3.", "Can you roll out the fix?", "Roll out web, please roll out now."]
    assert of(keys, out) == "Use when the task asks to roll out."
    files = ["Remove files from tmp.", "Please remove the files.", "I want you to remove old files of mine."]
    assert of(keys, files) == "Use when the task asks to remove files."


def test_names_of_code_end_what_stands_before_them_and_an_order_begins_a_sentence() -> None:
    keys = ["start_job", "end_job"]
    columns = [
        "Add the column refunded_at (text) to orders.",
        "Add the column users/locale.",
        "Add the column a.b.c, ok?",
    ]
    assert of(keys, columns) == "Use when the task mentions the column."
    orders = ["Rebase the branch feat/csv on main", "Rebase it.", "Rebase the branch fix on main"]
    assert of(keys, orders) == "Use when the task asks to rebase."
    bumps = ["Bump zod to 4", "Bump vite to 5.", "Bump react now"]
    assert of(keys, bumps) == "Use when the task asks to bump."


def test_a_hyphen_in_a_word_begins_no_option() -> None:
    usage = Usage(["It is in tip-top form.", "The tip-top one.", "Give --verbose to it."])
    assert (usage.is_bare("tip"), usage.kind("verbose")) == (False, "")


def test_a_word_that_few_of_the_tasks_say_does_not_tell_when() -> None:
    keys = ["start_job", "end_job"]
    tasks = ["Ship the parcel.", "Ship the parcel by the boat.", *["Ship it to the boss."] * 6]
    assert of(keys, tasks) == "Use when the task mentions the boss."


def test_the_name_of_the_project_does_not_tell_when() -> None:
    told = ["Mend the lexer of the parser.", "Mend the lexer of the parser, please.", "Show the time.", "Show a map."]
    runs = [
        episode(f"m{n}", ["start_job", "end_job"] if n < 2 else ["display_page", "close_page"], task=text)
        for n, text in enumerate(told)
    ]
    found = {one.steps[0].tool: one for one in propose(runs, project="parser")}
    assert found["start_job"].description == "Start and end the job. Use when the task mentions the lexer."


def test_a_verb_for_anything_or_one_that_is_refused_says_nothing_about_when() -> None:
    keys = ["start_job", "end_job"]
    assert of(keys, ["The net is slow. Please fix it.", "I want to fix it now.", "Can you fix it?"]) == ""
    refused = "I am not willing to accept slow nets."
    assert "accept" not in of(keys, [refused, f"Hello. {refused}", f"{refused} Bye."])


def test_a_thing_is_told_with_the_word_that_mostly_stands_before_it() -> None:
    sms = ["I cannot send the MMS message.", "No MMS message, in any way.", "Where is my MMS message?"]
    assert of(["start_job", "end_job"], sms) == "Use when the task mentions the MMS message."
    sms = ["I cannot send an MMS message.", "An MMS message, please.", "Where is an MMS message?"]
    assert of(["start_job", "end_job"], sms) == "Use when the task mentions an MMS message."


def test_what_one_text_says_without_an_article_is_no_thing() -> None:
    keys = ["start_job", "end_job"]
    texts = ["Buy gasoline by default.", "No gasoline is left in there.", "Look for gasoline."]
    assert of(keys, texts) == "Use when the task mentions gasoline."


def test_a_word_of_more_than_forty_characters_is_cut_in_the_description() -> None:
    assert made([f"cancel_{'x' * 40}", "lock_doors"]).description == f"Cancel the {'x' * 40} and lock the doors."
    assert made([f"cancel_{'x' * 41}", "lock_doors"]).description == f"Cancel the {'x' * 39}\u2026 and lock the doors."


def test_a_skill_of_commands_says_what_they_do_and_with_which_programs() -> None:
    lines = ("find . -name x | wc -l", "find /srv -size 9 | wc -c")
    runs = [episode(key, [("bash", {"command": line})]) for key, line in zip("ab", lines, strict=True)]
    (found,) = propose(runs)
    assert found.name == "find-files-and-count-lines"
    assert found.description == "Find files and count lines with wc."


def test_a_taken_name_gives_way_to_one_with_other_moves() -> None:
    runs = [
        episode(f"e{n}", ["reset_modem", "call_customer", "close_case"], task="Mend the line of a customer, please.")
        for n in range(2)
    ]
    first = propose(runs)[0].name
    assert first == "reset-modem-call-customer-and-close-case"
    taken = [skill("x", call("x"), name=first)]
    assert propose(runs, existing=taken)[0].name == "reset-modem-and-close-case"


def test_a_taken_name_gives_way_to_no_word_that_it_has() -> None:
    usage = Usage(["Count the lines of the tree.", "Show the lines. Show the tree."])
    taken = {"count-lines"}
    assert (
        name_of(moves_in_words(["count_lines"], [], usage), ["lines", "tree"], usage, taken) == "count-lines-for-tree"
    )


def test_what_several_moves_are_done_with_is_told_once() -> None:
    keys = ["browser_navigate", "browser_snapshot", "browser_click", "browser_take_screenshot"]
    arguments = ({"url": ""}, {}, {"element": ""}, {"filename": ""})
    steps = [call(key, **args) for key, args in zip(keys, arguments, strict=True)]
    told = [" ".join(act.words()) for act in moves_in_words(keys, steps, Usage([]))]
    assert told == [
        "navigate to a URL", "get the browser snapshot", "click an element", "take a screenshot with the browser"
    ]  # fmt: skip


def test_signs_within_a_word_part_it_in_a_name() -> None:
    runs = [episode(key, [("Bash", {"command": f"./bin/test-harness.sh {key} -v"})]) for key in "ab"]
    (found,) = propose(runs)
    assert (found.name, found.description) == ("run-test-harness-sh", "Run test-harness.sh.")
    assert name_of([Act("toggle", ("Wi-Fi", "calling"))], [], Usage([]), ()) == "toggle-wifi-calling"


def test_programs_that_the_description_names_are_not_told_again() -> None:
    lines = ("str_replace_editor a; acmectl b; acmectl c", "str_replace_editor d; acmectl e; acmectl f")
    runs = [episode(key, [("bash", {"command": line}), "submit"]) for key, line in zip("ab", lines, strict=True)]
    (found,) = propose(runs)
    assert found.description == "Run str_replace_editor and acmectl, and submit."


def test_where_moves_make_no_free_name_the_tasks_do_then_a_number() -> None:
    usage = Usage(["Please repair the line.", "Please repair a line."])
    acts = moves_in_words(["reset_modem", "close_case"], [], usage)
    taken = ["reset-modem-and-close-case"]
    for name in ("reset-modem-and-close-case-for-line", "reset-modem-and-close-case-to-repair"):
        assert name_of(acts, ["repair", "line"], usage, taken) == name
        taken.append(name)
    assert name_of(acts, ["repair", "line"], usage, taken) == "reset-modem-and-close-case-2"


def test_a_secret_that_was_masked_gives_no_word() -> None:
    text = "Log in with the password [masked:secret-assignment] and open the ticket."
    found = made(["login", "open_ticket"], task=text)
    assert {"masked", "secret", "assignment"}.isdisjoint(found.keywords)
    assert "masked" not in found.description


def test_words_are_things_doings_or_names_by_how_the_tasks_use_them() -> None:
    usage = Usage(
        [
            "Please cancel the booking on Twitter, my tire pressure is low.",
            "I want to cancel a booking via Twitter.",
            "Check the tire pressure quickly.",
            "The customer asks for a tweet saying hello.",
        ]
    )
    kinds = ("cancel", "booking", "tire", "pressure", "quickly", "asks", "saying", "unheard")
    assert [usage.kind(word) for word in kinds] == ["doing", "thing", "quality", "thing", "other", "other", "other", ""]
    assert usage.following("tire") == "pressure"
    assert usage.article("pressure") == "the"
    assert usage.spelled == {"twitter": "Twitter"}


def test_a_placeholder_without_a_description_is_told_by_its_name_its_source_and_an_example() -> None:
    told = [
        (
            Parameter(name="orderId", source="task", examples=("#W12",)),
            'The order ID, as the task says it, such as "#W12".',
        ),
        (
            Parameter(name="distance", type="number", source="observation", examples=(3.5,)),
            "The distance, as an earlier step answers it, such as 3.5.",
        ),
        (Parameter(name="tags", source="task", examples=(["a"],)), 'The tags, as the task says them, such as ["a"].'),
        (
            Parameter(name="go_test_args", source="observation"),
            "The arguments of go test, as an earlier step answers them.",
        ),
        (  # a text is cut behind a word, and its quotes are closed
            Parameter(name="message", examples=("Orders that were refunded should use the new status in the file",)),
            'The message, such as "Orders that were refunded should use the new status in…".',
        ),
        (  # the end of a path tells one file from others
            Parameter(
                name="file_path", examples=("/home/ana/work/company/monorepo/services/billing/invoices/model.py",)
            ),
            'The file path, such as "…/work/company/monorepo/services/billing/invoices/model.py".',
        ),
        (Parameter(name="command_part_2"), "Another part of the command."),
        (Parameter(name="path_2"), "Another path."),
        (Parameter(name="new_item_ids_2"), "Other new item IDs."),
        (Parameter(name="address_2"), "Another address."),
        (Parameter(name="cityA"), "The city A."),
        (Parameter(name="file_name1"), "The file name 1."),
        (Parameter(name="address2_part"), "The part of the address 2."),
        (Parameter(name="a"), "The option a."),
        (Parameter(name="city", description="Where to go."), "Where to go."),
    ]
    for parameter, text in told:
        assert placeholder_in_words(parameter) == text


def test_a_text_of_one_endless_word_is_read_at_once() -> None:
    began = process_time()
    for text in ("a" * 20_000, "a-" * 10_000, "-" * 20_000, "a.b" * 7_000):
        Usage([text])
    assert process_time() - began < 3  # .3 s; where each place is read to the end, half a minute
