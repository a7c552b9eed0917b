"""Build the untouched files while the first call is out: was the build red before the run?"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING

from code_commit.plugin_api.errors import CodeCommitError, NotReady
from code_commit.plugin_api.event import MessageLogged
from code_commit_workspace import STOP

if TYPE_CHECKING:
    from code_commit.run.project_run import ProjectRun
    from code_commit_workspace import ProcessResult, Scope

LABEL = "baseline-build"


class Baseline:
    """The build of the files from before the run. `build` is None while it is not known.

    It is never made after a response was applied: nobody's files are moved back for it.
    """

    def __init__(self, run: ProjectRun) -> None:
        self._run = run
        self._setting = run.plan.settings.build.baseline
        self._context = copy_context()  # outside of the spans of attempts
        self._has_begun = False
        self.build: ProcessResult | None = None

    @contextmanager
    def while_waiting(self) -> Iterator[None]:
        """Look at the files during the block, and build them if they are not known to be green.

        The end of the block ends the build. In a checkout without any finished build, the block
        waits for it, because it fills caches. Further calls do nothing, nor do those of workflows
        that do not write, or after the run changed a file.

        Raises:
            NotReady: the build is red, and the setting is `before`.
        """
        if self._has_begun or not self._run.writes or self._run.changes.paths():
            yield
            return
        self._has_begun = True
        if self._setting == "before":
            self._require_green()
        store = self._run.workspace.store
        is_first = self._setting == "while-waiting" and not store.builds.has_any
        with self._run.workspace.scope.child() as scope:
            thread = threading.Thread(
                target=self._context.run, args=(self._look, scope), name="baseline", daemon=True
            )
            thread.start()
            try:
                yield
            except BaseException:
                scope.end()
                raise
            if not is_first:
                scope.end()
            elif thread.is_alive():
                self._run.emit(MessageLogged("waiting for the first build of this checkout"))
            STOP.join(thread)

    def _look(self, scope: Scope) -> None:
        with suppress(CodeCommitError, OSError):  # it is not known; a later look says why
            if self._is_green() or self._setting != "while-waiting":
                return
            build = self._run.build_baseline(scope)
            if build.exit_code is not None or build.timed_out:
                self.build = build

    def _is_green(self) -> bool:
        """Look at the files, and return whether their last build passed."""
        files = self._run.changes.files
        files.note("person")
        return self._run.workspace.store.builds.is_green(files.latest.tree)

    def _require_green(self) -> None:
        if self._is_green():
            return
        self.build = self._run.build_baseline(None)
        if not self.build.passed:
            raise NotReady(
                f"the build is red before any change: build.sh {self.build.ending}",
                hint="fix it first, or remove the setting build.baseline if the query describes "
                "the fix",
            )
