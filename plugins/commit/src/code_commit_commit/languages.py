"""Detect the language of a project by its files, and provide a build script for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Language:
    """`markers` are patterns of names in the top folder, `build` the commands of `build.sh`.

    `left_out` are `.gitignore` patterns of tracked files that no model needs to see; `leaves` are the folders that the
    build creates and git should ignore.
    """

    name: str
    markers: tuple[str, ...]
    build: str
    left_out: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


# The first match counts: languages with a manifest come before those that are guessed from source files.
LANGUAGES = (
    Language("Rust", ("Cargo.toml",), "cargo build --all-targets\ncargo test\n", ("Cargo.lock",), ("target/",)),
    Language("Go", ("go.mod",), "go vet ./...\ngo test ./...\n", ("go.sum",)),
    Language("Deno", ("deno.json", "deno.jsonc"), "deno check .\ndeno test\n", ("deno.lock",)),
    Language(
        "JavaScript",
        ("package.json",),
        "npm run build --if-present\nnpm test\n",
        ("package-lock.json", "yarn.lock", "pnpm-lock.yaml"),
        ("node_modules/",),
    ),
    Language(
        "Python",
        ("pyproject.toml", "setup.py", "setup.cfg", "*.py"),
        "PYTHONPYCACHEPREFIX=$(mktemp -d) # creates no __pycache__ in the project\n"
        "export PYTHONPYCACHEPREFIX\n"
        "trap 'rm -rf \"$PYTHONPYCACHEPREFIX\"' EXIT\n"
        "python3 -m compileall -q -x '/(\\.|venv/|node_modules/)' .\n"
        "runner=unittest\n"
        "if python3 -c 'import pytest' 2>/dev/null; then runner=pytest; fi\n"
        'python3 -m "$runner" || [ $? -eq 5 ] # 5: there are no tests yet\n',
        ("uv.lock", "poetry.lock"),
    ),
    Language("Java", ("pom.xml",), "mvn --batch-mode --quiet verify\n", leaves=("target/",)),
    Language(
        "Gradle",
        ("build.gradle", "build.gradle.kts"),
        "if [ -x ./gradlew ]; then ./gradlew build; else gradle build; fi\n",
        ("gradle.lockfile",),
        ("build/", ".gradle/"),
    ),
    Language(
        "C#",
        ("*.sln", "*.slnx", "*.csproj", "*.fsproj"),
        "dotnet build\ndotnet test --no-build\n",
        leaves=("bin/", "obj/"),
    ),
    Language("Swift", ("Package.swift",), "swift build\nswift test\n", ("Package.resolved",), (".build/",)),
    Language(
        "Elixir",
        ("mix.exs",),
        "mix compile --warnings-as-errors\nmix test\n",
        ("mix.lock",),
        ("_build/", "deps/"),
    ),
    Language(
        "Ruby",
        ("Gemfile", "Rakefile"),
        "if [ -f Gemfile ]; then bundle exec rake; else rake; fi\n",
        ("Gemfile.lock",),
    ),
    Language("PHP", ("composer.json",), "composer validate --quiet\ncomposer test\n", ("composer.lock",), ("vendor/",)),
    Language(
        "CMake",
        ("CMakeLists.txt",),
        "cmake -S . -B build\ncmake --build build\nctest --test-dir build --output-on-failure\n",
        leaves=("build/",),
    ),
    Language(
        "Make",
        ("Makefile", "makefile", "GNUmakefile"),
        "make\nif make -n test >/dev/null 2>&1; then make test; fi\n",
    ),
)

# Its build always fails: without checks, a change must not count as good.
UNKNOWN = Language(
    "an unknown language",
    (),
    'echo "build.sh: add the commands that build and test this project" >&2\nexit 1\n',
)


def language_of(names: Iterable[str]) -> Language:
    """Return the language of a project whose top folder contains `names`, or `UNKNOWN`."""
    present = sorted(names)
    for language in LANGUAGES:
        if any(fnmatchcase(name, marker) for marker in language.markers for name in present):
            return language
    return UNKNOWN
