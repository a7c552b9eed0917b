"""`code-commit plugins new NAME --kind KIND`: create a plugin of that kind, with tests that pass.

The files are in `templates`: those of the kind, and the ones of every kind. They are valid code for
a plugin called `new-name`; `create` replaces that name.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from pydantic import BaseModel

from code_commit.plugin_api import ExitCode, Host, NotReady, UsageError

_TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 30
_WORKFLOW = "code-commit-commit"  # whose hooks the plugin imports


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of plugin.

    It has its words in a text, how to use it, an example of its settings, its entry point group,
    and a distribution that it needs.
    """

    words: str
    usage: str = "code-commit"
    setting: str = ""
    group: str = "code_commit"
    needs: str = ""


KINDS: Mapping[str, Kind] = {
    "provider": Kind("provider", "code-commit --model new-name"),
    "workflow": Kind("workflow", "code-commit --new-name README.md", "new_name_words = 50"),
    "command": Kind("command", "code-commit new-name"),
    "rule": Kind("path rule", setting="max_bytes = 20000", group="code_commit.path_rules"),
    "layer": Kind("model layer", setting="max_calls = 10"),
    "sink": Kind("log sink", setting='file = "~/runs.tsv"'),
    "instructions": Kind("section of the prompt", setting='file = "docs/conventions.md"'),
    "context": Kind("context", "code-commit --context new-name", 'folder = "lib"', needs=_WORKFLOW),
    "format": Kind("response format", "code-commit --format new-name", needs=_WORKFLOW),
    "check": Kind("acceptance check", setting="max_files = 5"),
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "Create the folder code-commit-NAME with a working plugin, its tests and a README."
    )
    parser.add_argument(
        "name", metavar="NAME", help="lower-case letters, digits and -, such as rate-limit"
    )
    parser.add_argument(
        "--kind",
        required=True,
        choices=KINDS,
        metavar="KIND",
        help=f"one of {', '.join(KINDS)}",
    )
    parser.add_argument(
        "--folder", default=".", metavar="DIR", help="where to create it (default: here)"
    )


def create(host: Host, arguments: Namespace) -> int:
    """Create the distribution; print its files.

    Raises:
        UsageError: the name cannot be one, or is taken.
        NotReady: the folder exists, or cannot be written.
    """
    _require_free_name(host, arguments.name, arguments.kind)
    target = host.root / arguments.folder / f"code-commit-{arguments.name}"
    if target.exists() or target.is_symlink():
        raise NotReady(f"{target} exists", hint="remove it, or use another name or --folder")
    try:
        for path, text in rendered(arguments.name, arguments.kind):
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            host.out.line(str(Path(arguments.folder, target.name, path)))
    except OSError as error:
        raise NotReady(f"cannot write {error.filename or target}: {error.strerror}") from error
    host.out.note(f"README.md in {target.name} shows how to install, test and use it")
    return ExitCode.REACHED


def rendered(name: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file."""
    facts = KINDS[kind]
    settings = ""
    if facts.setting:
        table = f"```toml\n[plugins.new-name]\n{facts.setting}\n```"
        settings = f"\nIts settings are in `agent-config/config.toml`:\n\n{table}\n"
    needs = f'"{facts.needs}>=VERSION", ' if facts.needs else ""
    article = "An" if facts.words[0] in "aeiou" else "A"
    words = {
        "NEEDS": needs,
        "A KIND": f"{article} {facts.words}",
        "KIND": facts.words,
        "USAGE": facts.usage,
        "SETTINGS\n": settings,
        "GROUP": facts.group,
        "VERSION": ".".join(version("code-commit").split(".")[:2]),
        "new-name": name,
        "new_name": name.replace("-", "_"),
        "NEW_NAME": name.replace("-", "_").upper(),
        "NewName": "".join(part.capitalize() for part in name.split("-")),
    }
    for folder in (_TEMPLATES / "common", _TEMPLATES / kind):
        for file in sorted(folder.rglob("*")):
            if not file.is_file() or file.suffix == ".pyc":
                continue
            path = file.relative_to(folder).as_posix()
            text = file.read_text("utf-8")
            for placeholder, word in words.items():
                path, text = path.replace(placeholder, word), text.replace(placeholder, word)
            yield ".gitignore" if path == "gitignore" else path, text


def _require_free_name(host: Host, name: str, kind: str) -> None:
    module = name.replace("-", "_")
    if name.startswith("code-commit"):
        raise UsageError(
            f"the name is without code-commit: {name!r}",
            hint="the distribution is code-commit-NAME",
        )
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME or iskeyword(name):
        raise UsageError(
            f"{name!r} cannot be the name of a plugin",
            hint=f"use at most {_LONGEST_NAME} lower-case letters, digits and single hyphens, "
            "a letter first, and no keyword of Python",
        )
    if name in host.registry.names_in_use() or find_spec(f"code_commit_{module}"):
        raise UsageError(
            f"{name!r} is a name of code-commit or of an installed plugin", hint="use another name"
        )
    if kind == "workflow" and hasattr(BaseModel, module):
        raise UsageError(
            f"{name!r} is a method of pydantic: no flag can have this name", hint="use another name"
        )
