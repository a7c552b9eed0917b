"""docs/automation.md matches the files: inputs, outputs, hooks, and YAML to copy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip(
    "yaml", reason="the page contains YAML; the environment `automation` has PyYAML"
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/automation.md").read_text("utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
WORKFLOW = yaml.safe_load((ROOT / "examples/github-action/code-commit.yml").read_text("utf-8"))
OF_ISSUES = yaml.safe_load((ROOT / "examples/github-action/issue.yml").read_text("utf-8"))
BLOCKS = [
    yaml.safe_load(text)
    for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]


def table(first_column: str) -> list[list[str]]:
    """Return the rows of the table with this first column."""
    lines = PAGE.partition(f"| {first_column} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_lists_the_inputs_with_their_defaults() -> None:
    documented = {name: "".join(names(row[1])) for row in table("input") for name in names(row[0])}
    assert documented == {name: field["default"] for name, field in ACTION["inputs"].items()}


def test_the_page_lists_the_outputs() -> None:
    assert [name for row in table("output") for name in names(row[0])] == list(ACTION["outputs"])


def test_the_page_lists_the_hooks() -> None:
    assert [names(row[0]) for row in table("hook")] == [[hook["id"]] for hook in HOOKS]


def test_the_steps_of_the_page_match_the_example() -> None:
    steps = {step["uses"]: step for step in WORKFLOW["jobs"]["change"]["steps"]}
    for step in BLOCKS[0]:
        shared = {
            name: value
            for name, value in steps[step["uses"]]["with"].items()
            if name in step["with"]
        }
        assert step["with"] == shared


def test_the_pre_commit_configuration_of_the_page_is_the_example() -> None:
    assert BLOCKS[1:] == [
        yaml.safe_load((ROOT / "examples/pre-commit/.pre-commit-config.yaml").read_text("utf-8"))
    ]


def test_the_workflow_of_issues_differs_only_in_its_query() -> None:
    """Its jobs have the rights and the steps of the tested workflow."""
    change, propose = (OF_ISSUES["jobs"][name] for name in ("change", "propose"))
    assert change.pop("if") == "github.event.label.name == 'code-commit'"
    query = change["steps"][-1]["with"].pop("query")
    assert query == "${{ github.event.issue.title }}\n\n${{ github.event.issue.body }}\n"
    message = propose["steps"][-1]["env"].pop("QUERY")
    assert message.startswith("${{ github.event.issue.title }}\n\nFixes #")
    asked = yaml.safe_load((ROOT / "examples/github-action/code-commit.yml").read_text("utf-8"))
    del asked["jobs"]["change"]["steps"][-1]["with"]["query"]
    del asked["jobs"]["propose"]["steps"][-1]["env"]["QUERY"]
    assert OF_ISSUES["jobs"] == asked["jobs"]
    assert OF_ISSUES["permissions"] == asked["permissions"]
