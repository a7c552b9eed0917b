"""Verify the exit requirements of steps."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from stat import S_ISDIR, S_ISREG

from code_commit.plugin_api import ProcessResult, Run
from code_commit_tasks.changed_files import ChangedFiles
from code_commit_tasks.patterns import SearchFailed, search
from code_commit_tasks.settings import TasksSettings
from code_commit_tasks.task_list import (
    CommandSucceeds,
    ExitRequirement,
    FileContains,
    FileExists,
    JsonValid,
    NoErrorsIn,
    PatternFound,
    TaskList,
    Validated,
)
from code_commit_tasks.validators import Validation, Validator, validation_problem
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ProjectTampered, ToolError
from code_commit_toolbox.tools.project_file import read_text
from code_commit_workspace import ProjectTree, normalise_path

_ERRORS = ("error:", "panic:", "fatal:", "exception:", "failed:")
_CLOSED = frozenset({".git", "agent-config", "logs"})
_LARGEST = 10 * 1024 * 1024  # bytes of a file that is searched
_OUTPUT_SHOWN = 8000  # characters of a command's output
_NOT_FOUND = 127  # the exit code of a shell that does not find a program
_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]{}~#!\n]|^\s*\w+=")
_BUILTINS = frozenset(
    [
        "cd",
        ".",
        "source",
        "export",
        "set",
        "unset",
        "eval",
        "exec",
        "exit",
        "type",
        "command",
        "ulimit",
        "umask",
        "trap",
    ]
)


class _NeverMet(Exception):  # noqa: N818 - the name of an event
    """No attempt can meet the requirement. The message says why."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """Why a requirement is not met. If it `is_wrong`, no other attempt at the step can meet it."""

    reason: str
    is_wrong: bool = False


@dataclass(frozen=True, slots=True)
class Requirements:
    """Verifies the steps of one run. `deadline` is that of the task, on `time.monotonic()`."""

    run: Run
    settings: TasksSettings
    validators: Mapping[str, Validator]
    changed: ChangedFiles
    deadline: float

    def problem(self, steps: TaskList) -> str:
        """Return why a requirement can never be met, or "".

        Its validator is unknown, or its pattern is invalid.
        """
        patterns = {}
        for index, step in enumerate(steps.steps):
            match step.exit_requirement:
                case Validated(validator=name) if name not in self.validators:
                    return f"steps[{index}]: there is no validator {name!r}; {self._there_are()}"
                case PatternFound(pattern=pattern):
                    patterns[index] = pattern
        if not patterns:
            return ""
        try:
            answers = self._search(list(patterns.values()), "")
        except SearchFailed as failed:
            return str(failed)
        for index, answer in zip(patterns, answers, strict=True):
            if isinstance(answer, str):
                return f"steps[{index}]: the pattern is not a regular expression: {answer}"
        return ""

    def _there_are(self) -> str:
        return f"there are: {', '.join(sorted(self.validators))}"

    def unmet(self, requirement: ExitRequirement, result: str) -> Unmet | None:
        """Return why a step with this result does not meet `requirement`, or None if it does.

        Raises:
            ProjectTampered: a command altered files that check the project.
            NotReady: a command would run without a sandbox, which the user did not allow.
        """
        try:
            reason = self._reason(requirement, result)
        except _NeverMet as never:
            return Unmet(str(never), is_wrong=True)
        return Unmet(reason) if reason else None

    def _reason(self, requirement: ExitRequirement, result: str) -> str:  # noqa: PLR0911 - one per kind
        match requirement:
            case FileExists(args=args):
                return self._file_exists(normalise_path(args.path))
            case FileContains(args=args):
                return self._file_contains(args.path, args.pattern)
            case CommandSucceeds(args=args):
                return self._command_succeeds(args.cmd)
            case JsonValid(args=args):
                return _of_text(_json_valid, args.content, result)
            case NoErrorsIn(args=args):
                return _of_text(_no_errors_in, args.output, result)
            case PatternFound(pattern=pattern):
                return self._pattern_found(pattern, result)
            case Validated(validator=name):
                return self._validated(name, result)

    def _file_exists(self, path: str) -> str:
        # git usually ignores build results: the model may learn that such a file exists, but not
        # its content.
        folder, _, _ = unicodedata.normalize("NFKC", path).casefold().partition("/")
        if folder in _CLOSED:
            raise _NeverMet(f"You cannot check whether {path} exists.")
        try:
            with ProjectTree(self.run.root) as tree:
                status = tree.lstat(path.rstrip("/"))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise _NeverMet(f"{path} is not a path of the project: {reason}") from error
        if status is None:
            return f"There is no file or folder {path}."
        if S_ISREG(status.st_mode) or S_ISDIR(status.st_mode):
            return ""
        return f"{path} is neither a file nor a folder."

    def _file_contains(self, path: str, pattern: str) -> str:
        try:
            text = read_text(self.run, path, _LARGEST)
        except ToolError as error:
            return str(error)
        if pattern in text:
            return ""
        try:
            if self._matches(pattern, text):
                return ""
        except SearchFailed as failed:
            return f"{path} does not contain the text {pattern!r}. {failed}"
        return f"{path} contains neither {pattern!r} nor a match of it as a regular expression."

    def _pattern_found(self, pattern: str, text: str) -> str:
        try:
            if self._matches(pattern, text):
                return ""
        except SearchFailed as failed:
            return str(failed)
        return f"The pattern {pattern!r} is not found in the result."

    def _matches(self, pattern: str, text: str) -> bool:
        """Return whether a pattern is found.

        Raises:
            SearchFailed: that is unknown, for example because the pattern is invalid.
        """
        [answer] = self._search([pattern], text)
        if isinstance(answer, str):
            raise SearchFailed(f"{pattern!r} is not a regular expression: {answer}")
        return answer

    def _search(self, patterns: list[str], text: str) -> list[bool | str]:
        return search(
            patterns,
            text,
            seconds=self._seconds(self.settings.pattern_seconds),
            memory=self.settings.script_memory,
        )

    def _command_succeeds(self, command: str) -> str:
        seconds = self._seconds(self.run.build_timeout)
        result = self.run.execute(words_of(command), timeout=seconds, label="check")
        if result.tampered:
            raise ProjectTampered(result.tampered)
        if result.passed:
            return ""
        reason = f"The command `{command}` {result.ending}.\n{_output(result)}"
        if result.exit_code == _NOT_FOUND and b"command not found" in result.output:
            raise _NeverMet(reason)
        return reason

    def _validated(self, name: str, result: str) -> str:
        validator = self.validators.get(name)
        if validator is None:
            return f"There is no validator {name!r}; {self._there_are()}."
        validation = Validation(self.run, result, self.changed.paths())
        seconds = self._seconds(self.settings.validator_seconds)
        return validation_problem(validator, validation, seconds=seconds)

    def _seconds(self, most: float) -> float:
        """Return `most` seconds, or the task's remaining time if that is less.

        It is rounded up to tenths: what stops at it leaves no time.
        """
        tenths = math.ceil((self.deadline - time.monotonic()) * 10)
        return min(most, max(1, tenths) / 10)


def words_of(command: str) -> list[str]:
    """Return the argument vector of a command: its words, or a shell if the text needs one."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words or _SHELL.search(command) or words[0] in _BUILTINS:
        return ["bash", "-c", command]
    # What is named by its path may be a script that only a shell can start: one without `#!`.
    is_program = "/" not in words[0] and shutil.which(words[0]) is not None
    return words if is_program else ["bash", "-c", command]


def _of_text(check: Callable[[str], str], text: str | None, result: str) -> str:
    """Return what `check` finds in the result, or in the text of the requirement, if it has one."""
    if text is None:
        return check(result)
    if reason := check(text):
        raise _NeverMet(reason)
    return ""


def _json_valid(text: str) -> str:
    try:
        json.loads(text, parse_constant=_refuse, parse_int=str)  # JSON allows numbers of any length
    except RecursionError:
        return "The text is nested too deeply to check it as JSON."
    except ValueError as error:
        return f"The text is not valid JSON: {error}."
    return ""


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not valid in JSON")


def _no_errors_in(text: str) -> str:
    for line in text.splitlines():
        for word in _ERRORS:
            if word in line.lower():
                return f"The text contains an error message ({word}): {line.strip()[:500]}"
    return ""


def _output(result: ProcessResult) -> str:
    text = result.output.decode("utf-8", "replace")
    if not text:
        return "It printed nothing."
    return f"Its output:\n{head_and_tail(text, _OUTPUT_SHOWN)}"
