"""Replies as models write them: right, almost right, and wrong."""

from __future__ import annotations

import pytest

from code_commit_commit.hooks import MalformedResponse
from code_commit_edits.response_format import parse_response

CODE = b"def one():\n    return 1\n\n\ndef two():\n    return 2\n"
TITLE = b"Title\n=======\n\ntext\n"
CONFLICT = b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\nd\n"


class Files:
    """A tree of these files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        if path.startswith("/"):
            raise ValueError("not a plain path")
        content = self.files.get(path)
        return None if content is None else content[start:][:limit]


def edit(search: str, replace: str, length: int = 7) -> str:
    return f"{'<' * length} SEARCH\n{search}{'=' * length}\n{replace}{'>' * length} REPLACE\n"


def block(*bodies: str, path: str = "f") -> str:
    return f"^^^{path}\n{''.join(bodies)}^^^end\n"


ONE = edit("    return 1\n", "    return 10\n")
TWO = edit("    return 2\n", "    return 20\n")
CHANGED = CODE.replace(b"1\n", b"10\n")
BOTH = CHANGED.replace(b"2\n", b"20\n")

# The old file, the reply, the new file.
RIGHT = {
    "one edit": (CODE, block(ONE), CHANGED),
    "prose around": (CODE, f"I change it.\n\n{block(ONE)}\nDone.\n", CHANGED),
    "two edits": (CODE, block(ONE, TWO), BOTH),
    "in another order": (CODE, block(TWO, ONE), BOTH),
    "blank lines between": (CODE, block("\n", ONE, "\n \t\n", TWO, "\n"), BOTH),
    "a whole file": (CODE, block("new\n"), b"new\n"),
    "an empty file": (CODE, block(), b""),
    "a deletion": (CODE, "^^^f\n^^^delete\n", None),
    "lines deleted": (CODE, block(edit("\n\n", "")), CODE.replace(b"\n\n\n", b"\n")),
    "all lines deleted": (b"a\n", block(edit("a\n", "")), b""),
    "lines added": (
        CODE,
        block(edit("def two():\n", "def half():\n    pass\n\n\ndef two():\n")),
        CODE.replace(b"def two", b"def half():\n    pass\n\n\ndef two"),
    ),
    "nothing changed": (CODE, block(edit("def two():\n", "def two():\n")), CODE),
    "trailing blanks in the reply": (
        CODE,
        block(edit("    return 1 \t\n", "    return 10\n")),
        CHANGED,
    ),
    "trailing blanks in the file": (b"a  \nb\n", block(edit("a\nb\n", "a\nc\n")), b"a  \nc\n"),
    "trailing blanks removed": (b"a  \nb\n", block(edit("a  \n", "a\n")), b"a\nb\n"),
    "blanks after markers": (CODE, block(ONE.replace("=======", "======= \t")), CHANGED),
    "a reply with CRLF": (
        CODE,
        block(ONE).replace("\n", "\r\n"),
        CHANGED.replace(b"10\n", b"10\r\n"),
    ),
    "a file with CRLF": (b"a\r\nb\r\n", block(edit("b\n", "c\nd\n")), b"a\r\nc\r\nd\r\n"),
    "both with CRLF": (
        b"a\r\nb\r\n",
        block(edit("b\n", "c\nd\n")).replace("\n", "\r\n"),
        b"a\r\nc\r\nd\r\n",
    ),
    "mixed line ends": (b"a\r\nb\nc\r\n", block(edit("b\n", "x\n")), b"a\r\nx\nc\r\n"),
    "mixed line ends kept": (
        b"a\r\nb\nc\r\n",
        block(edit("a\nb\nc\n", "a\nx\nc\n")),
        b"a\r\nx\nc\r\n",
    ),
    "mixed line ends, of CRLF lines": (
        b"a\r\nb\nc\r\n",
        block(edit("a\n", "x\ny\n")),
        b"x\r\ny\r\nb\nc\r\n",
    ),
    "no last newline": (b"a\nb", block(edit("b\n", "c\n")), b"a\nc"),
    "lines after no last newline": (b"a\nb", block(edit("b\n", "b\nc\n")), b"a\nb\nc"),
    "no last newline, elsewhere": (b"a\nb", block(edit("a\n", "c\n")), b"c\nb"),
    "no last newline, CRLF": (b"a\r\nb", block(edit("b\n", "b\nc\n")), b"a\r\nb\r\nc"),
    "a BOM": (b"\xef\xbb\xbfa\nb\n", block(edit("a\n", "c\n")), b"\xef\xbb\xbfc\nb\n"),
    "a BOM in the reply": (
        b"\xef\xbb\xbfa\nb\n",
        block(edit("\ufeffa\n", "\ufeffc\n")),
        b"\xef\xbb\xbfc\nb\n",
    ),
    "tabs": (b"\ta\n  a\n", block(edit("\ta\n", "\tb\n")), b"\tb\n  a\n"),
    "bytes that are not UTF-8": (b"\xff\na\n", block(edit("a\n", "b\n")), b"\xff\nb\n"),
    "letters beyond ASCII": ("é\n🙂\n".encode(), block(edit("🙂\n", "x\n")), "é\nx\n".encode()),
    "a form feed stays": (b"a\x0cb\nc\n", block(edit("a\x0cb\n", "d\n")), b"d\nc\n"),
    "longer markers": (
        TITLE,
        block(edit("=======\n", "*******\n", 8)),
        b"Title\n*******\n\ntext\n",
    ),
    "a conflict in the file": (
        CONFLICT,
        block(edit(CONFLICT.decode(), "a\nb\nd\n", 9)),
        b"a\nb\nd\n",
    ),
    "markers of two lengths": (
        TITLE,
        block(edit("Title\n", "Head\n"), edit("=======\n", "----\n", 20)),
        b"Head\n----\n\ntext\n",
    ),
    "a title in a whole file": (CODE, block(TITLE.decode()), TITLE),
    "a conflict in a whole file": (CODE, block(CONFLICT.decode()), CONFLICT),
    "lines that are almost markers": (
        CODE,
        block(edit("    return 1\n", "<<<<<< SEARCH\n <<<<<<< SEARCH\n<<<<<<< Search\n======\n")),
        CODE.replace(
            b"    return 1\n", b"<<<<<< SEARCH\n <<<<<<< SEARCH\n<<<<<<< Search\n======\n"
        ),
    ),
    "a new file by an edit": (None, block(edit("", "new\n")), b"new\n"),
    "an empty file by an edit": (b"", block(edit("", "new\n")), b"new\n"),
    "markers in a new file": (None, block(edit("", ONE, 8)), ONE.encode()),
    "a new empty file by an edit": (None, block(edit("", "")), b""),
    "adjacent texts": (b"a\nb\n", block(edit("a\n", "c\n"), edit("b\n", "d\n")), b"c\nd\n"),
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_reply_changes_the_file(case):
    old, reply, new = RIGHT[case]
    [change] = parse_response(reply, Files({} if old is None else {"f": old}))
    assert change.content == new


NEAREST = "The nearest place is line {}:\n"
# The old file, the reply, and what the model is told.
WRONG = {
    "not there": (
        CODE,
        block(edit("    return 1 + 0\n", "x\n")),
        "the text to search of the edit in line 2 of the response is not in the file. "
        + NEAREST.format(2)
        + "    return 1",
    ),
    "other indentation": (
        CODE,
        block(edit("def two():\n  return 2\n", "x\n")),
        NEAREST.format(5) + "def two():\n    return 2",
    ),
    "a line left out": (
        CODE,
        block(edit("def one():\n    return 1\ndef two():\n", "x\n")),
        NEAREST.format(1) + "def one():\n    return 1\n",
    ),
    "nothing like it": (CODE, block(edit("%%%\n", "x\n")), "No line of the file is like it"),
    "other case": (CODE, block(edit("DEF one():\n", "x\n")), NEAREST.format(1) + "def one():"),
    "a part of a line": (CODE, block(edit("return 1\n", "x\n")), NEAREST.format(2)),
    "twice": (
        b"a\nb\na\n",
        block(edit("a\n", "x\n")),
        "is in the file more than once, at lines 1 and 3. Add lines around it",
    ),
    "twice, overlapping": (b"a\na\na\n", block(edit("a\na\n", "x\n")), "at lines 1 and 2"),
    "the same edit twice": (CODE, block(ONE, ONE), "the edits in lines 2 and 7 of the response"),
    "overlapping edits": (
        CODE,
        block(edit("def one():\n    return 1\n", "x\n"), ONE),
        "overlap: both search line 2 of the file",
    ),
    "a result of an edit": (
        CODE,
        block(ONE, edit("    return 10\n", "x\n")),
        "the edit in line 7 of the response is not in the file",
    ),
    "no such file": (None, block(ONE), "f: there is no such file to edit"),
    "no text to search": (CODE, block(edit("", "x\n")), "the file is not empty"),
    "an empty text among others": (
        None,
        block(edit("", "x\n"), edit("", "y\n")),
        "only one edit can write it",
    ),
    "not a file": (None, block(ONE, path="/f"), "/f: it is not a file that can be edited"),
    "no end": (CODE, block(ONE.replace(">>>>>>> REPLACE\n", "")), "has no line `>>>>>>> REPLACE`"),
    "no divider": (
        CODE,
        block(ONE.replace("=======\n", "")),
        "`>>>>>>> REPLACE` cannot stand here",
    ),
    "only a search": (CODE, block("<<<<<<< SEARCH\na\n"), "has no line `=======`"),
    "no start": (CODE, block("a\n=======\nb\n>>>>>>> REPLACE\n"), "line 2: `a` cannot stand here"),
    "prose between": (CODE, block(ONE, "and\n", TWO), "line 7: `and` cannot stand here"),
    "prose before": (CODE, block("I change:\n", ONE), "line 2: `I change:` cannot stand here"),
    "prose after": (CODE, block(ONE, "Done.\n"), "line 7: `Done.` cannot stand here"),
    "a Markdown fence": (CODE, block("```\n", ONE, "```\n"), "line 2: ````` cannot stand here"),
    "two dividers": (TITLE, block(edit("Title\n=======\n", "x\n")), "line 5: `=======` cannot"),
    "a marker in the text": (
        CODE,
        block(edit("<<<<<<< SEARCH\n", "x\n")),
        "line 3: `<<<<<<< SEARCH`",
    ),
    "a longer end": (CODE, block(ONE.replace(">>>>>>>", ">>>>>>>>")), "same length"),
    "a longer divider": (
        CODE,
        block(ONE.replace("=======", "========")),
        "`>>>>>>> REPLACE` cannot",
    ),
    "six characters": (CODE, block(edit("    return 1\n", "x\n", 6)), "line 2: `<<<<<< SEARCH`"),
    "other words": (CODE, block(ONE.replace("SEARCH", "search")), "line 2: `<<<<<<< search`"),
    "a conflict's words": (CODE, block(CONFLICT.decode()[2:]), "line 2: `<<<<<<< HEAD` cannot"),
    "an indented marker": (CODE, block(" " + ONE), "line 2: `<<<<<<< SEARCH` cannot stand here"),
    "a whole file and an edit": (CODE, block(CODE.decode(), ONE), "line 2: `def one():` cannot"),
    "no block": (CODE, ONE, "no line begins with `^^^`"),
    "an open block": (CODE, block(ONE).removesuffix("^^^end\n"), "no closing line `^^^end`"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_reply_is_sent_back_with_the_reason(case):
    old, reply, reason = WRONG[case]
    with pytest.raises(MalformedResponse) as raised:
        parse_response(reply, Files({} if old is None else {"f": old}))
    assert reason in str(raised.value)


def test_the_reasons_of_all_files_and_edits_are_given_at_once():
    wrong = [edit(f"missing {number}\n", "x\n") for number in range(15)]
    reply = block(*wrong, path="a") + block(ONE, path="b")
    with pytest.raises(MalformedResponse) as raised:
        parse_response(reply, Files({"a": CODE}))
    message = str(raised.value)
    assert message.count("of the response is not in the file") == 10
    assert "a: 5 more edits cannot be applied, either" in message
    assert "b: there is no such file to edit" in message


def test_a_text_within_another_one_is_found():
    inner = "    return 1\n"
    reply = block(edit(f"def one():\n{inner}missing\n", "x\n"), edit(inner, "y\n"))
    with pytest.raises(MalformedResponse) as raised:
        parse_response(reply, Files({"f": CODE}))
    assert str(raised.value).count("is not in the file") == 1


def test_a_message_is_short_whatever_the_file_is_like():
    long = b"x" * 100_000 + b"\n"
    with pytest.raises(MalformedResponse) as raised:
        parse_response(block(edit("x\n" * 500, "")), Files({"f": long * 3 + b"x\n" * 40}))
    assert len(str(raised.value)) < 4000
