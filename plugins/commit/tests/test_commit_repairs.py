"""What costs a repair, what the model then reads, and what ends the run, through the command."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from code_commit_testing import install_plugin


def block(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


RED, GREEN = block("a.txt", "bad\n"), block("a.txt", "good\n")
STOP = '[plugins.commit]\nunusable_response = "stop"\n'


def repair_text(prompt: str) -> str:
    """Return what a repair prompt says about the failed attempt."""
    [text] = re.findall(
        r"\[build\.sh output\]\n--- (\w+) ---\n(.*?)--- \1 ---\n", prompt, re.DOTALL
    )
    return text[1]


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("I would rather not.", "no line begins with `^^^`"),
        ("^^^a.txt\ngood\n", "no closing line"),
        (
            GREEN + block("./a.txt", "good\n"),
            "./a.txt: The response has this path twice. Include each file once.",
        ),
        (GREEN + block("a.txt/b", "x\n"), "a.txt/b: The response writes 'a.txt' as a file"),
        ("^^^src/main.rs\nx\n^^^end\n", "repeats the block `^^^src/main.rs` of its prompt"),
    ],
    ids=["prose", "open", "twice", "file and folder", "echo"],
)
def test_a_response_that_cannot_be_used_costs_a_repair(change, response, reason):
    if "main.rs" in response:
        change.project.write(
            {
                "agent-config/codeRollup.txt": f"--- a.txt ---\nold\n--- doc ---\nsome text\n{response}"
            }
        )
        response = "some text\n" + response
    assert change([response, GREEN]).exit_code == 0
    assert reason in repair_text(change.prompts()[1])
    assert "build.sh was not run" in repair_text(change.prompts()[1])


@pytest.mark.parametrize("response", ["no", GREEN + block("a.txt", "x\n")], ids=["prose", "twice"])
def test_a_setting_stops_at_the_first_unusable_response(change, response):
    finished = change([response, GREEN], settings=STOP)
    assert (finished.exit_code, change.project.read("a.txt"), len(change.prompts())) == (
        5,
        "old\n",
        1,
    )
    assert "error: the response was refused: " in finished.stderr


def test_a_response_with_too_many_files_costs_a_repair_and_writes_nothing(change):
    """It is found before anything is done for each file, so that its size alone decides how long
    that takes.
    """
    change(["".join(f"^^^made/{number}\n^^^end\n" for number in range(30_000)), GREEN])
    assert change.project.read("a.txt") == "good\n"
    assert "the response changes more than 10,000 files" in repair_text(change.prompts()[1])
    assert not (change.project.root / "made").exists()


@pytest.mark.parametrize(("most", "code"), [("2", 5), ("3", 0)])
def test_the_most_files_of_a_response_are_a_setting(change, most, code):
    change.script([GREEN + block("b", "") + "^^^c\n^^^end\n"], STOP)
    environ = {"CODE_COMMIT_SANDBOX": "off", "CODE_COMMIT_MAX_FILES": most}
    finished = change.project.command(plugins=[change.plugins], environ=environ)
    assert (finished.exit_code, (change.project.root / "b").exists()) == (code, code == 0)
    assert ("hint: ask for a smaller change, or raise max_files" in finished.stderr) == (code != 0)


def test_a_refused_path_ends_the_run_with_a_command_that_shows_why(change):
    finished = change([GREEN + block("Cargo.lock", "x\n"), GREEN])
    assert (finished.exit_code, change.project.read("a.txt"), len(change.prompts())) == (
        5,
        "old\n",
        1,
    )
    assert "`code-commit check Cargo.lock` checks a path" in finished.stderr
    assert change.project.command("check", "Cargo.lock").exit_code == 1


def test_a_setting_lets_a_refused_path_cost_a_repair(change):
    finished = change(
        [block("build.sh", "x\n"), GREEN], settings='[plugins.commit]\nrefused_path = "repair"\n'
    )
    assert finished.exit_code == 0
    assert "build.sh: Responses cannot change it." in repair_text(change.prompts()[1])


def test_a_refused_response_warns_of_no_file(change):
    finished = change([block(".envrc", "x\n") + block("build.sh", "x\n")])
    assert (finished.exit_code, "other programs" in finished.stderr) == (5, False)


RULE = """
from code_commit.plugin_api import Refusal, hookimpl

class Rule:
    name = "no-bad"
    def judge(self, changes, tree):
        return [Refusal(each.path, self.name, "It is bad.", then={then!r}, hint={hint!r}) for each in changes
                if each.content == b"bad\\n"]

@hookimpl
def code_commit_path_rules():
    return [Rule()]
"""


@pytest.mark.parametrize(
    ("then", "hint", "shown"),
    [
        (
            "stop",
            "",
            "the rule no-bad of the plugin code-commit-rule refused: change the query, or the plugin's settings",
        ),
        ("stop", "do this", "hint: do this"),
        ("repair", "", "the rule no-bad of the plugin code-commit-rule refused"),
    ],
)
def test_a_hint_names_the_plugins_rule(change, then, hint, shown):
    install_plugin(
        change.plugins, "rule", RULE.format(then=then, hint=hint), group="code_commit.path_rules"
    )
    finished = change([RED], "--repairs", "0")
    assert finished.exit_code == 5
    assert "a.txt: It is bad." in finished.stderr
    assert shown in finished.stderr


def test_a_hint_names_a_rule_that_is_broken(change):
    code = RULE.format(then="perhaps", hint="")
    install_plugin(change.plugins, "rule", code, group="code_commit.path_rules")
    finished = change([RED])
    assert (finished.exit_code, len(change.prompts())) == (5, 1)
    assert (
        "update or fix code-commit-rule, or disable it with --disable-plugin code-commit-rule"
        in finished.stderr
    )


def test_a_rule_can_warn(change):
    install_plugin(
        change.plugins, "rule", RULE.format(then="warn", hint=""), group="code_commit.path_rules"
    )
    finished = change([RED], "--repairs", "0")
    assert (finished.exit_code, change.project.read("a.txt")) == (1, "bad\n")
    assert finished.stderr.count("warning: a.txt: It is bad.") == 1


def test_after_an_unusable_repair_the_model_sees_the_reason_and_the_latest_build(change):
    assert change([RED, "no", GREEN]).exit_code == 0
    first, second = map(repair_text, change.prompts()[1:])
    assert first == "build.sh ended with exit code 1\n\nlooking at a.txt\ncomplaint about bad\n"
    assert second == (
        "The last response could not be applied, and build.sh was not run. The reason:\n"
        'there is no file replacement in the response: no line begins with `^^^`; it begins "no"\n\n'
        "The latest output of build.sh, which was run after an earlier response:\n\n" + first
    )


def test_an_unusable_response_is_forgotten_after_the_next_build(change):
    change(["no", RED, GREEN])
    assert "could not be applied" not in repair_text(change.prompts()[2])


@pytest.mark.parametrize(
    ("build", "settings", "count"),
    [
        ("seq 1 60000; exit 1\n", "", 348_894 - 262_144),
        ("seq 1 60000; seq 1 60000 >&2; exit 1\n", "", 2 * 348_894 - 262_144),
        ("seq 1 1000; exit 1\n", "[build]\noutput_limit = 2000\n", 3_893 - 2_000),
    ],
    ids=["stdout", "both", "setting"],
)
def test_long_output_is_cut_once_with_the_true_number_of_missing_bytes(
    change, build, settings, count
):
    change.project.write({"build.sh": build})
    change([RED, "no"], "--repairs", "1", settings=settings)
    text = repair_text(change.prompts()[1])
    marks = re.findall(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", text)
    assert [int(mark) for mark in marks] == [count]
    assert text.count("left out") == len(marks)
    assert "\n\n1\n2\n3\n" in text
    assert "\n1000\n" in text if settings else "\n60000\n" in text


def test_the_output_of_a_build_is_one_stream_as_a_terminal_shows_it(change):
    frames = "for i in $(seq 0 20000); do printf '\\r%5d of 20000' $i; done; echo"
    build = f"echo one; echo two >&2; echo three\n{frames}\nprintf 'dos\\r\\n' >&2; grep -q good a.txt\n"
    change.project.write({"build.sh": build})
    assert change([RED, GREEN]).exit_code == 0
    shown = repair_text(change.prompts()[1]).replace("\r\n", "\n")
    assert shown == "build.sh ended with exit code 1\n\none\ntwo\nthree\n20000 of 20000\ndos\n"
    (log,) = change.project.root.glob("logs/*/1-build.txt")
    assert log.read_bytes().count(b"\r") == 20_002


def test_a_file_is_deleted_however_the_block_is_closed(change):
    change.project.write({"gone.txt": "x\n"})
    change.show()
    assert change(["^^^gone.txt\n^^^delete\n^^^end\n" + GREEN]).exit_code == 0
    assert not (change.project.root / "gone.txt").exists()


def test_a_file_can_contain_lines_of_carets_alone(change):
    title = "good\n^^^^\n"
    assert change([block("a.txt", title)]).exit_code == 0
    assert change.project.read("a.txt") == title


def test_three_carets_alone_come_back_with_what_to_write_instead(change):
    assert change([block("a.txt", "Abc\n^^^\n"), GREEN]).exit_code == 0
    assert "with at least four carets" in repair_text(change.prompts()[1])


@pytest.mark.parametrize("repairs", [0, 1])
def test_there_are_as_many_repairs_as_asked_for(change, repairs):
    change([RED, RED.replace("bad", "worse"), GREEN], "--repairs", str(repairs))
    assert len(change.prompts()) == 1 + repairs


def test_there_are_three_repairs_without_a_flag(change):
    assert change([block("a.txt", f"{number}\n") for number in range(5)]).exit_code == 1
    assert len(change.prompts()) == 4
    assert "--- FILE REPLACEMENT a.txt ---\n2\n" in change.prompts()[3]


def test_a_repair_shows_the_latest_replacement_of_each_file(change):
    change(
        [RED + block("z.txt", "z\n"), "^^^./z.txt\n^^^delete\n" + block("./b.txt", "b\n"), GREEN]
    )
    assert change.prompts()[2].partition("[file replacements]\n")[2] == (
        "--- FILE REPLACEMENT a.txt ---\nbad\n--- FILE REPLACEMENT b.txt ---\nb\n--- FILE REMOVED z.txt ---\n"
    )


ENDING = """
from dataclasses import replace

from code_commit.plugin_api import Finish
from code_commit_testing.scripted_provider import ScriptedProvider, code_commit_providers

complete = ScriptedProvider.complete
ScriptedProvider.complete = lambda self, call: replace(complete(self, call), finish=Finish.{})
"""


@pytest.mark.parametrize(
    ("finish", "reply", "said"),
    [
        ("LENGTH", GREEN, "the response is incomplete: it ended with `scripted`"),
        ("STOPPED_EARLY", GREEN, "the response is incomplete: it was stopped early"),
        ("TOOL_CALLS", GREEN, "There are no functions: reply with text only"),
        ("CUT", GREEN, "the response is incomplete: it ended with `scripted`"),
    ],
)
def test_a_reply_that_did_not_end_by_itself_is_never_applied(change, tmp_path, finish, reply, said):
    plugins = install_plugin(tmp_path / "ending", "scripted", ENDING.format(finish))
    finished = replace(change, plugins=plugins)([reply], "--repairs", "0")
    assert (finished.exit_code, change.project.read("a.txt")) == (5, "old\n")
    assert said in finished.stderr
    assert ("hint: raise max_tokens" in finished.stderr) is (finish == "LENGTH")
