"""Check the result of a whole task: its build, then the acceptance checks."""

from __future__ import annotations

import shlex

from code_commit.plugin_api import ProcessResult, Run, Verdict
from code_commit_tasks.changed_files import ChangedFiles
from code_commit_toolbox.acceptance import accept_work
from code_commit_toolbox.process_report import process_report
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ProjectTampered

_REPORT_SHOWN = 12 * 1024  # characters of the output of a red build, or of a refusal
_RED = "the build is red: "
_MEND = (
    "The task itself is done, and its changes are in the project. "
    "Make its build pass, `{command}`, unchanged:"
)
_REFUSED = (
    "The task itself is done, its changes are in the project, and the build passes. "
    "Correct the changes so that they are accepted:"
)


class FinalCheck:
    """Checks the result of a task.

    `verdict` is that of the acceptance checks in the latest check, if they were asked.
    """

    def __init__(self, run: Run, description: str, changed: ChangedFiles) -> None:
        self._run = run
        self._description = description
        self._changed = changed
        self._failure = ""
        self.verdict: Verdict | None = None

    @property
    def builds(self) -> bool:
        """Whether the result is to be built."""
        if self._run.options.no_build:
            return False
        try:
            return self._run.tree.read("build.sh", 1) is not None
        except OSError:
            return True  # it cannot run, and `build_command` says why

    def failure(self) -> str:
        """Run `build.sh`, if there is one; return why the result does not stand, or "".

        Raises:
            ProjectTampered: the build changed files that check the project.
        """
        self.verdict = None
        self._failure = self._why() if self.builds else ""
        return self._failure

    def verdict_of(self, failure: str) -> Verdict | None:
        """Return the verdict, if the check failed with `failure`."""
        return self.verdict if failure == self._failure else None

    def _why(self) -> str:
        run = self._run
        run.moment()  # so that what people changed before does not count as the build's
        build = run.build()
        if build.tampered:
            raise ProjectTampered(build.tampered)
        if build.passed:
            return self._refusal(build)
        mend = _MEND.format(command=shlex.join(run.build_command()))
        return f"{_RED}build.sh {build.ending}\n{mend}\n{process_report(run, build, _REPORT_SHOWN)}"

    def _refusal(self, build: ProcessResult) -> str:
        """Ask the acceptance checks, if the settings say so; return why they refuse, or ""."""
        if not self._run.settings.acceptance:
            return ""
        work, paths = self._changed.visible()
        self.verdict = accept_work(self._run, work, paths, query=self._description, build=build)
        if self.verdict is None or self.verdict.accepted:
            return ""
        reason = head_and_tail(self.verdict.reason, _REPORT_SHOWN)
        headline = f"the build passes, but {self.verdict.refused_by} refuses the change"
        return f"{headline}: {self.verdict.headline}\n{_REFUSED}\n{reason}"
