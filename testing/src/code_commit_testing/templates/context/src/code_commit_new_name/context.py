"""The context: it chooses the files that the model sees."""

from __future__ import annotations

from code_commit_commit.hooks import ContextRequest, Selection


class Folder:
    """Chooses the files of a folder first, then all others."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/"

    def choose(self, request: ContextRequest) -> Selection:
        """Return the files, best first. The prompt has those that fit the budget."""
        inside = [path for path in request.paths if path.startswith(self._folder)]
        others = [path for path in request.paths if not path.startswith(self._folder)]
        return Selection(paths=[*inside, *others], reason=f"those in {self._folder} first")
