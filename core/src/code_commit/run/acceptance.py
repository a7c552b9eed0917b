"""Ask the acceptance checks of plugins whether a change stands. They fail closed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api.acceptance import AcceptanceCheck, Submission, Verdict
from code_commit.plugin_api.errors import (
    CodeCommitError,
    LimitReached,
    NotReady,
    ProviderFailed,
    UsageError,
)
from code_commit.plugin_api.event import AcceptanceChecked
from code_commit.plugin_api.running_code import running
from code_commit.plugins.code import checked_result
from code_commit_workspace import STOP
from code_commit_workspace.errors import Interrupted
from code_commit_workspace.words import describe, printable

if TYPE_CHECKING:
    from code_commit.plugin_api.host import Plugin
    from code_commit.run.project_run import ProjectRun

Checks = Sequence[tuple["Plugin", AcceptanceCheck]]
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_ENDS_RUN = (Interrupted, KeyboardInterrupt, LimitReached, ProviderFailed)


def require_models(run: ProjectRun) -> None:
    """Make the models that checks ask in each run, if the workflow asks checks and has the roles.

    Raises:
        NotReady: a key is missing, or there is no model of a name.
    """
    workflow = run.plan.workflow
    if workflow.roles is None or (workflow.accepts and not getattr(run.settings, workflow.accepts)):
        return
    for plugin, check in run.checks:
        for role in set(getattr(check, "roles", ())).intersection(workflow.optional_roles):
            run.model(role)
        for name in getattr(check, "models", ()):
            try:
                run.model(name=name)
            except UsageError as error:
                check_name = f"the acceptance check {check.name} of {plugin.distribution}"
                raise NotReady(f"{check_name}: {error.message}", hint=error.hint) from error


def accept(run: ProjectRun, submission: Submission) -> Verdict:
    """Ask each check in turn, until one refuses; return their verdicts as one.

    Raises:
        NotReady: a check failed.
        LimitReached, ProviderFailed: a call of a check ended so.
    """
    notes: list[str] = []
    trailers: dict[str, str] = {}
    for plugin, check in run.checks:
        STOP.check()
        verdict = _verdict(run, plugin, check, submission)
        notes += verdict.notes
        trailers |= verdict.trailers
        run.emit(
            AcceptanceChecked(
                check=check.name,
                distribution=plugin.distribution,
                accepted=verdict.accepted,
                reason=verdict.headline,
                notes=tuple(verdict.notes),
                trailers=verdict.trailers,
            )
        )
        if not verdict.accepted:
            return Verdict(
                accepted=False,
                reason=verdict.reason,
                notes=notes,
                trailers=trailers,
                refused_by=f"{check.name} of {plugin.distribution}",
            )
    return Verdict(accepted=True, notes=notes, trailers=trailers)


def _verdict(
    run: ProjectRun,
    plugin: Plugin,
    check: AcceptanceCheck,
    submission: Submission,
) -> Verdict:
    run_of_plugin: Any = run.of(plugin)
    part = f"the acceptance check {check.name}"
    with (
        _naming(plugin, check),
        run.sent_by(plugin),
        running(part, plugin.distribution),
    ):
        value = checked_result(
            check.accept(run_of_plugin, submission),
            Verdict,
            accepted=bool,
            reason=str,
            notes=(list, tuple),
            trailers=Mapping,
        )
        notes = [_line(note) for note in value.notes]
        trailers = {_trailer(name): _line(text) for name, text in value.trailers.items()}
    reason = value.reason.strip()
    if not value.accepted and not reason:
        reason = "it gives no reason"
    return Verdict(value.accepted, reason, notes, trailers)


@contextmanager
def _naming(plugin: Plugin, check: AcceptanceCheck) -> Iterator[None]:
    """Name the check and its distribution in errors of the block."""
    try:
        yield
    except _ENDS_RUN:
        raise
    except BaseException as error:
        fault, hint = describe(error), f"fix it, or run with --disable-plugin {plugin.name}"
        if isinstance(error, CodeCommitError):
            fault, hint = error.message, error.hint
        raise NotReady(
            f"the change is not accepted: the acceptance check {check.name} of "
            f"{plugin.distribution} failed: {fault}",
            hint=hint,
        ) from error


def _line(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a note or a trailer must be a text, not {text!r:.100}")
    return printable(text, newlines=False)


def _trailer(name: object) -> str:
    if not isinstance(name, str) or not _TRAILER.fullmatch(name):
        raise TypeError(f"the name of a trailer is letters, digits and hyphens, not {name!r:.100}")
    return name
