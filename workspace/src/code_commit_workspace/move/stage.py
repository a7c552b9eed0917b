"""Put new content and old files into the journal, before the project changes."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move import disk
from code_commit_workspace.move.disk import Step
from code_commit_workspace.move.line import Line
from code_commit_workspace.move.plan import FileStep, Plan, write_plan
from code_commit_workspace.move.survey import Survey, Target

_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS}


def stage(
    tree: ProjectTree,
    survey: Survey,
    folder: int,
    line: Line | None,
    step: Step,
) -> Plan:
    """Fill `folder` with everything that applying or rolling back needs.

    It survives a power loss.

    Raises:
        OSError: something cannot be read or written.
    """
    files = tuple(
        _stage_one(tree, number, target, folder, step)
        for number, target in enumerate(survey.targets)
    )
    plan = Plan(os.urandom(8).hex(), files, survey.gone, survey.made)
    if line:
        plan = replace(plan, log=line.file, log_size=line.size, keeps_line=line.keeps)
    step("write the plan")
    write_plan(folder, plan)
    return plan


def _stage_one(tree: ProjectTree, number: int, target: Target, folder: int, step: Step) -> FileStep:
    step(f"stage {target.write.path}")
    new = _stage_new(target, folder, f"new-{number}")
    if target.before is None:
        return FileStep(target.write.path, "absent", new)
    return _stage_old(tree, target.write.path, new, folder, f"old-{number}")


def _stage_new(target: Target, folder: int, name: str) -> str | None:
    write = target.write
    before = target.before
    if write.content is None:
        return None
    if write.link:
        os.symlink(bytes(write.content), os.fsencode(name), dir_fd=folder)
    else:
        mode = write.mode
        if mode is None and before is not None and not stat.S_ISLNK(before.st_mode):
            mode = before.st_mode & 0o777  # never keep set-user-id for content of unknown origin
        handle = disk.write_file(folder, name, write.content, mode)
        try:
            if before is not None:
                disk.give(handle, before.st_uid, before.st_gid)
            elif target.group is not None:
                disk.give(handle, os.geteuid(), target.group)
        finally:
            os.close(handle)
    return disk.digest_of(write.content, link=write.link)


def _stage_old(tree: ProjectTree, path: str, new: str | None, folder: int, name: str) -> FileStep:
    with tree.parent(path) as (parent, target):
        try:
            os.link(target, name, src_dir_fd=parent, dst_dir_fd=folder, follow_symlinks=False)
            return FileStep(path, "linked", new)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
        from code_commit_workspace.move import contents

        status = os.stat(target, dir_fd=parent, follow_symlinks=False)
        contents.copy(parent, target, folder, name, private=True)
    return FileStep(
        path,
        "copied",
        new,
        old_mode=status.st_mode & 0o777,
        old_time=status.st_mtime_ns,
        old_digest=contents.digest(folder, name) or "",
    )
