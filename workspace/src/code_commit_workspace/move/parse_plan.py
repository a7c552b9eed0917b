"""Read a stored plan, and check all of it before it is used: a hostile build may have edited it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.move.plan import PLAN, FileStep, Plan, check_path

_TOKEN = re.compile("[0-9a-f]{16}")
_LOG = re.compile(r"(\d{20}-[^/\0]+)?", re.DOTALL)  # a name as those of the logs, if there is a log
_PLAN_LIMIT = 256 << 20  # bytes; our own plans are far smaller


def read_plan(folder: int, private_folder: str) -> Plan:
    """Read the plan in the folder of a stage.

    Raises:
        ValueError: it is damaged, or not a plan that we write.
        OSError: it cannot be read.
    """
    with open_regular(PLAN, folder=folder) as file:
        data = file.read(_PLAN_LIMIT + 1)
    if len(data) > _PLAN_LIMIT:
        raise ValueError("its plan is too long")
    return _decode(data, private_folder)


def _decode(data: bytes, private_folder: str) -> Plan:
    text, _, checksum = data.partition(b"\n")
    if checksum.strip() != hashlib.sha256(text).hexdigest().encode():
        raise ValueError("its checksum is wrong")
    try:
        fields = json.loads(text)
        plan = Plan(
            token=_text(fields["token"]),
            files=tuple(_file_step(step) for step in fields["files"]),
            gone=tuple((_text(path), _number(mode) & 0o777) for path, mode in fields["gone"]),
            made=tuple(_text(path) for path in fields["made"]),
            log=_text(fields["log"]),
            log_size=_number(fields["log_size"]),
            keeps_line=bool(fields["keeps_line"]),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError("it is not a plan") from error
    if not _TOKEN.fullmatch(plan.token) or not _LOG.fullmatch(plan.log) or plan.log_size < 0:
        raise ValueError("it is not a plan")
    os.fsencode(plan.log)
    files = [step.path for step in plan.files]
    folders = [path for path, _mode in plan.gone]
    for path in (*files, *folders, *plan.made):
        check_path(path, private_folder)
    return plan


def _file_step(fields: dict[str, Any]) -> FileStep:
    old = fields["old"]
    if old not in {"absent", "linked", "copied"}:
        raise ValueError("it is not a plan")
    return FileStep(
        path=_text(fields["path"]),
        old=old,
        new=None if fields["new"] is None else _text(fields["new"]),
        old_mode=_number(fields["old_mode"]) & 0o777,
        old_time=_number(fields["old_time"]),
        old_digest=_text(fields["old_digest"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or abs(value) >= 1 << 62:
        raise TypeError("not a number, or too large")
    return value
