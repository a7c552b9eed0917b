"""Whatever a project holds, the arranged mounts show nothing that is hidden."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_commit_workspace.errors import NotReady
from code_commit_workspace.process.sandbox.mounts import Mount, arrange
from code_commit_workspace.process.sandbox.private_folders import PrivateFolders, private_place
from code_commit_workspace.process.sandbox.view import Project, view_of

CANARY = "canary"
MOST_LINKS = 40

# In the model of a sandbox below: a file or folder that is covered.
COVERED = ""


class Seen:
    """A model of what a process sees: it resolves paths through `mounts`, as the kernel would."""

    def __init__(self, mounts: Mapping[str, Mount]) -> None:
        self._mounts = mounts

    def outside(self, path: str) -> str:
        """Return the path outside that is seen at `path`, which has no link in it, or `COVERED`."""
        mount = next(self._mounts[folder] for folder in _upwards(path) if folder in self._mounts)
        if mount.kind == "hidden":
            return COVERED
        return os.path.normpath(f"{mount.source or mount.path}/{os.path.relpath(path, mount.path)}")

    def resolve(self, path: str) -> str:
        """Return `path` without links; `COVERED` if there is nothing."""
        resolved = "/"
        ahead = [part for part in reversed(path.split("/")) if part]
        links = 0
        while ahead:
            part = ahead.pop()
            here = os.path.normpath(os.path.join(resolved, part))  # noqa: PTH118 - a text
            outside = self.outside(here)
            if not outside or not os.path.lexists(outside):
                return COVERED
            if not stat.S_ISLNK(os.lstat(outside).st_mode):
                resolved = here
                continue
            links += 1
            if links > MOST_LINKS:
                return COVERED
            target = str(Path(outside).readlink())
            if target.startswith("/"):
                resolved = "/"
            ahead += [part for part in reversed(target.split("/")) if part]
        return resolved

    def read(self, path: str) -> str:
        """Return the text of the file at `path`, "" if there is none."""
        real = self.resolve(path)
        outside = self.outside(real) if real else COVERED
        with suppress(OSError):
            return Path(outside).read_text() if outside and Path(outside).is_file() else ""
        return ""


def _upwards(path: str) -> Iterable[str]:
    return (path, *map(str, Path(path).parents))


NAMES = ("a", "b", ".git", ".gitignore", ".gitattributes", "build.sh", "keys")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
PLACES = (
    "{home}/.ssh",
    "{home}/.ssh/id",
    "{home}/.cache/x",
    "{home}",
    "{root}/agent-config",
    "{root}/keys/key",
)
TARGETS = st.one_of(
    st.sampled_from((*PLACES, "/", ".", "..", "../..", "/tmp", "/var/tmp")),
    PATHS,
    PATHS.map(lambda path: f"../{path}"),
    PATHS.map(lambda path: f"{{root}}/{path}"),
)
ENTRIES = st.lists(st.tuples(PATHS, st.one_of(st.none(), TARGETS)), max_size=12)


@given(entries=ENTRIES, opened=st.lists(PATHS, max_size=2))
@settings(deadline=None, max_examples=int(os.environ.get("CODE_COMMIT_MOUNT_EXAMPLES", "60")))
def test_no_tree_shows_what_is_hidden(
    entries: list[tuple[str, str | None]], opened: list[str]
) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        home = Path(os.path.realpath(name), "home")
        root = home / "src/project"
        secrets = (
            home / ".ssh/id",
            home / ".cache/x",
            root / "agent-config/key",
            root / "keys/key",
        )
        for secret in secrets:
            secret.parent.mkdir(parents=True, exist_ok=True)
            secret.write_text(CANARY)
        patch.setenv("HOME", str(home))
        patch.delenv("XDG_CACHE_HOME", raising=False)
        created = [path for path, target in entries if _make(root / path, target, root, home)]
        project = Project(
            str(root),
            hidden=(root / "agent-config", root / "keys/key"),
            protected=(),
            read_only=lambda: (".git", ".gitignore", "build.sh", *created),
            repositories=lambda: [
                path.rpartition("/")[0] for path in created if path.endswith("/.git")
            ],
            writable=(),
            readable=tuple(os.path.realpath(home / path) for path in opened),
        )
        private = PrivateFolders(str(root), os.environ)
        place = str(private_place(str(root), os.environ))

        arranged = arrange(
            view_of(project, private).mounts, root=str(root), private=place, empty=private.empty
        )

        seen = Seen(arranged.mounts)
        for secret in secrets:
            assert seen.read(str(secret)) == ""
        for folder, _, files in os.walk(root, followlinks=False):
            for file in files:
                assert CANARY not in seen.read(f"{folder}/{file}"), file
        for mount in arranged.mounts.values():
            if mount.origin == "project":
                assert os.path.realpath(mount.path) == mount.path
        private.close()


def _make(path: Path, target: str | None, root: Path, home: Path) -> bool:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.realpath(path.parent).startswith(str(root)):
            return False
        if target is not None:
            path.symlink_to(target.format(root=root, home=home))
        elif not path.is_symlink():
            path.write_text("plain")
        return True
    return False


MOUNTED = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)
MOUNTS = st.lists(
    st.builds(
        Mount,
        MOUNTED,
        st.sampled_from(("writable", "read-only", "hidden")),
        st.one_of(st.just(""), MOUNTED),
        st.sampled_from(("project", "private", "machine")),
    ),
    max_size=8,
)


@given(mounts=MOUNTS)
@settings(max_examples=int(os.environ.get("CODE_COMMIT_MOUNT_EXAMPLES", "60")) * 10)
def test_no_list_of_mounts_shows_what_is_hidden(mounts: list[Mount]) -> None:
    """Mount points in private folders would be made: these mounts are of paths that do not
    exist.
    """
    mounts = [
        Mount(mount.path, mount.kind, "" if mount.kind == "hidden" else mount.source, mount.origin)
        for mount in mounts
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "code_commit_workspace.process.sandbox.mounts.make_mount_point", lambda *_, **__: None
        )
        try:
            arranged = arrange(mounts, root="/a", private="/b", empty="/empty")
        except NotReady:
            return
    by_path = {mount.path: mount for mount in mounts}
    hidden = [path for path, mount in by_path.items() if mount.kind == "hidden"]
    seen = Seen(arranged.mounts)
    places = {path for mount in mounts for path in (mount.path, mount.source) if path}
    for place in (*places, *(f"{above}{below}" for above in places for below in places)):
        outside = seen.outside(place)
        for path in hidden:
            assert outside == COVERED or not (outside == path or outside.startswith(f"{path}/"))
    for mount in arranged.mounts.values():
        if mount.kind == "writable":
            assert mount.origin in {"project", "private"}
            assert (mount.source or mount.path).startswith(
                "/a" if mount.origin == "project" else "/b"
            )
