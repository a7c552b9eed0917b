"""Which language a folder is written in, by the files that its tools want, and how such a project judges itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Language:
    """`markers` are patterns of names in the top folder, `build` the commands of `build.sh`.

    `left_out` are patterns of tracked files that no model needs to see, as `.gitignore` writes them; `leaves` are the
    folders that the build writes, which git should ignore.
    """

    name: str
    markers: tuple[str, ...]
    build: str
    left_out: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


# The first that fits counts: what is said outright comes before what loose files let guess.
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
        "PYTHONPYCACHEPREFIX=$(mktemp -d) # so that no __pycache__ is left among the changes\n"
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

# It never passes by mistake: what nobody judges must not count as sound.
UNKNOWN = Language(
    "no language that is known",
    (),
    'echo "build.sh: write here what builds and checks this project" >&2\nexit 1\n',
)


def language_of(names: Iterable[str]) -> Language:
    """Return the language of a project whose top folder holds `names`, or `UNKNOWN`."""
    present = sorted(names)
    for language in LANGUAGES:
        if any(fnmatchcase(name, marker) for marker in language.markers for name in present):
            return language
    return UNKNOWN
