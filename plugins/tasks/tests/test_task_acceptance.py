"""The acceptance checks judge the result of a task, if the settings ask for them."""

from __future__ import annotations

from importlib.util import find_spec

from code_commit_testing import install_plugin

CHECK = '''
from code_commit.plugin_api import AcceptanceCheck, Verdict, hookimpl

@hookimpl
def code_commit_acceptance():
    return [AcceptanceCheck("taste", accept, roles=("reviewer",))]

def accept(run, submission):
    """Refuse what is poor; note what each file was, and look at the files from before."""
    notes = [f"{change.path}: {submission.originals[change.path]}" for change in submission.changes]
    with run.trial(show=submission.originals):
        assert (run.root / "README.md").read_bytes() == b"one\\ntwo\\n"
    poor = any(b"poor" in change.content for change in submission.changes)
    return Verdict(not poor, "poor taste\\nBe finer.", notes, {"Query": submission.query})
'''
POOR = "await write_file('README.md', 'poor'); return 'written';"
FINE = "await write_file('new.txt', 'new'); await write_file('README.md', 'fine'); return 'mended';"
OPTIONS = ["--json"]
if find_spec("code_commit_acceptance"):
    OPTIONS.append("--disable-plugin=acceptance")


def test_a_refusal_is_a_failed_attempt_that_teaches_also_a_resumed_task(work, tmp_path) -> None:
    plugin = install_plugin(tmp_path / "taste", "taste", CHECK)
    work.project.write({"build.sh": "true\n"})
    work.configure(acceptance=True, attempts=1)
    work.server.script(work.code(POOR))
    refused = work(*OPTIONS, more_plugins=[plugin])
    end = refused.events[-1]["data"]
    assert refused.exit_code == 1
    reason = "the build passes, but taste of code-commit-taste refuses the change: poor taste"
    assert end["summary"] == f"the task failed after 1 attempt: {reason}"
    assert end["data"]["acceptance"]["notes"] == ["README.md: b'one\\ntwo\\n'"]
    work.server.script(work.code(FINE))
    accepted = work("--resume", "latest", *OPTIONS, more_plugins=[plugin])
    assert accepted.exit_code == 0
    assert f"{reason}\n" in work.prompts[-1]
    assert "\npoor taste\nBe finer.\n" in work.prompts[-1]
    acceptance = accepted.events[-1]["data"]["data"]["acceptance"]
    assert acceptance["notes"] == ["README.md: b'one\\ntwo\\n'", "new.txt: None"]
    assert acceptance["trailers"] == {"Query": "Do it."}


def test_without_the_setting_or_a_build_no_check_is_asked(work, tmp_path) -> None:
    plugin = install_plugin(tmp_path / "taste", "taste", CHECK)
    work.server.script(*[work.code(POOR)] * 2)
    work.configure(acceptance=True)
    assert work("--no-build", *OPTIONS, more_plugins=[plugin]).exit_code == 0
    work.configure()
    work.project.write({"build.sh": "true\n"})
    assert work(*OPTIONS, more_plugins=[plugin]).exit_code == 0
