"""code_search: several searches per call, limited, over readable files."""

from __future__ import annotations

import sys

import pytest

from code_commit_toolbox.tool import ToolError
from code_commit_toolbox.tools import code_search


def search(bench, *searches, **options):
    return bench.use("code_search", {"searches": list(searches)}, **options).result


def python(pattern: str, **more) -> dict:
    return {"pattern": pattern, "language": "python", **more}


def test_one_call_can_run_several_searches(bench):
    bench.project.write(
        {"web/app.ts": "export function run(a: string) {\n  print(a);\n}\n", "x.secret": "print(0)"}
    )
    result = search(
        bench,
        python("print($A)"),
        {"pattern": "function $F($$$) { $$$ }", "language": "typescript"},
        python("nothing()"),
    )
    assert result["text"].split("\n") == [
        "## print($A) (python): 1 match",
        "src/main.py:2: print(x)",
        "## function $F($$$) { $$$ } (typescript): 1 match",
        "web/app.ts:1: function run(a: string) {",
        "  print(a);",
        "}",
        "## nothing() (python): 0 matches",
    ]
    assert not result["is_error"]


def test_a_search_can_be_limited_to_a_folder_or_a_file(bench):
    bench.project.write({"srcs/b.py": "print(1)\n", "src/c.py": "print(2)\n"})
    text = search(
        bench, python("print($$$)", path="src"), python("print($$$)", path="./srcs/b.py")
    )["text"]
    assert [line.partition(":")[0] for line in text.split("\n")] == [
        "## print($$$) (python)", "src/c.py", "src/main.py", "src/main.py", "## print($$$) (python)", "srcs/b.py"
    ]  # fmt: skip


def test_an_invalid_pattern_does_not_affect_other_searches(bench):
    text = search(bench, python("a b"), python("\ud83d"), python("print($A)"))["text"]
    assert "[the pattern is invalid: Multiple AST nodes are detected" in text
    assert "src/main.py:2: print(x)" in text


def test_an_invalid_folder_does_not_affect_other_searches(bench):
    places = [python("print($A)", path=path) for path in ("nowhere", "agent-config", "../out")]
    text = search(bench, *places, python("print($A)"))["text"]
    assert text.count("(python): 0 matches\n[") == 3
    for problem in (
        "[There are no files in nowhere.]",
        "[agent-config cannot be read: ",
        "[../out cannot be read: ",
    ):
        assert problem in text
    assert "src/main.py:2: print(x)" in text


def test_matches_are_limited(bench):
    bench.project.write({"many.py": "print(1)\n" * 100})
    text = search(bench, python("print($A)", max_matches=7))["text"]
    assert text.startswith("## print($A) (python): 7 matches, the first of more\n")
    assert text.count("many.py:") == 7


def test_a_long_result_is_cut(bench):
    bench.settings("[plugins.toolbox]\noutput_limit = 300\n")
    bench.project.write({"many.py": "print(1)\n" * 100})
    text = search(bench, python("print($A)"))["text"]
    assert len(text) < 400
    assert text.endswith("[... more matches are not shown: run fewer searches]")


def test_a_search_is_stopped_at_its_time_limit(bench):
    bench.settings("[plugins.toolbox]\nsearch_seconds = 0.001\n")
    result = search(bench, python("print($A)"))
    assert "the search was stopped after 0.001 s" in result["text"]


def test_a_search_that_cannot_be_started_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no-such-python")
    with pytest.raises(
        ToolError, match=r"The search could not be started: No such file or directory\."
    ):
        code_search._search([python("print($A)")], [], 1)


def test_files_of_the_project_are_not_imported(bench):
    bench.project.write({"ast_grep_py.py": "open('owned', 'w')\n"})
    assert "src/main.py:2" in search(bench, python("print($A)"))["text"]
    assert not (bench.project.root / "owned").exists()


def test_large_files_are_left_out_and_reported(bench):
    bench.project.write({"large.py": "print(1)\n" * 200_000})
    text = search(bench, python("print($A)"))["text"]
    assert "large.py" not in text
    assert "[1 file left out: too large, or too many]" in text


def test_deeply_nested_code_is_searched(bench):
    bench.project.write({"deep.py": "(" * 200_000 + ")" * 200_000, "deep.json": "[" * 500_000})
    text = search(bench, python("print($A)"), {"pattern": "[$$$]", "language": "json"})["text"]
    assert "src/main.py:2: print(x)" in text
