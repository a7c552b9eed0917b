"""The user's editor writes a text."""

from __future__ import annotations

import pytest

from code_commit.terminal.editor import edited


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder that is the whole PATH, with programs that write down how they were started."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("vi", "other"):
        script = folder / name
        script.write_text(
            f'#!/bin/sh\necho "{name} $#" \'|\' "$1" \'|\' "${{2##*/}}" > {tmp_path}/started\n'
            'for file; do :; done\nprintf " made\\377 \\n\\n" >> "$file"\n'
        )
        script.chmod(0o755)
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.mark.parametrize(
    ("environ", "started"),
    [
        ({}, "vi 1"),
        ({"EDITOR": "other"}, "other 1"),
        ({"VISUAL": "other -w", "EDITOR": "vi"}, "other 2 | -w | answer.md"),
        ({"VISUAL": "", "EDITOR": "other 'a b'"}, "other 2 | a b | answer.md"),
        ({"EDITOR": "{tools}/other"}, "other 1"),
    ],
)
def test_the_text_of_the_editor_comes_back_without_blanks_at_its_end(
    tools, tmp_path, monkeypatch, environ, started
):
    for name, value in environ.items():
        monkeypatch.setenv(name, value.format(tools=tools))
    assert edited("a draft,", tmp_path / "project") == "a draft, made\ufffd"
    assert (tmp_path / "started").read_text().startswith(started)


@pytest.mark.parametrize(
    ("editor", "reason"),
    [
        ("missing", "no editor was found; set the variable EDITOR"),
        (" ", "no editor was found; set the variable EDITOR"),
        ("sh -c 'exit 3'", "sh ended with exit code 3"),
        ("'", "No closing quotation"),
    ],
)
def test_an_editor_that_fails_is_told(tools, tmp_path, monkeypatch, editor, reason):
    (tools / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("EDITOR", editor)
    with pytest.raises(ValueError, match=reason):
        edited("a draft", tmp_path / "project")


def test_no_editor_is_taken_from_the_project(tools, tmp_path):
    with pytest.raises(ValueError, match="no editor was found"):
        edited("a draft", tools)
    assert not (tmp_path / "started").exists()
