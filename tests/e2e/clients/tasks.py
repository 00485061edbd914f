"""Tasks that are alike, and what a person has behind them after some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents import Agent, Task, mend
from person import Person, Worked

__all__ = ["CALCULATIONS", "Calculation", "Past", "mended"]


@dataclass(frozen=True)
class Calculation:
    """A function of two numbers that is not written yet, and its test."""

    name: str
    sign: str
    result: int

    @property
    def task(self) -> Task:
        prompt = f"The test of {self.name} in calc.py fails. Mend it."
        return Task(prompt, "calc.py", "    return None", f"    return a {self.sign} b", "test_calc.py")

    @property
    def files(self) -> dict[str, str]:
        test = f"from calc import {self.name}\n\n\ndef test_it():\n    assert {self.name}(2, 3) == {self.result}\n"
        return {"calc.py": f"def {self.name}(a, b):\n    return None\n", "test_calc.py": test}


CALCULATIONS = (
    Calculation("add", "+", 5),
    Calculation("multiply", "*", 6),
    Calculation("subtract", "-", -1),
)


@dataclass(frozen=True)
class Past:
    """Sessions of one client in the order in which they were; what was ``learned`` came before the last."""

    person: Person
    agent: Agent
    add: Worked
    multiply: Worked
    learned: list[dict[str, Any]]
    subtract: Worked


def mended(person: Person, agent: Agent, calculation: Calculation) -> Worked:
    """A session in which ``agent`` runs the failing test, writes the function and runs the test again."""
    repository = person.repository(f"{agent.name}-{calculation.name}", calculation.files)
    worked = person.work(agent, repository, calculation.task, mend(agent, repository, calculation.task))
    assert f"return a {calculation.sign} b" in (repository / "calc.py").read_text()
    return worked
