"""Find the files that a text names: a query, or the output of a build."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from code_commit_context.terms import WITHOUT_BLANKS

_LONGEST = 1024 * 1024  # characters of a text
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_PATH = re.compile(r"[^\s\"'`<>|,;:*?=\u3000-\u303f\uff00-\uffef]+")
_MARKS = "()[]{}!@#$&."
# `package.module`, `crate::module::name`, `SomeName`, `some_name`; no word of a sentence.
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*")
_ONE_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class FileNames:
    """The last parts of `paths`, to find the paths that a text means."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            name = path.rpartition("/")[2]
            self._by_name[name].append(path)
            self._by_stem[name.partition(".")[0]].append(path)

    def named_in(self, text: str) -> list[str]:
        """Return the files that `text` names, the most frequent first.

        A text names a file by its path, by the end of its path if no other file ends so, by its
        module, or by an identifier that is the name of one file alone.
        """
        text = _COLOR.sub("", text[:_LONGEST])
        mentions: Counter[str] = Counter()
        for word, count in Counter(_PATH.findall(text)).items():
            mentions.update(dict.fromkeys(self._at_path(word), count))
        for word, count in Counter(_IDENTIFIER.findall(text)).items():
            mentions.update(dict.fromkeys(self._of_identifier(word), count))
        return [path for path, _ in mentions.most_common()]

    def _at_path(self, word: str) -> Sequence[str]:
        for form in _forms(word):
            paths = self._by_name.get(form.rpartition("/")[2], ())
            if form in paths:
                return [form]
            ending = [path for path in paths if path.endswith(f"/{form}")]
            if len(ending) == 1:
                return ending
            below = [path for path in paths if form.endswith(f"/{path}")]
            if below:  # the path begins above the project
                return [max(below, key=len)]
        return []

    def _of_identifier(self, word: str) -> Sequence[str]:
        names = word.replace("::", ".").split(".")
        if len(names) == 1:
            alone = self._by_stem.get(word, ())
            return alone if len(alone) == 1 and not _ONE_WORD.fullmatch(word) else ()
        for parts in (names, names[:-1], names[1:], names[1:-1]):  # without a crate, an attribute
            if paths := self._of_module(parts):
                return paths
        return ()

    def _of_module(self, names: Sequence[str]) -> Sequence[str]:
        """Return the file of a module, such as `a/b.py` of `a.b`, unless several may be meant."""
        if len(names) < 2:  # noqa: PLR2004 - a word alone names no module
            return []
        end = "/".join(names) + "."
        paths = [
            path
            for path in self._by_stem.get(names[-1], ())
            if path.startswith(end) or f"/{end}" in path
        ]
        return paths if len(paths) == 1 else []


def _forms(word: str) -> Iterator[str]:
    """Yield `word` as a path.

    That is all of it, without marks around it, without `(3,5)` at its end, or between Chinese text.
    """
    forms = (word, word.strip(_MARKS), word.partition("(")[0].strip(_MARKS))
    for form in (*forms, *WITHOUT_BLANKS.split(word)):
        yield form.removeprefix("./")
