"""Find how a project builds: by its own commands, and by the files that name its tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from code_commit_commit.build_scripts import compiled
from code_commit_commit.build_scripts.c_tools import c_part, configured_part, make_part
from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.javascript import builds_nothing, javascript
from code_commit_commit.build_scripts.others import DOCUMENTS, OTHERS
from code_commit_commit.build_scripts.own_commands import OwnCommand, own_command, own_part
from code_commit_commit.build_scripts.part import Part
from code_commit_commit.build_scripts.pipelines import Pipeline, find_pipeline
from code_commit_commit.build_scripts.python import python, python_scripts
from code_commit_commit.build_scripts.sources import families_in, is_skipped, not_covered

_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class Gate:
    """What `build.sh` runs.

    `not_covered` names sources that no part builds or tests, and `remarks` says what could not be
    used.
    """

    parts: tuple[Part, ...]
    not_covered: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it covers everything that it should: otherwise a person must decide first."""
        return bool(self.parts) and not self.not_covered


def find_gate(top: Folder) -> Gate:
    """Return what builds and tests the project.

    The project's own command comes first, then the languages of the top folder, then others in
    folders below.
    """
    remarks: list[str] = []
    pipeline = find_pipeline(top)
    own = own_command(top, remarks)
    parts = _language_parts(top, pipeline, own)
    if own:
        replaced = [part for part in parts if set(part.families) <= set(own.families)]
        parts = [own_part(own, replaced), *(part for part in parts if part not in replaced)]
    if not parts:
        parts = _guess(top, pipeline)
    if not parts:
        remarks += pipeline.not_understood()[:3]
    return Gate(tuple(parts), tuple(not_covered(top, parts)), tuple(remarks))


def _language_parts(top: Folder, pipeline: Pipeline, own: OwnCommand | None) -> list[Part]:
    top_parts = _with_manifest(top, pipeline, own)
    covered = {family for part in top_parts for family in part.families}
    below: list[Part] = []
    folders: Iterable[Folder] = top.folders
    for _ in range(_DEEPEST):
        folders = [folder for folder in folders if not is_skipped(folder.path.rpartition("/")[2])]
        for folder in folders:
            parts = _with_manifest(folder, pipeline, own)
            below += (
                replace(part, folder=folder.path)
                for part in parts
                if not covered.issuperset(part.families)
            )
        if top_parts or below:
            break
        folders = [subfolder for folder in folders for subfolder in folder.folders]
    return top_parts + below


def _with_manifest(folder: Folder, pipeline: Pipeline, own: OwnCommand | None) -> list[Part]:
    found = [
        compiled.rust(folder),
        compiled.go(folder),
        python(folder, pipeline, own),
        javascript(folder),
        compiled.maven(folder),
        compiled.gradle(folder),
    ]
    main = [part for part in found if part]
    simple = [part for detect in OTHERS if (part := detect(folder, pipeline))][:1]
    if len(main) + len(simple) > 1 and folder.has("package.json") and builds_nothing(folder):
        main = [part for part in main if "JavaScript" not in part.families]
    parts = main or simple
    if not any("C" in part.families for part in parts) and (part := c_part(folder, pipeline)):
        parts = [*parts, part]
    return parts


def _guess(top: Folder, pipeline: Pipeline) -> list[Part]:
    """Guess from sources or a Makefile; without any, return how documents are built."""
    if top.has("*.py") and set(families_in(top)) <= {"Python"}:
        return [part for part in [python_scripts(top, pipeline)] if part]
    if part := configured_part(top) or make_part(top):
        return [part]
    if families_in(top):
        return []
    return [part for detect in DOCUMENTS if (part := detect(top, pipeline))][:1]
