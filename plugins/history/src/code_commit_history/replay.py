"""`code-commit replay RUN`: repeat a recorded run offline, and compare.

It runs in a scratch copy of its initial files.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    PRIVATE_FOLDER,
    STOP,
    CodeCommitError,
    ExitCode,
    Host,
    Interrupted,
    Invocation,
    NotReady,
    RunTexts,
    count_of,
    shorten,
)
from code_commit_history.choice import manifest_of, recorded_choice, recorded_format
from code_commit_history.past_runs import PastRun, named_run, read_run
from code_commit_history.recording import require_whole
from code_commit_history.runs.command import RUN
from code_commit_history.story import Story, read_story
from code_commit_workspace import (
    Git,
    ProjectTree,
    RunChanges,
    Store,
    check_private_folder,
    remove_tree,
)

_LONGEST_CELL = 200  # characters: a change may have thousands of files
_CONFIG = Path(PRIVATE_FOLDER)
# In the run folder as `input-NAME`; other names could be settings.
_MANIFEST = _CONFIG / ".code-commit" / "rollup.json"
_CHOICE_FLAGS = frozenset({"context", "context_tokens", "files"})
_INPUTS = ("query.txt", "codeRollup.txt")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A property of a run and of its replay, as texts."""

    what: str
    recorded: str
    replayed: str

    @property
    def same(self) -> bool:
        """Whether the run and the replay have the same property."""
        return self.recorded == self.replayed


_DESCRIPTION = (
    "Repeat a recorded run offline, in a scratch copy of its initial files, and compare. "
    "The exit code is 0 if the replay has the same results, else 1."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `replay`."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "run",
        nargs="?",
        default="latest",
        metavar="RUN",
        help=f"{RUN} (default: latest)",
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep the scratch copy even if nothing differs"
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress on stderr")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def replay(host: Host, arguments: Namespace) -> int:
    """Repeat a recorded run and print the differences. The project stays unchanged.

    Raises:
        NotReady: the run does not exist or cannot be replayed.
    """
    root = host.root
    recorded = named_run(host.root, arguments.run)
    calls = read_story(recorded.folder).calls
    if not calls:
        raise NotReady(
            f"{recorded.run} called no model, so it cannot be replayed", hint="choose another run"
        )
    require_whole(recorded)
    scratch = Path(tempfile.mkdtemp(prefix="code-commit-replay-")).resolve()
    keep = False  # a failed or interrupted replay has no results
    try:
        final_files = _copy_project(host, recorded, scratch)
        _copy_inputs(host, recorded, scratch)
        _commit(scratch)
        again = _run_again(host, recorded, scratch, quiet=arguments.quiet or arguments.json)
        if again.exit_code == ExitCode.INTERRUPTED:
            raise Interrupted("interrupted")
        final_files_again = _files_of_replay(host, scratch, again.run)
        rows = list(_compare(recorded, again, final_files, final_files_again))
        same = all(row.same for row in rows)
        keep = arguments.keep or not same
    finally:
        with STOP.hold():
            os.chdir(root)
            if keep:
                _delete_configuration(root, scratch)
            else:
                with suppress(OSError):
                    remove_tree(scratch)
    folder = again.folder if keep else None
    if arguments.json:
        compared = [asdict(row) | {"same": row.same} for row in rows]
        host.out.document(
            {
                "run": recorded.run,
                "same": same,
                "folder": folder and str(folder),
                "compared": compared,
            }
        )
    else:
        _print(host, rows, recorded, folder, scratch)
    return ExitCode.REACHED if same else ExitCode.NOT_REACHED


def _copy_project(host: Host, recorded: PastRun, scratch: Path) -> dict[str, str]:
    """Copy the initial files and the folder of the run; return the ids of its final files."""
    final_files: dict[str, str] = {}
    check_private_folder(host.root, PRIVATE_FOLDER)  # the copy of an unsafe folder would look safe
    with host.workspace(writes=True, repository="existing") as project:
        state = scratch / project.state_folder.relative_to(project.root)
        state.mkdir(parents=True, mode=0o700)
        log = project.store.logs.of(recorded.run)
        if log and log.entries:
            tree = log.entries[0].tree
            final_files = _final_files(project.store, recorded.run)
        else:
            host.out.note(f"{recorded.run} has no log, so the replay uses the current files")
            tree = project.store.look(host.out.note).tree
        with ProjectTree(scratch) as target:
            project.store.copy(tree, target, state)
    folder = scratch / "logs" / recorded.run
    if folder.exists():  # part of the tree, with links, if git does not ignore it
        remove_tree(folder)
    shutil.copytree(recorded.folder, folder, ignore=_not_regular)
    (scratch / "logs" / ".gitignore").unlink(missing_ok=True)
    (scratch / "logs" / ".gitignore").write_text("*\n", "utf-8")
    return final_files


def _not_regular(folder: str, names: list[str]) -> list[str]:
    """Return the names that are not regular files: links and pipes there are an attack."""
    modes = {name: Path(folder, name).lstat().st_mode for name in names}
    return [name for name, mode in modes.items() if not stat.S_ISREG(mode)]


def _final_files(store: Store, run: str) -> dict[str, str]:
    """Return mode and id of each file: those from before the run, with its changes."""
    log = store.logs.of(run)
    if log is None or not log.entries:
        return {}
    states = store.listing(log.entries[0].tree)
    for path, change in RunChanges(store, log).net().items():
        if change.after is None:
            states.pop(path, None)
        else:
            states[path] = change.after
    return {path: f"{state.git_mode} {state.blob}" for path, state in states.items()}


def _copy_inputs(host: Host, recorded: PastRun, scratch: Path) -> None:
    """Copy the other inputs of the run.

    These are the configuration without keys, and the inputs in the run folder.
    """
    for name in _configuration(host.root):
        shutil.copyfile(host.root / _CONFIG / name, scratch / _CONFIG / name)
    texts = RunTexts(recorded.folder)
    for name in _INPUTS:
        with suppress(OSError):
            (scratch / _CONFIG / name).write_bytes(texts.read(f"input-{name}"))
    if choice := recorded_choice(recorded.folder):
        rollup = (scratch / _CONFIG / "codeRollup.txt").read_bytes()
        (scratch / _MANIFEST).write_text(json.dumps(manifest_of(choice, rollup)), "utf-8")


def _configuration(root: Path) -> list[str]:
    return [
        path.name
        for path in sorted((root / _CONFIG).iterdir())
        if path.is_file() and not path.is_symlink() and not path.name.lower().endswith("-key.txt")
    ]


def _delete_configuration(root: Path, scratch: Path) -> None:
    """Delete the settings in a kept copy: they may contain a key, or the path of a key file."""
    for name in _configuration(root):
        if name not in _INPUTS:
            (scratch / _CONFIG / name).unlink(missing_ok=True)


def _commit(scratch: Path) -> None:
    """Make the copy a git repository, which workflows require."""
    git = Git(scratch)
    git.init()
    git.commit_all("The files of a run", author="code-commit replay")


def _run_again(host: Host, recorded: PastRun, scratch: Path, *, quiet: bool) -> PastRun:
    """Run the recorded workflow with its flags and the recorded responses.

    Raises:
        NotReady: it is interactive; or the replay was not ready, and left no folder.
    """
    os.chdir(scratch)
    invocation = _invocation(host, recorded)
    if invocation.workflow.interactive:
        raise NotReady(
            f"{recorded.workflow} is interactive, so it cannot be replayed", hint="use `runs show`"
        )
    again = host.start(invocation, root=scratch, quiet=quiet)
    if not again.folder.is_dir():
        raise NotReady(f"the replay of {recorded.run} did not begin: {again.summary}")
    return read_run(again.folder)


def _invocation(host: Host, recorded: PastRun) -> Invocation:
    words = recorded.document.get("argv")
    argv = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    try:
        invocation = host.parse(argv)
    except CodeCommitError as error:
        raise NotReady(
            f"the command line of {recorded.run} is not valid any more: {error.message}"
        ) from error
    # The source of the query, such as stdin, may be gone; its text is in agent-config/query.txt.
    flags: dict[str, Any] = {
        name: value
        for name, value in invocation.flags.items()
        if name not in {"query", "query_file", "edit"}
    }
    if recorded_choice(recorded.folder):  # the rollup of the replay has it
        flags = {name: value for name, value in flags.items() if name not in _CHOICE_FLAGS}
        flags["context"] = "auto"
    if recorded.workflow == "committing-code":
        flags["format"] = recorded_format(recorded.folder)
    # The log may come from the repository: use the user's current sandbox.
    settings = {
        name: value
        for name, value in invocation.settings.items()
        if name not in {"max_cost", "sandbox"}
    }
    settings["model"] = f"replay/{recorded.run}"
    settings["build"] = {"baseline": "never"}  # it says nothing about the recorded run
    return replace(invocation, flags=flags, settings=settings, as_json=False)


def _files_of_replay(host: Host, scratch: Path, run: str) -> dict[str, str]:
    with host.workspace(writes=True, repository="existing", root=scratch) as project:
        return _final_files(project.store, run)


def _compare(
    recorded: PastRun,
    again: PastRun,
    old_files: Mapping[str, str],
    new_files: Mapping[str, str],
) -> Iterator[Comparison]:
    first, second = read_story(recorded.folder), read_story(again.folder)
    old_calls, new_calls = first.used_calls, second.used_calls
    yield Comparison("outcome", recorded.outcome or recorded.state, again.outcome or again.state)
    yield Comparison("model calls", str(len(old_calls)), str(len(new_calls)))
    for old, new in zip(old_calls, new_calls, strict=False):
        yield Comparison(
            f"prompt {old.number}",
            "as recorded",
            _prompt(recorded, again, old.request, new.request),
        )
    yield from _compare_in_order("candidate", _candidates(first), _candidates(second))
    yield from _compare_in_order("change", _changes(first), _changes(second))
    yield from _compare_in_order("process", _endings(first), _endings(second))
    if not (old_files and new_files):
        return  # a call that failed at once ended the run before its first look at the files
    differing = sorted(
        path
        for path in old_files.keys() | new_files.keys()
        if old_files.get(path) != new_files.get(path)
    )
    yield Comparison("files in the end", "as recorded", ", ".join(differing) or "as recorded")


def _compare_in_order(
    label: str,
    old_texts: Sequence[str],
    new_texts: Sequence[str],
) -> Iterator[Comparison]:
    pairs = zip_longest(old_texts, new_texts, fillvalue="none")
    for number, (old_text, new_text) in enumerate(pairs, 1):
        yield Comparison(f"{label} {number}", old_text, new_text)


def _prompt(recorded: PastRun, again: PastRun, old: str, new: str) -> str:
    try:
        same = RunTexts(recorded.folder).read(old) == RunTexts(again.folder).read(new)
    except (OSError, ValueError):
        return "missing"
    return "as recorded" if same else f"differs, see {new}"


def _changes(story: Story) -> list[str]:
    texts = []
    for change_set in story.applied:
        paths = [*change_set.written, *(f"-{path}" for path in change_set.deleted)]
        texts.append(", ".join(paths))
    return texts


def _candidates(story: Story) -> list[str]:
    return [candidate.outcome for candidate in story.candidates]


def _endings(story: Story) -> list[str]:
    return [process.ending for process in story.processes]


def _cells(row: Comparison) -> tuple[str, ...]:
    recorded = shorten(row.recorded, _LONGEST_CELL)
    if row.same:
        return ("same", row.what, recorded, "")
    return ("DIFFERS", row.what, recorded, shorten(row.replayed, _LONGEST_CELL))


def _print(
    host: Host,
    rows: Sequence[Comparison],
    recorded: PastRun,
    folder: Path | None,
    scratch: Path,
) -> None:
    host.out.table([_cells(row) for row in rows])
    differing = sum(not row.same for row in rows)
    result = count_of(differing, "difference") if differing else "no differences"
    host.out.line(f"{recorded.run}: {result}")
    if folder:
        host.out.line(f"the replay is in {folder}; to delete it: rm -r {scratch}")
