"""Run every shell block of the pages in a test project, and check its exit code.

A server on loopback acts as the model. Stand-ins replace programs that would download or test
everything; the test checks their arguments. The real parser parses lines that cannot run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from code_commit.cli.arguments import RESERVED, parse_invocation
from code_commit.cli.host import CommandHost, command_parser
from code_commit.cli.parser import Parser
from code_commit.plugin_api import ToolCall, python_command
from code_commit.plugin_api.errors import UsageError
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit_testing import Project, RecordedRequest, Reply, ScriptedServer
from code_commit_testing.warm_start import warm_address, warm_command

ROOT = Path(__file__).parents[2]
SOURCES = (
    "*.md",
    "docs/**/*.md",
    "core/*.md",
    "testing/*.md",
    "workspace/*.md",
    "plugins/*/*.md",
    "examples/*.md",
)
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for pattern in SOURCES
    for path in sorted(ROOT.glob(pattern))
}
FENCE = re.compile(
    r"^ *(?P<fence>`{3,})(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^ *(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)

COMMANDS = CommandHost({}).registry.commands

# Lines that are not run, and why. The real parser parses them.
NOT_RUN = {
    "code-commit --resume 2026-05-04-09-30-00-task": (
        "names a run that does not exist here; the plugin's tests cover resuming"
    ),
}
# Programs that are not run, and why. The checks below cover their arguments.
STAND_INS = {
    "pip": "downloads; the environments of tox install the same folders",
    "uv": "as pip",
    "pipx": "as pip",
    "make": "`make test` runs this test, and `make demo` installs; their recipes are read",
    "tox": "runs this test",
    "pytest": "runs this test; its paths must exist",
    "ruff": "checks this repository, not the page",
    "mypy": "as ruff",
    "lint-imports": "as ruff",
    "sphinx-build": "as ruff",
}


@dataclass(frozen=True)
class Scene:
    """The requirements of a page.

    `endings`: exit codes other than 0, by the first line of a block.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    answers: str | None = None  # what a person types into each command of the page
    examples: tuple[str, ...] = ()  # plugins of tutorials that are installed
    endings: Mapping[str, int] = field(default_factory=dict)
    repositories: tuple[str, ...] = ()  # folders that are repositories of their own


USER = {
    "src/main.py": "print(1)\n",
    "src/text.py": "\n",
    "views.py": "\n",
    "a.txt": "old\n",
    "README.md": "One.\n",
}
TASK = {"task.md": "Say hello.\n", "issue.md": "It is slow.\n"}
LLAMACPP = """\
[providers.openai.llamacpp]
base_url = "{url}"
model = "local"
"""
FLEET = next(
    fence["text"] for fence in FENCE.finditer(PAGES["docs/fleet.md"]) if fence["language"] == "toml"
)
SCENES = {
    "docs/consistency.md": Scene(
        files={"agent-config/codeRollup.txt": "--- api/UserSpecification.md ---\nAdd.\n"}
    ),
    "README.md": Scene(stdin="a key that is pasted in\n"),
    "docs/usage.md": Scene(files=TASK),
    "docs/tasks.md": Scene(files=TASK),
    "docs/fleet.md": Scene(
        files={"fleet.toml": FLEET}, repositories=("services/billing", "services/users")
    ),
    "docs/models.md": Scene(files={"agent-config/config.toml": LLAMACPP}),
    "docs/planning.md": Scene(answers="quit\n", files={"requirements.md": "Add two.\n"}),
    "plugins/planner/README.md": Scene(answers="quit\n"),
    "docs/response-format.md": Scene(
        endings={"code-commit check src/main.py build.sh ../elsewhere.txt": 1}
    ),
    "docs/plugins/provider.md": Scene(examples=("parrot",)),
    "docs/plugins/workflow.md": Scene(examples=("explain",)),
    "docs/plugins/command.md": Scene(examples=("todo",)),
    "docs/plugins/own-hooks.md": Scene(examples=("advice",)),
    "docs/plugins/context.md": Scene(examples=("branch",)),
    "docs/plugins/response-format.md": Scene(
        examples=("json-files",), endings={"code-commit --format json": 5}
    ),
}


def blocks(page: str) -> Iterator[str]:
    """Yield the shell blocks of a page; from a console, only the typed lines."""
    for fence in FENCE.finditer(PAGES[page]):
        text = textwrap.dedent(fence["text"])
        if fence["language"] in {"sh", "bash"}:
            yield text
        elif fence["language"] == "console":
            yield "".join(f"{line[2:]}\n" for line in text.splitlines() if line.startswith("$ "))


# --- the setup ------------------------------------------------------------------------------------

STAND_IN = """\
#!{python} -IS
import json, os, pathlib, sys
name = pathlib.Path(sys.argv[0]).name
with open({calls!r}, "a") as calls:
    calls.write(json.dumps([name, os.getcwd(), sys.argv[1:]]) + "\\n")
if name == "tox":
    pathlib.Path(".venv/bin").mkdir(parents=True, exist_ok=True)
    pathlib.Path(".venv/bin/activate").touch()
"""
PYTHON3 = """\
#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3" && exec ln -s {bin!r} "$3/bin"; fi
exec {python!r} "$@"
"""
COMMAND = """\
#!/bin/sh
exec {start} "$@"{answers}
"""


def answer(request: RecordedRequest) -> Reply:  # noqa: PLR0911 - one per kind of request
    """Return the model's reply: a coach approves, an agent finishes, a parrot has its own protocol,
    others change a file.
    """
    if request.path.endswith("/v1/traces"):
        return Reply(body=b"{}")  # a collector
    if request.method == "GET":  # the lists of models of all services
        google = {"name": "models/new-1", "supportedGenerationMethods": ["generateContent"]}
        return Reply(body=json.dumps({"data": [{"id": "new-1"}], "models": [google]}).encode())
    document = request.json
    if request.path.endswith("/replies"):  # a parrot
        words = {"model": "parrot-large", "say": change(request), "calls": [], "ending": "done"}
        return Reply(body=json.dumps({**words, "tokens": {"in": 1, "out": 1}}).encode())
    if document.get("tools"):
        return Reply(
            tool_calls=(ToolCall("call", "final_output", {"summary": "IMPLEMENTATION_APPROVED"}),)
        )
    if "agent_code" in json.dumps(document):
        return Reply(
            '```typescript\nasync function agent_code(): Promise<any> {\nreturn "done";\n}\n```\n'
        )
    if "[consistency_instructions]" in request.prompt or "Suggestions and Other" in request.prompt:
        return Reply("# Suggestions and Other Important Commentary\n\nNone.\n")
    return Reply(change(request))


def change(request: RecordedRequest) -> str:
    """Return a change that differs from all earlier ones."""
    return f"^^^a.txt\n{request.port} {request.body[-40:].hex()} {id(request)}\n^^^end\n"


@dataclass(frozen=True)
class Stage:
    """A project, stand-ins at the front of PATH, and the environment of the blocks.

    `instead`: words of the pages that are replaced, as a reader replaces them.
    """

    project: Project
    calls: Path
    environ: dict[str, str]
    stdin: str
    instead: dict[str, str]

    def run(self, block: str) -> subprocess.CompletedProcess[str]:
        script = block
        for words, replacement in self.instead.items():
            script = script.replace(words, replacement)
        command = ["bash", "-euo", "pipefail", "-c", script]
        return subprocess.run(
            command,
            cwd=self.project.root,
            env=self.environ,
            input=self.stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def stage(page: str, scene: Scene, folder: Path, server: ScriptedServer) -> Stage:
    project = Project.create(folder, files=USER)
    files = {
        path: text.replace("{url}", server.url("openai")) for path, text in scene.files.items()
    }
    project.write({**files, "agent-config/consistency-query.txt": "All of it.\n"})
    for repository in scene.repositories:
        shutil.copytree(
            Project.create(folder / repository, query=None, rollup=None).root,
            project.root / repository,
        )
    shutil.copytree(project.root, project.home / "src" / "app")
    calls = folder / "calls.jsonl"
    bin_folder = folder / "bin"
    typed = folder / "typed"
    calls.touch()
    bin_folder.mkdir()
    typed.write_text(scene.answers or "", "utf-8")
    scripts = dict.fromkeys(STAND_INS, STAND_IN.format(python=sys.executable, calls=str(calls)))
    scripts["python3"] = PYTHON3.format(bin=str(bin_folder), python=sys.executable)
    answers = f" < {shlex.quote(str(typed))}" if scene.answers is not None else ""
    start = python_command("code_commit")
    if address := warm_address(project.environment()):
        start = warm_command(address, start)
    scripts["code-commit"] = COMMAND.format(start=shlex.join(start), answers=answers)
    scripts["activate"] = ""  # of the environment that a page makes
    for name, text in scripts.items():
        (bin_folder / name).write_text(text, "utf-8")
        (bin_folder / name).chmod(0o755)
    if page == "CONTRIBUTING.md":
        (project.root / "build/tools").mkdir(parents=True)
        (project.root / "build/tools/bin").symlink_to(bin_folder)
    identity = {
        f"GIT_{who}_{field}": "reader@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for field in ("NAME", "EMAIL")
    }
    environ = project.environment(server.environment())
    environ |= {
        **identity,
        "PATH": f"{bin_folder}{os.pathsep}{environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(installed(name, folder)) for name in scene.examples),
        "PARROT_BASE_URL": server.address,
        "PARROT_API_KEY": "a key for a test",
    }
    instead = {"/tmp/": f"{folder}/", "http://localhost:4318": server.address, "…": "0123456789"}
    return Stage(project, calls, environ, scene.stdin, instead)


def installed(example: str, folder: Path) -> Path:
    """Copy an example as an installer does."""
    source = ROOT / "examples" / f"code-commit-{example}"
    metadata = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    target = folder / f"installed-{example}"
    shutil.copytree(source / "src", target)
    metadata_folder = target / f"code_commit_{example}-{metadata['version']}.dist-info"
    metadata_folder.mkdir()
    (metadata_folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {metadata['name']}\nVersion: {metadata['version']}\n"
    )
    points = metadata["entry-points"]
    lines = (
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in named.items())
        for group, named in points.items()
    )
    (metadata_folder / "entry_points.txt").write_text("\n".join(lines))
    return target


# --- the blocks -----------------------------------------------------------------------------------


# test_how_to.py plays the pages of docs/how-to.
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(blocks(page)) and not page.startswith("docs/how-to/")]
)
def test_the_blocks_of_a_page_run(page: str, tmp_path: Path) -> None:
    scene = SCENES.get(page, Scene())
    with ScriptedServer([answer] * 100) as server:
        played = stage(page, scene, tmp_path, server)
        for block in blocks(page):
            lines = [line for line in block.splitlines() if line not in NOT_RUN]
            finished = played.run("\n".join(lines))
            assert finished.returncode == scene.endings.get(lines[0], 0), (
                f"{block}\n{finished.stdout}\n{finished.stderr}"
            )
    for line in played.calls.read_text("utf-8").splitlines():
        name, where, arguments = json.loads(line)
        CHECKS[name](arguments, Path(where))


def test_the_provider_of_the_tutorial_is_listed_with_its_models(tmp_path: Path) -> None:
    listed = (
        Project.create(tmp_path)
        .command("models", "--json", plugins=[installed("parrot", tmp_path)])
        .document
    )
    assert [
        (row["model"], row["aliases"]) for row in listed["models"] if row["provider"] == "parrot"
    ] == [
        ("parrot-large", ["parrot"]),
        ("parrot-small", []),
    ]


def test_lines_that_are_not_run_exist_and_are_parsed() -> None:
    lines = {line for page in PAGES for block in blocks(page) for line in block.splitlines()}
    assert set(NOT_RUN) <= lines
    for line in NOT_RUN:
        host = PluginHost()
        parse_invocation(shlex.split(line)[1:], Registry(host, reserved_flags=RESERVED))


def test_every_shell_block_is_found() -> None:
    """Blocks in other languages contain no commands."""
    languages = {fence["language"] for text in PAGES.values() for fence in FENCE.finditer(text)}
    assert languages <= {
        "sh",
        "bash",
        "console",
        "text",
        "toml",
        "json",
        "python",
        "yaml",
        "{eval-rst}",
    }
    assert sum(1 for page in PAGES for _ in blocks(page)) > 40


# --- the arguments of the stand-ins ---------------------------------------------------------------

PLUGINS = {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")}
DISTRIBUTIONS = {
    "code-commit",
    *(f"code-commit-{name}" for name in {"workspace", "testing", *PLUGINS}),
}
EXTRAS = {"all", "testing", "test", *PLUGINS}  # `test` is the extra of a new plugin
MATRIX = (ROOT / "tox.ini").read_text("utf-8")


def check_installer(arguments: list[str], _where: Path) -> None:
    """Check that it installs folders of this checkout with existing extras, or existing
    distributions.
    """
    more = {"pip", "tool", "install", "-e", "--no-index", "--find-links", "wheels"}
    words = [word for word in arguments if word not in more]
    assert len(words) < len(arguments)
    for word in words:
        name, _, extras = word.rstrip("]").partition("[")
        assert not extras or set(extras.split(",")) <= EXTRAS, word
        place = re.sub(r"^.*/code-commit(/|$)", "./", name)  # a checkout in a home folder
        named = name in DISTRIBUTIONS and "--no-index" in arguments  # no index has them
        assert named or (place.startswith(".") and (ROOT / place).exists()), word


def check_make(arguments: list[str], _where: Path) -> None:
    """Check that its targets exist."""
    subprocess.run(["make", "-n", *arguments], cwd=ROOT, check=True, capture_output=True)


def check_tox(arguments: list[str], _where: Path) -> None:
    """Check that the environment exists."""
    environment = arguments[arguments.index("-e") + 1]
    assert f"[testenv:{environment}]" in MATRIX, environment


def check_paths(arguments: list[str], _where: Path) -> None:
    """Check that paths exist, except build output."""
    for word in arguments:
        assert "/" not in word or word.startswith("build/") or (ROOT / word).exists(), word


CHECKS = {
    "pip": check_installer,
    "uv": check_installer,
    "pipx": check_installer,
    "make": check_make,
    "tox": check_tox,
    **dict.fromkeys(("pytest", "ruff", "mypy", "lint-imports", "sphinx-build"), check_paths),
}


# --- commands within sentences --------------------------------------------------------------------


class Parsed(Exception):  # noqa: N818 - not an error: it ends the attempt
    """A command line was parsed."""


def spans(page: str) -> set[str]:
    """Return `code-commit …` code in the text. Words in capitals and dots are placeholders."""
    lines = re.findall(r"`code-commit( [^`]+)`", FENCE.sub("", PAGES[page]))
    return {
        re.sub(r"[\[\]]|(?<=\S)…", "", code).replace("…", "").replace(r"\|", "|") for code in lines
    }


@pytest.mark.parametrize("page", [page for page in PAGES if spans(page)])
def test_commands_within_sentences_are_parsed(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the parser of the command."""
    parse_args = Parser.parse_args

    def parsed(*arguments, **options):
        parse_args(*arguments, **options)
        raise Parsed

    monkeypatch.setattr(Parser, "parse_args", parsed)
    host = PluginHost()
    registry = Registry(host, reserved_flags=RESERVED)
    for code in spans(page):
        argv = shlex.split(code.partition("|")[0].partition(">")[0])
        example = {"N": "1", "ACTION": "list", "NAME": "mine", "KIND": "sink"}
        argv = [example.get(word, word) for word in argv]
        argv = [" ".join(argv[:2]), *argv[2:]] if " ".join(argv[:2]) in COMMANDS else argv
        try:
            if argv[0] in COMMANDS and not argv[1:]:
                continue  # only its name, not a call
            if argv[0] in COMMANDS:
                with pytest.raises(Parsed):
                    command_parser(*COMMANDS[argv[0]]).parse_args(argv[1:])
            else:
                parse_invocation(argv, registry)
        except UsageError as error:
            pytest.fail(f"code-commit{code}: {error.message}")


def test_the_commands_of_figures_name_files_that_exist() -> None:
    """Tables contain commands as code: their paths, including node ids, must exist."""
    command = re.compile(r"`((?:[A-Z_]+=\S+ )*(?:pytest|python) [^`\n]+)`")
    codes = [code for text in PAGES.values() for code in command.findall(FENCE.sub("", text))]
    assert len(codes) > 10
    for code in codes:
        paths = [word for word in shlex.split(code) if "/" in word and "=" not in word]
        assert [path for path in paths if not (ROOT / path).exists()] == [], code
