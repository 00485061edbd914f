"""What training is told of the language model, and what it may still spend of a day's money."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from backgroundkit import serving
from trainerkit import FAKE, RESULT, until

from prowess.server.settings import Settings
from prowess.server.trainer.language import Paid
from prowess.storage.models import format_time
from prowess.tools.registry import call, find

NOW = datetime.now(UTC)


def spent(home: Path, run_id: str, *calls: tuple[datetime, float], torn: bytes = b"") -> None:
    out = home / "runs" / run_id / "out"
    out.mkdir(parents=True)
    lines = [json.dumps({"call_id": "c", "at": format_time(at), "cost_usd": usd}) for at, usd in calls]
    (out / "spend.jsonl").write_bytes("\n".join(lines).encode() + b"\n" + torn)


def told(home: Path, run_id: str = "new", **settings: Any) -> dict[str, str]:
    chosen = Settings(home=home, **{"api_key": "sk-test", "train_usd": 2.0, **settings})
    return Paid(chosen).environment(home / "runs", run_id)


def test_without_money_or_without_a_key_training_is_told_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, train_usd=0.0) == told(tmp_path, api_key="") == {}


def test_with_money_it_is_told_the_key_the_model_and_the_money(tmp_path: Path) -> None:
    assert told(tmp_path, base_url="http://127.0.0.1:1", model="m", model_price=(0.5, 2.0)) == {
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "PROWESS_MODEL": "m",
        "PROWESS_MODEL_PRICE": "0.5,2.0",
        "PROWESS_TRAIN_USD": "2.0",
    }


def test_what_other_runs_spent_today_is_no_longer_there(tmp_path: Path) -> None:
    spent(tmp_path, "a", (NOW, 0.5), (NOW - timedelta(days=1), 7.0), torn=b'{"at": "20')
    spent(tmp_path, "b", (NOW, 0.25))
    assert told(tmp_path)["PROWESS_TRAIN_USD"] == "1.25"
    assert told(tmp_path, "a")["PROWESS_TRAIN_USD"] == "1.75"  # its own are counted by the trainer itself
    spent(tmp_path, "c", (NOW, 3.0))
    assert told(tmp_path)["PROWESS_TRAIN_USD"] == "0.0"


@pytest.mark.anyio
@pytest.mark.parametrize(("usd", "key"), [(0.0, ""), (2.0, "sk-test")])
async def test_the_servers_trainer_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usd: float, key: str
) -> None:
    monkeypatch.setattr("prowess.server.trainer.supervisor.trainer_command", lambda: FAKE)
    monkeypatch.setattr("prowess.server.trainer.supervisor.NEEDS", ())
    monkeypatch.setattr("prowess.tools.evolve_skills.understood", dict)  # the fake trainer has settings of its own
    async with serving(tmp_path, [], api_key="sk-test", train_usd=usd) as server:
        await server.works(1)
        asked = {"mode": "train", "settings": {"acts": ["facts", RESULT]}, "project": "shop"}
        await call(find("evolve_skills"), asked, server.runtime.context())
        assert server.runtime.trainer is not None
        facts = (await until(server.runtime.trainer, lambda now: now["status"] == "done"))["progress"]
    assert (facts["key"], facts["usd"]) == (key, str(usd) if usd else "")
