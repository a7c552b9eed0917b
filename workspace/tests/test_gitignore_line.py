"""The private folder: the line in `.gitignore` without which no key is read, and nothing of it in
git.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_commit_workspace.errors import NotReady
from code_commit_workspace.guard.private_folder import check_private_folder, require_gitignore_line


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    root = tmp_path / "project"
    (root / "agent-config").mkdir(parents=True)
    (root / ".gitignore").write_text("/agent-config\n")
    return root


@pytest.mark.parametrize(
    "line", ["agent-config", "/agent-config", "agent-config/", "/agent-config/"]
)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "{}\n",
        "x\n{}\r\ny\r\n",
        "\ufeff{}\n",
        "{}   \n",
        "!{}\n{}\n",
        "{}\n!*.txt\n",
        "{}\n!\\\n",
    ],
)
def test_the_line_counts(root: Path, line: str, around: str) -> None:
    (root / ".gitignore").write_text(around.replace("{}", line), newline="")
    require_gitignore_line(root, "agent-config")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# /agent-config\n",
        "!/agent-config\n",
        " /agent-config\n",
        "/agent-config/*\n",
        "/agent-config.d\n",
        "sub/agent-config\n",
        "/agent-config\\ \n",
        "/agent-config\n!/agent-config\n",
        "agent-config/\n!agent-config\n",
        "/agent-config\n!agent-config/\r\n",
        "/agent-config\n!*\n",
        "*\n/agent-config\n!*/\n",
        "/agent-config\n!agent-*\n",
        "/agent-config\n![\\-[]\n",  # more than pathspec can read
        "/agent-config\n![z-a]\n",
    ],
)
def test_other_lines_do_not_count(root: Path, text: str) -> None:
    (root / ".gitignore").write_text(text, newline="")
    with pytest.raises(NotReady, match=re.escape(str(root / ".gitignore"))) as caught:
        require_gitignore_line(root, "agent-config")
    assert "the line /agent-config" in caught.value.hint


def test_a_missing_or_linked_file_holds_no_line(root: Path) -> None:
    (root / ".gitignore").rename(root / "real")
    with pytest.raises(NotReady, match=re.escape(f"{root / '.gitignore'} is missing; ")) as caught:
        check_private_folder(root, "agent-config", hint="run `init`")
    assert caught.value.hint == "run `init`"
    (root / ".gitignore").symlink_to("real")
    with pytest.raises(NotReady, match="it is a link"):  # git does not follow it either
        require_gitignore_line(root, "agent-config")


@pytest.mark.parametrize(
    ("folder", "tracked"), [("agent-config", "Agent-Config"), ("Secrets", "secrets")]
)
def test_git_tracks_nothing_of_the_folder_in_any_spelling(
    root: Path, folder: str, tracked: str
) -> None:
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    (root / ".gitignore").write_text(f"/{folder}\n")
    check_private_folder(root, folder)
    blob = subprocess.run(
        [*git, "hash-object", "-w", "--stdin"], input=b"", capture_output=True, check=True
    ).stdout
    entry = f"100644,{blob.decode().strip()},{tracked}/key.txt"
    subprocess.run([*git, "update-index", "--add", "--cacheinfo", entry], check=True)
    with pytest.raises(NotReady, match=f"git tracks {tracked}/key.txt"):
        check_private_folder(root, folder)


def test_tracked_names_that_are_not_utf_8_are_somebody_elses_or_refused(root: Path) -> None:
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    (root / ".gitignore").write_text("/agent-config\n")
    (root / "caf\udce9.txt").touch()
    subprocess.run([*git, "add", "."], check=True)
    check_private_folder(root, "agent-config")
    (root / "agent-config" / "caf\udce9.txt").touch()
    subprocess.run([*git, "add", "--force", "agent-config"], check=True)
    with pytest.raises(NotReady, match="git tracks agent-config/caf\udce9\\.txt"):
        check_private_folder(root, "agent-config")


def test_an_error_of_git_counts_as_tracked(root: Path) -> None:
    subprocess.run(["git", "-C", str(root), "init", "-q"], check=True)
    (root / ".gitignore").write_text("/agent-config\n")
    (root / ".git/index").write_bytes(b"broken")
    with pytest.raises(NotReady, match="git cannot check whether it tracks agent-config"):
        check_private_folder(root, "agent-config")


def test_the_folder_is_no_repository_of_its_own(root: Path) -> None:
    for folder in (root, root / "agent-config"):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (root / ".gitignore").write_text("/agent-config\n")
    with pytest.raises(NotReady, match="agent-config is a git repository itself"):
        check_private_folder(root, "agent-config")


LINES = st.lists(
    st.sampled_from(
        [
            "agent-config",
            "/agent-config/",
            "*",
            "*.txt",
            "!*",
            "!*/",
            "!*.txt",
            "!/agent-config",
            "!agent-config/",
        ]
    )
    | st.builds(
        "{}{}{}".format,
        st.sampled_from(["!", ""]),
        st.sampled_from(["/", "**/", "a?ent"]),
        st.text("agent-cofi*/[]\\! "),
    ),
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.sampled_from(["\n", "\r\n"]))
def test_git_agrees_that_keys_are_ignored_whenever_the_check_passes(
    root: Path, lines: list[str], newline: str
) -> None:
    git = ["git", "-c", "core.excludesFile=/dev/null", "-C", str(root)]
    if not (root / ".git").exists():
        subprocess.run([*git, "init", "-q"], check=True)
    (root / ".gitignore").write_text(newline.join([*lines, ""]), newline="")
    try:
        require_gitignore_line(root, "agent-config")
    except NotReady:
        return
    completed = subprocess.run(
        [*git, "check-ignore", "-q", "--no-index", "agent-config/openai-key.txt"], check=False
    )
    assert completed.returncode == 0
