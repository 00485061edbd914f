"""What is remembered of texts until it is let go."""

from __future__ import annotations

from prowess.learning.remembered import let_go, remembered


def test_a_result_is_worked_out_once_until_all_is_let_go() -> None:
    asked: list[str] = []

    @remembered(2)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length("a"), length("bb"), length("a")] == [1, 2, 1]
    assert asked == ["a", "bb"]
    length("ccc")  # which leaves no room for what was asked for longest ago
    assert (length("a"), length("bb"), asked) == (1, 2, ["a", "bb", "ccc", "bb"])
    let_go()
    assert (length("bb"), asked[4:]) == (2, ["bb"])
