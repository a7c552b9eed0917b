"""Tests of before: build once more with the check files as they were before the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from code_commit.plugin_api import NotReady, ProcessResult, Verdict, join_paths, shorten
from code_commit_acceptance.file_change import FileChange
from code_commit_acceptance.shared_files import check_part_change, is_shared, with_check_part

if TYPE_CHECKING:
    from code_commit.plugin_api import Run

TRAILER = "Tests-Of-Before"
VARIABLE = "CODE_COMMIT_TESTS_OF_BEFORE"
_LARGEST = 1024 * 1024  # bytes of a shared file whose parts are told apart
_LONGEST = 200  # characters of a line of the build
_NAMED = 10  # paths in one message
_WORD = re.compile(r"\w+")
_WORDS = 3  # of a line that says more than "FAILURES"
_ERROR = re.compile(r"(?i)\berrors?\b|\bfail(?:ed|ure|ures|s)?\b|\bassert\w*|\bpanic|exception|^E ")


def judge_by_tests_of_before(
    run: Run,
    changes: Sequence[FileChange],
    mode: Literal["report", "require"],
    *,
    is_suspect: bool,
) -> Verdict:
    """Build with the check files from before the run, if the change altered or deleted some.

    `changes` are those whose check files the query does not mean to change. `is_suspect` means to
    build even if check files only gained lines.

    Raises:
        NotReady: in the mode "require", the files cannot be put in place.
    """
    if not needs_build(changes, is_suspect=is_suspect):
        return Verdict(accepted=True, trailers={TRAILER: "not needed"})
    contents = earlier_check_files(changes)
    notes: list[str] = []
    try:
        build = _build(run, contents, notes.append)
    except NotReady as error:
        if mode == "require":
            raise
        note = f"the tests from before were not run: {error.message}"
        return Verdict(accepted=True, notes=[note], trailers={TRAILER: "not run"})
    if build.passed:
        notes.append("the tests from before pass, too")
        return Verdict(accepted=True, notes=notes, trailers={TRAILER: "passed"})
    headline = f"with the tests from before, the build is red: {first_error(build)}"
    if mode == "report":
        return Verdict(accepted=True, notes=[*notes, headline], trailers={TRAILER: "red"})
    reason = _reason(headline, contents, build)
    return Verdict(accepted=False, reason=reason, notes=notes, trailers={TRAILER: "red"})


def needs_build(changes: Sequence[FileChange], *, is_suspect: bool) -> bool:
    """Return whether the check files from before may tell anything that the present ones do not."""
    if not (is_suspect or any(map(_loses_checks, changes))):
        return False
    return bool(earlier_check_files(changes))


def earlier_check_files(changes: Sequence[FileChange]) -> dict[str, bytes | None]:
    """Return what stands in place of each changed check file to have the checks from before.

    None is a file that was not there: it goes away.
    """
    contents: dict[str, bytes | None] = {}
    for change in changes:
        if change.kind:
            contents[change.path] = change.old
        elif is_shared(change.path) and _changes_checks(change):
            contents[change.path] = _with_earlier_checks(change)
    return contents


def _changes_checks(change: FileChange) -> bool:
    """Return whether the part of a shared file changed that checks the project."""
    if change.is_binary:
        return False
    if change.path.endswith(".rs") and change.new is None:
        return False  # tests of code that is gone
    part = check_part_change(change)
    return part.old != part.new


def _with_earlier_checks(change: FileChange) -> bytes | None:
    if change.new is None:
        return change.old
    if len(change.new) > _LARGEST or not _is_utf8(change.new):
        return change.old
    return with_check_part(change.path, change.new_text, change.old_text).encode()


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _loses_checks(change: FileChange) -> bool:
    """Return whether check files may check less: a file lost lines, or configures checks."""
    if change.kind == "configuration":
        return True
    if change.kind:
        return change.old is not None and not change.only_gained
    if not is_shared(change.path) or not _changes_checks(change):
        return False
    return not change.path.endswith(".rs") or not check_part_change(change).only_gained


def _build(
    run: Run, contents: Mapping[str, bytes | None], note: Callable[[str], object]
) -> ProcessResult:
    """Run `build.sh` with `contents` in place."""
    with run.trial(show=contents):
        build = run.build(label="tests-of-before", environment={VARIABLE: "1"})
        rewritten = [path for path, content in contents.items() if _read(run, path) != content]
    if rewritten:
        note(f"the build itself changes what checks it: {join_paths(rewritten, _NAMED)}")
    return build


def _read(run: Run, path: str) -> bytes | None:
    try:
        return run.tree.read(path)
    except OSError:
        return None


def first_error(build: ProcessResult) -> str:
    """Return the first line of a build's output that tells of an error, or how it ended."""
    lines = build.output.decode("utf-8", "replace").splitlines()
    errors = (line for line in lines if _ERROR.search(line) and len(_WORD.findall(line)) >= _WORDS)
    return shorten(next(errors, f"build.sh {build.ending}").strip(), _LONGEST)


def _reason(headline: str, contents: Mapping[str, bytes | None], build: ProcessResult) -> str:
    output = build.output.decode("utf-8", "replace")
    return (
        f"{headline}\n"
        "The files that check the code were put back as they were before the change, and build.sh "
        f"was run once more: {join_paths(sorted(contents), _NAMED)}. "
        f"Change the code so that it passes with these files, too. build.sh {build.ending}:\n\n"
        f"{output}"
    )
