"""Find the parts of a project that build separately, by the files that name their tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from code_commit_commit.build_scripts import compiled
from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.javascript import builds_nothing, javascript
from code_commit_commit.build_scripts.others import OTHERS
from code_commit_commit.build_scripts.part import Part
from code_commit_commit.build_scripts.python import python, python_scripts

_MAIN = (compiled.rust, compiled.go, python, javascript, compiled.maven, compiled.gradle)
# Only if none of the above is found: many projects in other languages have such files for small
# tasks.
_GUESSED = (compiled.cmake, compiled.meson, compiled.make, python_scripts)
# Folders with third-party code, or with code that is not part of the product.
_SKIPPED = {
    *(
        "bench",
        "benchmark",
        "benchmarks",
        "demo",
        "demos",
        "doc",
        "docs",
        "example",
        "examples",
        "samples",
        "scripts",
    ),
    *(
        "fixtures",
        "spec",
        "template",
        "templates",
        "test",
        "testdata",
        "tests",
        "tools",
        "site",
        "website",
    ),
    *("build", "dist", "node_modules", "target", "third_party", "thirdparty", "vendor", "venv"),
}
_DEEPEST = 2


def find_parts(top: Folder) -> list[Part]:
    """Return the parts of the project.

    The languages of the top folder come first, then others in folders below.
    """
    top_parts = _with_manifest(top)
    languages = {part.language for part in top_parts}
    below: list[Part] = []
    folders: Iterable[Folder] = top.folders
    for _ in range(_DEEPEST):
        folders = [folder for folder in folders if not _is_skipped(folder)]
        for folder in folders:
            parts = [part for part in _with_manifest(folder) if part.language not in languages]
            below += (replace(part, folder=folder.path) for part in parts)
        if top_parts or below:
            break
        folders = [subfolder for folder in folders for subfolder in folder.folders]
    if not top_parts and (not below or compiled.make_target(top)):
        return _guess(top) or below
    return top_parts + below


def _is_skipped(folder: Folder) -> bool:
    name = folder.path.rpartition("/")[2]
    return name.startswith(".") or name.lower() in _SKIPPED


def _with_manifest(folder: Folder) -> list[Part]:
    main = [part for detect in _MAIN if (part := detect(folder))]
    simple = [part for detect in OTHERS if (part := detect(folder))][:1]
    if len(main) + len(simple) > 1 and folder.has("package.json") and builds_nothing(folder):
        main = [part for part in main if part.language not in {"JavaScript", "TypeScript"}]
    return main or simple


def _guess(folder: Folder) -> list[Part]:
    """Guess from a build tool or source files.

    A Makefile without tests says little about a folder of Python files.
    """
    has_build_tool = folder.has("CMakeLists.txt", "meson.build") or compiled.make_target(folder)
    if folder.has("*.py") and not has_build_tool:
        return [part for part in [python_scripts(folder)] if part]
    return [part for detect in _GUESSED if (part := detect(folder))][:1]
