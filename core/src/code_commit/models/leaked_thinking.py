"""Take out thinking that leaked into the text of a reply, before a workflow reads it.

The run folder keeps it.

A service should send thinking apart from the text. A server whose chat template or parser does not
know the model leaves it in the text: `<think>…</think>`, the end of it alone, because the template
wrote the beginning, or the channels of OpenAI's open models, with their tokens or without. Thinking
contains drafts, which must not be applied.

Text that is about such tags stays. A tag counts

- outside of a file block (`^^^path` … `^^^end` or `^^^delete`) and of a Markdown block of code;
- without a quote, a backslash or a single backtick right after it;
- as a beginning, at the start of a line, or right after the end of other thinking;
- as an end without a beginning on its line, unless it stands like a word in a sentence or between
  marks.

Everything from a beginning to its end is thinking; without an end, to the end of the text, and the
reply is cut. An end without a beginning means that everything before it is thinking.

Where a tag may be meant or not, and a file block depends on it, the text stays and the reply is
unclear: nobody may use it. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from code_commit.plugin_api.conversation import Completion, Finish, Part, Text

_NAMES = r"(?:(?:seed|mm):)?(?:think|thinking|thought|reasoning)"
_WORDS = r"(?:thoughts|analysis|reflection|scratchpad)"  # they count only at the start of a reply
_BLANK = r"[ \t]{0,9}"
_CHANNEL = r"(?:<\|start\|>assistant)?<\|channel\|>"
_NO_QUOTE = r"(?!['\"\\]|`(?!``))"
_TAG_BEGINNING = (
    rf"(?:<{_NAMES}{_BLANK}>|\[THINK\]|<\|START_THINKING\|>|<\|begin_of_thought\|>|◁think▷)"
)
_TAG_END = (
    rf"(?:</{_NAMES}{_BLANK}>|\[/THINK\]|<\|END_THINKING\|>|<\|end_of_thought\|>|◁/think▷)"
    rf"{_NO_QUOTE}"
)
_BEGINNING = re.compile(
    rf"[ \t]*(?:{_TAG_BEGINNING}|{_CHANNEL}(?!final\b)\w[^<\n]*<\|message\|>)", re.IGNORECASE
)
_WORD_BEGINNING = re.compile(rf"[ \t]*<(?P<word>{_WORDS}){_BLANK}>", re.IGNORECASE)
_FINAL = rf"(?:<\|end\|>)?{_CHANNEL}final\b[^<\n]*<\|message\|>"
_END = re.compile(rf"{_TAG_END}|{_FINAL}|<\|(?:end|return|call)\|>", re.IGNORECASE)
_BLOCK_AFTER_END = re.compile(rf"(?:{_TAG_END}|{_FINAL})\^\^\^[\w./-]+\s*\Z", re.IGNORECASE)
_WORD_ENDS = {
    word: re.compile(rf"</{word}{_BLANK}>{_NO_QUOTE}", re.IGNORECASE)
    for word in ("thoughts", "analysis", "reflection", "scratchpad")
}
_TAG = re.compile(
    rf"(?P<beginning>{_TAG_BEGINNING}{_NO_QUOTE})|(?P<end>{_TAG_END}|{_FINAL})"
    rf"|(?P<word_beginning><{_WORDS}{_BLANK}>)|(?P<word_end></{_WORDS}{_BLANK}>)",
    re.IGNORECASE,
)
_ANY_TAG = re.compile(
    rf"{_TAG_BEGINNING}|{_TAG_END}|</?{_WORDS}{_BLANK}>|<\|channel\|>|assistantfinal"
    r"|\A[\s\ufeff]*analysis",
    re.IGNORECASE,
)
_BARE_BEGINNING = "analysis"  # of the first channel, where a server dropped the tokens
_BARE_CHANNEL = re.compile(r"[A-Z^\r\n]")  # right after it: it is no word of a sentence
_BARE_FINAL = re.compile(rf"assistantfinal{_NO_QUOTE}")
_LAST_TOKEN = re.compile(r"<\|(?:end|return)\|>(?=\s*\Z)")
_MARK = re.compile(r"[<\[◁]")  # the first character of a tag
_BLANKS = re.compile(r"[ \t]*")
_CODE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})(?P<rest>[^\n]*)")
_MARK_BEFORE = re.compile(r"[(\[{*|_\"'`/<]")  # a tag after it is quoted
_TEXT_AFTER = re.compile(r"\^\^\^|\w")
_SENTENCE_ENDS = (".", "!", "?", "…", ":", "。")
_END_OF_LINE = re.compile(r"\s*\Z")
_BOM = "\ufeff"
_BLANK_CHARACTERS = " \t\r\n\ufeff"
_UNFINISHED = "thinking without an end"
_UNCLEAR = "thinking that cannot be told from the answer"


class ThinkingFilter:
    """Takes the text of one reply in pieces of any size, and passes on what is not thinking.

    The result does not depend on how the text is cut. A line is held back from the first character
    on that may begin a tag, so that most text passes at once.
    """

    def __init__(self) -> None:
        self.is_thinking = False  # the text so far ends inside thinking
        self.restarted = False  # the latest piece showed that all text before it was thinking
        self._line: list[str] = []  # the pieces of the unfinished line
        self._passed = 0  # characters of it that were passed on
        self._holds = False  # the rest of it is held back
        self._in_block = False
        self._fence = ""  # that began the Markdown block of code
        self._word_end: re.Pattern[str] | None = None  # of the thinking, if only this ends it
        self._in_bare_channel = False  # the text began with the name of a channel
        self._is_bare_sure = False  # nothing else can be meant, and its end did not come
        self._has_file = False  # a file block ended in the text
        self._dropped_file = False  # before an end of thinking
        self._is_unclear = False  # the text may have thinking and files of the answer
        self._is_mentioned = False  # a beginning in the text may be meant, and has no end yet
        self._was_mentioned = False  # before the block of code began
        self._has_draft = False  # a file block follows such a beginning
        self._follows_file = False  # a file block ended before such a beginning
        self._in_final = False  # the text is in a channel, which ends with a token
        self._is_first = self._is_empty = True  # the line; what was passed on
        self._drops_blank_lines = False
        self._visible: list[str] = []

    @property
    def is_unclear(self) -> bool:
        """Whether a file block may be a draft, or the answer before an end of thinking."""
        return self._is_unclear or self._has_draft or (self._dropped_file and self._is_empty)

    def feed(self, piece: str) -> str:
        """Return the text that `piece` adds."""
        self.restarted = False
        *lines, beginning = piece.split("\n")
        for line in lines:
            self._line.append(line + "\n")
            self._end_line()
        if beginning:
            self._line.append(beginning)
            self._pass_beginning(beginning)
        return self._take_visible()

    def finish(self) -> str:
        """Return the rest of the text."""
        self.restarted = False
        self._end_line()
        return self._take_visible()

    def _take_visible(self) -> str:
        visible = "".join(self._visible)
        self._visible = []
        return visible

    def _pass_beginning(self, piece: str) -> None:
        """Pass on the latest `piece` of a line, as far as it cannot be a tag."""
        if self._holds or self.is_thinking:
            return
        if self._in_bare_channel or self._may_begin_bare(piece):
            return
        is_literal = (self._in_block or bool(self._fence)) and not self._in_final
        if is_literal:
            self._passed += len(piece)
            self._pass(piece)
            return
        if not self._passed:
            if _is_blank(piece):
                return  # may be before a tag
            piece = "".join(self._line)
        mark = _MARK.search(piece)
        if mark is not None:
            self._holds = True
            piece = piece[: mark.start()]
        if self._passed or not _is_blank(piece):  # blanks before a tag belong to it
            self._passed += len(piece)
            self._pass(piece)

    def _may_begin_bare(self, piece: str) -> bool:
        if not self._is_empty or self._passed or _is_blank(piece):
            return False
        beginning = "".join(self._line).strip(_BLANK_CHARACTERS)[: len(_BARE_BEGINNING)]
        self._holds = beginning == _BARE_BEGINNING
        return _BARE_BEGINNING.startswith(beginning)

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
        start = 0
        if self._is_first and line.startswith(_BOM):
            start = 1
        shown_from = self._passed
        self._passed = 0
        self._line = []
        self._holds = self._is_first = False
        self._begin_bare_channel(line)
        while True:
            if self.is_thinking:
                end = (self._word_end or _END).search(line, start)
                if end is None:
                    return
                self.is_thinking = False
                self._word_end = None
                self._drops_blank_lines = self._is_empty
                start = shown_from = self._after(end, line)
            elif self._is_literal(line, start):
                break
            elif beginning := _BEGINNING.match(line, start):
                self.is_thinking = True
                start = beginning.end()
            elif self._is_empty and (beginning := _WORD_BEGINNING.match(line, start)):
                self.is_thinking = True
                start = beginning.end()
                self._word_end = _WORD_ENDS[beginning["word"].lower()]
            elif end := self._end_alone(line, start):
                self._visible = []
                self.restarted = True
                self._is_empty = self._drops_blank_lines = True
                self._dropped_file = self._has_file
                self._has_file = False
                self._forget_mentions()
                start = shown_from = self._after(end, line)
            else:
                break
        visible = line[shown_from:]
        if not self._drops_blank_lines or visible.strip():
            self._pass(visible)

    def _after(self, end: re.Match[str], line: str) -> int:
        """Return where the text begins after the end of thinking."""
        self._in_final = end[0].endswith("<|message|>")
        blanks = _BLANKS.match(line, end.end())
        if blanks and self._drops_blank_lines:
            return blanks.end()
        return end.end()

    def _is_literal(self, line: str, start: int) -> bool:
        """Return whether a line has no tags, for it is a part of a file or of code.

        It may also begin or end one.
        """
        if line.startswith("^^^", start):
            word = line[start + 3 :].strip()
            ends = word in {"end", "delete"}
            if ends or word.strip("^"):  # a line of carets alone underlines a title
                self._has_file = self._has_file or ends
                is_draft = (self._is_mentioned or self._is_bare_sure) and not ends
                self._has_draft = self._has_draft or is_draft
                self._in_block = not ends
            return True
        if self._in_block:
            if _BLOCK_AFTER_END.search(line, start):
                self._is_unclear = True  # an open draft would take in the block
            elif self._search_bare_final(line, start):
                self._is_unclear = True
            return True
        return self._is_code(line, start)

    def _is_code(self, line: str, start: int) -> bool:
        """Return whether a line is a part of a Markdown block of code, or begins or ends one."""
        fence = _CODE.match(line, start)
        if self._fence:
            if fence and fence["fence"].startswith(self._fence) and not fence["rest"].strip():
                self._fence = ""
                self._is_mentioned = self._was_mentioned
            else:
                self._read_code(line, start)
            return True
        if fence is None:
            return False
        if fence["fence"].startswith("`") and "`" in fence["rest"]:
            return False  # code in a sentence
        self._fence = fence["fence"]
        self._was_mentioned = self._is_mentioned
        return True

    def _read_code(self, line: str, start: int) -> None:
        """Note the tags in a line of code: the block may have no end, and be a part of thinking."""
        opened = False
        for tag in _TAG.finditer(line, start):
            if tag["beginning"] or tag["word_beginning"]:
                opened = True
                self._is_mentioned = self._is_mentioned or _is_whole_line(tag, line, start)
            elif opened or self._is_mentioned:
                opened = self._is_mentioned = False
            elif self._has_file and _place(tag, line, start):
                self._is_unclear = True
        if self._has_file and self._search_bare_final(line, start):
            self._is_unclear = True

    def _begin_bare_channel(self, line: str) -> None:
        if not self._is_empty or self.is_thinking or self._in_bare_channel:
            return
        text = line.lstrip(_BLANK_CHARACTERS)
        if text.startswith(_BARE_BEGINNING):
            self._in_bare_channel = True
            self._is_bare_sure = _BARE_CHANNEL.match(text, len(_BARE_BEGINNING)) is not None

    def _forget_mentions(self) -> None:
        self._is_mentioned = self._was_mentioned = self._has_draft = self._follows_file = False

    def _end_alone(self, line: str, start: int) -> re.Match[str] | None:
        """Return the end of thinking in `line` that has no beginning.

        It is None if something speaks against it.
        """
        if final := self._bare_final(line, start):
            return final
        beginning = None
        for tag in _TAG.finditer(line, start):
            if tag["beginning"] or tag["word_beginning"]:
                beginning = tag
            elif beginning:
                beginning = None
            elif self._is_end(tag, line, start):
                return tag
        if beginning:
            self._note_beginning(beginning, line, start)
        return None

    def _bare_final(self, line: str, start: int) -> re.Match[str] | None:
        final = self._search_bare_final(line, start)
        if self._has_file and not self._is_bare_sure:
            self._is_unclear = self._is_unclear or final is not None
        if final is None or self._is_unclear:
            return None
        self._is_bare_sure = False
        return final

    def _search_bare_final(self, line: str, start: int) -> re.Match[str] | None:
        if not self._in_bare_channel:
            return None
        return _BARE_FINAL.search(line, start)

    def _is_end(self, tag: re.Match[str], line: str, start: int) -> bool:
        """Return whether an end without a beginning ends thinking. Note if that is not clear."""
        place = _place(tag, line, start)
        if tag["word_end"]:
            is_unclear = place == "sure" and not self._is_mentioned
        else:
            is_unclear = place in {"likely", "odd"} or (place == "sure" and self._follows_file)
        if self._has_file and is_unclear:
            self._is_unclear = True
        if tag["word_end"] or not place:
            self._is_mentioned = False
            return False
        return place != "odd" and not self._is_unclear

    def _note_beginning(self, tag: re.Match[str], line: str, start: int) -> None:
        """Note a beginning within a line, which may be meant or not."""
        if tag["word_beginning"] and not _begins_line(tag, line, start):
            return
        self._follows_file = self._follows_file or self._has_file
        if _END_OF_LINE.match(line, tag.end()):
            self._is_mentioned = True


def _is_blank(text: str) -> bool:
    return not text.strip().strip(_BOM).strip()


def _is_whole_line(tag: re.Match[str], line: str, start: int) -> bool:
    return _begins_line(tag, line, start) and _END_OF_LINE.match(line, tag.end()) is not None


def _begins_line(tag: re.Match[str], line: str, start: int) -> bool:
    blanks = _BLANKS.match(line, start, tag.start())
    return blanks is not None and blanks.end() == tag.start()


def _place(end: re.Match[str], line: str, start: int) -> str:
    """Return how an end of thinking without a beginning stands in its line.

    "sure" is a place of an end, "likely" may be one, "odd" may be one too but looks like a word of
    a sentence, and an empty text is no place of an end.
    """
    ends_line = _END_OF_LINE.match(line, end.end()) is not None
    is_before_text = _TEXT_AFTER.match(line, end.end()) is not None
    is_before_text = is_before_text or end[0].endswith("<|message|>")
    is_before_blank = line[end.end() : end.end() + 1].isspace()
    if _begins_line(end, line, start):
        if ends_line or is_before_text:
            return "sure"
        return "likely" if is_before_blank else ""
    character_before = line[end.start() - 1]
    if character_before in " \t":
        if not ends_line:
            return "likely" if line.startswith("^^^", end.end()) else ""
        follows_sentence = line[: end.start()].rstrip().endswith(_SENTENCE_ENDS)
        return "likely" if follows_sentence else "odd"
    if _MARK_BEFORE.match(character_before):
        return ""
    return "likely" if ends_line or is_before_text or is_before_blank else ""


def visible_text(text: str) -> str:
    """Return `text` without leaked thinking."""
    return _visible([text])[0][0]


def without_thinking(completion: Completion) -> Completion:
    """Return a completion without leaked thinking.

    If the thinking has no end, or cannot be told from the answer, a reply that looks whole is CUT.
    """
    parts = completion.message.parts
    texts = [part.text for part in parts if isinstance(part, Text)]
    visible, problem = _visible(texts)
    if visible == texts and not problem:
        return completion
    remaining = iter(visible)
    shown: list[Part] = []
    for part in parts:
        if not isinstance(part, Text):
            shown.append(part)
        elif text := next(remaining):
            shown.append(replace(part, text=text))
    completion = replace(completion, message=replace(completion.message, parts=tuple(shown)))
    if not problem or completion.finish is not Finish.STOP:
        return completion
    return replace(completion, finish=Finish.CUT, finish_detail=problem)


def _visible(texts: list[str]) -> tuple[list[str], str]:
    """Return what is visible of the texts of one reply, and why nobody may use it.

    The reason is an empty text if the reply can be used.
    """
    if not _ANY_TAG.search("".join(texts)):
        return texts, ""
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
    if thinking.is_thinking:
        return visible, _UNFINISHED
    if thinking.is_unclear:
        return visible, _UNCLEAR
    return visible, ""
