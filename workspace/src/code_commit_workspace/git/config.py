"""Choose which settings of git count.

A setting can name a program: a filter, a signer, a pager, a transport. Those in the repository
never run, because a build could have written them: only its harmless settings count. The user's own
programs run for commits that the user asked for.
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
    r"core\.(?:abbrev|autocrlf|bigfilethreshold|checkstat|compression|eol|excludesfile|filemode"
    r"|fsync|fsyncmethod|ignorecase|logallrefupdates|loosecompression|precomposeunicode"
    r"|preloadindex|protecthfs|protectntfs|repositoryformatversion|safecrlf|sharedrepository"
    r"|sparsecheckout|sparsecheckoutcone|splitindex|symlinks|trustctime|untrackedcache)"
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
    data: list[Entry] = []
    trusted: list[str] = []
    for name, value in of_user:
        if name == "safe.directory":
            trusted.append(value)
        elif name.startswith("extensions."):
            continue  # these describe a repository
        elif _DATA.fullmatch(name) or _OF_USER.fullmatch(name):
            data.append((name, value))
    data += [entry for entry in of_repository if _DATA.fullmatch(entry[0])]
    programs = [entry for entry in of_user if _PROGRAMS.fullmatch(entry[0])]
    for name in sorted(_filters(of_repository) - _filters(programs)):
        programs.append((f"filter.{name}.clean", _REFUSED))
        programs.append((f"filter.{name}.required", "true"))
    hooks = ""
    for name, value in (*of_user, *of_repository):
        if name == "core.hookspath":
            hooks = value
    return Settings(tuple(data), tuple(programs), hooks, tuple(trusted))


def _filters(entries: Iterable[Entry]) -> set[str]:
    """Return the names of the filters that `entries` configure."""
    return {match[1] for name, _ in entries if (match := _FILTER.fullmatch(name))}


def read_of_user(listing: bytes, root: Path) -> list[Entry]:
    """Return the user's settings in `listing`, except those from files in the project at `root`.

    `listing` is the output of `git config --list -z --show-scope --show-origin`.
    """
    return list(_outside(listing.split(b"\0")[:-1], root))


def _outside(fields: Sequence[bytes], root: Path) -> Iterator[Entry]:
    counts: dict[str, bool] = {}  # by path of a file: no build can write it
    iterator = iter(fields)
    for scope, origin, entry in zip(iterator, iterator, iterator, strict=False):
        if scope not in {b"system", b"global"}:
            continue
        path = os.fsdecode(origin.removeprefix(b"file:"))
        if path not in counts:
            counts[path] = not any(replaceable_places(Path(path), root))
        if counts[path]:
            name, line_break, value = os.fsdecode(entry).partition("\n")
            if not line_break:
                value = "true"
            yield name, value


def config_text(entries: Iterable[Entry]) -> str:
    """Return `entries` as a configuration file."""
    return "".join(map(_lines, entries))


def _lines(entry: Entry) -> str:
    name, _, key = entry[0].rpartition(".")
    section, dot, part = name.partition(".")
    header = section
    if dot:
        header = f'{section} "{_escaped(part)}"'
    return f'[{header}]\n\t{key} = "{_escaped(entry[1])}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
