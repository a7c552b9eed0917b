"""Choose which settings of git count: harmless ones of the repository, and programs only from the
user.

A setting can name a program: a filter, a signer, a pager, a transport. Those in the repository
never run, because a build could have written them. The user's own run for commits that the user
asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from code_commit_workspace.files.way_of_path import replaceable_places
from code_commit_workspace.git.config_file import Entry

_DATA = re.compile(
    r"core\.(?:abbrev|autocrlf|bigfilethreshold|checkstat|compression|eol|excludesfile|filemode|fsync|fsyncmethod"
    r"|ignorecase|logallrefupdates|loosecompression|precomposeunicode|preloadindex|protecthfs|protectntfs"
    r"|repositoryformatversion|safecrlf|sharedrepository|sparsecheckout|sparsecheckoutcone|splitindex|symlinks"
    r"|trustctime|untrackedcache)"
    r"|extensions\.(?!worktreeconfig$)[a-z0-9-]+"
    r"|(?:user|author|committer)\.[a-z]+"
    r"|index\.(?:sparse|version)|commit\.gpgsign|gpg\.format|lfs\.storage"
)
"""Settings that count in any file, because none of them names a program."""
_OF_USER = re.compile(r"core\.attributesfile|safe\.directory")
_PROGRAMS = re.compile(r"(?:filter|gpg|lfs)\..+", re.DOTALL)
_FILTER = re.compile(r"filter\.(.+)\.(?:clean|process)", re.DOTALL)
_REFUSED = "false # code-commit runs a filter only if the configuration in your home folder has it"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of git that count in one repository.

    `programs` are only for commits: the user's filters and signer, and a refusal in place of each
    filter that only the repository configures. `hooks` is the folder in `core.hooksPath`, or "".
    """

    data: tuple[Entry, ...]
    programs: tuple[Entry, ...]
    hooks: str = ""
    trusted_folders: tuple[str, ...] = field(default=())  # the values of safe.directory

    @property
    def object_format(self) -> str:
        """Return the hash of object ids, `sha1` or `sha256`."""
        return dict(self.data).get("extensions.objectformat", "sha1").lower()

    def text(self) -> str:
        """Return `data` as a configuration file."""
        return config_text(self.data) + "[core]\n\tbare = false\n"


def choose(of_user: Sequence[Entry], of_repository: Sequence[Entry]) -> Settings:
    """Return the settings that count, from the user's files and the repository's own."""
    data = [
        entry for entry in of_user if (_DATA.fullmatch(entry[0]) or _OF_USER.fullmatch(entry[0]))
    ]
    data = [entry for entry in data if not entry[0].startswith("extensions.")]
    trusted = tuple(value for name, value in data if name == "safe.directory")
    data = [entry for entry in data if entry[0] != "safe.directory"]
    data += [entry for entry in of_repository if _DATA.fullmatch(entry[0])]
    programs = [entry for entry in of_user if _PROGRAMS.fullmatch(entry[0])]
    known = {found[1] for name, _ in programs if (found := _FILTER.fullmatch(name))}
    foreign = {found[1] for name, _ in of_repository if (found := _FILTER.fullmatch(name))} - known
    for name in sorted(foreign):
        programs += [(f"filter.{name}.clean", _REFUSED), (f"filter.{name}.required", "true")]
    hooks = [value for name, value in (*of_user, *of_repository) if name == "core.hookspath"]
    return Settings(tuple(data), tuple(programs), hooks[-1] if hooks else "", trusted)


def read_of_user(listing: bytes, root: Path) -> list[Entry]:
    """Parse `git config --list -z --show-scope --show-origin`, without files in the project at
    `root`.
    """
    return list(_outside(listing.split(b"\0")[:-1], root))


def _outside(fields: Sequence[bytes], root: Path) -> Iterator[Entry]:
    may_count: dict[str, bool] = {}
    for scope, origin, entry in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        if scope not in {b"system", b"global"}:
            continue
        path = os.fsdecode(origin.removeprefix(b"file:"))
        if path not in may_count:
            may_count[path] = not any(replaceable_places(Path(path), root))
        if may_count[path]:
            name, line, value = os.fsdecode(entry).partition("\n")
            yield name, value if line else "true"


def config_text(entries: Iterable[Entry]) -> str:
    """Return `entries` as a configuration file."""
    return "".join(map(_lines, entries))


def _lines(entry: Entry) -> str:
    name, _, key = entry[0].rpartition(".")
    section, dot, part = name.partition(".")
    header = f'{section} "{_escaped(part)}"' if dot else section
    return f'[{header}]\n\t{key} = "{_escaped(entry[1])}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
