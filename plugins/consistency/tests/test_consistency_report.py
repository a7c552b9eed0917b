"""The consistency workflow through the command, against a service on loopback."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from code_commit.plugin_api import NotReady
from code_commit_consistency.report_files import publish, require_room
from code_commit_testing import Reply

NAMES = [
    "User Specification Self Consistency",
    "Implementation Consistency with User Specification",
    "Errors and Mistakes within the User Specification",
    "Errors and Mistakes within the Implementation",
    "Suggestions and Other Important Commentary",
]
TEXT = "".join(f"## {name}\n\nAll is well with {index}.\n\n" for index, name in enumerate(NAMES))
REPORT = "agent-config/consistency-report.txt"
DOCUMENT = "agent-config/consistency-report.json"
SEED = (Path(__file__).parent / "cases/checking_consistency.md").read_text("utf-8")


def files_of(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return the project's files, without those of git, the run log and agent-config."""
    own = {".git", "logs", "agent-config"}
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] not in own
    }


def seed_prompt() -> str:
    _, _, prompt = SEED.partition("### System Prompt (hardcoded into binary)\n\n")
    assert prompt.startswith("You are taking the role")
    return prompt


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("flag", ["--consistency-check", "--consistency", "--cc"])
def test_each_flag_writes_and_prints_the_report(review, flag: str) -> None:
    review.server.script(TEXT)
    finished = review(flag)
    assert (finished.exit_code, finished.stdout) == (0, TEXT)
    assert review.project.read(REPORT) == TEXT
    assert "consistency-report.txt written" in finished.stderr


def test_the_report_is_written_unchanged_and_printed_wrapped(review) -> None:
    text = (
        "\ufeff"
        + "word " * 40
        + "\r\n\x0c\u2028\n\t"
        + TEXT
        + "Also rename it.\n\nthe end, without a line end"
    )
    review.server.script(text)
    finished = review()
    assert review.project.read(REPORT) == text
    assert max(map(len, finished.stdout.split("\n"))) <= 80
    report, _, findings = finished.stdout.partition("--- 2 findings ---")
    assert report.split() == text.split()
    assert NAMES[4] in findings


def test_no_other_file_changes(review) -> None:
    review.server.script(TEXT)
    before, configured = files_of(review.project.root), review.config_files()
    assert review().exit_code == 0
    assert files_of(review.project.root) == before
    after = review.config_files()
    assert {name: after[name] for name in configured} == configured
    assert after.keys() - configured.keys() == {"consistency-report.txt", "consistency-report.json"}
    assert review.project.git("status", "--porcelain") == ""


def test_the_prompt_is_that_of_the_seed_and_is_logged_unchanged(review) -> None:
    review.project.write(
        {"agent-config/query.txt": "Mind [codebase] twice", "agent-config/codeRollup.txt": "code\n"}
    )
    review.server.script(TEXT)
    review()
    prompt = seed_prompt() + "\n[query]\nMind [codebase] twice\n\n[codebase]\ncode\n"
    assert [request.prompt for request in review.server.requests] == [prompt]
    folder = review.project.run_folder
    assert folder.name.endswith("-consistency-report")
    assert (folder / "query.txt").read_text("utf-8") == prompt
    assert (folder / "query-response.txt").read_text("utf-8") == TEXT
    assert json.loads((folder / "query-response.json").read_text("utf-8"))["choices"]


def test_the_query_is_logged_before_it_is_sent(review) -> None:
    logged = []

    def answer(request) -> str:
        logged.append(
            (review.project.run_folder / "query.txt").read_text("utf-8") == request.prompt
        )
        return TEXT

    review.server.script(answer)
    assert review().exit_code == 0
    assert logged == [True]


@pytest.mark.parametrize(
    ("files", "query"),
    [
        ({"consistency-query.txt": "mine", "query.txt": "other"}, "mine\n"),
        ({"consistency-query.txt": "", "query.txt": "other"}, ""),
        ({"query.txt": "other\n"}, "other\n"),
        ({}, ""),
    ],
)
def test_the_query_comes_from_the_first_existing_file(
    review, files: dict[str, str], query: str
) -> None:
    (review.project.root / "agent-config/query.txt").unlink()
    review.project.write({f"agent-config/{name}": text for name, text in files.items()})
    review.server.script(TEXT)
    assert review().exit_code == 0
    [request] = review.server.requests
    assert request.prompt.removeprefix(seed_prompt()).startswith(
        f"\n[query]\n{query}\n[codebase]\n"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("codeRollup.txt", b" \n", "codeRollup.txt is empty"),
        ("codeRollup.txt", b"one\ntwo \xff", "codeRollup.txt is not UTF-8: line 2, byte 8"),
        ("consistency-query.txt", b"\xff", "consistency-query.txt is not UTF-8: line 1"),
    ],
)
def test_a_missing_or_unreadable_input_is_an_error_before_any_call(
    review, name: str, content, message: str
) -> None:
    path = review.project.root / "agent-config" / name
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    finished = review()
    assert finished.exit_code == 3
    assert message in finished.stderr
    assert review.server.requests == []


def test_neither_git_nor_a_build_is_needed(review) -> None:
    shutil.rmtree(review.project.root / ".git")
    (review.project.root / "build.sh").unlink()
    review.server.script(TEXT)
    assert review().exit_code == 0


def test_the_sections_are_in_the_document_and_in_the_last_event(review) -> None:
    review.server.script(TEXT)
    finished = review("--cc", "--json")
    document = json.loads(review.project.read(DOCUMENT))
    [sample] = document["samples"]
    assert (document["version"], document["run"]) == (2, review.project.run_folder.name)
    assert (document["model"], sample["model"], sample["report"]) == (
        "loopback-1",
        "loopback-1",
        "consistency-report.txt",
    )
    assert [section["name"] for section in sample["sections"]] == NAMES
    assert sample["sections"][3]["text"] == "\nAll is well with 3.\n\n"
    assert (sample["preamble"], sample["missing"], sample["extra"]) == ("", [], [])
    last = finished.events[-1]
    assert (last["kind"], last["data"]["exit_code"], last["data"]["data"]) == (
        "run.finished",
        0,
        document,
    )
    messages = [event["data"] for event in finished.events if event["kind"] == "message"]
    assert [message["text"] for message in messages] == ["comparing with UserSpecification.md"]


def test_a_missing_and_an_extra_section_are_reported_and_kept(review) -> None:
    text = TEXT.replace(f"## {NAMES[1]}", "## Outlook \x1b[31m")
    review.server.script(text)
    finished = review()
    assert finished.exit_code == 0
    assert f"missing section: {NAMES[1]}" in finished.stderr
    assert "extra section: Outlook" in finished.stderr
    assert "\x1b[31m" not in finished.stderr
    [sample] = json.loads(review.project.read(DOCUMENT))["samples"]
    assert (sample["missing"], sample["extra"]) == ([NAMES[1]], ["Outlook \x1b[31m"])
    assert "".join(section["heading"] + section["text"] for section in sample["sections"]) == text


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(text="## User Spec", finish="length"), "is incomplete: it ended with `length`"),
        (Reply(text=TEXT, finish="strange"), "is incomplete: it ended with `strange`"),
        (Reply(text="Ich habe den Code gelesen.\n"), "has none of the 5 sections"),
    ],
)
def test_what_arrived_is_recorded_and_marked_incomplete(review, reply: Reply, problem: str) -> None:
    review.server.script("old", reply)
    review()
    finished = review()
    assert (finished.exit_code, review.project.read(REPORT)) == (1, reply.text), finished.stderr
    assert reply.text in finished.stdout
    assert f"the report {problem}" in finished.stderr
    document = json.loads(review.project.read(DOCUMENT))
    [sample] = document["samples"]
    assert (document["complete"], sample["complete"]) == (False, False)
    assert sample["problem"].startswith(problem)


def test_an_empty_report_keeps_the_earlier_one(review) -> None:
    review.server.script(TEXT)
    review()
    before = review.config_files()
    review.server.script(Reply(text=" \n"))
    finished = review()
    assert (finished.exit_code, finished.stdout) == (5, "")
    assert "the report is empty" in finished.stderr
    assert review.config_files() == before


def test_a_rollup_that_is_out_of_date_is_collected_again(review) -> None:
    assert review.project.command("rollup").exit_code == 0
    review.server.script(TEXT, TEXT, TEXT)
    assert "collected" not in review().stderr
    review.project.write({"main.py": "print(2)\n", "new.py": "print(3)\n"})
    finished = review()
    assert finished.exit_code == 0
    assert "1 file changed and 1 file is new since the rollup: collected" in finished.stderr
    (review.project.root / "agent-config/codeRollup.txt").unlink()
    assert "there is no agent-config/codeRollup.txt: collected" in review().stderr
    prompts = [request.prompt for request in review.server.requests]
    assert "print(2)" not in prompts[0]
    assert all("print(2)" in prompt and "print(3)" in prompt for prompt in prompts[1:])


def test_a_rollup_without_the_specification_is_a_warning(review) -> None:
    review.project.write({"agent-config/codeRollup.txt": "--- main.py ---\nprint(1 - 1)\n"})
    review.server.script(TEXT)
    finished = review()
    assert finished.exit_code == 0
    assert (
        "warning: agent-config/codeRollup.txt contains no UserSpecification.md" in finished.stderr
    )


def test_a_link_in_the_place_of_a_report_is_replaced(review, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("mine", "utf-8")
    for path in (REPORT, DOCUMENT):
        (review.project.root / path).symlink_to(elsewhere)
    review.server.script(TEXT)
    assert review().exit_code == 0
    assert elsewhere.read_text("utf-8") == "mine"
    for path in (REPORT, DOCUMENT):
        assert (review.project.root / path).lstat().st_mode & 0o177777 == 0o100600


def test_reports_that_cannot_be_written_are_an_error_with_its_reason(
    tmp_path: Path, monkeypatch
) -> None:
    with pytest.raises(NotReady, match="cannot open agent-config: No such file or directory"):
        require_room(tmp_path, 1)
    (tmp_path / "agent-config").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_, **__: False)  # root may write everywhere
        with pytest.raises(NotReady, match="agent-config is not writable"):
            require_room(tmp_path, 1)
    (tmp_path / REPORT).mkdir()
    with pytest.raises(
        NotReady, match="cannot write the report to agent-config: Is a directory"
    ) as caught:
        publish(tmp_path, ["text"], {}, "1")
    assert caught.value.hint == "the responses are in logs/1"
    assert [path.name for path in (tmp_path / "agent-config").iterdir()] == [Path(REPORT).name]


def test_a_folder_in_the_place_of_a_report_is_an_error_before_any_call(review) -> None:
    (review.project.root / DOCUMENT).mkdir()
    finished = review()
    assert finished.exit_code == 3
    assert f"{DOCUMENT} is a folder" in finished.stderr
    assert review.server.requests == []


def test_a_recorded_run_can_be_replayed(review) -> None:
    review.server.script(TEXT)
    review()
    recorded = review.project.run_folder.name
    (review.project.root / REPORT).unlink()
    finished = review("--cc", "--model", f"replay/{recorded}")
    assert (finished.exit_code, review.project.read(REPORT)) == (0, TEXT)
    assert len(review.server.requests) == 1
