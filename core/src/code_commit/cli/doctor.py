"""`code-commit doctor`: check what a run here needs, one line each.

The host's checks, and those of plugins.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, replace
from typing import Any

from code_commit.cli.config import key_of_model
from code_commit.cli.host import CommandHost
from code_commit.cli.parser import add_json
from code_commit.cli.project_folder import project_root
from code_commit.cli.run_plan import INIT, plan_run, require_known_names
from code_commit.config.addresses import address_of
from code_commit.config.own_files import require_own_files_out_of_reach
from code_commit.models.context_window import listed_window
from code_commit.models.listed_models import window_of
from code_commit.models.resolution import make_provider, resolve
from code_commit.plugin_api.conversation import Finish
from code_commit.plugin_api.definitions import Check, CheckContext, CheckDefinition
from code_commit.plugin_api.errors import CodeCommitError, ExitCode, Interrupted, NotReady
from code_commit.plugin_api.finish_words import FINISH_WORDS
from code_commit.plugin_api.host import Plugin
from code_commit.plugin_api.how_to_install import installation
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER, STATE_FOLDER
from code_commit.plugin_api.run_files import RUNS
from code_commit.plugin_api.sync_result import require_sync
from code_commit.plugins.code import checked_result, import_code
from code_commit.plugins.distributions import unusable_dependents
from code_commit.plugins.host import CHECKS
from code_commit.plugins.registry import DEFAULT_WORKFLOW
from code_commit_workspace import Git, Workspace, check_private_folder
from code_commit_workspace.words import count_of, describe

_DESCRIPTION = (
    "Check everything that a run in this folder needs: git, .gitignore, settings, model, key, "
    "address, sandbox, plugins, build.sh, and the code for the model. It also lists what the end "
    "of a reply means. Services are not called. The exit code is 3 if a run could not start or "
    "could not succeed. For plugin authors, there is also `code-commit plugins doctor`."
)
_ENDINGS: Mapping[Finish, tuple[str, list[str]]] = {
    Finish.STOP: ("whole", ["no reason"]),
    Finish.TOOL_CALLS: ("whole, with calls of tools", []),
    Finish.PAUSED: ("paused, which only agents continue", []),
    Finish.LENGTH: ("too long, never applied", []),
    Finish.CUT: ("cut, never applied", ["every reason that is not listed"]),
    Finish.FILTERED: ("filtered, which ends the run", []),
    Finish.REFUSED: ("refused, which ends the run", []),
}
_REPAIR = "fix or uninstall the plugin, or disable it with --disable-plugin NAME"


def doctor_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "--model", "-m", metavar="NAME", help="check this model instead of the configured one"
    )
    parser.add_argument("--no-build", action="store_true", help="do not run build.sh")
    add_json(parser)


def doctor(host: CommandHost, arguments: Namespace) -> int:
    """Run every check, and print what it finds at once; return 3 if there is a problem."""
    project_root(host.argv)
    host.flags = {"model": arguments.model}
    definitions = list(_definitions(host))
    context = _context(host, builds=not arguments.no_build)
    lines: list[dict[str, Any]] = []
    width = max(len(definition.name) for _, definition in definitions)
    for plugin, definition in definitions:
        before = {line["text"]: line["name"] for line in lines}
        new_lines = _run(host.of(plugin), plugin, definition, context, before)
        lines += new_lines
        if not arguments.json:
            _print(host, new_lines, width=width)
    states = [line["state"] for line in lines]
    problems = states.count("problem")
    warnings = states.count("warning")
    if arguments.json:
        host.out.document({"checks": lines, "problems": problems, "warnings": warnings})
    else:
        counts = {"problem": problems, "warning": warnings}
        texts = [count_of(count, state) for state, count in counts.items() if count]
        host.out.line(" and ".join(texts) or "no problems")
    if problems:
        return ExitCode.NOT_READY
    return ExitCode.REACHED


def _definitions(host: CommandHost) -> Iterator[tuple[Plugin, CheckDefinition]]:
    plugin_host = host.registry.plugin_host
    for plugin, definition in plugin_host.collect(CHECKS):
        if isinstance(definition, CheckDefinition):
            yield plugin, definition
        else:
            error = f"a check must be a CheckDefinition, not {definition!r:.100}"
            plugin_host.reject(plugin, CHECKS, error)


def _run(
    host: CommandHost,
    plugin: Plugin,
    definition: CheckDefinition,
    context: CheckContext,
    before: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return what a check finds, for `--json`.

    An error is a problem; one that a check `before` had is named once.
    """
    checks: list[Check] = []
    try:
        with redirect_stdout(sys.stderr):
            for check in require_sync(import_code(definition, "run")(host, context)):
                checked_result(check, Check, state=str, text=str, hint=str)
                # A plugin may give anything.
                checks.append(replace(check, data=json.loads(json.dumps(check.data))))
    except (Interrupted, KeyboardInterrupt):
        raise
    except CodeCommitError as error:
        checks.append(_problem(error.message, error.hint, before))
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
        message = f"the check of {plugin.distribution} failed: {describe(error)}"
        checks.append(_problem(message, _REPAIR, before))
    hint_for = host.registry.hint_for
    return [
        {
            "name": definition.name,
            "plugin": plugin.distribution,
            **asdict(check),
            "hint": hint_for(check.hint),
        }
        for check in checks
    ]


def _problem(message: str, hint: str, before: Mapping[str, str]) -> Check:
    if message in before:
        return Check("skipped", f"not checked, see {before[message]}")
    return Check("problem", message, hint)


def _print(host: CommandHost, lines: Sequence[Mapping[str, Any]], *, width: int) -> None:
    for line in lines:
        first, *more = host.out.redacted(line["text"]).splitlines() or [""]
        if line["hint"]:
            more.append(f"hint: {line['hint']}")
        host.out.line(f"{line['state']:<8} {line['name']:<{width}}  {first}")
        for text in more:
            host.out.line(f"{'':<8} {'':<{width}}  {text}")


# --- the host's checks; each takes a context, used or not ---


def check_git(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Check that the folder is in a git repository, and that git works there."""
    git = Git(host.root)
    text = f"repository {git.top()}"
    if not git.head():
        text += ", without a commit"
    yield Check("ok", text)


def check_ignore_line(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Check that git keeps out of `agent-config`."""
    hint = INIT if "init" in host.registry.commands else ""
    check_private_folder(host.root, PRIVATE_FOLDER, untracked=RUNS, hint=hint)
    yield Check("ok", "git ignores /agent-config")


def check_settings(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Check the configuration, with the sections of plugins."""
    require_known_names(host.configuration, host.registry)
    require_own_files_out_of_reach(host.root, host.environ)
    for plugin in host.plugins:
        try:
            host.of(plugin).settings()
        except NotReady as error:
            yield Check("problem", error.message, error.hint)
            return
    yield Check("ok", "all settings are valid; `code-commit config` prints them")


def check_model(host: CommandHost, context: CheckContext) -> Iterator[Check]:
    """Check that the models exist, and that their providers can be made."""
    for name in _models_of_run(host):
        choice, resolved = resolve(host.registry, host.configuration, "default", name)
        config, _, _ = make_provider(resolved, host.configuration, host.root, host.environ)
        provider = resolved.provider.name
        model = config.model
        if name is None:
            model = context.model or model
        text = f"{model} of {provider} ({choice.reason})"
        yield Check("ok", text, data={"model": config.model, "provider": provider})


def check_key(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Check that the services of the models have a key."""
    for name in _models_of_run(host):
        key = key_of_model(host, name)
        text = f"{key['config']} needs no key"
        if key["key"]:
            text = f"{key['key']} from {key['source']}"
        yield Check("ok", text, data=key)


def check_address(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Check the addresses of the models' services. Nothing is sent there."""
    for name in _models_of_run(host):
        _, resolved = resolve(host.registry, host.configuration, "default", name)
        definition = resolved.provider
        if not definition.base_url:
            yield Check("ok", f"{definition.name} has none")
            continue
        table = host.configuration.connection(definition.name, resolved.config)
        address = address_of(definition, resolved.config, table, host.environ)
        text = address.url
        if not address.own:
            text += f", not {definition.name}'s own"
        yield Check("ok", text, data={"url": address.url, "own": address.own})


def _models_of_run(host: CommandHost) -> Sequence[str | None]:
    """Return the names of the models that a run here calls: None for that of the settings."""
    if host.flags.get("model") is None:
        with suppress(CodeCommitError):  # another check says it
            plan = plan_run(host.parse([]), host.registry, host.environ, host.root)
            if plan and plan.models:
                return plan.models
    return (None,)


def check_sandbox(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Check the sandbox of builds, by a start of it."""
    try:
        workspace = host.workspace(processes=True, repository="optional")
    except NotReady:
        # The settings are another check's: whether it works here does not depend on them.
        workspace = Workspace.open(
            host.root,
            writes=False,
            private_folder=PRIVATE_FOLDER,
            state_folder=STATE_FOLDER,
            repository="optional",
        )
    with workspace:
        used = workspace.sandbox_in_use
        data = {"mode": workspace.sandbox.mode, "used": used}
        if warning := workspace.sandbox_warning():
            hint = "see docs/security.md, The sandbox"
            if "not installed" in warning:
                hint = "install bubblewrap"
            yield Check("warning", warning, hint, data)
        elif used == "off":
            yield Check("warning", "off, by the setting sandbox.mode", "remove the setting", data)
        else:
            yield Check("ok", f"{used} works (mode {workspace.sandbox.mode})", data=data)


def check_plugins(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """List the loaded plugins, and what failed. A failed path rule stops every run that writes."""
    host.registry.secret_variables()  # reports invalid names
    names = [plugin.name for plugin in host.plugins]
    text = "none is installed"
    if names:
        text = f"{len(names)} loaded: {', '.join(names)}"
    yield Check("ok", text)
    disabled = host.registry.plugin_host.disabled
    for failure in dict.fromkeys([*host.failures, *unusable_dependents(disabled)]):
        name = f"{failure.plugin} of {failure.distribution}"
        text = f"{name} failed ({failure.stage}): {failure.error}"
        yield Check("problem" if failure.guards_paths else "warning", text, _REPAIR)
    if DEFAULT_WORKFLOW not in host.registry.workflows:
        yield Check(
            "warning",
            f"the workflow {DEFAULT_WORKFLOW} is not installed",
            installation("code-commit-commit"),
        )


def check_replies(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Say what the reason with which a service ends a reply does."""
    lines = []
    for finish, (meaning, more_words) in _ENDINGS.items():
        words = [word for word, result in FINISH_WORDS.items() if result is finish]
        lines.append(f"{meaning}: {', '.join(more_words + words)}")
    data = {word: finish.value for word, finish in FINISH_WORDS.items()}
    yield Check("ok", "\n".join(lines), data=data)


def check_disk(host: CommandHost, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001
    """Say how much the runs of the project store."""
    from code_commit.plugin_api.retention import stored_bytes

    stored = stored_bytes(host.root)
    yield Check("ok", str(stored), data=asdict(stored))


def _context(host: CommandHost, *, builds: bool) -> CheckContext:
    """Return what the checks may know of the model that a run here would ask.

    `check_model` says why there is none.
    """
    with suppress(CodeCommitError):
        _, resolved = resolve(host.registry, host.configuration, "default")
        config, built, _ = make_provider(resolved, host.configuration, host.root, host.environ)
        model = getattr(built, "model", None)  # of a provider
        if not isinstance(model, str):
            model = str(config.model)
        window = window_of(resolved.provider, model) or listed_window(model)
        return CheckContext(model, builds=builds, window=window)
    return CheckContext(builds=builds)
