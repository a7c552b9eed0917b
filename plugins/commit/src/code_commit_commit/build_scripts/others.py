"""Languages that build with the plain commands of their usual tool."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.part import Part
from code_commit_commit.build_scripts.pipelines import Pipeline

_RUBY_RAN = "^[1-9][0-9]* (runs|tests|examples?)"
_GEMS = 'bundle check >/dev/null || fail "the gems are not installed: run {install}"\n'
# In the project: a sandbox keeps the folders of the user as they are.
_BUNDLE_INSTALL = "BUNDLE_PATH=vendor/bundle bundle install"
_FIND_GEMS = '[ ! -d vendor/bundle ] || export BUNDLE_PATH="$PWD/vendor/bundle"\n'
_PACKAGES = '[ -d vendor ] || fail "the packages are not installed: run composer install"\n'


@dataclass(frozen=True, slots=True)
class _Simple:
    """`markers` are patterns of names in the folder, `tool` is the program that `commands` need."""

    language: str
    markers: tuple[str, ...]
    tool: str
    commands: str
    leaves: tuple[str, ...] = ()
    install: str = ""
    families: tuple[str, ...] = ()

    def __call__(self, folder: Folder, pipeline: Pipeline) -> Part | None:  # noqa: ARG002 - a detector
        if not folder.has(*self.markers):
            return None
        return Part(
            self.language,
            self.commands,
            self.leaves,
            self.install,
            families=self.families or (self.language,),
            setup=f"need {self.tool}\n",
        )


def ruby(folder: Folder, pipeline: Pipeline) -> Part | None:
    """Return how to test a project with a Gemfile: Rails, RSpec or rake."""
    if not folder.has("Gemfile"):
        return None
    tests = "" if folder.path else pipeline.tests("Ruby")
    if not tests and folder.exists("bin/rails") and folder.exists("test"):
        tests = "bin/rails test"
    elif not tests and folder.exists("spec"):
        tests = "bundle exec rspec"
    commands = "bundle exec rake\n"
    if tests:
        commands = f"run_tests '{_RUBY_RAN}' {tests}\n"
    return Part(
        "Ruby",
        commands,
        leaves=("vendor/bundle/", ".bundle/"),
        install=_BUNDLE_INSTALL,
        families=("Ruby",),
        setup="need bundle\n" + _FIND_GEMS + _GEMS.format(install=_BUNDLE_INSTALL),
    )


def php(folder: Folder, pipeline: Pipeline) -> Part | None:
    """Return how to test a project with a `composer.json`: its script, or PHPUnit."""
    if not folder.has("composer.json"):
        return None
    found = re.search(r'"(test|check)"\s*:', json.dumps(_composer_scripts(folder)))
    tests = f"composer run {found[1]}" if found else pipeline.tests("PHP")
    if not tests and folder.has("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"):
        tests = "vendor/bin/phpunit"
    if not tests:
        tests = 'fail "composer.json has no script test: add the command that tests the project"'
    return Part(
        "PHP",
        f"composer validate --quiet\n{tests}\n",
        leaves=("vendor/",),
        install="composer install",
        families=("PHP",),
        setup=f"need composer\n{_PACKAGES}",
    )


def _composer_scripts(folder: Folder) -> object:
    try:
        document = json.loads(folder.read("composer.json"))
    except (ValueError, RecursionError):
        return {}
    return document.get("scripts", {}) if isinstance(document, dict) else {}


OTHERS = (
    _Simple(
        "Deno",
        ("deno.json", "deno.jsonc"),
        "deno",
        "deno check .\ndeno test\n",
        families=("JavaScript",),
    ),
    _Simple(
        "C#",
        ("*.sln", "*.slnx", "*.csproj", "*.fsproj"),
        "dotnet",
        "dotnet build\ndotnet test --no-build\n",
        ("bin/", "obj/"),
    ),
    _Simple(
        "Swift",
        ("Package.swift",),
        "swift",
        "swift build\nswift test\n",
        (".build/",),
        families=("Swift", "C"),
    ),
    _Simple(
        "Elixir",
        ("mix.exs",),
        "mix",
        "mix compile --warnings-as-errors\nmix test\n",
        ("_build/", "deps/"),
        "mix deps.get",
    ),
    ruby,
    _Simple("Ruby", ("Rakefile",), "rake", "rake\n"),
    php,
)
# For documents, where nothing else is built.
DOCUMENTS = (
    _Simple("MkDocs", ("mkdocs.yml",), "mkdocs", "mkdocs build --strict\n", ("site/",)),
    _Simple("mdBook", ("book.toml",), "mdbook", "mdbook build\n", ("book/",)),
    _Simple(
        "pre-commit",
        (".pre-commit-config.yaml",),
        "pre-commit",
        "pre-commit run --all-files\n",
    ),
)
