"""Read and validate `fleet.toml`; errors have line numbers."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from code_commit.plugin_api import NotReady, did_you_mean
from code_commit_fleet.positions import line_of, lines_of_keys
from code_commit_fleet.urls import absolute_url, url_problem
from code_commit_workspace import read_in_project

LIMIT = 4 * 1024 * 1024  # bytes of fleet.toml, a list of repositories or a query
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z0-9_-]+)\s*\}\}")
_BRANCH = re.compile(
    r"(?!.*(\.\.|//|@\{|/\.|\.lock(/|$)))[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,199}(?<![./])"
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_NOT_A_REF = re.compile(r"^-|[\s~^:?*\[\\]|\.\.|@\{")

Text = Annotated[
    str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]+$")
]
Model = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]*$"
    ),
]


class RepositoryTable(BaseModel):
    """A `[[repository]]`. Other keys are values for placeholders in the query."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    url: Text | None = None
    glob: Text | None = None
    from_file: Text | None = None
    name: Text | None = None
    ref: Text | None = None
    query: str | None = None
    query_file: Text | None = None
    models: list[Model] | None = None
    setup: str | None = None
    build: str | None = None


class FleetTable(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: str | None = None
    query_file: Text | None = None
    models: list[Model] = Field(min_length=1)
    branch: Text = "code-commit/fleet"
    push: bool = False
    pilot: int = Field(default=0, ge=0)
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    unit_max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    unit_timeout: float = Field(default=7200, gt=0, le=7 * 86400)
    clone_timeout: float = Field(default=600, gt=0, le=86400)
    scheduler_wait: float = Field(default=300, ge=0, le=86400)
    retries: int = Field(default=1, ge=0, le=100)
    repairs: int | None = Field(default=None, ge=0, le=100)
    units_at_once: dict[str, Annotated[int, Field(ge=1)]] = {}
    setup: str | None = None
    build: str | None = None
    repository: list[RepositoryTable] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with the settings that apply to it. `where` is its file and line, for errors."""

    name: str
    url: str
    ref: str
    query: str
    models: tuple[tuple[str, str], ...]  # each with its file and line
    setup: str
    build: str  # for a repository without build.sh
    where: str


@dataclass(frozen=True, slots=True)
class FleetFile:
    """A valid file: its settings, and the repositories in their order.

    `text` is the file as it was read.
    """

    path: Path
    text: str
    settings: FleetTable
    repositories: tuple[Repository, ...]
    lines: dict[tuple[str | int, ...], int]

    def where(self, *key: str | int) -> str:
        """Return the file and the line of a key, as `fleet.toml:3`."""
        return f"{self.path.name}:{line_of(key, self.lines)}"


def read_fleet_file(path: Path) -> FleetFile:
    """Read and validate a fleet file.

    Raises:
        NotReady: it is missing or invalid; the message has a line for each error.
    """
    text = _read(path.parent, path.name, f"{path}")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"at line (\d+)", str(error))
        line = match[1] if match else len(text.splitlines())
        raise NotReady(f"{path.name}:{line}: invalid TOML: {error}") from None
    lines = lines_of_keys(text)
    try:
        table = FleetTable.model_validate(document)
    except ValidationError as error:
        problems = [_described(details, path.name, lines) for details in error.errors()]
        raise NotReady("\n".join(problems)) from None
    return _Reader(path, text, table, lines).read()


def _described(error: Any, file: str, lines: dict[tuple[str | int, ...], int]) -> str:
    """Return an error of pydantic as `fleet.toml:3: pilot: …`."""
    path = tuple(error["loc"])
    match error["type"]:
        case "extra_forbidden":
            message = "unknown key" + did_you_mean(str(path[-1]), FleetTable.model_fields)
        case "missing":
            message = "missing"
        case _:
            message = _uncapitalized(error["msg"])
    parts = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path]
    key = "".join(parts).removeprefix(".")
    return f"{file}:{line_of(path, lines)}: {key}: {message}"


def _uncapitalized(message: str) -> str:
    return message[:1].lower() + message[1:]


def _read(folder: Path, name: str, shown: str) -> str:
    """Return the text of a file in `folder`, and not elsewhere: a fleet file may come with a clone.

    Raises:
        NotReady: there is none, or it is not a small text file.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise NotReady(f"{shown} must be in the folder of the fleet file or below it")
    data = read_in_project(folder, name, limit=LIMIT)
    if data is None:
        raise NotReady(f"{shown} does not exist")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NotReady(f"{shown} is not UTF-8 text") from None


class _Reader:
    """Turns the tables of a file into repositories, and collects the errors."""

    def __init__(
        self,
        path: Path,
        text: str,
        table: FleetTable,
        lines: dict[tuple[str | int, ...], int],
    ) -> None:
        self.file = FleetFile(path, text, table, (), lines)
        self.folder = path.parent
        self.table = table
        self.errors: list[str] = []

    def read(self) -> FleetFile:
        """Return the file with its repositories.

        Raises:
            NotReady: it has errors.
        """
        table = self.table
        place = self.file.where("query_file")
        query = self._query(table.query, table.query_file, place, required=False)
        if not _BRANCH.fullmatch(table.branch) or table.branch == "HEAD":
            problem = f"branch: {table.branch!r} is not a valid branch name"
            self._error(self.file.where("branch"), problem)
        if table.max_cost and table.unit_max_cost and table.unit_max_cost > table.max_cost:
            problem = "unit_max_cost: it is larger than max_cost"
            self._error(self.file.where("unit_max_cost"), problem)
        repositories = self._repositories(query)
        if not repositories and not self.errors:
            self._error(self.file.where("repository"), "repository: no repository was found")
        if self.errors:
            raise NotReady("\n".join(self.errors))
        return replace(self.file, repositories=tuple(repositories))

    def _repositories(self, query: str | None) -> list[Repository]:
        by_name: dict[str, Repository] = {}
        for index, table in enumerate(self.table.repository):
            for place, row in self._rows(table, self.file.where("repository", index)):
                repository = self._repository(row, place, index, query)
                if repository is None:
                    continue
                name = repository.name
                if name in by_name:
                    problem = f"there are two repositories {name!r}"
                    hint = f"the other is at {by_name[name].where}; set `name`"
                    self._error(place, f"{problem}, {hint}")
                by_name[name] = repository
        return list(by_name.values())

    def _error(self, where: str, message: str) -> None:
        self.errors.append(f"{where}: {message}")

    def _rows(self, table: RepositoryTable, where: str) -> Iterator[tuple[str, RepositoryTable]]:
        """Yield file and line, and a table with a `url`, of each repository of `table`."""
        sources = (table.url, table.glob, table.from_file)
        count = len(sources) - sources.count(None)
        if count == 0:
            self._error(where, "repository: set one of url, glob and from_file")
        elif count > 1:
            self._error(where, "repository: set one of url, glob and from_file, not several")
        elif table.url is not None:
            yield where, table
        elif table.glob is not None:
            folders = self._matches(table.glob, where)
            if not folders:
                self._error(where, f"glob: no folder matches {table.glob!r}")
            for folder in folders:
                yield where, table.model_copy(update={"glob": None, "url": str(folder)})
        else:
            yield from self._listed(table, where)

    def _matches(self, pattern: str, where: str) -> list[Path]:
        parts = Path(pattern).parts
        if "**" in parts:
            self._error(where, "glob: ** is not supported")
            return []
        fixed = list(takewhile(lambda part: not set(part) & set("*?["), parts))
        base = self.folder / Path(*fixed)
        try:
            if len(fixed) == len(parts):
                paths = [base]
            else:
                paths = sorted(base.glob(str(Path(*parts[len(fixed) :]))))
        except (OSError, ValueError) as error:
            self._error(where, f"glob: {error}")
            return []
        return [path for path in paths if path.is_dir() and not path.name.startswith(".")]

    def _listed(self, table: RepositoryTable, where: str) -> Iterator[tuple[str, RepositoryTable]]:
        """Yield the repositories of a list: one URL per line.

        In a `.jsonl` file, it is one JSON object per line.
        """
        name = table.from_file or ""
        try:
            text = _read(self.folder, name, name)
        except NotReady as error:
            self._error(where, f"from_file: {error.message}")
            return
        common = table.model_dump(exclude_none=True, exclude={"from_file"})
        is_empty = True
        for number, line in enumerate(text.splitlines(), 1):
            place = f"{name}:{number}"
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            is_empty = False
            try:
                row = _object(line) if name.endswith(".jsonl") else {"url": line.strip()}
                repository = RepositoryTable.model_validate(common | row)
            except ValidationError as error:
                details: Any = error.errors()[0]
                self._error(
                    place, ": ".join([*map(str, details["loc"]), _uncapitalized(details["msg"])])
                )
            except (ValueError, TypeError, RecursionError) as error:
                self._error(place, _uncapitalized(str(error)))
            else:
                if repository.url is None or repository.glob is not None:
                    self._error(place, "a repository of a list needs a url")
                else:
                    yield place, repository
        if is_empty:
            self._error(where, f"from_file: {name} lists no repository")

    def _repository(
        self,
        table: RepositoryTable,
        where: str,
        index: int,
        query: str | None,
    ) -> Repository | None:
        url = table.url or ""
        name = table.name or re.split(r"[/:]", url.rstrip("/").removesuffix(".git").rstrip("/"))[-1]
        if problem := url_problem(url):
            self._error(where, f"url: {problem}")
            return None
        if not _NAME.fullmatch(name):
            self._error(where, f"name: {name!r} is not a valid name of a repository; set `name`")
            return None
        if table.ref is not None and _NOT_A_REF.search(table.ref):
            self._error(where, f"ref: {table.ref!r} is not the name of a branch, tag or commit")
            return None
        own = self._query(table.query, table.query_file, where, required=query is None)
        text = query if own is None else own
        if text is None:
            return None
        setup = self.table.setup if table.setup is None else table.setup
        build = self.table.build if table.build is None else table.build
        return Repository(
            name=name,
            url=absolute_url(url, self.folder),
            ref=table.ref or "",
            query=self._filled(text, name, table, where),
            models=self._models(table, where, index),
            setup=setup or "",
            build=(build or "").strip(),
            where=where,
        )

    def _filled(self, query: str, name: str, table: RepositoryTable, where: str) -> str:
        """Return a query with the values of a repository in place of its placeholders."""
        extra = table.model_extra or {}
        values = {"name": name, **table.model_dump(exclude_none=True)}
        used = set(_PLACEHOLDER.findall(query))
        for key in extra.keys() - used:
            close = did_you_mean(key, RepositoryTable.model_fields)
            self._error(where, f"{key}: unknown key, and the query has no {{{{{key}}}}}{close}")
        for key in sorted(used - values.keys()):
            self._error(where, f"query: the repository has no value for {{{{{key}}}}}")
        return _PLACEHOLDER.sub(lambda match: str(values.get(match[1], "")), query)

    def _models(
        self,
        table: RepositoryTable,
        where: str,
        index: int,
    ) -> tuple[tuple[str, str], ...]:
        """Return the models of a repository, each with its file and line."""
        if table.models is None:
            place = self.file.where("models")
        elif where.startswith(self.file.path.name):
            place = self.file.where("repository", index, "models")
        else:
            place = where
        return tuple((model, place) for model in dict.fromkeys(table.models or self.table.models))

    def _query(
        self,
        query: str | None,
        file: str | None,
        where: str,
        *,
        required: bool,
    ) -> str | None:
        if query is not None and file is not None:
            self._error(where, "set query or query_file, not both")
            return None
        if file is not None:
            try:
                query = _read(self.folder, file, file)
            except NotReady as error:
                self._error(where, f"query_file: {error.message}")
                return None
        if query is not None and not query.strip():
            self._error(where, "query: it is empty")
            return None
        if query is None and required:
            self._error(where, "set query or query_file, for all or in the table")
        return query


def _object(line: str) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise TypeError("expected a JSON object")
    return row
