"""The state that the steps of a planning run share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from code_commit.plugin_api import FileDiff, ProviderFailed, ResponseRefused, Run, Verdict
from code_commit_planner.agents.coach_and_player import LoopResult
from code_commit_planner.agents.work_done import Work
from code_commit_planner.dialog.messages import DETACHED
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.retry import wants_to_try_again
from code_commit_planner.dialog.text import fill, legible
from code_commit_planner.git.commit_message import CommitMessage
from code_commit_planner.git.repository import Repository
from code_commit_planner.plan_folder.folder import PlanFolder
from code_commit_planner.plan_folder.history import Completed
from code_commit_toolbox.toolbox import Toolbox

_T = TypeVar("_T")


@dataclass(slots=True)
class Plan:
    """A planning run.

    `repository` is None with `--no-git`. Steps pass the other fields to later steps: `typed` is
    what the person typed for the planner, `unchanged` is whether the planner left the requirements
    as they were, and `recovering` whether the run resumes current requirements. `loop` is the
    latest result of coach and player, `turns` is the number of all their turns, `verdict` is that
    of the acceptance checks on the work, `commits` has a line for each commit, and `files` are
    those of completed work.
    """

    run: Run
    folder: PlanFolder
    toolbox: Toolbox
    repository: Repository | None
    work: Work
    typed: str = ""
    unchanged: bool = False
    recovering: bool = False
    loop: LoopResult | None = None
    verdict: Verdict | None = None
    completion: Completed | None = None
    message: CommitMessage | None = None
    turns: int = 0
    commits: list[str] = field(default_factory=list)
    files: dict[str, FileDiff] = field(default_factory=dict)

    def say(self, template: str, **values: str) -> None:
        """Show a message to the person."""
        show(self.run, self.fill(template, **values))

    def fill(self, template: str, **values: str) -> str:
        """Return `template` with all placeholders filled in."""
        return fill(template, codepath=legible(str(self.run.root)), **values)

    def retried(self, call: Callable[[], _T]) -> _T:
        """Return the result of `call`; after an error of the service, ask whether to try again.

        Raises:
            ProviderFailed, ResponseRefused: the person does not want to, or the input ended.
            QuitAtError: the person quit.
        """
        while True:
            try:
                return call()
            except (ProviderFailed, ResponseRefused) as error:
                if not wants_to_try_again(self.run, error):
                    raise

    def end_work(self) -> None:
        """Forget the work on the current requirements, and remember its files."""
        self.files |= {file.path: file for file in self.work.latest().files}
        self.work.forget()

    def branch(self) -> str:
        """Return the name of git's branch for people."""
        branch, head = self.git.branch_and_head()
        return branch or self.fill(DETACHED, commit=(head or "")[:12])

    def head(self) -> str:
        """Return git's branch and commit, or nothing without git."""
        if self.repository is None:
            return ""
        branch, head = self.repository.branch_and_head()
        return f"{branch or 'no branch'} at {(head or 'no commit')[:12]}"

    @property
    def git(self) -> Repository:
        """Return the repository; for steps that only run with git."""
        assert self.repository is not None, "this step is not taken with --no-git"
        return self.repository
