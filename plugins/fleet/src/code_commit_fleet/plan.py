"""Plan the units: each repository of a fleet file with each of its models.

All errors are reported before one runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from code_commit.plugin_api import CodeCommitError, Host, NotReady, ProviderDefinition, did_you_mean
from code_commit_fleet.fleet_file import FleetFile, Repository
from code_commit_workspace import Git

_AT_ONCE = 8  # folders checked at the same time


@dataclass(frozen=True, slots=True)
class Unit:
    """A repository with a model.

    `unit` is a hash of its inputs; `commit` is known only for a local folder.

    `build` is the build command for a repository without build.sh.
    """

    unit: str
    repository: str
    model: str
    provider: str
    url: str
    ref: str
    commit: str
    query: str
    setup: str
    branch: str
    build: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The units of a fleet in their order; the first `pilot` of them run before the others."""

    units: tuple[Unit, ...]
    pilot: int

    @property
    def by_id(self) -> dict[str, Unit]:
        """The units by id."""
        return {unit.unit: unit for unit in self.units}

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {"version": 1, "pilot": self.pilot, "units": [asdict(unit) for unit in self.units]}

    @classmethod
    def read(cls, document: Any) -> Plan:
        """Return the plan of a JSON document.

        Raises:
            ValueError: it is not one.
        """
        try:
            rows = [{name: str(value) for name, value in row.items()} for row in document["units"]]
            return cls(tuple(Unit(**row) for row in rows), int(document["pilot"]))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a plan: {error}") from None


def make_plan(file: FleetFile, host: Host, *, again: Mapping[str, Unit]) -> Plan:
    """Return the plan of a file.

    `again` are the units of an earlier plan, whose branches may exist.

    Raises:
        NotReady: a model is unknown, a folder cannot be used, or a branch exists; the message has a
            line for each.
    """
    errors: list[str] = []
    providers = _providers(file, host, errors)
    for provider in sorted(file.settings.units_at_once.keys() - {*host.registry.providers}):
        close = did_you_mean(provider, host.registry.providers)
        problem = f"units_at_once: no provider is called {provider!r}{close}"
        errors.append(f"{file.where('units_at_once')}: {problem}")
    models = {model for repository in file.repositories for model, _ in repository.models}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        checks = list(pool.map(_check, file.repositories))
    units: list[Unit] = []
    for (repository, commit), problems in checks:
        errors += problems
        for model, _ in repository.models:
            branch = file.settings.branch
            if len(models) > 1:
                branch += model_suffix(model)
            units.append(_unit(repository, model, providers.get(model, ""), commit, branch))
    own_branches = {(unit.url, unit.branch) for unit in again.values()}
    for unit, place, branch in _existing_branches(units, file):
        if (unit.url, branch) not in own_branches:
            errors.append(f"{place}: url: the branch {branch} exists in {unit.url}")
    errors += _repeated(units, file)
    if errors:
        raise NotReady("\n".join(dict.fromkeys(errors)), hint="nothing was run")
    return Plan(tuple(units), file.settings.pilot)


def model_suffix(model: str) -> str:
    """Return the end of a name that several models share: of a branch, or a patch."""
    return f"-{re.sub(r'[^A-Za-z0-9.]+', '-', model).strip('.-')}"


def _unit(repository: Repository, model: str, provider: str, commit: str, branch: str) -> Unit:
    depends = [repository.url, repository.ref, commit, model, repository.query, repository.setup]
    # Without `build`: adding it for repositories without build.sh does not make you pay again.
    name = hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:12]
    return Unit(
        unit=name,
        repository=repository.name,
        model=model,
        provider=provider,
        url=repository.url,
        ref=repository.ref,
        commit=commit,
        query=repository.query,
        setup=repository.setup,
        branch=branch,
        build=repository.build,
    )


def _providers(file: FleetFile, host: Host, errors: list[str]) -> dict[str, str]:
    """Return the provider of each model; describe unknown models in `errors`."""
    providers: dict[str, str] = {}
    definitions = {name: definition for name, (_, definition) in host.registry.providers.items()}
    for repository in file.repositories:
        for model, place in repository.models:
            if model in providers:
                continue
            provider = provider_of(model, definitions)
            providers[model] = provider
            if not provider:
                close = did_you_mean(model, _names(definitions.values()))
                problem = f"models: no installed provider has a model {model!r}{close}"
                errors.append(f"{place}: {problem}")
    return providers


def _names(definitions: Iterable[ProviderDefinition]) -> list[str]:
    """Return the names and aliases of all models."""
    names: list[str] = []
    for definition in definitions:
        for name, aliases in definition.models.items():
            names += [name, *aliases]
    return names


def provider_of(model: str, definitions: Mapping[str, ProviderDefinition]) -> str:
    """Return the name of the provider that has `model`, or ""."""
    for name, definition in definitions.items():
        models = definition.models
        if model in models or any(model in aliases for aliases in models.values()):
            return name
    for separator in ("/", "."):
        if separator in model:
            prefix, _, name = model.partition(separator)
            return prefix if name and prefix in definitions else ""
    return ""


def _check(repository: Repository) -> tuple[tuple[Repository, str], list[str]]:
    """Return the commit of a folder, or why it cannot be used.

    A URL is checked only when it is cloned.
    """
    if not repository.url.startswith("/"):
        return (repository, ""), []
    try:
        commit = _commit_of(Path(repository.url), repository.ref)
        _require_prepared(repository, commit)
        return (repository, commit), []
    except (CodeCommitError, OSError) as error:
        return (repository, ""), [f"{repository.where}: url: {getattr(error, 'message', error)}"]


def _commit_of(folder: Path, ref: str) -> str:
    """Return the commit that a unit of a folder starts from.

    Raises:
        NotReady: the folder is not the top of a clean repository, or has no such commit.
    """
    if not folder.is_dir():
        raise NotReady(f"{folder} does not exist")
    git = Git(folder)
    if git.top().resolve() != folder:
        raise NotReady(f"{folder} is not the top of a git repository")
    if changed := git.run(["status", "--porcelain", "-z"], reads_only=True).split(b"\0")[0]:
        name = changed[3:].decode("utf-8", "replace")
        raise NotReady(f"{folder} has uncommitted changes, such as {name}; commit or stash them")
    args = ["rev-parse", "--verify", "--quiet", f"{ref or 'HEAD'}^{{commit}}"]
    commit = git.run(args, check=False).decode().strip()
    if not commit:
        raise NotReady(f"{folder} has no commit {ref!r}" if ref else f"{folder} has no commit")
    return commit


def _require_prepared(repository: Repository, commit: str) -> None:
    """Check the commit of a unit for what would stop it before its first call.

    Raises:
        NotReady: it has no build.sh and nothing creates one, or git tracks the folder of keys.
    """
    listing = ["ls-tree", "--name-only", "-z", commit, "--", "build.sh", "agent-config"]
    names = Git(Path(repository.url)).run(listing, reads_only=True).split(b"\0")
    if b"agent-config" in names:
        raise NotReady(
            f"git tracks agent-config in {repository.url}, which is for keys; `git rm --cached` it"
        )
    if b"build.sh" not in names and not repository.build and not repository.setup:
        raise NotReady(
            f"{repository.url} has no build.sh in its commit; "
            "commit one, or set `build` to the command"
        )


def _repeated(units: list[Unit], file: FleetFile) -> Iterator[str]:
    """Yield an error for each repository that occurs again under another name.

    Its query and model must be the same.
    """
    places = {repository.name: repository.where for repository in file.repositories}
    first: dict[str, Unit] = {}
    for unit in units:
        earlier = first.setdefault(unit.unit, unit)
        if earlier is not unit:
            twice = f"{unit.url} with {unit.model} and the same query"
            yield f"{places[unit.repository]}: url: {twice} is also at {places[earlier.repository]}"


def _existing_branches(units: list[Unit], file: FleetFile) -> Iterator[tuple[Unit, str, str]]:
    """Yield the units of folders whose branch cannot be created.

    Each comes with its line and the branch in its way. git cannot create a branch `a/b` if there is
    a branch `a`.
    """
    places = {repository.url: repository.where for repository in file.repositories}
    folders: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.commit:
            folders.setdefault(unit.url, []).append(unit)
    for url, rows in folders.items():
        names = {name for unit in rows for name in _with_parents(unit.branch)}
        references = sorted(f"refs/heads/{name}" for name in names)
        listing = Git(Path(url)).run(["for-each-ref", "--format=%(refname:lstrip=2)", *references])
        for branch in listing.decode().split():
            for unit in rows:
                if branch in _with_parents(unit.branch) or branch.startswith(f"{unit.branch}/"):
                    yield unit, places[url], branch


def _with_parents(branch: str) -> list[str]:
    """Return a branch, and the branches that cannot exist beside it: "a/b" and "a"."""
    parts = branch.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
