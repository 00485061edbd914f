"""Commands whose output is a secret itself: a password manager's answer, a token, a random key, a variable's value.

No rule can tell from such an output alone that it is one: what was run has to be known. It counts where it reaches the
agent: not where it is kept in a variable, written to a file or handed to another program. Filters such as ``jq`` and
``base64 -d`` pass it on.
"""

from __future__ import annotations

from collections.abc import Mapping

from prowess.learning.redaction.values import is_secret_field, lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PRINTED", "hidden", "prints_secret"]

PRINTED = "[masked:printed-secret]"
MOST_LINES = 2  # of a file that holds one secret and nothing else
LONGEST = 4_096  # characters of a command line that are read
_COMMANDS = ("command", "cmd", "script")  # under these names tools take a command line
_FILES = ("file_path", "filePath", "absolute_path", "path", "target_file")

_WORD = r"[^\s|;&<>()]"
_ARGS = r"[^|;&<>()\n]"
_OPTIONS = r"(?:\s+-[^\s|;&<>()]{1,80}(?:[ =](?!-)[^\s|;&<>()]{1,200})??){0,4}?"
# What runs before the program itself.
_LEAD = (
    r"(?:(?:\w{1,64}=[^\s|;&<>()]{0,200}|sudo|env|command|exec|time|nohup|then|do|else|!|npx|uvx)\s+){0,6}"
    r"(?:[\w./~-]{0,200}/)?"
)
_PRINTERS = (
    r"(?:pass|passage|gopass)\s+(?:show|otp|-c)\b",
    r"(?:pass|passage|gopass)\s+(?!(?:audit|clone|config|cp|edit|env|find|fscopy|git|grep|help|init|insert|list|ls|mounts|mv"
    r"|process|recipients|rm|search|setup|sync|tail|templates?|update|version)\b)[\w./@-]{1,200}\s*$",
    rf"op{_OPTIONS}\s+(?:read|inject)\b",
    rf"op{_OPTIONS}\s+item\s+get\b(?={_ARGS}{{0,400}}(?:--fields|--reveal|--otp))",
    rf"bw{_OPTIONS}\s+get\s+(?:password|totp|notes)\b",
    r"rbw\s+(?:get|code)\b",
    r"lpass\s+show\b",
    r"keepassxc-cli\s+(?:show|clip)\b",
    r"secret-tool\s+lookup\b",
    rf"security\s+find-(?:generic|internet)-password\b(?={_ARGS}{{0,400}}\s-w)",
    r"keyring\s+get\b",
    rf"vault{_OPTIONS}\s+(?:kv\s+get\b(?={_ARGS}{{0,400}}-field)|read\b(?={_ARGS}{{0,400}}-field)|print\s+token\b)",
    rf"vault{_OPTIONS}\s+token\s+create\b(?={_ARGS}{{0,400}}-field)",
    r"(?:doppler|infisical)\s+secrets\s+(?:get|download)\b",
    r"(?:chamber|berglas)\s+(?:read|access)\b",
    rf"(?:sops|ansible-vault|age|gpg2?){_OPTIONS}\s+(?:-d|--decrypt|decrypt|view)\b",
    r"(?:gh|glab)\s+auth\s+token\b",
    rf"gh\s+auth\s+status\b(?={_ARGS}{{0,200}}(?:--show-token|\s-t\b))",
    rf"aws{_OPTIONS}\s+(?:ecr(?:-public)?\s+get-login-password|codeartifact\s+get-authorization-token"
    r"|rds\s+generate-db-auth-token|eks\s+get-token|configure\s+get\s+\S{0,40}(?:secret|token)\S{0,40})",
    rf"aws{_OPTIONS}\s+(?:secretsmanager\s+get-secret-value|ssm\s+get-parameters?\b(?={_ARGS}{{0,400}}--with-decryption))",
    rf"gcloud{_OPTIONS}\s+(?:(?:beta\s+)?auth\s+(?:application-default\s+)?print-(?:access|identity)-token"
    r"|secrets\s+versions\s+access)\b",
    r"az\s+(?:account\s+get-access-token|keyvault\s+secret\s+show|acr\s+login\b[^|;&\n]{0,200}--expose-token)\b",
    r"(?:heroku|fly|flyctl)\s+(?:auth:token|auth\s+token|tokens\s+create)\b",
    rf"heroku\s+config:get\b(?={_ARGS}{{0,200}}(?i:key|secret|token|pass|database_url))",
    rf"(?:kubectl|oc){_OPTIONS}\s+(?:create\s+token\b|whoami\s+(?:-t|--show-token)\b|config\s+view\b(?={_ARGS}{{0,200}}--raw))",
    rf"(?:kubectl|oc){_OPTIONS}\s+get\s+secrets?\b(?={_ARGS}{{0,600}}(?:jsonpath|template|custom-columns))",
    r"(?:npm|pnpm)\s+token\s+create\b",
    r"docker-credential-[\w-]{1,40}\s+get\b",
    r"git\s+credential\s+fill\b",
    r"openssl\s+rand\b",
    r"(?:pwgen|apg|wg\s+gen(?:key|psk)|age-keygen)\b",
    r"(?:bin/)?(?:bundle\s+exec\s+)?rails\s+secret\b",
    rf"php\s+artisan\s+key:generate\b(?={_ARGS}{{0,200}}--show)",
    rf"head\s+{_ARGS}{{0,60}}/dev/u?random\b",
    r"(?:cat|less|more|head|tail)\s+[^|;&<>()\n]{0,300}/(?:run|var/run)/secrets/",
)
# Quicker to make and to look for than all of these: most command lines have none of their words.
_NAMED = lazy(
    r"\b(?:pass|passage|gopass|op|bw|rbw|lpass|keepassxc-cli|secret-tool|security|keyring|vault|secrets?|chamber|berglas"
    r"|sops|ansible-vault|age|age-keygen|gpg2?|auth|aws|gcloud|az|heroku|tokens?|kubectl|oc|credential|rand|pwgen|apg|wg"
    r"|artisan|u?random)\b|docker-credential"
)
_PRINTS = lazy(rf"{_LEAD}(?:{'|'.join(_PRINTERS)})")
_FILTER = lazy(
    r"\s*(?:sudo\s+)?(?:awk|base64|base32|cat|column|cut|fold|grep|egrep|gunzip|head|jq|yq|less|more|openssl|paste|python3?"
    r"|rev|sed|sort|tail|tee|tr|uniq|xargs|xxd)\b"
)
_KEPT = lazy(r"(?<![2&])>(?!&)")  # written to a file
_HEREDOC = lazy(r"<<-?\s*(?P<mark>['\"]?)(\w{1,60})(?P=mark)[^\n]*\n[\s\S]*?(?:\n\s*\2\b|$(?![\s\S]))")
_QUOTED = lazy(r"'[^']{0,4096}'|\"(?:[^\"\\$`]|\\.){0,4096}\"")
_PARTS = lazy(r"&&|\|\||[;\n]|&(?![&>\d])|(?<![$>])\(")
_INSIDE = lazy(r"(?:\$\(|`)\s*([^()`]{1,2000})[)`]")
_SAYS = lazy(r"(?:echo|printf|printenv|print)\b")
_VARIABLE = lazy(r"\$\{?([A-Za-z_]\w{1,80})(?![\w:]*[+#])[^}\s]{0,40}\}?|\bprintenv\s+([A-Za-z_]\w{1,80})")
_SAMPLE = "q7Xw2LpVr9Tz"  # a value that any field for a secret may have
_SHOWS = lazy(r"(?:cat|less|more|head|tail|bat|type)\s+(?:-\S+\s+){0,3}([^\s|;&<>()]{1,300})\s*$")
_NO_SECRET_FILE = lazy(r"\.(?!txt$|key$|token$|secret$|pass$|password$|pwd$)[A-Za-z]\w{0,10}$")


def hidden(args: Any, output: str) -> str:
    """``output`` of a tool that was called with ``args``, or a mask where that is a secret by what was called."""
    if not output or not output.strip() or output == PRINTED or not isinstance(args, Mapping):
        return output
    for name in _COMMANDS:
        if (command := _line(args.get(name))) and prints_secret(command, output):
            return PRINTED
    if any(isinstance(path := args.get(name), str) and _holds_secret(path, output) for name in _FILES):
        return PRINTED
    return output


def _line(value: Any) -> str:
    if isinstance(value, list | tuple):
        words = [part for part in value if isinstance(part, str)]
        is_script = len(words) > 2 and words[1][:1] == "-" and words[1][-1:] == "c"  # ["bash", "-lc", "pytest -q"]
        value = words[2] if is_script else " ".join(words)
    return value[:LONGEST] if isinstance(value, str) else ""


def prints_secret(command: str, output: str = "") -> bool:
    """Whether what a command line prints is a secret; for a file that it shows, ``output`` has to look like one."""
    if "<<" in command:
        command = _HEREDOC.sub(" ", command)
    plain = _QUOTED.sub(lambda quoted: f"{quoted[0][0]}{_without_signs(quoted[0][1:-1])}{quoted[0][0]}", command)
    return any(_part_prints(part, output) for part in _PARTS.split(plain))


def _without_signs(text: str) -> str:
    """What is quoted, without what would part a command or begin a pipe."""
    return text.translate(_NO_SIGNS)


_NO_SIGNS = str.maketrans(dict.fromkeys("|;&<>()\n`", "_"))


def _part_prints(part: str, output: str) -> bool:
    """Of one pipeline: its first program prints a secret, all others pass it on, and it is not written to a file."""
    first, *rest = part.split("|")
    if _KEPT.search(part) or not all(map(_FILTER.match, rest)):
        return False
    first = first.strip()
    if _is_printer(first):
        return True
    if (shown := _SHOWS.match(first)) is not None:
        return _holds_secret(shown[1].strip("\"'"), output)
    if _SAYS.match(first) is None:
        return False
    if any(_is_printer(inside[1].strip()) for inside in _INSIDE.finditer(first)):
        return True
    names = (found[1] or found[2] for found in _VARIABLE.finditer(first))
    value = (output.split() or [_SAMPLE])[-1]  # "tokens: 4096" is none
    return any(is_secret_field(name, value) for name in names)


def _is_printer(command: str) -> bool:
    return _NAMED.search(command) is not None and _PRINTS.match(command) is not None


def _holds_secret(path: str, output: str) -> bool:
    """Whether a file has a secret's name and holds one, and nothing else: ``.vault-token``, ``db_password.txt``."""
    name = path.replace("\\", "/").rpartition("/")[2]
    lines = output.strip().splitlines()
    if not 0 < len(lines) <= MOST_LINES or _NO_SECRET_FILE.search(name):
        return False
    told = name.lstrip(".").partition(".")[0]
    value = lines[0].split("\t")[-1].split("\u2192")[-1].strip()  # behind a line's number
    return not any(map(str.isspace, value)) and is_secret_field(told, value)
