"""Banks and controllers on disk, whatever a program that was killed left beside them."""

from __future__ import annotations

from pathlib import Path

from prowess.learning.memskill import Bank
from prowess.server.memskill_files import keep_bank, load_bank


def test_what_a_killed_program_had_begun_to_write_again_spoils_no_bank(tmp_path: Path) -> None:
    bank = Bank.initial()
    key = keep_bank(tmp_path, bank)
    (tmp_path / "memskill" / "banks" / key / ".insert.md.prowess-new").write_bytes(b"half")
    assert load_bank(tmp_path, key).to_files() == bank.to_files()
