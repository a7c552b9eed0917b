"""How a run ends, through the command: its exit code, what it says, and what is on disk."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
from dataclasses import replace
from typing import Any

import pytest

from code_commit_testing import install_plugin


def block(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


RED, GREEN = block("a.txt", "bad\n"), block("a.txt", "good\n")
FAILING = """
from code_commit_testing import scripted_provider
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import ProviderError

provider_of = scripted_provider.provider_of
def broken(config):
    *replies, last = config.replies
    return scripted_provider.ScriptedProvider([*replies, ProviderError(last, kind="auth")])
scripted_provider.provider_of = broken
"""


def lines_after(stderr: str, start: str) -> list[str]:
    """Return the lines of the error from the one that contains `start`, without figures and the
    name of the run.
    """
    lines = stderr.splitlines()
    [at] = [
        number for number, line in enumerate(lines) if line.startswith("error: ") and start in line
    ]
    shown = [line.strip() for line in lines[at:] if not line.startswith(("log: logs/", "cost: "))]
    return [re.sub(r"logs/\S+/\d-build", "build", line) for line in shown]


CHANGED = [
    "the last lines of build.txt:",
    "looking at a.txt",
    "complaint about bad",
    "files stay changed:",
    "a.txt +1 -1",
]
TAKE_BACK = "`code-commit undo` reverts the changes"


@pytest.mark.parametrize(
    ("answers", "summary"),
    [
        (
            [RED, RED.replace("bad", "worse")],
            "the build is red: build.sh ended with exit code 1 after 2 attempts",
        ),
        ([RED, "no"], "the last response cannot be applied: there is no file replacement"),
        ([RED, RED], "the build is red: build.sh ended with exit code 1 after 2 attempts"),
        (
            [RED, block("build.sh", "exit 0\n")],
            "the response was refused: build.sh: Responses cannot change it",
        ),
    ],
    ids=["red twice", "no block", "nothing new", "refused path"],
)
def test_a_red_build_is_exit_1_and_tells_what_stays_and_how_to_take_it_back(
    change, answers, summary
):
    finished = change(answers, "--repairs", "1")
    assert finished.exit_code == 1
    first, *others = lines_after(
        finished.stderr, "the build is red: build.sh ended with exit code 1 after 2 attempts"
    )
    assert summary in first
    assert ".;" not in first
    content = change.project.read("a.txt").strip()
    assert others[:5] == [line.replace("bad", content) for line in CHANGED]
    assert others[5].startswith("hint: ")
    assert others[5].endswith(TAKE_BACK)
    assert change.result()["changed"] == ["a.txt"]
    assert TAKE_BACK in str(change.result()["hint"])
    assert change.project.command("undo").exit_code == 0
    assert change.project.read("a.txt") == "old\n"


def test_a_red_build_without_output_has_no_last_lines(change):
    change.project.write({"build.sh": "exit 3\n"})
    finished = change([RED], "--repairs", "0")
    assert (
        lines_after(finished.stderr, "build.sh ended with exit code 3")[1]
        == "the build printed nothing"
    )


def test_a_hint_shows_the_changes_where_the_command_is_installed(change):
    pytest.importorskip("code_commit_history")
    finished = change([RED], "--repairs", "0")
    assert f"`code-commit runs diff` shows what the run changed, {TAKE_BACK}" in finished.stderr


def test_responses_that_were_never_applied_are_exit_5_without_a_word_about_changes(change):
    finished = change(["no", "no"], "--repairs", "1")
    assert (finished.exit_code, change.project.read("a.txt")) == (5, "old\n")
    assert lines_after(finished.stderr, "no response can be applied after 2 attempts: ")[1:] == [
        "hint: answer the model in the query, for example with --query or --edit, or try another model"
    ]
    assert "changed" not in change.result()


def test_a_failed_provider_after_a_red_build_is_exit_4_and_tells_what_stays(change, tmp_path):
    plugins = install_plugin(tmp_path / "failing", "scripted", FAILING)
    finished = replace(change, plugins=plugins)([RED, "wrong key"])
    assert finished.exit_code == 4
    assert lines_after(finished.stderr, "wrong key")[1:6] == CHANGED


RED_BEFORE = (
    "; it was red before the run, too: build.sh ended with exit code 7 on the original files\n"
)
BUILDS = {
    "always red": ("echo $(cat a.txt) made; echo more >> made.txt; exit 7\n", True),
    "red with the change": ("grep -q old a.txt || exit 7\n", False),
}
BASELINE = {"CODE_COMMIT_BUILD__BASELINE": "while-waiting"}


@pytest.mark.parametrize(("build", "said"), BUILDS.values(), ids=list(BUILDS))
def test_a_project_that_was_red_before_the_run_is_called_so(change, build, said):
    """The first build of a checkout is awaited, so it is known here."""
    change.project.write({"build.sh": build})
    finished = change([RED, block("n.txt", "n\n")], "--repairs", "1", **BASELINE)
    assert finished.exit_code == 1
    assert (RED_BEFORE in finished.stderr) is said
    assert (
        "] the build is red before the run: it ended with exit code 7, see" in finished.stderr
    ) is said
    assert "exit code 7 after 2 attempts" in finished.stderr
    assert (change.project.read("a.txt"), change.project.read("n.txt")) == ("bad\n", "n\n")
    if said:
        assert "old made" in (change.project.run_folder / "baseline-build.txt").read_text()
        assert change.project.read("made.txt") == "more\n" * 3
    assert change.project.command("undo").exit_code == 0
    assert change.project.git("status", "--porcelain", "a.txt", "n.txt") == ""


@pytest.mark.parametrize(
    ("arguments", "baseline"),
    [(["--repairs", "0"], "never"), (["--dry-run"], "while-waiting")],
    ids=["never", "dry run"],
)
def test_the_untouched_files_are_not_built_without_need(change, arguments, baseline):
    change.project.write({"build.sh": "exit 7\n"})
    finished = change([RED], *arguments, CODE_COMMIT_BUILD__BASELINE=baseline)
    assert "red before" not in finished.stderr
    assert not (change.project.run_folder / "baseline-build.txt").exists()


def test_a_build_of_the_untouched_files_ends_when_the_answer_comes(change):
    assert change([GREEN]).exit_code == 0, "a build has finished here"
    change.project.write({"build.sh": "grep -q good a.txt || exec sleep 600\n", "a.txt": "old\n"})
    finished = change([GREEN], **BASELINE)
    assert finished.exit_code == 0, finished.stderr
    log = (change.project.run_folder / "baseline-build.txt").read_text()
    assert "exit code" not in log
    assert "red before" not in finished.stderr


def test_a_red_project_costs_nothing_where_it_is_built_first(change):
    change.project.write({"build.sh": "echo reason; echo more >> made.txt; exit 7\n"})
    finished = change([GREEN], CODE_COMMIT_BUILD__BASELINE="before")
    assert (finished.exit_code, change.prompts()[1:]) == (3, [])
    assert (
        "error: the build is red before any change: build.sh ended with exit code 7\n"
        in finished.stderr
    )
    assert change.project.read("a.txt") == "old\n"
    change.project.write({"build.sh": "grep -q old a.txt\n"})
    finished = change([RED], "--repairs", "0", CODE_COMMIT_BUILD__BASELINE="before")
    assert finished.exit_code == 1
    assert "red before" not in finished.stderr


def test_an_interrupted_build_of_the_untouched_files_leaves_them_alone(change):
    change.project.write({"build.sh": "exec sleep 600\n"})
    change.script([RED])
    arguments = ("--json", "--quiet", "--repairs", "0")
    with change.project.start(*arguments, plugins=[change.plugins], environ=BASELINE) as process:
        assert process.stdout is not None
        assert any(b"baseline-build" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert (process.returncode, change.project.read("a.txt")) == (130, "old\n")


def test_long_words_are_cut(change):
    finished = change(
        ["Which did you mean?\n" + "".join(f"option {number}\n" for number in range(50))]
    )
    assert (
        "       option 18\n       ... and 31 more lines, in the response in the run folder\n"
        in finished.stderr
    )
    assert "option 19\n" not in finished.stderr


def test_a_model_that_refuses_in_words_is_quoted(change):
    finished = change(["\n  I'm sorry, I cannot do this.\nMore.\x1b[2J\n"], "--repairs", "0")
    assert finished.exit_code == 5
    assert (
        'no line begins with `^^^`; it begins "I\'m sorry, I cannot do this."\n' in finished.stderr
    )
    assert "] the model answered in words, and changed nothing:\n" in finished.stderr
    assert "\n       I'm sorry, I cannot do this.\n       More.\\x1b[2J\n" in finished.stderr
    assert '"' + "x" * 200 + '"' in change(["x" * 5000], "--repairs", "0").stderr
    assert "; it is empty\n" in change([" "], "--repairs", "0").stderr


@pytest.mark.parametrize(("answer", "price"), [(GREEN, ""), (RED, ""), (GREEN, r"\$0\.0001, ")])
def test_the_last_lines_name_cost_and_log(change, answer, price):
    model = ("--model", "scripted/gpt-5", "--max-cost", "9") if price else ()
    *_, cost, log = change([answer], "--repairs", "0", *model).stderr.splitlines()
    assert re.fullmatch(rf"cost: {price}10 tokens in, 5 tokens out, 1 call, 0:\d\d", cost)
    name = log.removeprefix("log: ")
    assert (change.project.root / name).exists()
    assert change.project.run_folder.name in name
    if importlib.util.find_spec("code_commit_report"):
        assert name.endswith("/report.html")


def test_restored_files_do_not_stay_changed(change):
    finished = change([RED], "--repairs", "0", "--on-failure", "restore")
    assert (finished.exit_code, change.project.read("a.txt")) == (1, "old\n")
    brought_back = "hint: `code-commit redo` brings the changes back"
    assert lines_after(finished.stderr, "the build is red")[1:] == [*CHANGED[:3], brought_back]
    assert change.project.command("redo").exit_code == 0
    assert change.project.read("a.txt") == "bad\n"


def test_an_interrupted_build_tells_what_stays(change):
    change.project.write({"build.sh": "echo started; exec sleep 600\n"})
    change.script([RED])
    with change.project.start("--json", "--quiet", plugins=[change.plugins]) as process:
        assert process.stdout is not None
        assert any(b"process.started" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    last: dict[str, Any] = json.loads(stdout.splitlines()[-1])["data"]
    assert (process.returncode, last["exit_code"], last["data"]["changed"]) == (130, 130, ["a.txt"])
    ending = lines_after(stderr.decode(), "interrupted")
    assert ending[1:3] == CHANGED[3:]
    assert ending[3].endswith(TAKE_BACK)


def test_only_the_last_build_counts(change):
    change.project.write(
        {"build.sh": 'grep -q good a.txt || { echo "first"; exit 1; }; echo "#" >> build.sh\n'}
    )
    finished = change([RED, GREEN], "--repairs", "1", "--sandbox", "off")
    assert finished.exit_code == 1
    assert "the build changed its own checks: build.sh" in finished.stderr
    assert "first" not in "".join(lines_after(finished.stderr, "its own checks"))


def test_a_build_that_alters_its_own_checks_ends_the_run(change):
    change.project.write({"build.sh": "echo '# more' >> build.sh\n"})
    finished = change([GREEN, GREEN], "--sandbox", "off")
    assert finished.exit_code == 1
    assert change.result()["tampered"] == ["build.sh"]
    assert change.result()["changed"] == ["a.txt"]


@pytest.mark.parametrize(
    ("answers", "written", "deleted", "summary", "files"),
    [
        (
            [block("n.txt", "n\n"), "^^^n.txt\n^^^delete\n" + GREEN],
            ["a.txt"],
            [],
            "1 file changed, the build passes after 2 attempts",
            "a.txt +1 -1",
        ),
        (
            [GREEN + "^^^nosuch\n^^^delete\n"],
            ["a.txt"],
            [],
            "1 file changed, the build passes",
            "a.txt +1 -1",
        ),
        (
            [GREEN + block("b/c.txt", "c\n")],
            ["a.txt", "b/c.txt"],
            [],
            "2 files changed, the build passes",
            "a.txt +1 -1\n  b/c.txt +1 -0",
        ),
        (
            [GREEN + "^^^./gone.txt\n^^^delete\n"],
            ["a.txt"],
            ["gone.txt"],
            "2 files changed, the build passes",
            "a.txt +1 -1\n  gone.txt +0 -1",
        ),
    ],
    ids=["made and removed", "absent", "two", "removed"],
)
def test_the_result_is_the_difference_between_start_and_end(
    change, answers, written, deleted, summary, files
):
    change.project.write({"gone.txt": "x\n"})
    change.show()
    finished = change(answers)
    assert finished.exit_code == 0, finished.stderr
    assert change.result() == {"written": written, "deleted": deleted}
    assert f"\n{summary}\n  {files}\n" in finished.stderr
    assert "\nhint: `code-commit " in finished.stderr


def test_the_deletion_of_an_absent_file_is_no_change(change):
    finished = change([GREEN + "^^^nosuch\n^^^delete\n"], "--json")
    assert [
        each["data"]["deleted"] for each in finished.events if each["kind"] == "changes.applied"
    ] == [[]]


def test_a_dry_run_counts_only_what_would_change(change):
    finished = change([GREEN + "^^^nosuch\n^^^delete\n"], "--dry-run")
    assert "1 file would change; nothing was written" in finished.stderr
    assert change.result() == {"written": ["a.txt"], "deleted": []}


def test_a_build_that_passes_on_the_files_as_they_were_is_not_the_goal(change):
    change.project.write({"build.sh": "grep -q old a.txt\n"})
    finished = change([RED, block("a.txt", "old\n")])
    assert finished.exit_code == 1
    assert "the build passes, but later responses reverted all changes" in finished.stderr
    assert "files stay changed" not in finished.stderr


def test_a_long_list_of_changed_files_is_cut(change):
    answers = [RED + "".join(block(f"n{number:02}.txt", "n\n") for number in range(20))]
    finished = change(answers, "--repairs", "0")
    assert "files stay changed:\n    a.txt +1 -1\n    n00.txt +1 -0\n" in finished.stderr
    assert "    n18.txt +1 -0\n    and 1 more\n" in finished.stderr


def test_the_last_lines_of_the_output_are_shown(change):
    change.project.write({"build.sh": "seq 1 50; echo; seq 101 150 >&2; echo >&2; exit 1\n"})
    finished = change([RED], "--repairs", "0")
    shown = [str(number) for number in range(141, 151)]
    assert lines_after(finished.stderr, "the build is red")[2:12] == shown


def test_a_project_without_its_build_ends_before_a_call(change):
    (change.project.root / "build.sh").unlink()
    finished = change([GREEN])
    assert finished.exit_code == 3
    assert "log: " not in finished.stderr
    assert not list(change.project.root.glob("logs/*/"))


def test_files_that_other_programs_execute_are_written_with_a_warning(change):
    executed = [
        *(
            ".envrc",
            ".gitconfig",
            "sub/.husky/pre-commit",
            ".vscode/settings.json",
            ".github/workflows/ci.yml",
        ),
        *("bare/hooks/post-update", "hidden/config", ".GitConfig"),
    ]
    others = ["config", "hooks/useState.ts", "sub/config", ".github/README.md", "hidden/HEAD"]
    response = GREEN + "".join(block(path, "x\n") for path in [*executed, *others])
    done = change([response])
    assert done.exit_code == 0, done.stderr
    warned = re.findall(r"warning: (\S+): other programs run commands from this file", done.stderr)
    assert sorted(warned) == sorted(executed)


@pytest.mark.parametrize(
    ("count", "more"), [(51, "and 1 more path\n"), (300, "and 250 more paths\n")]
)
def test_a_response_with_many_refused_paths_ends_in_a_short_message(change, count, more):
    done = change(["".join(block(f".git/x{number}", "x\n") for number in range(count))])
    assert done.exit_code == 5
    assert more in done.stderr
    assert len(done.stderr.splitlines()) < 120
    events = map(json.loads, (change.project.run_folder / "events.jsonl").read_text().splitlines())
    [refused] = [event["data"] for event in events if event["kind"] == "changes.refused"]
    assert len(refused["refusals"]) == count
