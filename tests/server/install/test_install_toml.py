"""Our tables in TOML of any layout."""

from __future__ import annotations

import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.server.install import toml_file
from prowess.server.install.wants import Document, Entry

SERVER = Entry(("mcp_servers", "prowess"), {"command": 'a \\ "b"', "args": ["-I", "\u007f\n"]}, lambda value: True)
WORD = Entry(("hooks", "state", "/a b/hooks.json:stop:0:0"), {"trusted_hash": "sha256:00"}, lambda value: True)
WANTS = (SERVER, WORD)

# Each can stand anywhere below the first table, once.
BLOCKS = (
    '[mcp_servers.db]\ncommand = "db" # [mcp_servers.prowess]\nenv = { A = "1" }\n',
    "# a remark\n\n",
    '[tui]\nnotes = """\n[mcp_servers.prowess]\ncommand = 1\n"""\n',
    '[[rules]]\nallow = [\n  "a", # [x]\n  "]",\n]\n',
    "[hooks.state.\"/a b/hooks.json:stop:1:0\"]\ntrusted_hash = 'x'\n",
    '  [ projects . "/x.y" ]   # spaced\n  trust_level = "trusted"\n',
    "\n\n\n",
    "[mcp_servers]\n",
)
documents = st.tuples(
    st.sampled_from(["", 'model = "o3"\n', "a.b = 1\n\n", 'mcp_servers.x.command = "x"\n']),
    st.lists(st.sampled_from(BLOCKS), unique=True),
    st.booleans(),
    st.booleans(),
)


def text_of(document: tuple[str, list[str], bool, bool]) -> str | None:
    """None for what is no TOML: some of the parts do not go together."""
    first, blocks, stripped, windows = document
    text = first + "".join(blocks)
    text = text.rstrip("\n") if stripped else text
    text = text.replace("\n", "\r\n") if windows else text
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    return text


@settings(deadline=None)
@given(documents)
def test_tables_that_were_added_and_removed_leave_no_trace(document: tuple[str, list[str], bool, bool]) -> None:
    text = text_of(document)
    if text is None:
        return
    told = Document(text)
    toml_file.install(told, WANTS)
    added = tomllib.loads(told.text)
    assert added["mcp_servers"]["prowess"] == SERVER.value
    assert added["hooks"]["state"][WORD.path[-1]] == WORD.value
    assert [toml_file.state(told.text, want) for want in WANTS] == ["ok", "ok"]
    toml_file.strip(told, WANTS)
    assert told.text == text


@settings(deadline=None)
@given(documents, st.sampled_from(BLOCKS))
def test_what_was_put_after_them_stays(document: tuple[str, list[str], bool, bool], more: str) -> None:
    text = text_of(document)
    told = Document(text or "")
    toml_file.install(told, WANTS)
    told.text += more
    try:
        expected = tomllib.loads(told.text)
    except tomllib.TOMLDecodeError:
        return
    del expected["mcp_servers"]["prowess"], expected["hooks"]["state"][WORD.path[-1]]
    toml_file.strip(told, WANTS)
    assert told.text.startswith(text or "")
    assert told.text.endswith(more)
    left = tomllib.loads(told.text)
    assert {**expected, "hooks": None, "mcp_servers": None} == {**left, "hooks": None, "mcp_servers": None}
    assert left.get("mcp_servers", {}) == expected["mcp_servers"]
    assert left.get("hooks", {}).get("state", {}) == expected["hooks"]["state"]
