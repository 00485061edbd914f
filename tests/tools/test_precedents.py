"""Past tasks that are like the question: they order the answer, and join skills."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from toolkit import Agent

from prowess.learning.ranking.order import Ranked
from prowess.storage.events import SkillSaved
from prowess.storage.models import EpisodeFilter, NewStep, Skill, SkillStep, Where
from prowess.tools.precedents import lone_success, past_of, with_precedents
from prowess.tools.searching import Question

pytestmark = pytest.mark.anyio

THINGS = ("engine", "heater", "radio", "window")
MOVES = ("stop", "inspect", "paint")


async def _garage(agent: Agent, *, both: int = 2) -> None:
    """Twelve tasks whose verb tells the move, some that took two of them, and a skill for each move alone."""
    for move in MOVES:
        for thing in THINGS:
            await agent.worked(f"{move} {thing}", [{"tool": f"{move}_part"}], task=f"Please {move} the {thing}")
    for number in range(both):
        steps = [{"tool": "stop_part"}, {"tool": "inspect_part"}]
        await agent.worked(f"both {number}", steps, task="Please stop everything and inspect everything")
    drawn = {episode.task_id: episode.id for episode in await agent.store.episodes()}
    for move in MOVES:
        made = Skill(
            id=f"id-{move}",
            name=f"{move}-part",
            description=f"{move.capitalize()} part",
            steps=(SkillStep(tool=f"{move}_part"),),
            episodes=(drawn[f"{move} radio"], drawn[f"{move} window"]),
            support=2,
        )
        await agent.store.append([SkillSaved(skill=made, change="create")], origin=agent.context.origin)


async def test_skills_are_joined_where_past_tasks_took_both(agent: Agent) -> None:
    await _garage(agent)
    answer = await agent("find_skill", query="stop part and inspect part, everything")
    first = answer.skills[0]
    assert first.name == "stop-part+inspect-part"
    assert [step["tool"] for step in first.steps] == ["stop_part", "inspect_part"]


async def test_one_move_needs_one_skill(agent: Agent) -> None:
    await _garage(agent)
    assert (await agent("find_skill", query="paint the heater part")).skills[0].name == "paint-part"


async def test_what_a_joined_answer_showed_are_its_parts(agent: Agent) -> None:
    await _garage(agent)
    answer = await agent("find_skill", query="stop part and inspect part, everything", limit=1)
    (exposure,) = [made for made in await agent.store.exposures() if made.id == answer.exposure_id]
    assert [shown.skill_id for shown in exposure.skills] == ["id-stop", "id-inspect"]


@pytest.mark.parametrize("told", ["stop-part+inspect-part", "id-stop+id-inspect"])
async def test_a_joined_answer_that_was_followed_counts_for_each_part(agent: Agent, told: str) -> None:
    await _garage(agent)
    await agent.worked("now", [{"tool": "stop_part"}], task="stop", reward=5)
    scored = await agent("score_reward", task_id="now", skills_used=[{"skill": told, "success": True}])
    assert {(skill.id, skill.use_count) for skill in scored.skills} == {("id-stop", 1), ("id-inspect", 1)}


async def test_a_skill_that_was_changed_since_the_last_question_is_read_anew(agent: Agent) -> None:
    await _garage(agent)
    asked = {"query": "stop part and inspect part, everything"}
    assert (await agent("find_skill", asked)).skills[0].name == "stop-part+inspect-part"
    before = (await agent.store.skills_by_id(["id-stop"]))["id-stop"]
    changed = replace(before, steps=(SkillStep(tool="halt_part"),), version=2)
    await agent.store.append([SkillSaved(skill=changed, change="adjust")], origin=agent.context.origin)
    assert all("+" not in skill.name for skill in (await agent("find_skill", asked)).skills)


async def test_an_episode_that_went_on_since_the_last_question_is_read_anew(agent: Agent) -> None:
    await _garage(agent)
    await _once(agent)
    asked = {"query": "stop the part, polish the part until it shines"}
    await agent("find_skill", asked)
    (episode,) = await agent.store.episodes(EpisodeFilter(task_id="once"))
    assert agent.store.kept("episode")[episode.id][1] == ("polish_part",)
    late = [NewStep(action="rub", tool="rub_part", outcome="success")]
    where = Where(task_id="once", project=episode.project, session=episode.session)
    await agent.store.track(where, late, origin=agent.context.origin, late=True)
    await agent("find_skill", asked)
    assert agent.store.kept("episode")[episode.id][1] == ("polish_part", "rub_part")


async def test_nothing_is_kept_of_what_was_forgotten(agent: Agent) -> None:
    await _garage(agent)
    once = await _once(agent)
    await agent("find_skill", query="stop the part, polish the part until it shines")
    before = [agent.store.kept(kind) for kind in ("episode", "skill")]
    assert "polish_part" in repr(before[0])
    assert "id-stop" in before[1]
    await agent.store.forget(episode_ids=[once], origin=agent.context.origin)
    # Also what a question that began before still writes down is not found again.
    before[0]["late"] = (1, ("polish_part",))
    assert [agent.store.kept(kind) for kind in ("episode", "skill")] == [{}, {}]
    await agent("find_skill", query="stop the part, polish the part until it shines")
    assert "polish_part" not in repr([agent.store.kept(kind) for kind in ("episode", "skill")])


async def test_without_successes_the_ranking_stands(agent: Agent) -> None:
    await _garage(agent, both=0)
    for episode in await agent.store.episodes():
        await agent("score_reward", task_id=episode.task_id, reward=-10)
    found = await agent("find_skill", query="stop part and inspect part, everything")
    assert all("+" not in skill.name for skill in found.skills)


async def _once(agent: Agent) -> str:
    """A success that nothing repeated; the episode's id."""
    steps = [{"tool": "polish_part", "args": {"with": "wax", "token": "x" * 300}}, {"tool": "polish_part"}]
    # With what steered it, which is no part of the task in a line.
    await agent.worked("once", steps, task="Please polish everything until it shines\n\nand mind the wax")
    (episode,) = await agent.store.episodes(EpisodeFilter(task_id="once"))
    return episode.id


async def test_a_success_that_no_skill_covers_is_an_example_behind_a_skill(agent: Agent) -> None:
    await _garage(agent)
    once = await _once(agent)
    answer = await agent("find_skill", query="polish or paint every part until it shines")
    (example,) = [one for one in answer.examples if one.episode_id == once]
    assert example.task == "Please polish everything until it shines"
    assert [step["tool"] for step in example.steps] == ["polish_part"]
    assert len(example.steps[0]["args"]["token"]) < 100
    assert answer.skills
    assert len(answer.skills) + len(answer.examples) <= 3
    assert "worked once for: Please polish everything until it shines" in answer.text()


async def test_an_example_tells_a_command_to_its_end_and_a_script_in_part(agent: Agent) -> None:
    await _garage(agent)
    command = "find parts -name '*.txt' -newer polished.txt -print0 | xargs -0 polish --with wax | sort | uniq -c"
    steps = [
        {"tool": "polish_part", "args": {"command": command, "until": {"command": "shine " * 50}}},
        {"tool": "sell_part", "args": {"command": "sell " * 100}},
    ]
    await agent.worked("once", steps, task="Please polish everything until it shines")
    answer = await agent("find_skill", query="polish or paint every part until it shines")
    (example,) = [one for one in answer.examples if one.task.endswith("shines")]
    polished, sold = (step["args"] for step in example.steps)
    assert polished["command"] == command
    assert len(polished["until"]["command"]) == 80
    assert len(sold["command"]) == 200
    assert command in answer.text()


async def test_episodes_that_lost_their_steps_join_nothing_and_are_no_examples(agent: Agent) -> None:
    await _garage(agent)
    await agent.worked("once", [{"tool": "polish_part"}], task="Please polish everything until it shines")
    await agent.store.trim(days=None, max_bytes=0, origin=agent.context.origin)
    for query in ("stop part and inspect part, everything", "polish everything until it shines, and paint part"):
        answer = await agent("find_skill", query=query)
        assert answer.examples == []
        assert answer.skills
        assert {skill.name for skill in answer.skills} <= {f"{move}-part" for move in MOVES}


async def test_examples_are_journaled_as_nothing_shown_and_take_no_single_place(agent: Agent) -> None:
    await _garage(agent)
    once = await _once(agent)
    answer = await agent("find_skill", query="polish or paint every part until it shines", limit=1)
    assert (len(answer.skills), answer.examples) == (1, [])
    answer = await agent("find_skill", query="polish or paint every part until it shines")
    (exposure,) = [made for made in await agent.store.exposures() if made.id == answer.exposure_id]
    assert once not in {shown.skill_id for shown in exposure.skills}


async def test_tasks_that_all_point_away_from_the_question_say_nothing(agent: Agent) -> None:
    await _garage(agent)
    ids = [episode.id for episode in await agent.store.episodes()]
    away = np.tile(np.array([-1.0, 0.0], np.float32), (len(ids), 1))
    await agent.store.save_embeddings("episode", "made-up", ids, away)
    asked = Question("zeppelin", ["zeppelin"], [], {}, np.array([[1.0, 0.0]], np.float32), None, None)
    past = await past_of("zeppelin", asked, project=None, store=agent.store)
    assert past.successes == []
    assert {cosine for _, cosine in past.near} == {-1.0}


@pytest.mark.parametrize(("cosine", "unasked", "joined"), [(0.3, False, True), (0.3, True, False), (0.45, True, True)])
async def test_unasked_a_skill_that_does_not_fit_serves_only_where_a_past_task_is_near(
    agent: Agent, cosine: float, unasked: bool, joined: bool
) -> None:
    await _garage(agent)
    ids = [episode.id for episode in await agent.store.episodes()]
    near = np.tile(np.array([cosine, (1 - cosine**2) ** 0.5], np.float32), (len(ids), 1))
    await agent.store.save_embeddings("episode", "made-up", ids, near)
    query = "stop part and inspect part, everything"
    asked = Question(query, [query], [], {}, np.array([[1.0, 0.0]], np.float32), None, None)
    past = await past_of(query, asked, project=None, store=agent.store)
    skill = (await agent.store.skills_by_id(["id-stop"]))["id-stop"]
    ranked = [(Ranked("id-stop", 1.0, ""), skill)]
    found = await with_precedents(ranked, past, project=None, store=agent.store, unasked=unasked)
    assert any("id-inspect" in skill.id for _, skill in found.matches) == joined


STEPS = [
    {"tool": "Read", "args": {"file_path": "deploy/README.md"}},
    {"tool": "Bash", "args": {"command": "make -C site build"}},
    {"tool": "Bash", "args": {"command": "./scripts/publish.sh --production"}},
]


async def test_without_any_skill_the_one_success_with_the_same_task_is_an_example(agent: Agent) -> None:
    await agent.worked("once", STEPS, task="Publish the documentation site\n\nto production, please")
    answer = await agent("find_skill", query="please publish our documentation site")
    (example,) = answer.examples
    assert example.task == "Publish the documentation site"
    assert [step["args"] for step in example.steps] == [step["args"] for step in STEPS]
    assert (answer.skills, answer.advice) == ([], None)
    assert answer.text().startswith("Stored data from past work")
    assert 'Bash(command="./scripts/publish.sh --production")' in answer.text()
    (exposure,) = [made for made in await agent.store.exposures() if made.id == answer.exposure_id]
    assert exposure.skills == ()


@pytest.mark.parametrize(
    "query", ["publish a new release of the library", "site", "write the documentation of the api"]
)
async def test_without_any_skill_a_task_that_shares_a_word_is_no_example(agent: Agent, query: str) -> None:
    await agent.worked("once", STEPS, task="Publish the documentation site")
    answer = await agent("find_skill", query=query)
    assert answer.examples == []
    assert "Nothing stored fits" in answer.advice


async def test_a_failure_is_no_example_and_of_two_successes_the_newest_is(agent: Agent) -> None:
    await agent.worked("bad", [{"tool": "deploy"}], reward=-8, task="Publish the documentation site")
    assert (await agent("find_skill", query="publish the documentation site")).examples == []
    for number in range(2):
        await agent.worked(f"t{number}", [{"tool": f"publish_{number}"}], task="Publish the documentation site")
    (example,) = (await agent("find_skill", query="publish the documentation site")).examples
    assert [step["tool"] for step in example.steps] == ["publish_1"]


async def test_a_lone_example_is_shortened_until_it_has_room(agent: Agent) -> None:
    steps = [
        call
        for number in range(20)
        for call in (
            {"tool": "Read", "args": {"file_path": f"src/module_{number}.py"}},
            {"tool": f"apply_{number}", "args": {"patch": f"change {number} " * 30}},
        )
    ]
    await agent.worked("once", steps, task="Publish the documentation site")
    for most, shown in ((20_000, 40), (1_200, 20), (600, 12)):
        answer = await agent("find_skill", query="publish the documentation site", max_tokens=most)
        assert len(answer.examples[0].steps) == shown
        assert answer.examples[0].steps[-1]["tool"] == "apply_19"
        assert answer.within(most)
    assert (await agent("find_skill", query="publish the documentation site", max_tokens=200)).examples == []


@pytest.mark.parametrize(("cosine", "found"), [(0.7, 1), (0.6, 0)])
async def test_where_there_are_vectors_they_say_whether_the_task_is_the_same(
    agent: Agent, cosine: float, found: int
) -> None:
    await agent.worked("once", STEPS, task="Publish the documentation site")
    ids = [episode.id for episode in await agent.store.episodes()]
    near = np.array([[cosine, (1 - cosine**2) ** 0.5]], np.float32)
    await agent.store.save_embeddings("episode", "made-up", ids, near)
    asked = Question("documentation site", [""], [], {}, np.array([[1.0, 0.0]], np.float32), None, None)
    same = await lone_success("documentation site", asked, project=None, store=agent.store)
    assert same == ids[:found]
