"""What acceptance checks say stands on the page of the run and in `runs show`."""

from __future__ import annotations

import json

from code_commit_testing import Project, install_plugin

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"
TEST = "def test_a():\n    assert 1\n\n\ndef test_b():\n    assert 2\n"
WEAKER = "^^^test_a.py\ndef test_a():\n    assert 1\n^^^end\n"


def test_the_verdict_is_shown_everywhere(tmp_path):
    project = Project.create(tmp_path, files={"test_a.py": TEST})
    config = {"agent-config/config.toml": f"""
[providers]
default_provider = "scripted.default"
[providers.scripted.default]
replies = {json.dumps([WEAKER])}
"""}  # fmt: skip
    project.write(config)
    plugin = install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)
    finished = project.command(plugins=[plugin], environ={"CODE_COMMIT_SANDBOX": "off"})
    assert finished.exit_code == 0, finished.stderr
    shown = project.command("runs", "show", "latest").stdout
    assert "  checks    Signals: 2 warnings; Tests-Of-Before: passed\n" in shown
    assert "            warning: 1 fewer test: test_b\n" in shown
    assert "            the tests from before pass, too\n" in shown
    details = project.command("runs", "show", "latest", "--json").document
    assert details["data"]["acceptance"]["trailers"]["Tests-Of-Before"] == "passed"
    assert project.command("runs", "open", "--no-browser").exit_code == 0
    page = (project.run_folder / "report.html").read_text()
    assert "<dt>Tests-Of-Before</dt><dd>passed</dd>" in page
    assert "signals of code-commit-acceptance: warning: 1 fewer test: test_b" in page
