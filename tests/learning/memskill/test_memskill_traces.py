"""Traces from conversations and from a project's episodes."""

from __future__ import annotations

import numpy as np
import pytest
from memkit import step, trajectory

from prowess.learning.memskill import (
    Question,
    Shape,
    Turn,
    conversation,
    episode_spans,
    hashed,
    histories,
    split_by_time,
)

ONE = trajectory(
    "one",
    "count the java files",
    [
        step("one", 1, "ls /testbed", "Hello.java"),
        step("one", 2, "fnid . -name java", error="fnid: command not found"),
        step("one", 3, "find /testbed -name java", "Hello.java"),
    ],
)
TWO = trajectory("two", "delete old logs", [step("two", 1, "rm /var/log/old.log")])
THREE = trajectory(
    "three",
    "count java sources",
    [step("three", 1, "find /testbed -name java", "2"), step("three", 2, "echo done and finished", error="denied")],
)


def test_a_conversation_is_cut_into_spans_that_do_not_cross_sessions() -> None:
    sessions = [[Turn(f"{s}:{n}", f"Turn {n} of session {s}") for n in range(3)] for s in (1, 2)]
    asked = [Question("what?", ("1:0", "9:9"), "Turn"), Question("lost?", ("9:9",))]
    trace = conversation("c", sessions, asked, hashed, Shape(span=2))
    cut = [[unit.sources[0] for unit in span.units] for span in trace.spans]
    assert cut == [["1:0", "1:1"], ["1:2"], ["2:0", "2:1"], ["2:2"]]
    assert [span.first for span in trace.spans] == [True, False, False, False]
    assert [(query.text, query.evidence) for query in trace.queries] == [("what?", (frozenset({"1:0"}),))]


def test_an_episode_is_its_task_and_then_its_steps() -> None:
    spans = episode_spans(ONE, hashed, Shape(span=2))
    assert [[(unit.sources[0], unit.text) for unit in span.units] for span in spans] == [
        [("one#0", "task: count the java files"), ("one#1", "bash ls /testbed -> Hello.java")],
        [
            ("one#2", "bash fnid . -name java error: fnid: command not found"),
            ("one#3", "bash find /testbed -name java -> Hello.java"),
        ],
    ]
    assert [span.first for span in spans] == [True, False]


def test_what_the_person_stopped_is_no_part_of_an_episode() -> None:
    no = step("one", 2, "rm -r /testbed", error="The user doesn't want to proceed with this tool use.")
    stopped = trajectory("one", "", [step("one", 1, "ls", "a"), no, step("one", 3, "cat a", "text")])
    (span,) = episode_spans(stopped, hashed)
    assert [unit.sources[0] for unit in span.units] == ["one#1", "one#3"]


def test_later_successes_ask_for_the_earlier_steps_that_they_repeated() -> None:
    (trace,) = histories([ONE, TWO, THREE], hashed)
    (query,) = trace.queries
    assert query.text == "count java sources error: denied"
    assert query.evidence == (frozenset({"one#3"}),)  # not one#2, which failed
    assert len({span.units[0].sources[0].partition("#")[0] for span in trace.spans}) == 3


def test_a_failed_episode_asks_nothing() -> None:
    failed = trajectory("three", "count java sources", THREE.steps, outcome="failure")
    assert histories([ONE, TWO, failed], hashed) == []


def test_an_episode_is_not_evidence_for_itself_nor_for_earlier_ones() -> None:
    assert histories([TWO, THREE], hashed) == []
    (trace,) = histories([ONE, THREE], hashed)
    assert all(source.startswith("one#") for query in trace.queries for group in query.evidence for source in group)


def test_episodes_after_a_trace_ask_about_it() -> None:
    traces = histories([ONE, TWO, THREE], hashed, Shape(episodes=2))
    assert [(trace.id, len(trace.queries)) for trace in traces] == [("p:one", 1)]
    assert {unit.sources[0].partition("#")[0] for span in traces[0].spans for unit in span.units} == {"one", "two"}


def test_validation_is_later_than_training() -> None:
    (trace,) = histories([ONE, TWO, THREE], hashed)
    traces = [trace] * 4
    assert [len(part) for part in split_by_time(traces, 0.25)] == [3, 1]
    assert [len(part) for part in split_by_time(traces, 0.99)] == [1, 3]
    assert split_by_time([trace], 0.25) == ([trace], [trace])


def test_texts_that_share_no_word_have_nearly_orthogonal_vectors() -> None:
    rows = hashed(["camping by the lake", "a lake for camping", "quarterly revenue report", ""])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
    assert rows[0] @ rows[1] == pytest.approx(1.0)
    assert abs(float(rows[0] @ rows[2])) < 0.4
