"""Languages that build with the plain commands of their usual tool."""

from __future__ import annotations

from dataclasses import dataclass

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.part import Part


@dataclass(frozen=True, slots=True)
class _Simple:
    """`markers` are patterns of names in the folder, `tool` is the program that `commands` need."""

    language: str
    markers: tuple[str, ...]
    tool: str
    commands: str
    leaves: tuple[str, ...] = ()
    install: str = ""

    def __call__(self, folder: Folder) -> Part | None:
        if not folder.has(*self.markers):
            return None
        return Part(self.language, f"need {self.tool}\n{self.commands}", self.leaves, self.install)


OTHERS = (
    _Simple("Deno", ("deno.json", "deno.jsonc"), "deno", "deno check .\ndeno test\n"),
    _Simple(
        "C#",
        ("*.sln", "*.slnx", "*.csproj", "*.fsproj"),
        "dotnet",
        "dotnet build\ndotnet test --no-build\n",
        ("bin/", "obj/"),
    ),
    _Simple("Swift", ("Package.swift",), "swift", "swift build\nswift test\n", (".build/",)),
    _Simple(
        "Elixir",
        ("mix.exs",),
        "mix",
        "mix compile --warnings-as-errors\nmix test\n",
        ("_build/", "deps/"),
        "mix deps.get",
    ),
    _Simple("Ruby", ("Gemfile",), "bundle", "bundle exec rake\n", install="bundle install"),
    _Simple("Ruby", ("Rakefile",), "rake", "rake\n"),
    _Simple(
        "PHP",
        ("composer.json",),
        "composer",
        "composer validate --quiet\ncomposer test\n",
        ("vendor/",),
        "composer install",
    ),
)
