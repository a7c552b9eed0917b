"""The workflow with its own advisor, and with those of other plugins."""

from __future__ import annotations

from code_commit_testing import Project, install_plugin

OTHER = """
from code_commit.plugin_api import hookimpl

@hookimpl(optionalhook=True)
def code_commit_advisors(settings):
    return [lambda paths: [] if "LICENSE" in paths else ["there is no LICENSE"]]
"""


def advice(project, **options):
    finished = project.command("--advice", "--json", **options)
    return finished.exit_code, finished.events[-1]["data"]["data"]["advice"]


def test_the_plugin_has_its_own_advice(tmp_path):
    code, [row] = advice(Project.create(tmp_path))
    assert (code, row["from"]) == (1, "code-commit-advice")
    assert "README" in row["advice"]


def test_another_plugin_can_give_advice(tmp_path):
    project = Project.create(tmp_path, files={"README.md": "x\n"})
    licences = install_plugin(tmp_path / "plugins", "licences", OTHER)
    assert advice(project) == (0, [])
    assert advice(project, plugins=[licences]) == (
        1,
        [{"from": "code-commit-licences", "advice": "there is no LICENSE"}],
    )


def test_a_failing_advisor_is_reported_and_the_others_still_count(tmp_path):
    project = Project.create(tmp_path)
    code = OTHER.replace("return", "1 / 0; return")
    broken = install_plugin(tmp_path / "plugins", "broken", code)
    finished = project.command("--advice", "--json", plugins=[broken])
    [failed] = [event["data"] for event in finished.events if event["kind"] == "plugin.failed"]
    assert "ZeroDivisionError" in failed["error"]
    assert len(finished.events[-1]["data"]["data"]["advice"]) == 1
