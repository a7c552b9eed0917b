"""What the steps of a planning run share."""

from __future__ import annotations

from dataclasses import dataclass, field

from code_commit.plugin_api import Run
from code_commit_planner.coach_and_player import LoopResult
from code_commit_planner.commit_message import CommitMessage
from code_commit_planner.history import Completed
from code_commit_planner.plan_folder import PlanFolder
from code_commit_planner.prompts import filled
from code_commit_planner.repository import Repository
from code_commit_planner.telling import tell
from code_commit_planner.wrapping import legible
from code_commit_toolbox.toolbox import Toolbox


@dataclass(slots=True)
class Plan:
    """A planning run. `repository` is None with `--no-git`; the rest is what one step leaves for the next.

    `typed` is what the person said besides Enter, `recovering` that current requirements are resumed, `loop` how the
    coach and the player ended.
    """

    run: Run
    folder: PlanFolder
    toolbox: Toolbox
    repository: Repository | None
    typed: str = ""
    recovering: bool = False
    loop: LoopResult | None = None
    completion: Completed | None = None
    message: CommitMessage | None = None
    commits: list[str] = field(default_factory=list)

    def say(self, words: str, **values: str) -> None:
        """Tell the person."""
        tell(self.run, self.worded(words, **values))

    def worded(self, words: str, **values: str) -> str:
        """Return `words` with everything filled in."""
        return filled(words, codepath=legible(str(self.run.root)), **values)

    @property
    def git(self) -> Repository:
        """The repository, in steps that are taken with git alone."""
        assert self.repository is not None, "this step is not taken with --no-git"
        return self.repository
