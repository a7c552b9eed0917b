"""Take out thinking that leaked into the text of a reply, before a workflow reads it. The run folder keeps it.

A service should send thinking apart from the text. A server whose chat template or parser does not know the model
leaves it in the text: `<think>…</think>`, the end of it alone, because the template wrote the beginning, or the
channels of OpenAI's open models. Thinking contains drafts, which must not be applied.

Text that is about such tags stays. A tag counts

- outside of a file block (`^^^path` … `^^^end` or `^^^delete`) and of a Markdown block of code;
- without a quote, a backslash or a single backtick right after it;
- as a beginning, at the start of a line, or right after the end of other thinking;
- as an end without a beginning, at the start or the end of a line, or right after a character that is no blank.

Everything from a beginning to its end is thinking; without an end, to the end of the text, and the reply is cut. An end
without a beginning means that everything before it is thinking. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from code_commit.plugin_api.conversation import Completion, Finish, Part, Text

_NAMES = r"(?:seed:)?(?:think|thinking|thought|reasoning)"
_CHANNEL = r"(?:<\|start\|>assistant)?<\|channel\|>"
_BEGINNING = re.compile(rf"[ \t]*(?:<{_NAMES}>|\[THINK\]|{_CHANNEL}(?!final\b)\w[^<\n]*<\|message\|>)", re.IGNORECASE)
_TAG_END = rf"(?:</{_NAMES}>|\[/THINK\])(?!['\"\\]|`(?!``))"
_FINAL = rf"(?:<\|end\|>)?{_CHANNEL}final\b[^<\n]*<\|message\|>"
_END = re.compile(rf"{_TAG_END}|{_FINAL}|<\|(?:end|return|call)\|>", re.IGNORECASE)
_END_ALONE = re.compile(rf"{_TAG_END}|{_FINAL}", re.IGNORECASE)
_ANY_TAG = re.compile(rf"</?{_NAMES}>|\[/?THINK\]|<\|channel\|>", re.IGNORECASE)
_LAST_TOKEN = re.compile(r"<\|(?:end|return)\|>(?=\s*\Z)")
_MARK = re.compile(r"[<\[]")  # the first character of a tag
_BLANKS = re.compile(r"[ \t]*")
_CODE = re.compile(r"[ \t]*```")
_END_OF_LINE = re.compile(r"\s*\Z")
_BOM = "\ufeff"
_UNFINISHED = "thinking without an end"


class ThinkingFilter:
    """Takes the text of one reply in pieces of any size, and passes on what is not thinking.

    The result does not depend on how the text is cut. A line is held back from the first character on that may begin a
    tag, so that most text passes at once.
    """

    def __init__(self) -> None:
        self.is_thinking = False  # the text so far ends inside thinking
        self.restarted = False  # the latest piece showed that all text before it was thinking
        self._line: list[str] = []  # the pieces of the unfinished line
        self._passed = 0  # characters of it that were passed on
        self._holds = False  # the rest of it is held back
        self._in_block = self._in_code = False
        self._in_final = False  # the text is in a channel, which ends with a token
        self._is_first = self._is_empty = True  # the line; what was passed on
        self._drops_blank_lines = False
        self._visible: list[str] = []

    def feed(self, piece: str) -> str:
        """Return the text that `piece` adds."""
        self.restarted = False
        *lines, rest = piece.split("\n")
        for line in lines:
            self._line.append(line + "\n")
            self._end_line()
        if rest:
            self._line.append(rest)
            self._pass_beginning(rest)
        return self._taken()

    def finish(self) -> str:
        """Return the rest of the text."""
        self.restarted = False
        self._end_line()
        return self._taken()

    def _taken(self) -> str:
        visible, self._visible = "".join(self._visible), []
        return visible

    def _pass_beginning(self, rest: str) -> None:
        """Pass on what arrived of a line, as far as it cannot be a tag."""
        if self._holds or self.is_thinking:
            return
        is_literal = (self._in_block or self._in_code) and not self._in_final
        if not self._passed and not is_literal:
            if _is_blank(rest):
                return  # may be before a tag
            rest = "".join(self._line)
        mark = None if is_literal else _MARK.search(rest)
        self._holds = mark is not None
        passing = rest[: mark.start()] if mark else rest
        if self._passed or is_literal or not _is_blank(passing):  # blanks before a tag belong to it
            self._passed += len(passing)
            self._pass(passing)

    def _pass(self, text: str) -> None:
        if text:
            self._visible.append(text)
            self._is_empty = self._is_empty and not text.strip()
            self._drops_blank_lines = False

    def _end_line(self) -> None:
        """Pass on the rest of a line."""
        line = "".join(self._line)
        if self._in_final and (not self._in_block or line.startswith("^^^end")):
            line = _LAST_TOKEN.sub("", line)
        start = 1 if self._is_first and line.startswith(_BOM) else 0
        shown_from, self._passed, self._line = self._passed, 0, []
        self._holds = self._is_first = False
        while True:
            if self.is_thinking:
                end = _END.search(line, start)
                if end is None:
                    return
                self.is_thinking = False
                self._drops_blank_lines = self._is_empty
                start = shown_from = self._after(end, line)
            elif self._is_literal(line, start):
                break
            elif beginning := _BEGINNING.match(line, start):
                self.is_thinking, start = True, beginning.end()
            elif end := _end_alone(line, start):
                self._visible, self.restarted = [], True
                self._is_empty = self._drops_blank_lines = True
                start = shown_from = self._after(end, line)
            else:
                break
        rest = line[shown_from:]
        if not self._drops_blank_lines or rest.strip():
            self._pass(rest)

    def _after(self, end: re.Match[str], line: str) -> int:
        """Return where the text begins after the end of thinking."""
        self._in_final = end[0].endswith("<|message|>")
        blanks = _BLANKS.match(line, end.end())
        return blanks.end() if blanks and self._drops_blank_lines else end.end()

    def _is_literal(self, line: str, start: int) -> bool:
        """Return whether a line is a part of a file or of code, or begins or ends one: it has no tags."""
        if line.startswith("^^^", start):
            word = line[start + 3 :].strip()
            ends = word in {"end", "delete"}
            if ends or word.strip("^"):  # a line of carets alone underlines a title
                self._in_block = not ends
            return True
        if self._in_block:
            return True
        if _CODE.match(line, start):
            self._in_code = not self._in_code
            return True
        return self._in_code


def _is_blank(text: str) -> bool:
    return not text.strip().strip(_BOM).strip()


def _end_alone(line: str, start: int) -> re.Match[str] | None:
    """Return the end of thinking in `line` that has no beginning, and is not a word of a sentence."""
    blanks = _BLANKS.match(line, start)
    begins = blanks.end() if blanks else start
    for end in _END_ALONE.finditer(line, start):
        is_word = end.start() > begins and line[end.start() - 1] in " \t"
        if not is_word or _END_OF_LINE.match(line, end.end()):
            return end
    return None


def visible_text(text: str) -> str:
    """Return `text` without leaked thinking."""
    return _visible([text])[0][0]


def without_thinking(completion: Completion) -> Completion:
    """Return a completion without leaked thinking. If the thinking has no end, a reply that looks whole is CUT."""
    parts = completion.message.parts
    texts = [part.text for part in parts if isinstance(part, Text)]
    visible, is_whole = _visible(texts)
    if visible == texts:
        return completion
    remaining = iter(visible)
    shown: list[Part] = []
    for part in parts:
        if not isinstance(part, Text):
            shown.append(part)
        elif text := next(remaining):
            shown.append(replace(part, text=text))
    completion = replace(completion, message=replace(completion.message, parts=tuple(shown)))
    if is_whole or completion.finish is not Finish.STOP:
        return completion
    return replace(completion, finish=Finish.CUT, finish_detail=_UNFINISHED)


def _visible(texts: list[str]) -> tuple[list[str], bool]:
    """Return what is visible of the texts of one reply, and whether no thinking is unfinished."""
    if not _ANY_TAG.search("".join(texts)):
        return texts, True
    thinking = ThinkingFilter()
    visible: list[str] = []
    for text in texts:
        piece = thinking.feed(text)
        if thinking.restarted:
            visible = [""] * len(visible)
        visible.append(piece)
    if texts:
        piece = thinking.finish()
        if thinking.restarted:
            visible = [""] * len(visible)
        visible[-1] += piece
    return visible, not thinking.is_thinking
