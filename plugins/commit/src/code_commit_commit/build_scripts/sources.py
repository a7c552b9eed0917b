"""Which files of a project are sources, and which of them no part of the build covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from code_commit.plugin_api import count_of
from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.part import Part

# What one tool usually builds together is a family, named after its best-known language.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "C": (".c", ".cc", ".cpp", ".cxx"),
    "C#": (".cs", ".fs", ".vb"),
    "Dart": (".dart",),
    "Elixir": (".ex", ".exs"),
    "Go": (".go",),
    "Haskell": (".hs",),
    "Java": (".java", ".kt", ".scala", ".groovy"),
    "JavaScript": (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"),
    "PHP": (".php",),
    "Python": (".py", ".pyx"),
    "Ruby": (".rb",),
    "Rust": (".rs",),
    "Swift": (".swift",),
    "Zig": (".zig",),
}
_FAMILY_OF = {suffix: family for family, suffixes in FAMILIES.items() for suffix in suffixes}
_BUILD_FILES = {
    "C": ("CMakeLists.txt", "meson.build", "configure.ac", "GNUmakefile", "makefile", "Makefile")
}
# A few files of these languages help with the work on almost every project.
_SCRIPTED = {"JavaScript", "PHP", "Python", "Ruby"}
_FEW = 5
_SMALL_SHARE = 10  # percent of the sources
# Folders with third-party code, or with code that is not part of the product.
_SKIPPED = frozenset(
    [
        *("bench", "benchmark", "benchmarks", "demo", "demos", "doc", "docs", "example"),
        *("examples", "fixtures", "samples", "scripts", "spec", "template", "templates", "test"),
        *("testdata", "testing", "tests", "tools", "site", "website"),
        *("3rdparty", "build", "deps", "dist", "extern", "external", "node_modules", "target"),
        *("third_party", "third-party", "thirdparty", "vendor", "vendored", "venv"),
    ]
)
_NOT_OF_THE_PRODUCT = (
    "*.config.*",
    "*.d.ts",
    "*.min.js",
    "conftest.py",
    "gulpfile.*",
    "[Gg]runtfile.*",
    "noxfile.py",
    "setup.py",
    "*_pb2.py",
)


def is_skipped(name: str) -> bool:
    """Return whether a folder of this name holds no code of the product."""
    return name.startswith(".") or name.lower() in _SKIPPED


def families_in(top: Folder) -> Counter[str]:
    """Return how many sources each family has."""
    return Counter(_FAMILY_OF[_suffix(path)] for path in _sources(top))


def not_covered(top: Folder, parts: Sequence[Part]) -> list[str]:
    """Return what no part builds or tests, such as `CMakeLists.txt` and `812 .c files`."""
    all_sources = list(_sources(top))
    left: dict[str, list[str]] = {}
    for path in all_sources:
        family = _FAMILY_OF[_suffix(path)]
        if not any(_covers(part, path, family) for part in parts):
            left.setdefault(family, []).append(path)
    lines: list[str] = []
    for family, paths in sorted(left.items()):
        share = 100 * len(paths) / len(all_sources)
        if family in _SCRIPTED and (len(paths) < _FEW or share < _SMALL_SHARE):
            continue
        lines += [name for name in _BUILD_FILES.get(family, ()) if name in top.names]
        suffix, count = Counter(map(_suffix, paths)).most_common(1)[0]
        lines.append(count_of(count, f"{suffix} file"))
    return lines


def _covers(part: Part, path: str, family: str) -> bool:
    return family in part.families and (not part.folder or path.startswith(f"{part.folder}/"))


def _suffix(path: str) -> str:
    return "." + path.rpartition(".")[2]


def _sources(top: Folder) -> Iterator[str]:
    for path in top.paths:
        if _suffix(path) not in _FAMILY_OF:
            continue
        *folders, name = path.split("/")
        if any(map(is_skipped, folders)):
            continue
        if not any(fnmatchcase(name, pattern) for pattern in _NOT_OF_THE_PRODUCT):
            yield path
