"""`NAME.fleet`, the folder of a fleet next to its file, with its plan, tries and results.

- `fleet.toml`: a copy of the file
- `plan.json`: the units of the latest run
- `tries.jsonl`: a line before each try, with its reserved cost
- `units.jsonl`: a line after each try, with its result
- `units/ID/`: `change.patch`, `build.txt` and the run folder `run/` of a unit
- `report.html`
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from code_commit.plugin_api import NotReady, read_json
from code_commit_fleet.plan import Plan, Unit
from code_commit_workspace import open_regular, replace_file

# Outcomes.
REACHED = "reached"
SKIPPED = "skipped"
LOST = "lost"
WAITING = "waiting"  # of a unit without a try

_UNITS = "units"
_LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_LOG_FILE = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
# Messages of the system and of git about a full disk.
_NO_ROOM = re.compile(
    r"No space left on device|Disk quota exceeded|unable to write (new |loose object |index )?file"
)


@dataclass(frozen=True, slots=True)
class Tried:
    """A try of a unit, as in a line of `units.jsonl`.

    `cost` is in USD, None if unknown, an upper bound if lost.

    `outcome` is that of the run, or `lost` (with its worker), `timeout`, or `skipped` (by
    `--skip`).
    """

    unit: str
    repository: str
    model: str
    try_: int
    outcome: str
    exit_code: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    attempts: int = 0
    files: tuple[str, ...] = ()
    branch: str = ""
    error: str = ""

    @property
    def had_no_room(self) -> bool:
        """Whether the disk of its worker was full."""
        return self.outcome in {"not_ready", "internal"} and bool(_NO_ROOM.search(self.error))

    @property
    def is_final(self) -> bool:
        """Whether `fleet run` does not run the unit again: a red build is a result, not a fault.

        If a unit ended before its first call, the obstacle may be gone by now.
        """
        if self.outcome in {LOST, "interrupted"} or self.had_no_room:
            return False
        never_began = self.outcome in {"not_ready", "limit"} and self.cost == 0
        return not never_began

    @property
    def shown_cost(self) -> str:
        """The cost, for people."""
        return "?" if self.cost is None else f"${self.cost:.4f}"

    def error_line(self, width: int) -> str:
        """Return the first line of the error, cut to `width` characters."""
        if not self.error:
            return ""
        return textwrap.shorten(self.error.splitlines()[0], width, placeholder=" …")

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {name.rstrip("_"): value for name, value in asdict(self).items()}

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Tried:
        """Return the try of a JSON object.

        Raises:
            ValueError: it is not one.
        """
        try:
            values = {name: row[name.rstrip("_")] for name in cls.__dataclass_fields__}
            values["files"] = tuple(map(str, values["files"]))
            values["try_"] = int(values["try_"])
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a try: {error}") from None


@dataclass(slots=True)
class FleetFolder:
    """The folder of the fleet file at `file`.

    Raises:
        NotReady: its name does not end in `.toml`.
    """

    file: Path
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        """Set the path of the folder."""
        if self.file.suffix != ".toml":
            raise NotReady(f"{self.file} is not a .toml file")
        self.path = self.file.with_suffix(".fleet")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder, and hold its lock: one `fleet run` at a time.

        Raises:
            NotReady: another run holds it, or the folder cannot be created.
        """
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            for folder in (self.path, self.path / _UNITS):
                if folder.is_symlink():
                    raise NotReady(
                        f"{folder} is a link", hint="remove it: results are written there"
                    )
            handle = os.open(self.path / "lock", _LOCK_FILE, 0o600)
        except OSError as error:
            raise NotReady(f"{self.path} cannot be used: {error.strerror}") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise NotReady(f"another `fleet run` of {self.file.name} is running") from None
            yield
        finally:
            os.close(handle)

    def write(self, name: str, content: str | bytes | memoryview) -> None:
        """Replace a file of the folder, all or nothing."""
        data = content.encode() if isinstance(content, str) else content
        replace_file(self.path / name, data, sync=True)

    def append(self, name: str, row: Mapping[str, Any], *, sync: bool = True) -> None:
        """Append a line to `units.jsonl` or `tries.jsonl`, also after an incomplete line.

        The line survives the end of this process; with `sync`, also a power loss.

        Raises:
            OSError: the disk is full or faulty. Earlier lines stay.
        """
        line = json.dumps(row).encode() + b"\n"
        handle = os.open(self.path / name, _LOG_FILE, 0o600)
        with open(handle, "r+b", buffering=0) as file:  # noqa: PTH123 - a handle
            size = file.seek(0, os.SEEK_END)
            if size > 0 and os.pread(handle, 1, size - 1) != b"\n":
                line = b"\n" + line
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if sync:
                os.fsync(file.fileno())

    def tries(self) -> list[Tried]:
        """Return the tries of `units.jsonl` in order. Skip incomplete and foreign lines."""
        tries = []
        for row in self._rows("units.jsonl"):
            with suppress(ValueError):
                tries.append(Tried.read(row))
        return tries

    def reserved(self) -> dict[tuple[str, int], float]:
        """Return the reserved cost of each try that ever started, by unit and number."""
        costs: dict[tuple[str, int], float] = {}
        for row in self._rows("tries.jsonl"):
            with suppress(KeyError, TypeError, ValueError):
                key = (str(row["unit"]), int(row["try"]))
                costs[key] = float(row["reserved"] or 0)
        return costs

    def _rows(self, name: str) -> Iterator[Mapping[str, Any]]:
        try:
            lines = self._read(name).splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                row = read_json(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row

    def _read(self, name: str) -> bytes:
        with open_regular(self.path / name) as file:
            return file.read()

    def plan(self) -> Plan:
        """Return the plan of the latest run.

        Raises:
            NotReady: there is none.
        """
        try:
            return Plan.read(json.loads(self._read("plan.json")))
        except FileNotFoundError:
            raise NotReady(
                f"{self.file} has not been run", hint=f"`code-commit fleet run {self.file}` runs it"
            ) from None
        except (OSError, ValueError) as error:
            raise NotReady(f"{self.path / 'plan.json'} cannot be read: {error}") from error

    def known_plan(self) -> Plan:
        """Return the plan of the latest run, or an empty one."""
        try:
            return self.plan()
        except NotReady:
            return Plan((), 0)

    def unit_folder(self, unit: str) -> Path:
        """Return the folder of a unit."""
        return self.path / _UNITS / unit


def latest(tries: list[Tried]) -> dict[str, Tried]:
    """Return the last try of each unit."""
    return {tried.unit: tried for tried in tries}


def waiting(unit: Unit) -> Tried:
    """Return the record of a unit without a try."""
    return Tried(unit.unit, unit.repository, unit.model, try_=0, outcome=WAITING)
