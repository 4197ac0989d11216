"""What a connector is called when nobody gave it a name: derived from the command line or the URL.

Rules of `docs/contract.md`: for stdio the script or package name, with wrapper programs and everything up to a ``--``
stripped and generic names replaced by the parent folder's; for HTTP the host, with a port that is not the default.
URLs lose userinfo, query and fragment before anybody sees them.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import SplitResult, urlsplit

MAX_NAME: Final = 80
"""Characters. Longer names make labels and tables unreadable and come from machines, not from people."""

_WRAPPERS: Final = frozenset(
    {
        "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "sudo", "doas", "exec", "sh", "bash",
        "zsh", "cmd", "cmd.exe", "powershell", "pwsh", "uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye", "npx",
        "bunx", "pnpm", "yarn", "npm", "bun", "deno", "node", "nodejs", "tsx", "ts-node", "python", "python3", "py",
        "pythonw", "java", "ruby", "go", "cargo", "dotnet", "docker", "podman", "opentelemetry-instrument",
    }
)  # fmt: skip
_CONTAINERS: Final = frozenset({"docker", "podman"})
_VERBS: Final = frozenset({"run", "exec", "x", "dlx", "tool", "start", "compose", "launch", "-"})
_GENERIC: Final = frozenset(
    {"server", "main", "index", "app", "dist", "build", "src", "__main__", "__init__", "cli", "bin", "lib", "mcp"}
)
_VALUE_FLAGS: Final = frozenset({"-p", "-c", "-cp", "-classpath", "-r", "-X", "-W"})
_CONTAINER_VALUE_FLAGS: Final = frozenset({"-e", "-h", "-l", "-m", "-p", "-u", "-v", "-w"})
"""Kept apart: ``-u`` takes a value for docker and none for python, ``-m`` is a module for python only."""
_SWITCHES: Final = re.compile(
    r"--(no|allow|deny|unstable|experimental|enable|disable|trace|use|prefer|preserve|ignore)-.*|--("
    "all-extras|bun|detach|dev|foreground|frozen|init|inspect|interactive|isolated|locked|native-tls|non-interactive|"
    "offline|privileged|quiet|read-only|refresh|release|reload|rm|silent|tty|unstable|verbose|watch|yes)"
)
"""Long flags of wrappers that take no value. What follows any other one may be a token, and is never a name."""
_PYTHON: Final = re.compile(r"(python|pypy)[\d.]*(\.exe)?$", re.IGNORECASE)
_SUFFIX: Final = re.compile(r"\.(py|pyz|js|mjs|cjs|ts|mts|jar|rb|sh|exe|cmd|bat|dll)$", re.IGNORECASE)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=(?!=)")
"""``NAME=value`` in front of a command; ``package==1.2`` is none."""
_NO_NAME: Final = re.compile(r"\d+(\.\d+)?[smhd]?|/[A-Za-z]")
"""The time of ``timeout 60s``, the switch of ``cmd /c``."""
_USERINFO: Final = re.compile(r"//[^/]*@")
_SCRIPT_FLAG: Final = re.compile(r"-[a-z]*c")
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def from_command(command: str, args: Sequence[str]) -> str | None:
    """A name for a stdio server, or None where the command line holds none."""
    words = [command, *args]
    if "--" in words[1:]:
        words = words[len(words) - words[::-1].index("--") :] or words
    if _basename(command) in _SHELLS:
        words = _last_of_script(_script(args)) or words
    return _first_name(words)


def _script(args: Sequence[str]) -> str:
    """What a shell is given with ``-c`` or ``-lc``."""
    return next(
        (text for flag, text in pairwise(args) if _SCRIPT_FLAG.fullmatch(flag) and not text.startswith("-")), ""
    )


def _last_of_script(script: str) -> list[str]:
    """The words of the last command of a shell's ``-c`` line: what comes before it prepares the ground."""
    try:
        return shlex.split(re.split(r"&&|\|\||[;|\n]", script)[-1])
    except ValueError:
        return []


def _first_name(words: Sequence[str]) -> str | None:
    """The name in the first word that is no wrapper's: those after it are the server's own arguments."""
    skip_value = container = module = False
    for place, word in enumerate(words):
        if skip_value:
            skip_value = False
            continue
        if word.startswith("-") and word != "-":
            module = word in {"-m", "--module"} and not container
            skip_value = not module and _takes_value(word, container)
            continue
        if "://" in word:
            word = safe_url(word)
        name = _basename(word)
        runs_another = name == "mcp" and words[place + 1 : place + 2] == ["run"]
        if not module and (_is_wrapper(name) or name in _VERBS or runs_another or _says_nothing(word)):
            container = container or name.lower() in _CONTAINERS
            continue
        if module:
            name = _module_name(word)
        elif container:
            name = name.split(":", 1)[0]  # image:tag
        elif name.lower() in _GENERIC:
            name = _parent_name(word) or name
        return clean(name) or _last_resort(words)
    return _last_resort(words)


def _takes_value(flag: str, container: bool) -> bool:
    if "=" in flag:
        return False
    if flag.startswith("--"):
        return _SWITCHES.fullmatch(flag) is None
    return flag in (_CONTAINER_VALUE_FLAGS if container else _VALUE_FLAGS)


def _says_nothing(word: str) -> bool:
    return _ASSIGNMENT.match(word) is not None or _NO_NAME.fullmatch(word) is not None


def _last_resort(words: Sequence[str]) -> str | None:
    return clean(_basename(safe_url(words[0]))) or None if words else None


def _is_wrapper(name: str) -> bool:
    return name.lower() in _WRAPPERS or _PYTHON.match(name) is not None


def _basename(word: str) -> str:
    name = word.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    name = name.split("@", 1)[0] or word  # package@1.2.3, @scope/package@1.2.3
    name = re.split(r"[\[=<>~!]", name, maxsplit=1)[0] or name  # package[extra]==1.2
    return _SUFFIX.sub("", name)


def _module_name(word: str) -> str:
    parts = [part for part in word.split(".") if part]
    while len(parts) > 1 and parts[-1].lower() in _GENERIC:
        parts.pop()
    return parts[-1] if parts else ""


def _parent_name(word: str) -> str | None:
    parts = [part for part in word.replace("\\", "/").split("/")[:-1] if part not in {"", ".", "..", "~"}]
    while parts and (parts[-1].lower() in _GENERIC or parts[-1].endswith(":")):
        parts.pop()
    return parts[-1] if parts else None


def split(url: str) -> SplitResult:
    """`urlsplit` that takes anything: what is no URL is a path."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url.split("?", 1)[0].split("#", 1)[0], "", "")


def from_url(url: str) -> str | None:
    """A name for an HTTP, SSE or WebSocket server: its host, with a port that is not the default."""
    parts = split(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = parts.hostname, None
    if not host:
        return None
    return clean(host if port is None or port == _DEFAULT_PORTS.get(parts.scheme) else f"{host}:{port}") or None


def safe_url(url: str) -> str:
    """The URL without userinfo, query and fragment."""
    parts = split(url)
    host = parts.netloc.rsplit("@", 1)[-1]
    path = safe_path(parts.path)
    return f"{parts.scheme}://{host}{path}" if parts.scheme else f"{host}{path}"


def safe_path(path: str) -> str:
    """The path without the userinfo of a URL inside it: ``jdbc:postgresql://user:password@host``."""
    return _USERINFO.sub("//", path)


def address(url: str) -> tuple[str | None, int | None]:
    """Host and port of a URL, the scheme's default port filled in."""
    parts = split(url)
    try:
        return parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return parts.hostname, None


def clean(name: str) -> str:
    """A name fit for a label: printable, without surrounding space, at most 80 characters."""
    text = "".join(character for character in name if character.isprintable()).strip()
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"


def configured(rules: Iterable[tuple[str, str]], subject: str) -> str | None:
    """The first name of `OTEL_MCP_CONNECTORS` whose glob matches the target."""
    return next((name for name, glob in rules if fnmatch.fnmatchcase(subject, glob)), None)


def with_hash(name: str, target: str) -> str:
    """The name of a second target that would be called the same: four hex digits of its hash are added."""
    return f"{name}-{hashlib.sha256(target.encode('utf-8', 'replace')).hexdigest()[:4]}"
