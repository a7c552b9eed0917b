"""`code-commit check PATH…`: check whether a response may change paths.

It also checks whether files contain an API key.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from code_commit.plugin_api import PRIVATE_FOLDER, Change, ExitCode, Host, NotReady, Refusal
from code_commit_workspace import ProjectTree, Redactor, Workspace, check_private_folder

Judge = Callable[[str], tuple[Refusal, ...]]
_DESCRIPTION = (
    "Check whether a response may change each path, and show why not. Rules of plugins judge "
    "content, so they are not asked. The exit code is 0 if all are allowed, else 1."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `check`."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a path relative to the project's root"
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--read", action="store_true", help="check whether a model may read them")
    instead.add_argument(
        "--keys", action="store_true", help="check whether they contain a configured API key"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def check(host: Host, arguments: Namespace) -> int:
    """Check each path separately; return 0 if all are allowed, else 1.

    Path rules of plugins are not called: they judge content, and a path has none.

    Raises:
        NotReady: there is no git repository; a plugin with path rules is broken; with `--keys`, the
            project does not keep its keys out of git, a file cannot be read, or a configuration is
            broken.
    """
    with host.workspace(repository="optional" if arguments.keys else "required") as workspace:
        judge = _judge(host, workspace, arguments)
        verdicts = {path: judge(path) for path in arguments.paths}
    if arguments.json:
        host.out.document({"paths": [_row(path, verdicts[path]) for path in verdicts]})
    else:
        passed = "no key" if arguments.keys else "allowed"
        for path, refusals in verdicts.items():
            reasons = "; ".join(f"{refusal.reason} ({refusal.rule})" for refusal in refusals)
            host.out.line(f"{path}: {reasons or passed}")
    return ExitCode.NOT_REACHED if any(verdicts.values()) else ExitCode.REACHED


def _judge(host: Host, workspace: Workspace, arguments: Namespace) -> Judge:
    """Return the function that gives the refusals of a path, as the flags choose.

    Raises:
        NotReady: something that it needs is broken.
    """
    if arguments.keys:
        check_private_folder(host.root, PRIVATE_FOLDER)
        host.settings()  # a broken configuration may contain an unknown key
        return partial(_key_refusals, workspace.project, host.redactor)
    if arguments.read:
        return partial(_reading_refusals, workspace)
    _require_rules(host)
    return lambda path: workspace.check([Change(path, b"")])


def _row(path: str, refusals: Sequence[Refusal]) -> dict[str, Any]:
    reasons = [{"rule": refusal.rule, "reason": refusal.reason} for refusal in refusals]
    return {"path": path, "allowed": not refusals, "reasons": reasons}


def _require_rules(host: Host) -> None:
    """Raise the error of a run that cannot start because a plugin with path rules is broken."""
    for _ in host.collect("code_commit_path_rules"):
        pass  # their failures are added to those of the host
    for failure in host.failures:
        if failure.guards_paths:
            host.settings()  # a broken configuration breaks every hook that takes a section of it
            raise failure.stops_run("path rules")


def _reading_refusals(workspace: Workspace, path: str) -> tuple[Refusal, ...]:
    refusal = workspace.may_read(path)
    return (refusal,) if refusal else ()


def _key_refusals(tree: ProjectTree, redactor: Redactor, path: str) -> tuple[Refusal, ...]:
    """Return a refusal if a file of the project contains a key, in any censored form."""
    try:
        content = tree.read(path)
    except (OSError, ValueError) as error:  # ValueError: an invalid path
        reason = error.strerror if isinstance(error, OSError) else error
        raise NotReady(
            f"{path} cannot be read: {reason}", hint="use regular files of the project"
        ) from error
    if content is None:
        raise NotReady(f"there is no file {path}", hint="use paths relative to the project's root")
    if not redactor.holds_key(content):
        return ()
    return (Refusal(path, "key", "contains a configured API key"),)
