"""No command writes where a link of a repository or a build leads, or sends or shows text from
there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_testing import Project, ScriptedServer

SECRET = "sk-of-the-user-0123456789-7Q"
LINKS = (
    ("agent-config",),
    ("agent-config/.code-commit",),
    ("agent-config/query.txt", "agent-config/codeRollup.txt", "agent-config/consistency-report.md"),
    ("agent-config/openai-key.txt",),
    ("agent-config/config.toml",),
    ("logs",),
    ("logs/index.html", "logs/.index.html.new", "logs/.gitignore"),
    ("logs/2026-01-01-00-00-00-committing-code",),
    ("g3-plan",),
    ("g3-plan/planner_history.txt", "g3-plan/new_requirements.md", "requirements.md"),
    (".gitignore",),
    ("build.sh",),
)
COMMANDS = (
    ("init",),
    ("rollup",),
    ("--query", "Change it."),
    ("--consistency-check",),
    ("--autonomous",),
    ("--planning", "--codepath=."),
    ("doctor", "--no-build"),
    ("config",),
    ("runs", "list"),
    ("runs", "show", "latest"),
    ("runs", "diff", "latest"),
    ("runs", "export", "latest", "--sink", "html"),
    ("runs", "open", "--no-browser"),
    ("replay",),
    ("undo",),
    ("runs", "prune", "--keep", "0"),
    ("check", "--keys", "--", "a.txt"),
)


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.rglob("*")
    }


@pytest.mark.slow
@pytest.mark.parametrize("tracked", [True, False], ids=["of-a-repository", "of-a-build"])
@pytest.mark.parametrize("dangling", [False, True], ids=["whole", "dangling"])
@pytest.mark.parametrize("links", LINKS, ids=lambda links: links[0])
def test_no_command_follows_a_planted_link(
    tmp_path: Path, links: tuple[str, ...], dangling: bool, tracked: bool
) -> None:
    project = Project.create(tmp_path / "made", build="true\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    for number, link in enumerate(links):
        place, target = project.root / link, outside / f"{number}"
        place.parent.mkdir(exist_ok=True)
        if not dangling and "." in place.name[1:]:
            target.write_text(SECRET)
        elif not dangling:
            target.mkdir()
            for name in (
                "events.jsonl",
                "query.txt",
                "codeRollup.txt",
                "new_requirements.md",
                "openai-key.txt",
            ):
                (target / name).write_text(SECRET)
        if place.is_dir():
            place.rename(tmp_path / f"before-{number}")
        place.unlink(missing_ok=True)
        place.symlink_to(target)
    if tracked:
        project.git("add", "-f", "--", *links)
    before = contents(outside)
    with ScriptedServer() as server:
        server.script(*["^^^a.txt\nnew\n^^^end\n"] * 10)
        environ = server.environment() | {
            "OPENAI_API_KEY": "sk-test-1234567890",
            "CODE_COMMIT_MODEL": "gpt-4.1",
        }
        for command in COMMANDS:
            finished = project.command(*command, environ=environ, stdin="quit\n")
            assert finished.exit_code != 70, (command, finished.stderr)
            assert contents(outside) == before, command
            assert SECRET not in finished.stdout + finished.stderr, command
        assert not [
            request
            for request in server.requests
            if SECRET in request.prompt + str(request.headers)
        ]
