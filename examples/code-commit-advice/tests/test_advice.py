"""The workflow with one advisor of its own, and with those of other plugins."""

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


def test_the_plugin_has_advice_of_its_own(tmp_path):
    code, [told] = advice(Project.create(tmp_path))
    assert (code, told["from"]) == (1, "code-commit-advice")
    assert "README" in told["advice"]


def test_another_plugin_is_heard(tmp_path):
    project = Project.create(tmp_path, files={"README.md": "x\n"})
    other = install_plugin(tmp_path / "plugins", "licences", OTHER)
    assert advice(project) == (0, [])
    assert advice(project, plugins=[other]) == (1, [{"from": "code-commit-licences", "advice": "there is no LICENSE"}])


def test_a_broken_one_is_reported_and_the_others_are_heard(tmp_path):
    project = Project.create(tmp_path)
    code = OTHER.replace("return", "1 / 0; return")
    broken = install_plugin(tmp_path / "plugins", "broken", code)
    finished = project.command("--advice", "--json", plugins=[broken])
    [failed] = [event["data"] for event in finished.events if event["kind"] == "plugin.failed"]
    assert "ZeroDivisionError" in failed["error"]
    assert len(finished.events[-1]["data"]["data"]["advice"]) == 1
