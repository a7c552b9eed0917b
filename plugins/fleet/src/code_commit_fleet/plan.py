"""Plan the units: each repository of a fleet file with each of its models.

All errors are reported before one runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
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
            units = tuple(
                Unit(**{name: str(value) for name, value in row.items()})
                for row in document["units"]
            )
            return cls(units, int(document["pilot"]))
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
        errors.append(
            f"{file.where('units_at_once')}: units_at_once: no provider is called {provider!r}{close}"
        )
    several = len({model for each in file.repositories for model, _ in each.models}) > 1
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(_check, file.repositories))
    units: list[Unit] = []
    for (repository, commit), problems in found:
        errors += problems
        for model, _ in repository.models:
            suffix = f"-{re.sub(r'[^A-Za-z0-9.]+', '-', model).strip('.-')}" if several else ""
            branch = f"{file.settings.branch}{suffix}"
            unit = _unit(repository, model, providers.get(model, ""), commit, branch)
            units.append(unit)
    taken = {(unit.url, unit.branch) for unit in again.values()}
    errors += [
        f"{unit_where}: url: the branch {branch} exists in {unit.url}"
        for unit, unit_where, branch in _existing_branches(units, file)
        if (unit.url, branch) not in taken
    ]
    errors += _repeated(units, file)
    if errors:
        raise NotReady("\n".join(dict.fromkeys(errors)), hint="nothing was run")
    return Plan(tuple(units), file.settings.pilot)


def _unit(repository: Repository, model: str, provider: str, commit: str, branch: str) -> Unit:
    depends = [repository.url, repository.ref, commit, model, repository.query, repository.setup]
    # Without `build`: if you add it for a few repositories without build.sh, you do not pay for all
    # others again.
    name = hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:12]
    return Unit(
        name,
        repository.name,
        model,
        provider,
        repository.url,
        repository.ref,
        commit,
        repository.query,
        repository.setup,
        branch,
        repository.build,
    )


def _providers(file: FleetFile, host: Host, errors: list[str]) -> dict[str, str]:
    """Return the provider of each model; describe unknown models in `errors`."""
    found: dict[str, str] = {}
    definitions = {name: definition for name, (_, definition) in host.registry.providers.items()}
    for repository in file.repositories:
        for model, where in repository.models:
            if model not in found:
                provider = provider_of(model, definitions)
                found[model] = provider
                if not provider:
                    names = [
                        each
                        for one in definitions.values()
                        for pair in one.models.items()
                        for each in _names(pair)
                    ]
                    errors.append(
                        f"{where}: models: no installed provider has a model {model!r}{did_you_mean(model, names)}"
                    )
    return found


def _names(pair: tuple[str, Any]) -> list[str]:
    return [pair[0], *pair[1]]


def provider_of(model: str, definitions: Mapping[str, ProviderDefinition]) -> str:
    """Return the name of the provider that has `model`, or ""."""
    for name, definition in definitions.items():
        if any(model == known or model in aliases for known, aliases in definition.models.items()):
            return name
    prefix, slash, rest = model.partition("/")
    if slash:
        return prefix if rest and prefix in definitions else ""
    prefix, dot, config = model.partition(".")
    return prefix if dot and config and prefix in definitions else ""


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
            f"{repository.url} has no build.sh in its commit; commit one, or set `build` to the command"
        )


def _repeated(units: list[Unit], file: FleetFile) -> Iterator[str]:
    """Yield an error for each repository that occurs again, under another name, with the same query
    and model.
    """
    where = {each.name: each.where for each in file.repositories}
    first: dict[str, Unit] = {}
    for unit in units:
        other = first.setdefault(unit.unit, unit)
        if other is not unit:
            at = where[other.repository]
            yield f"{where[unit.repository]}: url: {unit.url} with {unit.model} and the same query is also at {at}"


def _existing_branches(units: list[Unit], file: FleetFile) -> Iterator[tuple[Unit, str, str]]:
    """Yield the units of folders whose branch cannot be created, each with its line and the branch
    in its way.

    git cannot create a branch `a/b` if there is a branch `a`.
    """
    where = {each.url: each.where for each in file.repositories}
    folders: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.commit:
            folders.setdefault(unit.url, []).append(unit)
    for url, rows in folders.items():
        above = {
            unit: [unit.branch, *map(str, PurePosixPath(unit.branch).parents)][:-1] for unit in rows
        }
        names = {f"refs/heads/{name}" for each in above.values() for name in each}
        listing = Git(Path(url)).run(
            ["for-each-ref", "--format=%(refname:lstrip=2)", *sorted(names)]
        )
        for have in listing.decode().split():
            for unit in rows:
                if have in above[unit] or have.startswith(f"{unit.branch}/"):
                    yield unit, where[url], have
