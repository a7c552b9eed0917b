"""Protect the files of planning from the agents.

Refuse writes of tools, and restore the files after commands.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from code_commit.plugin_api import STOP, Change, Json, NotReady, ResponseRefused, Run
from code_commit_planner.agents.prompts import RESTORED
from code_commit_planner.agents.running_command import (
    RunningCommand,
    forget_running_command,
    read_running_command,
)
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.text import fill, legible
from code_commit_planner.plan_folder.folder import FOLDER, NEW, TODO
from code_commit_toolbox.tool import ProjectTampered, Tool, ToolContext, ToolError
from code_commit_toolbox.toolbox import Toolbox
from code_commit_toolbox.tools.shell import shell
from code_commit_workspace import ProjectTree, normalise_path, remove_tree

_WRITING = ("write_file", "str_replace")
_LIMIT = 10 * 1024 * 1024


@dataclass(slots=True)
class Guard:
    """Protects the files in the plan folder, and `more` files, as they were before an agent.

    `head` is as in `Task`. `new_requirements.md` belongs to the person, who may edit it at any
    time, and the todo list to the player.
    """

    run: Run
    more: tuple[str, ...] = ()
    head: Callable[[], str] = str
    _originals: dict[str, bytes] = field(default_factory=dict)
    _restored: list[str] = field(default_factory=list)

    def tools(self, toolbox: Toolbox, agent: str, *, writes: tuple[str, ...] = ()) -> Toolbox:
        """Return `toolbox` with tools that change none of these files but `writes`.

        Remember their current content.
        """
        self._remember()
        tools = dict(toolbox.tools)
        reason = f"{FOLDER} and the requirements belong to the program; write todos with todo_write"
        for name in _WRITING:
            tools[name] = _limited(tools[name], self._is_free, reason)
        for name in ("shell", *toolbox.added):
            tools[name] = self._guarded(tools[name], agent, writes)
        return replace(toolbox, tools=tools)

    def tools_of_planner(self, toolbox: Toolbox) -> Toolbox:
        """Return `toolbox` with tools that write only the new requirements."""
        self._remember()
        tools = dict(toolbox.tools)
        reason = f"you may write only {NEW}"
        for name in _WRITING:
            tools[name] = _limited(tools[name], lambda path: path == NEW, reason)
        limited_shell = shell(toolbox.settings, writes=(NEW,))

        def call(context: ToolContext, arguments: Json) -> str:
            with self._recorded("planner", (NEW,)):
                return limited_shell.call(context, arguments)

        tools["shell"] = replace(limited_shell, call=call)
        return replace(toolbox, tools=tools)

    def restore_after_kill(self) -> None:
        """Restore the files that a command changed, if the last run was killed during it.

        Do nothing on another branch or commit than that of the command.

        Raises:
            NotReady: a file cannot be restored.
        """
        command = read_running_command(self.run.state)
        if command is not None and command.head == self.head():
            try:
                self._restore_since(command)
            except ProjectTampered as error:
                raise NotReady(str(error)) from error
        forget_running_command(self.run.state)

    def note(self) -> str:
        """Return the note about restored files for the next agent; "" if there is nothing new."""
        paths = dict.fromkeys(self._restored)
        self._restored = []
        return _note(paths) if paths else ""

    def _is_free(self, path: str) -> bool:
        plain_path = unicodedata.normalize("NFKC", path).casefold()
        return plain_path.partition("/")[0] != FOLDER and path not in self.more

    def _guarded(self, tool: Tool, agent: str, writes: tuple[str, ...]) -> Tool:
        def call(context: ToolContext, arguments: Json) -> str:
            with self._recorded(agent, writes):
                try:
                    text = tool.call(context, arguments)
                except ToolError as error:
                    error.args = (f"{error}{self._restore(agent, writes)}",)
                    raise
                except BaseException:  # also an interruption: the files must not stay changed
                    self._restore(agent, writes)
                    raise
                return text + self._restore(agent, writes)

        return replace(tool, call=call)

    @contextmanager
    def _recorded(self, agent: str, writes: tuple[str, ...]) -> Iterator[None]:
        """Remember that a command runs in the block."""
        RunningCommand(agent, self.head(), writes, self.run.moment()).save(self.run.state)
        try:
            yield
        finally:
            forget_running_command(self.run.state)

    def _remember(self) -> None:
        self._originals = {
            path: content for path in self._paths() if (content := self.read(path)) is not None
        }

    def _restore(self, agent: str, writes: tuple[str, ...]) -> str:
        """Restore the files, except `writes`; return a note for the agent. No signal ends this."""
        writable = {*writes, NEW}
        with STOP.hold():
            changes = [*self._restorations(writable), *self._removals(writable)]
            return self._put_back(changes, messages.RESTORED, agent)

    def _restore_since(self, command: RunningCommand) -> None:
        """Restore the files of the plan folder as they were before `command`.

        The person may have written them since: keep copies.
        """
        work = self.run.changes_since(command.begun, self.run.moment())
        changes = []
        for path, original in work.originals(work.written | work.by_commands).items():
            if not path.startswith(f"{FOLDER}/") or path in {*command.writes, NEW}:
                continue
            _clear_the_way(Path(self.run.root), [path])
            current = self.read(path)
            if current is not None and current != original:
                self.run.keep(f"found-{Path(path).name}", current)
            if current != original:
                changes.append(Change(path, original))
        self._put_back(changes, messages.RESTORED_AFTER_KILL, command.agent)

    def _put_back(self, changes: Sequence[Change], message: str, agent: str) -> str:
        """Make the changes, tell the person with `message`, and return a note for the agent.

        Raises:
            ProjectTampered: a file cannot be restored.
        """
        if not changes:
            return ""
        paths = [change.path for change in changes]
        try:
            self.run.apply(changes)
        except (NotReady, ResponseRefused) as error:
            reason = (
                f"A command changed files of planning, which cannot be restored: {error.message}"
            )
            raise ProjectTampered(tuple(paths), reason) from error
        self._restored += paths
        show(self.run, message, style="yellow", agent=agent, paths=_join(paths))
        return f"\n{_note(paths)}"

    def _restorations(self, writable: set[str]) -> Iterator[Change]:
        """Yield the changes that restore files which a command changed or removed."""
        _clear_the_way(Path(self.run.root), [*self._originals, NEW, TODO])
        for path, original in self._originals.items():
            if path not in writable and self.read(path) != original:
                yield Change(path, original)

    def _removals(self, writable: set[str]) -> Iterator[Change]:
        """Yield the changes that remove files which a command created."""
        for path in self._paths():
            if path in self._originals or path in writable:
                continue
            _clear_the_way(Path(self.run.root), [path])
            if (content := self.read(path)) is not None:
                self.run.keep("removed-from-plan.txt", content)
                yield Change(path, None)

    def _paths(self) -> Iterator[str]:
        """Yield the paths of all files in the plan folder, and of those in `more` that exist."""
        root = Path(self.run.root)
        for folder, _, names in os.walk(root / FOLDER):
            for name in names:
                yield Path(folder, name).relative_to(root).as_posix()
        for path in self.more:
            if os.path.lexists(root / path):
                yield path

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is none that can be read."""
        try:
            return self.run.tree.read(path, _LIMIT)
        except (OSError, ValueError):
            return None


def _note(paths: Iterable[str]) -> str:
    return fill(RESTORED, paths=_join(paths))


def _join(paths: Iterable[str]) -> str:
    return ", ".join(map(legible, paths))


def _limited(tool: Tool, allowed: Callable[[str], bool], reason: str) -> Tool:
    def call(context: ToolContext, arguments: Json) -> str:
        if not allowed(normalise_path(arguments["path"])):
            raise ToolError(f"{arguments['path']} cannot be written: {reason}")
        return tool.call(context, arguments)

    return replace(tool, call=call)


def _clear_the_way(root: Path, paths: Iterable[str]) -> None:
    """Remove links, devices and folders that are in the place of files and their folders."""
    with ProjectTree(root) as tree:
        for path in paths:
            for folder in list(reversed(PurePosixPath(path).parents))[1:]:
                _clear_for_folder(tree, str(folder))
            _clear_for_file(tree, path)


def _clear_for_folder(tree: ProjectTree, path: str) -> None:
    with suppress(OSError), tree.parent(path) as (folder, name):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            os.chmod(name, mode | 0o700, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _clear_for_file(tree: ProjectTree, path: str) -> None:
    with suppress(OSError), tree.parent(path) as (folder, name):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            remove_tree(name, dir_fd=folder)
        elif not stat.S_ISREG(mode):
            os.unlink(name, dir_fd=folder)
