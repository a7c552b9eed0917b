"""A text with a blank on the command line is the query."""

from __future__ import annotations

GOOD = "^^^a.txt\ngood\n^^^end\n"


def test_a_text_with_a_blank_is_the_query(change):
    for arguments in (["Make it good", "--dry-run"], ["--dry-run", "Make it good"]):
        finished = change([GOOD], *arguments)
        assert finished.exit_code == 0, finished.stderr
        assert "Make it good" in change.prompts()[0]


def test_a_word_is_a_command_and_a_second_query_is_refused(change):
    for arguments, message in (
        (["good"], "there is no command good"),
        (["Make it good", "and fast, too"], "the query is given twice"),
        (["Make it good", "--query", "Do it"], "the query is given twice"),
        (["Make it good", "--query-file", "a.txt"], "the query is given twice"),
        (["Make it good", "--nosuch"], "there is no flag --nosuch"),
    ):
        finished = change([GOOD], *arguments)
        assert (finished.exit_code, message in finished.stderr) == (2, True), finished.stderr
