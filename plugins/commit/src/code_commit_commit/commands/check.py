"""`code-commit check PATH…`: check whether a response may change paths, or whether files contain an
API key.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from code_commit.plugin_api import Change, ExitCode, Host, NotReady, Refusal
from code_commit_workspace import ProjectTree, Redactor, Workspace, check_private_folder

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
        if arguments.keys:
            check_private_folder(host.root)
            host.settings()  # a broken configuration may contain an unknown key
            verdicts = {
                path: _key_refusals(workspace.project, host.redactor, path)
                for path in arguments.paths
            }
        else:
            if not arguments.read:
                _require_rules(host)
            verdicts = {
                path: _refusals(workspace, path, read=arguments.read) for path in arguments.paths
            }
    if arguments.json:
        rows = [
            {
                "path": path,
                "allowed": not refusals,
                "reasons": [{"rule": r.rule, "reason": r.reason} for r in refusals],
            }
            for path, refusals in verdicts.items()
        ]
        host.out.document({"paths": rows})
    else:
        passed = "no key" if arguments.keys else "allowed"
        for path, refusals in verdicts.items():
            reasons = "; ".join(f"{refusal.reason} ({refusal.rule})" for refusal in refusals)
            host.out.line(f"{path}: {reasons or passed}")
    return ExitCode.NOT_REACHED if any(verdicts.values()) else ExitCode.REACHED


def _require_rules(host: Host) -> None:
    """Raise the error of a run that cannot start because a plugin with path rules is broken."""
    for _ in host.collect("code_commit_path_rules"):
        pass  # their failures are added to those of the host
    if broken := next((each for each in host.failures if each.guards_paths), None):
        host.settings()  # a broken configuration breaks every hook that takes a section of it
        raise broken.stops_run("path rules")


def _refusals(workspace: Workspace, path: str, *, read: bool) -> tuple[Refusal, ...]:
    if not read:
        return workspace.check([Change(path, b"")])
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
    return (
        (Refusal(path, "key", "contains a configured API key"),)
        if redactor.holds_key(content)
        else ()
    )
