"""A refusal says what is wrong with a path, so that a model or a person can mend it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from code_commit_workspace.records import Change

PROTECTED = "Responses cannot change "
MISTAKEN = "can be mistaken for"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "The path is empty."),
        (" ", "The path is empty."),
        ("/etc/passwd", "The path is absolute; use a path from the root of the project."),
        ("../x", "The path contains `..`; use a path from the root of the project."),
        ("a/../", "The path contains `..`; use a path from the root of the project."),
        ("a/", "The path ends with a slash, so it is a folder; use the path of a file."),
        ("a//", "The path ends with a slash, so it is a folder; use the path of a file."),
        ("a//b", "A name in the path is empty or `.`."),
        ("a/./b", "A name in the path is empty or `.`."),
        ("a\nb", "The path contains the control character U+000A."),
        ("a\udcffb", "The path contains the byte 0xFF, which is not UTF-8."),
        ("a\ud800b", "The path contains U+D800, half of a character, which cannot be encoded."),
        ("a\u2028b", "The path contains the line separator U+2028."),
        ("é" * 128, "A name in the path is longer than 255 bytes."),
        ("/".join("a" * 102), "The path has 101 folders; at most 100 are allowed."),
        ("a\\b", "The path contains a backslash, which separates folders on Windows; use `/`."),
        ("c:x", "The path contains a colon, which names a drive or a hidden stream on Windows."),
        ("~x", "The path begins with `~`, which shells replace with a home folder."),
        ("^^^x", "The path looks like a fence of a response."),
        ("delete", "The path looks like a fence of a response."),
        (" x", "The path begins with a space."),
        (
            "a\u200bb",
            "The path contains the invisible character U+200B, so its name is not what it looks like.",
        ),
        ("a/b./c", "The name 'b.' ends with a dot or a space, which Windows removes."),
        ("a/b ", "The name 'b ' ends with a dot or a space, which Windows removes."),
        ("nul.txt", "The name 'nul.txt' is the name of a device on Windows."),
        ("\uff0e\uff0e/x", "The name '\uff0e\uff0e' is a form of `.` or `..`."),
        ("build.sh", f"{PROTECTED}it."),
        ("BUILD.SH", f"'BUILD.SH' {MISTAKEN} 'build.sh'. {PROTECTED}build.sh."),
        ("target/a", f"{PROTECTED}target."),
        ("a/.git/x", f"{PROTECTED}anything in the .git folder."),
        ("a/GIT~1/x", f"'GIT~1' {MISTAKEN} '.git'. {PROTECTED}anything in the .git folder."),
        ("agent-config/x", f"{PROTECTED}anything in the agent-config folder."),
    ],
)
def test_what_is_wrong_with_a_path_is_named(guard, path, reason):
    assert reason in [refusal.reason for refusal in guard.check([Change(path, b"")])]


@pytest.mark.parametrize("letter", ["b", "é"])
def test_a_path_may_be_as_long_as_systems_allow(guard, root, letter):
    most = 4095 - len(os.fsencode(root)) - 1
    begin = ("a" * 99 + "/") * 39 + letter
    fits = begin + "b" * (most - len(os.fsencode(begin)))
    deep = "/".join("a" * 101)
    long_name = letter * (255 // len(letter.encode()))
    if letter == "é":
        long_name += "a"
    paths = (fits, f"{fits}b", deep, f"a/{long_name}")
    assert [refusal.reason for refusal in guard.check([Change(path, b"") for path in paths])] == [
        f"The path is {most + 1} bytes long; at most {most} are allowed."
    ]


def test_what_is_there_is_named(guard, root):
    (root / "folder/below").mkdir(parents=True)
    (root / "folder/file").touch()
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("folder")
    (root / "other").symlink_to("folder")
    here = Path.cwd()
    os.chdir(root)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    os.chdir(here)
    changes = [
        *(Change(path, b"") for path in ("pipe", "socket", "link", "folder/file/x", "other/x")),
        Change("folder/below", None),
    ]
    reasons = {refusal.path: refusal.reason for refusal in guard.check(changes)}
    assert reasons == {
        "pipe": "It is a named pipe; only regular files can be changed.",
        "socket": "It is a socket; only regular files can be changed.",
        "link": "It is a symbolic link; only regular files can be changed.",
        "folder/file/x": "'folder/file' in this path is a file, not a folder.",
        "other/x": "'other' in this path is a symbolic link, not a folder.",
        "folder/below": "It is a folder; delete each of its files by its path.",
    }
