"""Steps through the command: their order, their context, their attempts, lists in lists, limits."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Reply

ECHO = {"type": "pattern", "pattern": "^ok"}


def ended(work, finished) -> list[tuple[str, bool, int]]:
    return [
        (event["step"], event["passed"], event["attempts"])
        for event in work.events_of(finished, "tasks.ended")
    ]


# --- context -------------------------------------------------------------------------------------------------------


def test_a_step_gets_only_the_requested_context(work) -> None:
    work.project.write(
        {
            "src/a.rs": "AAA\n",
            "src/deep/b.rs": "BBB\n",
            "tests/test_c.rs": "CCC\n",
            "tests/deep/test_d.rs": "DDD\n",
            "agent-config/secret.rs": "KEY\n",
        }
    )
    context = {
        "files": [
            {"pattern": "src/**/*.rs", "recursive": True},
            {"pattern": "src/a.rs"},
            {"pattern": "tests/test_*.rs", "recursive": False},
            {"pattern": "agent-config/*", "recursive": True},
            {"pattern": "../**", "recursive": True},
        ],
        "previous_steps": [1],
        "explicit_content": "Mind the gap.",
    }
    steps = [
        work.step("one"),
        work.step("two"),
        work.step("three", context=context),
        work.step("four"),
    ]
    work.server.script(
        work.listed(*steps), *map(work.returns, ["first", "second", "third", "fourth"])
    )
    finished = work()
    assert finished.exit_code == 0, finished.stderr
    _, one, two, three, four = work.prompts
    for text in ("src/a.rs:\n--- ", "AAA", "BBB", "CCC", "[context]\nMind the gap.\n", "second"):
        assert text in three
        assert text not in one + two + four
    for text in ("DDD", "KEY", "first"):
        assert text not in three
    assert three.count("AAA") == 1
    assert "[result of step 1, two]\n" in three
    assert "Step 3 of 4 of: the whole" in three
    assert "Please three." in three


def test_large_context_is_only_named(work) -> None:
    work.configure(context_limit=1024)
    work.project.write({"large.txt": "L" * 2000, "small.txt": "small\n"})
    context = {"files": [{"pattern": "*.txt"}, {"pattern": "*.none"}], "previous_steps": [0]}
    work.server.script(
        work.listed(work.step("one"), work.step("two", context=context)),
        work.code("return 'first ' + 'x'.repeat(5000) + ' last';"),
        work.returns("done"),
    )
    assert work().exit_code == 0
    prompt = work.prompts[2]
    assert "small.txt:\n" in prompt
    assert "LLLL" not in prompt
    assert "large.txt" in prompt
    assert "*.none: no file matches" in prompt
    assert "first x" in prompt
    assert "characters left out" in prompt


# --- attempts ------------------------------------------------------------------------------------------------------


def test_a_step_has_three_attempts_with_the_previous_failure(work) -> None:
    work.server.script(
        work.listed(work.step("one", ECHO)),
        work.code("console.log('wor' + 'king'); return 'not this';"),
        work.code("throw new Error('boom');"),
        work.returns("ok, this"),
    )
    finished = work("--json")
    assert finished.exit_code == 0
    assert ended(work, finished) == [("1", True, 3), ("", True, 1)]
    _, first, second, third = work.prompts
    assert "[the last attempt failed]" not in first
    for text in (
        "[the last attempt failed]",
        "The exit requirement is not met",
        "returned: not this",
        "working",
    ):
        assert text in second
    assert "return 'not this'" in second
    assert "Error: boom" in third
    assert "agent_code.ts:2:7" in third
    reasons = [
        event["reason"] for event in work.events_of(finished, "tasks.judged") if not event["passed"]
    ]
    assert [reason.partition("\n")[0][:24] for reason in reasons] == [
        "The exit requirement is ",
        "Error: boom",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "```\nasync function agent_code() { return 'read'; }\n```",
        "```ts\nasync function agent_code() { return `read\n```sh\nls\n```\n`; }\n```\nDone.",
        "```ts\nasync function agent_code() { await show('README.md'); return 'read'; }\nagent_code();\n```",
    ],
    ids=["no label", "a fence in a literal", "a call of its own"],
)
def test_a_slip_of_form_costs_no_call(work, reply) -> None:
    work.server.script(reply)
    finished = work("--json")
    assert finished.exit_code == 0, finished.stderr
    result = finished.events[-1]["data"]["data"]["result"]
    assert result == ("read\n```sh\nls\n```\n" if "sh" in result else "read")
    assert len(work.events_of(finished, "tasks.called")) == reply.count("await")


def test_a_step_that_throws_three_times_ends_the_task(work) -> None:
    work.server.script(
        work.listed(work.step("one", ECHO), work.step("two")), *[work.code("throw 1;")] * 3
    )
    finished = work("--json")
    assert finished.exit_code == 1
    assert len(work.server.requests) == 4
    assert "code-commit --resume latest" in finished.stderr
    assert finished.events[-1]["data"]["outcome"] == "not_reached"
    assert finished.events[-1]["data"]["summary"].startswith("step 1 (one) failed after 3 attempts")
    tree = (work.project.run_folder / "task-tree.txt").read_text("utf-8")
    assert [line for line in tree.splitlines() if "attempt" not in line] == [
        "task: failed",
        "├─ 1 one: failed",
        "└─ 2 two: not started",
    ]


def command(text: str) -> dict:
    return {"type": "callback", "function_name": "command_succeeds", "args": {"cmd": text}}


@pytest.mark.parametrize(
    "wrong",
    [
        command("no-such-program check"),
        {"type": "callback", "function_name": "file_exists", "args": {"path": "agent-config/x"}},
        {"type": "callback", "function_name": "json_valid", "args": {"content": "..."}},
    ],
    ids=["no program", "a closed path", "its own text"],
)
def test_a_wrong_requirement_goes_back_to_who_wrote_it(work, wrong) -> None:
    first = work.step("first")
    work.server.script(
        work.listed(first, work.step("check", wrong)),
        work.returns("first result"),
        work.returns("checked"),
        work.listed(first, work.step("check", command("true"))),
        work.returns("checked again"),
    )
    finished = work("--json")
    assert finished.exit_code == 0, finished.stderr
    assert ended(work, finished) == [
        ("1", True, 1),
        ("2", False, 1),
        ("1", True, 0),
        ("2", True, 1),
        ("", True, 2),
    ]
    correction = work.prompts[3]
    assert "Step 2 (check) failed: The exit requirement is not met." in correction
    assert "No work on the step can meet this requirement: correct it." in correction
    assert "If your new list begins with the first 1 step, unchanged" in correction
    assert "first result" in finished.events[-1]["data"]["data"]["result"]


def test_an_unmet_requirement_goes_back_once(work) -> None:
    again = [work.listed(work.step("one", ECHO)), *[work.returns("no")] * 3]
    work.server.script(*again, *again)
    finished = work("--json")
    assert finished.exit_code == 1
    assert len(work.server.requests) == 8
    assert finished.events[-1]["data"]["summary"].startswith("step 1 (one) failed after 3 attempts")


def test_an_outage_in_a_correction_keeps_the_steps_that_passed(work) -> None:
    work.project.write({"agent-config/config.toml": "[http]\nretries = 0\n"})
    work.server.script(
        work.listed(work.step("one"), work.step("two", command("no-such-program"))),
        work.returns("one is done"),
        work.returns("two"),
        Reply.error(503),
    )
    assert work().exit_code == 4
    work.server.script(work.returns("two"), work.returns("done without steps"))
    finished = work("--resume", "latest")
    assert finished.exit_code == 0, finished.stderr
    assert "done without steps" in finished.stdout
    assert '"title": "two"' in work.prompts[-1]  # its list


def test_the_number_of_attempts_is_a_setting(work) -> None:
    work.configure(attempts=1)
    work.server.script(work.code("throw 1;"))
    assert work().exit_code == 1
    assert len(work.server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Hello!", "no TypeScript code block"),
        ("```typescript\nlet a = ;\n```", "SyntaxError"),
        ('```typescript\nimport "https://example.org/x.ts";\n```', "--no-remote"),
        (Reply(text="```typescript\n", finish="length"), "incomplete"),
        (
            "```typescript\nasync function agent_code() { return '\n```sh\nls\n```\n'; }\n```",
            "longer fences: ````",
        ),
    ],
    ids=["prose", "syntax", "import", "cut short", "a fence in the code"],
)
def test_a_malformed_answer_is_sent_back_with_the_reason(work, reply, reason: str) -> None:
    work.server.script(reply, work.returns("good"))
    finished = work()
    assert (finished.exit_code, finished.stdout) == (0, "good\n")
    assert reason in work.prompts[1]


@pytest.mark.fast_rows(5)
@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        {"title": "t"},
        {"steps": "many", "title": "t"},
        {"title": "t", "steps": [{}]},
        4,
        [],
        {},
        {"steps": []},
    ],
    ids=json.dumps,
)
def test_a_value_that_is_neither_a_string_nor_a_list_fails(work, value) -> None:
    work.configure(attempts=1)
    work.server.script(work.returns(value))
    finished = work()
    assert finished.exit_code == 5
    (error,) = [line for line in finished.stderr.splitlines() if line.startswith("error: ")]
    assert not error.endswith(":")


def test_a_task_without_any_answer_is_a_refused_response(work) -> None:
    work.server.script("one", "two", "three")
    assert work().exit_code == 5
    assert "[its output]\n--- " in work.prompts[1]


def test_a_list_that_can_never_pass_is_sent_back(work) -> None:
    unknown = work.step("one", {"type": "validation", "validator": "looks_good"})
    broken = work.step("one", {"type": "pattern", "pattern": "("})
    work.server.script(
        work.listed(unknown), work.listed(work.step("zero"), broken), work.returns("fine")
    )
    assert work().exit_code == 0
    assert "no validator 'looks_good'; there are: syntax_check" in work.prompts[1]
    assert "steps[1]: the pattern is not a regular expression" in work.prompts[2]


def test_a_task_whose_first_call_failed_is_the_latest_to_resume(work) -> None:
    work.server.script(work.returns("old"), Reply.error(401, "bad key"), work.returns("new"))
    assert work("--task", "An old task.").exit_code == 0
    finished = work("--task", "A new task.")
    assert finished.exit_code == 4
    assert finished.stderr.count("`code-commit --resume latest` continues") == 1
    finished = work("--resume", "latest")
    assert finished.exit_code == 0, finished.stderr
    assert "A new task." in work.prompts[-1]


@pytest.mark.parametrize("first", ["return '';", "await write_file('a', 'b'); return '';"])
def test_an_outage_ends_the_run_and_resume_repeats_no_step(work, first) -> None:
    work.project.write({"agent-config/config.toml": "[http]\nretries = 0\n"})
    work.server.script(
        work.listed(work.step("one"), work.step("two")),
        work.code(first),
        Reply.error(503, "overloaded"),
    )
    finished = work()
    assert finished.exit_code == 4
    assert len(work.server.requests) == 3
    assert finished.stderr.count("attempt 1 failed: the model could not be reached\n") == 1
    assert finished.stderr.count("overloaded") == 1
    assert finished.stderr.count("`code-commit --resume latest` continues") == 1
    work.server.script(work.returns("two is done"))
    finished = work("--resume", "latest", "--json")
    assert finished.exit_code == 0, finished.stderr
    assert ended(work, finished) == [("1", True, 0), ("2", True, 1), ("", True, 1)]
    assert "Title: two" in work.prompts[-1]


def test_a_rejected_key_is_not_retried(work) -> None:
    work.server.script(Reply.error(401))
    assert work().exit_code == 4
    assert len(work.server.requests) == 1


# --- lists in lists ------------------------------------------------------------------------------------------------


def test_what_a_person_changes_in_a_shown_file_while_the_model_answers_stays(work) -> None:
    def while_a_person_writes(_request) -> str:
        work.project.write({"a.txt": "ONE\ntwo\nthree\n"})
        return work.code("await write_file('a.txt', 'one\\ntwo\\n3\\n'); return '';")

    work.project.write({"a.txt": "one\ntwo\nthree\n"})
    context = {"files": [{"pattern": "a.txt"}]}
    work.server.script(work.listed(work.step(context=context)), while_a_person_writes)
    finished = work()
    assert finished.exit_code == 0, finished.stderr
    assert work.project.read("a.txt") == "ONE\ntwo\n3\n"


def test_a_step_can_be_divided(work) -> None:
    sees = work.step("last", context={"previous_steps": [0]})
    work.server.script(
        work.listed(work.step("first", {"type": "pattern", "pattern": "inner two"}), sees),
        work.listed(work.step("inner one"), work.step("inner two")),
        work.returns("A"),
        work.returns("B"),
        work.returns("C"),
    )
    finished = work("--json")
    assert finished.exit_code == 0, finished.stderr
    assert ended(work, finished) == [
        ("1.1", True, 1),
        ("1.2", True, 1),
        ("1", True, 1),
        ("2", True, 1),
        ("", True, 1),
    ]
    assert "1.1 inner one\nA\n\n1.2 inner two\nB" in work.prompts[4]
    tree = (work.project.run_folder / "task-tree.txt").read_text("utf-8")
    assert tree == (
        "task: passed\n├─ 1 first: passed\n│  ├─ 1.1 inner one: passed\n│  └─ 1.2 inner two: passed\n└─ 2 last: passed\n"
    )


def test_a_step_with_a_failed_list_is_repeated(work) -> None:
    work.server.script(
        work.listed(work.step("outer")),
        work.listed(work.step("inner", ECHO)),
        *[work.returns("no")] * 3,
        work.returns("done at once"),
    )
    finished = work("--json")
    assert finished.exit_code == 0
    assert ended(work, finished) == [("1.1", False, 3), ("1", True, 2), ("", True, 1)]
    assert "Step 1.1 (inner) failed" in work.prompts[5]


def test_each_attempt_has_files_of_its_own(work) -> None:
    """Two attempts at a step may each make a list, whose steps have the same places."""
    again = [work.listed(work.step("inner", ECHO)), *[work.returns("no")] * 2, work.returns("ok")]
    work.configure(attempts=2)
    work.server.script(work.listed(work.step("outer")), *again[:3], again[0], again[3])
    finished = work("--json")
    assert finished.exit_code == 0, finished.stderr
    codes = [event["code"] for event in work.events_of(finished, "tasks.code")]
    first = ["step-1.1-attempt-1.1.ts", "step-1.1-attempt-1.2.ts"]
    second = ["step-1-attempt-2.ts", "step-1.1-attempt-2.1.ts"]
    assert codes == ["task-attempt-1.ts", "step-1-attempt-1.ts", *first, *second]


def test_a_step_that_requests_its_own_result_is_noted(work) -> None:
    work.server.script(
        work.listed(work.step("one", context={"previous_steps": [0]})), work.returns("fine")
    )
    finished = work("--json")
    assert finished.exit_code == 0, finished.stderr
    assert len(work.server.requests) == 2
    texts = [event["text"] for event in work.events_of(finished, "message")]
    assert any("steps[0]: a step cannot get its own result; ignored" in text for text in texts)


def test_the_nesting_of_lists_is_limited(work) -> None:
    work.server.script(*[work.listed(work.step("deeper"))] * 20)
    finished = work("--json")
    assert finished.exit_code == 6
    assert len(work.server.requests) == 13  # ten lists, and three attempts at the eleventh
    assert "nested 10 deep" in work.prompts[-1]
    assert work.events_of(finished, "tasks.listed")[-1]["step"] == ".".join(["1"] * 9)


def test_the_number_of_steps_is_limited(work) -> None:
    many = work.code(
        f"const step = {json.dumps(work.step())}; return {{ title: 't', steps: Array.from({{ length: 1000 }}, () => step) }};"
    )
    work.server.script(many, many, many)
    finished = work()
    assert finished.exit_code == 6
    assert len(work.server.requests) == 3
    assert "of the 100 steps of this task, 100 are left" in work.prompts[1]


def test_the_steps_of_all_lists_count(work) -> None:
    work.configure(max_steps=3)
    two = work.listed(work.step("a"), work.step("b"))
    work.server.script(two, two, two, two)
    assert work().exit_code == 6
    assert "of the 3 steps of this task, 1 are left" in work.prompts[2]


def test_the_time_of_a_task_is_limited(work) -> None:
    work.configure(max_seconds=0.5, attempts=1)
    work.server.script(work.code("for (;;) {}"))
    finished = work()
    assert finished.exit_code == 6
    assert ("the task has taken 0.5 s" in finished.stderr, "failed" in finished.stderr) == (
        True,
        False,
    ), finished.stderr


def test_the_time_limit_of_a_task_includes_its_checks(work) -> None:
    work.configure(max_seconds=2, attempts=1)
    slow = work.step(
        "one",
        {"type": "callback", "function_name": "command_succeeds", "args": {"cmd": "sleep 20"}},
    )
    work.server.script(work.listed(slow), work.returns("x"))
    finished = work()
    assert (finished.exit_code, "`sleep 20` ran into its time limit of " in finished.stderr) == (
        6,
        True,
    ), finished.stderr


def test_the_length_of_a_list_is_limited(work) -> None:
    work.configure(attempts=1, result_limit=1024)
    work.server.script(work.listed(work.step(context={"explicit_content": "x" * 1024})))
    finished = work()
    assert finished.exit_code == 5
    assert "the limit is 1,024" in finished.stderr


def test_the_results_of_a_list_are_limited_together(work) -> None:
    work.configure(result_limit=1024)
    work.server.script(
        work.listed(work.step("one"), work.step("two")),
        work.code("return 'a'.repeat(1000);"),
        work.code("return 'b'.repeat(1000);"),
    )
    finished = work()
    assert finished.exit_code == 0
    assert "characters left out" in finished.stdout


def test_a_title_is_one_line(work) -> None:
    work.server.script(
        work.listed(work.step("a\n├─ 9 forged\x1b[31m" + "x" * 500)), work.returns("fine")
    )
    output = work().stderr
    assert "├─ 1 a ├─ 9 forged\\x1b[31mxx" in output
    tree = (work.project.run_folder / "task-tree.txt").read_text("utf-8")
    assert "├─ 1 a" not in tree
    assert "└─ 1 a ├─ 9 forged\\x1b[31mxx" in tree
    assert "x" * 101 not in output.partition("[task]")[0]


# --- logs ----------------------------------------------------------------------------------------------------------


def test_the_run_folder_shows_each_attempt(work) -> None:
    work.server.script(
        work.listed(work.step("one", ECHO)),
        work.code("console.log('hello'); return await show('README.md');"),
        work.returns("ok"),
    )
    finished = work("--json")
    assert finished.exit_code == 0
    folder = work.project.run_folder
    assert {
        "1-task.txt",
        "2-step-1.txt",
        "3-step-1.txt",
        "task-attempt-1.ts",
        "step-1-attempt-2.ts",
    } <= {path.name for path in folder.iterdir()}
    logged = [
        json.loads(line)
        for line in (folder / "step-1-attempt-1.jsonl").read_text("utf-8").splitlines()
    ]
    assert logged == [
        {"printed": "hello"},
        {"call": "show", "given": {"path": "README.md"}, "answer": "one\ntwo\n", "is_error": False},
    ]
    [called] = work.events_of(finished, "tasks.called")
    assert (called["step"], called["attempt"], called["tool"], called["call"]) == (
        "1",
        1,
        "show",
        "show(path='README.md')",
    )
    files = [(event["code"], event["log"]) for event in work.events_of(finished, "tasks.code")]
    assert files[1] == ("step-1-attempt-1.ts", "step-1-attempt-1.jsonl")
    assert [event["step"] for event in work.events_of(finished, "tasks.listed")] == [""]


def test_progress_is_shown_as_a_tree(work) -> None:
    work.server.script(
        work.listed(work.step("outer"), work.step("after", ECHO)),
        work.listed(work.step("inner")),
        work.returns("x"),
        work.returns("no"),
        work.returns("ok"),
    )
    output = work().stderr
    for line in (
        "├─ 1 outer (research)",
        "│  ├─ 1.1 inner (research)",
        "│  │     passed",
        "├─ 2 after",
        "│     attempt 1 failed: The exit",
    ):
        assert line in output


def test_keys_in_the_output_are_censored(work) -> None:
    work.project.write({"agent-config/loopback-key.txt": "k-0123456789abcdef\n"})
    work.server.script(
        work.code(
            "console.log('k-0123456789' + 'abcdef'); return 'ends in ' + 'k-0123456789' + 'abcdef';"
        )
    )
    finished = work()
    assert "k-0123456789abcdef" not in finished.stdout + finished.stderr
    for path in work.project.run_folder.iterdir():
        assert b"k-0123456789abcdef" not in path.read_bytes()
