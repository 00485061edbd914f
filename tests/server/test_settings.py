"""Settings: one table, read once, documented."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.server.settings import TABLE, BadSetting, Settings, load, reference
from prowess.server.shim import places
from prowess.tools.find_skill import FindInput

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_document_is_what_the_table_says() -> None:
    assert DOCS.read_text(encoding="utf-8") == reference()


def test_every_setting_has_a_variable_and_is_explained() -> None:
    assert all(row.help and row.env.isupper() for row in TABLE)
    assert len({row.env for row in TABLE}) == len(TABLE)


def test_without_any_given_the_defaults_are_the_rows(tmp_path: Path) -> None:
    settings = load({"home": tmp_path}, {})
    assert settings == Settings(home=tmp_path)
    assert [getattr(settings, row.name) for row in TABLE[1:]] == [row.default for row in TABLE[1:]]


def test_the_caller_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('project = "from-file"\nmodel = "from-file"\nembedder = "none"\n')
    environ = {"PROWESS_PROJECT": "from-environment", "PROWESS_MODEL": "from-environment"}
    settings = load({"home": tmp_path, "project": "from-caller"}, environ)
    assert (settings.project, settings.model, settings.embedder) == ("from-caller", "from-environment", "none")


def test_an_empty_value_counts_as_not_given(tmp_path: Path) -> None:
    assert load({"home": tmp_path}, {"PROWESS_DAILY_USD": "", "PROWESS_PROJECT": ""}).daily_usd == 1.0


def test_the_home_comes_from_the_environment_and_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load({}, {"PROWESS_HOME": "store"}).home == tmp_path / "store"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROWESS_DAILY_USD", "plenty"),
        ("PROWESS_DAILY_USD", "-1"),
        ("PROWESS_DAILY_USD", "nan"),
        ("PROWESS_KEEP_DAYS", "1.5"),
        ("PROWESS_UNUSED_DAYS", "10000000"),
        ("PROWESS_WITHHOLD", "0.6"),
        ("PROWESS_WITHHOLD", "nan"),
        ("PROWESS_WITHHOLD", "some"),
        ("PROWESS_LOG_LEVEL", "loud"),
        ("PROWESS_MEMORY_CAP", "1000000000001"),
        ("PROWESS_HOOK_TOKENS", "20001"),  # more than find_skill gives: each prompt would go without
        ("PROWESS_MODEL_PRICE", "3"),
        ("REDB_PATH", "~nobody-of-that-name/log.redb"),
    ],
)
def test_a_value_that_makes_no_sense_is_named_with_its_setting(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=name) as caught:
        load({"home": tmp_path}, {name: value})
    assert caught.value.hint


def test_a_page_that_says_more_is_named_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(BadSetting) as caught:
        load({"home": tmp_path}, {"PROWESS_HOOK_TOKENS": "many"})
    assert "that a hook (docs/hooks.md) adds to a prompt" in caught.value.hint
    with pytest.raises(BadSetting) as caught:
        load({"home": tmp_path}, {"PROWESS_WITHHOLD": "many"})
    assert "(see docs/lift.md)" in caught.value.hint


def test_as_much_as_hooks_may_add_can_be_asked_for(tmp_path: Path) -> None:
    most = load({"home": tmp_path}, {"PROWESS_HOOK_TOKENS": "20000"}).hook_tokens
    assert FindInput(query="a", max_tokens=most).max_tokens == most


def test_what_would_make_sense_is_said_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="'x' makes no sense: a whole number from 0 to 100000 is expected"):
        load({"home": tmp_path}, {"PROWESS_KEEP_DAYS": "x"})
    with pytest.raises(BadSetting, match=r"two numbers, such as 0\.8,4, are expected"):
        load({"home": tmp_path}, {"PROWESS_MODEL_PRICE": "3"})


@pytest.mark.parametrize(
    "line", ["keep_days = 0.5", "backup_keep = 1.9", "keep_mb = nan", "memory_cap = inf", "keep_mb = true"]
)
def test_a_part_of_a_whole_number_is_not_cut_off_in_silence(tmp_path: Path, line: str) -> None:
    (tmp_path / "config.toml").write_text(line)
    with pytest.raises(BadSetting, match=f"{line.split()[0]} in config.toml: .* a whole number from"):
        load({"home": tmp_path}, {})
    (tmp_path / "config.toml").write_text("keep_days = 2.0")
    assert load({"home": tmp_path}, {}).keep_days == 2


def test_a_mark_at_the_start_of_a_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('redb_path = "elsewhere.redb"\n', encoding="utf-8-sig")
    (tmp_path / "allow-env").write_text("PROWESS_MODEL\n", encoding="utf-8-sig")
    assert load({"home": tmp_path}, {}).redb_path == Path("elsewhere.redb")
    assert places.log_path(tmp_path, {}) == str(tmp_path / "elsewhere.redb")
    assert places.allowed_environment(tmp_path, {"PROWESS_MODEL": "m"}) == {"PROWESS_MODEL": "m"}


def test_the_price_of_a_model_is_two_numbers(tmp_path: Path) -> None:
    assert load({"home": tmp_path}, {"PROWESS_MODEL_PRICE": "0.8, 4"}).model_price == (0.8, 4.0)
    assert load({"home": tmp_path, "model_price": (0.8, 4)}, {}).model_price == (0.8, 4.0)


def test_an_unknown_line_of_the_file_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('projekt = "shop"\n')
    with pytest.raises(BadSetting, match="projekt") as caught:
        load({"home": tmp_path}, {})
    assert "project" in caught.value.hint


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("project: shop")
    with pytest.raises(BadSetting, match="cannot be read"):
        load({"home": tmp_path}, {})


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_in_place_of_the_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(BadSetting, match="no ordinary file"):
        load({"home": tmp_path}, {})


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    settings = load({"home": tmp_path}, {"ANTHROPIC_API_KEY": "sk-ant-secret", "ANTHROPIC_AUTH_TOKEN": "bearer-secret"})
    assert "sk-ant" not in repr(settings)
    assert "bearer" not in repr(settings)
    assert settings.api_key == "sk-ant-secret"


def test_importing_reads_nothing() -> None:
    code = "import prowess.server.settings as s, sys; sys.exit(0)"
    environ = {**os.environ, "PROWESS_DAILY_USD": "nonsense", "PROWESS_HOME": "/nonexistent"}
    assert subprocess.run([sys.executable, "-I", "-c", code], env=environ, check=False, timeout=60).returncode == 0


def test_an_unknown_name_from_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="no setting 'embeder'"):
        load({"home": tmp_path, "embeder": "none"}, {})
