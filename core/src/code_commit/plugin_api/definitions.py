"""What plugins define: providers, workflows, commands and checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # only for annotations: every start imports this module
    from collections.abc import Callable, Mapping, Sequence

    from code_commit.plugin_api.conversation import Json
    from code_commit_workspace import Change


@dataclass(frozen=True, slots=True)
class ProviderDefinition:
    """A provider that a plugin offers.

    Classes are named as strings, so that listing providers imports none of them.

    `models` maps a model id to its aliases, and `windows` to the most tokens that it reads;
    `name/any-id` always works, too. `key_header` is a header name and its template, such as
    `("authorization", "Bearer {key}")`; leave it out if the service takes no key.
    `base_url_variable` is the usual environment variable for another address; `base_url_suffix` is
    appended to its value to get a `base_url`. Leave `base_url` empty if the provider does not use
    HTTP: it gets no key.

    `config` and `factory` are required. `config` is `"package.module:Name"` of a pydantic model.
    `factory` is `"package.module:name"` of a callable that takes the config, and returns a `Wire`
    or a `Provider`. It is called before the run folder exists. If it has parameters with these
    names, it also gets the project's `root`, and `own_address`: whether calls go to the service
    itself, which knows fields that compatible servers may refuse.

    `free` means that calls cost nothing: `--max-cost` and prices ignore them. `run_token` is
    `"package.module:name"` of a `Callable[[str, Path], str]` that takes the model's name and `root`
    and returns the token of the run, for a provider that answers from a recorded run.
    """

    name: str
    models: Mapping[str, Sequence[str]]
    base_url: str
    base_url_variable: str | None = None
    key_variable: str | None = None
    key_header: tuple[str, str] = ("", "")
    config: str = ""
    factory: str = ""
    base_url_suffix: str = ""
    free: bool = False
    run_token: str | None = None
    windows: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flag:
    """A command-line flag of a workflow.

    Without `metavar` it is a switch. With `selects` it chooses the workflow. With `several` it
    takes one or more values and can be repeated; the field then holds a tuple or a list of texts.
    `needs` is the distribution without which the flag has no effect: the run then does not start.

    Its value sets the field of the workflow's `options` model with the first long name
    (`--query-file` → `query_file`), as text or True; the model converts and validates it.

    Another program, such as an MCP client, or a model behind it, may set a flag only if it is
    `for_programs`. Pass True only if no value names a file, a folder, an output, a program or an
    address, forces something, or weakens a check or a protection.
    """

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    selects: bool = False
    several: bool = False
    needs: str | None = None
    for_programs: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowDefinition:
    """A workflow that a plugin offers.

    `run`, `options` and `root` have the form `"package.module:name"` and are imported when the
    workflow is chosen:

    - `run`: a `Callable[[Run], Result]`.
    - `options`: a pydantic model of the flags. A flag overrides the setting of the same name in the
      plugin's section.
    - `root`: a `Callable[[options, ask], Path | None]` that chooses the project before the run
      starts; None means that the user quit. `ask` is a `Callable[[str], str | None]` like
      `Run.ask`, but on stderr and without an event.

    `roles` are the names under `[providers]` that this workflow needs models for; None means that
    it calls no model, and needs no provider. `optional_roles` are further ones that only some runs
    call; their keys are read when a run asks for their models. `models` is an option, or a setting
    of the same name, that may be a tuple or a text: the names of models that this run calls in
    place of the one for "default". They and their keys are checked before the run. `ignores`
    lists flags of other workflows that have no effect on this one. A workflow that `writes` needs a
    git repository, the lock and the path rules. `no_repository` lists switches among the options;
    with one of them, the root need not be in a repository, and `Run.git` works on an empty one.
    `numbered` puts the call's number before log names. `reports_progress` means that the workflow
    reports its progress with `Run.say`; the progress display then shows only problems. `continues`
    is the hint with which a run ends that did not reach its goal and that a later one continues,
    such as "`code-commit --chat` continues". An interactive run then gives no hint to undo its
    changes. `accepts` is a setting of the plugin without which this workflow asks no acceptance
    checks: the models that these ask in each run are then not needed.
    """

    name: str
    help: str
    flags: tuple[Flag, ...]
    run: str
    roles: tuple[str, ...] | None = ()
    options: str | None = None
    root: str | None = None
    ignores: tuple[str, ...] = ()
    interactive: bool = False
    writes: bool = True
    no_repository: tuple[str, ...] = ()
    numbered: bool = True
    reports_progress: bool = False
    optional_roles: tuple[str, ...] = ()
    continues: str = ""
    models: str = ""
    accepts: str = ""


@dataclass(frozen=True, slots=True)
class CommandDefinition:
    """A command that a plugin offers: `code-commit NAME`.

    A name of two words, such as `plugins new`, adds to a command without positional arguments, here
    `plugins`.

    `run` and `arguments` have the form `"package.module:name"` and are imported on use. `run` names
    a `Callable[[Host, argparse.Namespace], int]` that returns the exit code. `arguments` names a
    `Callable[[argparse.ArgumentParser], None]` that adds the command's arguments; it may also set
    `description`, `epilog` and `usage`. `help` is one line, for the list of commands.
    """

    name: str
    help: str
    run: str
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class CheckDefinition:
    """A check of `code-commit doctor`; `name` is one or two words.

    `run` is `"package.module:name"` of a `Callable[[Host, CheckContext], Iterable[Check]]`,
    imported when the check runs. If it raises a `CodeCommitError`, its message and hint are shown
    as a problem; any other exception is a problem of the plugin. It calls no service and asks
    nothing.
    """

    name: str
    run: str


@dataclass(frozen=True, slots=True)
class Check:
    """A line of `code-commit doctor`: what a check found, and what to do.

    A "problem" prevents a run, a "warning" does not; "skipped" means that nothing was checked.
    Further lines of `text` are indented. `hint` holds commands that work as printed. `data` is for
    programs.
    """

    state: Literal["ok", "warning", "problem", "skipped"]
    text: str
    hint: str = ""
    data: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Plugins may not be type-checked.
        if self.state not in {"ok", "warning", "problem", "skipped"}:
            raise ValueError(
                f"the state of a Check is ok, warning, problem or skipped, not {self.state!r:.50}"
            )


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check of `code-commit doctor` may need to know.

    `model` is the id of the model that a run here would ask, or "" if there is none; `window` is
    the most tokens that it reads, or None if that is unknown. `builds` is whether the check may run
    the project's build.
    """

    model: str = ""
    builds: bool = True
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """A parsed command line that starts a workflow. `argv` is the command line itself.

    `flags` maps the workflow's own flags by field name; `settings` maps the flags of every workflow
    by the setting that they override. `shown` is for recorded answers: it returns a file as the
    model saw it before a change, in place of what the workflow tells `Run.apply`. A change of a
    person that overlaps then ends the run.
    """

    workflow: WorkflowDefinition
    flags: Mapping[str, Any]
    settings: Mapping[str, Any]
    argv: tuple[str, ...] = field(repr=False)
    as_json: bool = False
    quiet: bool = False
    debug: bool = False
    shown: Callable[[Change], bytes | None] | None = field(default=None, repr=False)
