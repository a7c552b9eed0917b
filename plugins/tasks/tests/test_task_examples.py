"""The seed's prompt and its three examples, through the command."""

from __future__ import annotations

import os
import re
from pathlib import Path

from code_commit_testing import install_plugin

SEED = (Path(__file__).parent / "cases/typescript_agent_prompt.md").read_text("utf-8")
EXAMPLES = [
    f"```typescript\n{code}```\n"
    for code in re.findall(r"## Example \d.*?```typescript\n(.*?)```", SEED, re.DOTALL)
]
DECLARED = re.compile(r"^declare function (\w+)\((.*)\): Promise<(.*)>;$", re.MULTILINE)


def asked(work) -> str:
    return work.server.requests[0].json["messages"][0]["content"]


def test_the_prompt_is_that_of_the_seed_word_for_word(work) -> None:
    work.server.script(work.returns("done"))
    work()
    before, after = SEED.partition("## Prompt\n\n")[2].split("{tool_signatures}")
    prompt = asked(work)
    assert prompt.startswith(before)
    assert prompt.endswith(after)
    assert work.server.requests[0].prompt == "[task]\nDo it.\n"


def test_every_function_in_the_prompt_exists(work) -> None:
    work.server.script(
        work.code("return [typeof list, typeof show, typeof read_file, typeof shell].join()")
    )
    finished = work()
    assert finished.stdout == "function,function,function,function\n"
    declared = {
        name: (parameters, result) for name, parameters, result in DECLARED.findall(asked(work))
    }
    called = set(re.findall(r"await (\w+)\(", SEED))
    assert called == {"list", "show"}
    assert declared["list"] == ("path?: string", "string[]")
    assert declared["show"] == ("path: string", "string")
    assert declared["str_replace"] == ("path: string, old_str: string, new_str: string", "string")
    assert "final_output" not in declared


def test_code_can_call_every_declared_function(work) -> None:
    work.server.script(work.returns("first"))
    work()
    names = [name for name, _, _ in DECLARED.findall(asked(work))]
    work.server.script(
        work.code(f"return [{', '.join(f'typeof {name}' for name in names)}].join();")
    )
    assert set(work().stdout.strip().split(",")) == {"function"}


def test_example_1_returns_a_string(work) -> None:
    work.server.script(EXAMPLES[0])
    finished = work()
    assert (finished.exit_code, finished.stdout) == (0, "2 + 2 = 4\n")


def test_example_2_calls_a_tool(work) -> None:
    work.server.script(EXAMPLES[1])
    finished = work()
    assert (finished.exit_code, finished.stdout) == (0, "README has 3 lines\n")


def test_example_3_returns_steps(work, tmp_path) -> None:
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text('#!/bin/sh\n[ "$1" = check ] && grep -q "fn main" src/main.rs\n')
    cargo.chmod(0o755)
    work.server.script(
        EXAMPLES[2],
        work.code(
            'await write_file("Cargo.toml", "[package]\\nname = \\"hello\\"\\n"); return "made";'
        ),
        work.code('await write_file("src/main.rs", "fn main() {}\\n"); return "written";'),
        work.code('return await shell("cargo check");'),
    )
    finished = work("--json", environ={"PATH": f"{cargo.parent}{os.pathsep}{os.environ['PATH']}"})
    assert finished.exit_code == 0, finished.stderr
    assert work.project.read("src/main.rs") == "fn main() {}\n"
    assert [
        (event["step"], event["passed"]) for event in work.events_of(finished, "tasks.ended")
    ] == [
        *(("1", True), ("2", True), ("3", True), ("", True)),
    ]
    first, second, third = work.prompts[1:]
    assert first.startswith(
        "[task]\nTitle: Create project structure\nType: implementation\nStep 1 of 3 of: Create hello"
    )
    assert "Create src/ directory and Cargo.toml" in first
    assert "[result of step" not in first + second
    assert "Cargo.toml:\n--- " in third
    assert "src/main.rs:\n--- " in third
    assert "[result of step 0, Create project structure]" in third
    assert "[result of step 1, Write main.rs]" in third


def test_a_task_without_deno_makes_no_call(work, tmp_path) -> None:
    broken = tmp_path / "broken"
    install_plugin(broken, "unused", "")
    (broken / "deno.py").write_text(
        "def find_deno_bin():\n    raise FileNotFoundError('no binary')\n"
    )
    finished = work(more_plugins=[broken])
    assert finished.exit_code == 3
    assert "pip install deno" in finished.stderr
    assert work.server.requests == []


def test_a_deno_that_does_not_start_ends_the_task(work, tmp_path) -> None:
    broken = tmp_path / "broken"
    install_plugin(broken, "unused", "")
    program = broken / "program"
    program.write_text("#!/bin/sh\necho no such library >&2\nexit 127\n")
    program.chmod(0o755)
    (broken / "deno.py").write_text(f"def find_deno_bin():\n    return {str(program)!r}\n")
    work.server.script(*[work.returns("x")] * 3)
    finished = work(more_plugins=[broken])
    assert (finished.exit_code, len(work.server.requests)) == (3, 1)
    assert "Deno ended with exit code 127 before it started: no such library" in finished.stderr
