"""Texts of a run are stored once, and read back as they were."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_commit.plugin_api import RunTexts
from code_commit.run_folder import stored_text
from code_commit.run_folder.stored_text import HEADER, StoredTexts

PIECES = (
    b"\n",
    b"=== user ===\n",
    b"--- a.py ---\n",
    b"[codebase]\n",
    b"[lines 1-2 of 0.txt]\n",
    b"\\[lines 1-1 of 0.txt]\n",
    b"[lines ",
    b"\xff",
    b"\r\n",
    b"a line of the text\n",
    HEADER,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Return texts that repeat parts of each other."""
    pieces = st.lists(st.sampled_from(PIECES), max_size=8)
    text = draw(pieces)
    texts = [b"".join(text)]
    for _ in range(draw(st.integers(1, 4))):
        keep = draw(st.integers(0, len(text)))
        text = [*text[:keep], *draw(pieces), *text[draw(st.integers(0, len(text))) :]]
        texts.append(b"".join(text))
    return texts


@given(conversations())
@example([b"--- a ---\nlong enough\nno end", b"[codebase]\n--- a ---\nlong enough\nno end"])
def test_every_text_is_read_back_as_it_was(texts):
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_text, "_LEAST", 8)
        folder = Path(name)
        stored = StoredTexts()
        for number, text in enumerate(texts):
            stored.store(
                f"{number}.txt", text, lambda name, data: (folder / name).write_bytes(data)
            )
        assert [RunTexts(folder).read(f"{number}.txt") for number in range(len(texts))] == texts
        assert (folder / "0.txt").read_bytes() == texts[0] or texts[0].startswith(HEADER)


def test_a_long_conversation_takes_linear_room(tmp_path):
    stored = StoredTexts()
    text = b"=== system ===\nBe brief.\n"
    for turn in range(300):
        text += b"\n=== user ===\n%b\n" % (b"question %d " % turn * 30)
        stored.store(f"{turn}.txt", text, lambda name, data: (tmp_path / name).write_bytes(data))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 5 * len(text)
    assert b"\n[lines 1-899 of 298.txt]\n" in (tmp_path / "299.txt").read_bytes()
    assert RunTexts(tmp_path).read("299.txt") == text


@pytest.mark.parametrize(
    "lines",
    [
        b"[lines 1-1 of a.txt]\n" * 3000,  # of itself
        b"[lines 1-2 of b.txt]\n[lines 1-2 of b.txt]\n",
        b"[lines 1-1 of ../secret.txt]\n",
        b"[lines 1-1 of link.txt]\n",
        b"[lines 2-1 of c.txt]\n",
        b"[lines 1-9 of c.txt]\n",
    ],
)
def test_a_hostile_folder_gives_an_error(tmp_path, lines):
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "c.txt").write_text("one\ntwo\n")
    (folder / "b.txt").write_bytes(HEADER + b"[lines 1-2 of a.txt]\n" * 2)
    (folder / "a.txt").write_bytes(HEADER + lines)
    with pytest.raises((OSError, ValueError)):
        RunTexts(folder).read("a.txt")
