"""Play each how-to page as its reader does: create its files, type its commands, see its output.

A page is one shell session. A server on loopback acts as the model, and stand-ins as programs that
need a network: `gh`, `uv` and `ollama`. In the output that a page shows, `...` stands for any
lines, and numbers, dates and ids may differ.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from code_commit.plugin_api import Usage, python_command
from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.warm_start import warm_address, warm_command

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
# What a test cannot repeat: names of runs (two in one second get a number), times, sizes, dates,
# ids of commits.
CHANGING = re.compile(
    r"\b\d{4}(?:-\d\d){5}(?:-[a-z]+)+(?:-\d+)?\b"
    r"|\b[\da-f]{7,40}\b|\d[\d,.:]* m?s\b|\d[\d,.:]*(?:-\d[\d-]*)?"
)
END_OF_FILE = "end of the file of the page"


# --- the pages ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Typed:
    """A command, and the lines of its output on the page."""

    command: str
    shown: list[str]


@dataclass(frozen=True)
class Written:
    """A file with a name on the page."""

    name: str
    text: str


def steps(page: str) -> Iterator[Typed | Written]:
    """Yield what the reader types and writes, in order."""
    for fence in FENCE.finditer((HOW_TO / page).read_text("utf-8")):
        if fence["title"]:
            yield Written(fence["title"], fence["text"])
        elif fence["language"] == "console":
            yield from typed(fence["text"].splitlines())


def typed(lines: Sequence[str]) -> Iterator[Typed]:
    assert lines[0].startswith("$ ")
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = start
        while lines[last].endswith("\\"):
            last += 1
        command = "\n".join([lines[start].removeprefix("$ "), *lines[start + 1 : last + 1]])
        yield Typed(command, [line for line in lines[last + 1 : end] if line])


def changing_left_out(line: str) -> str:
    return " ".join(CHANGING.sub("0", line).split())


def is_shown(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Return whether the lines on a page are those that a command printed."""
    lines = [re.escape(changing_left_out(line)) + "\n" for line in shown]
    pattern = "".join(r"(?:.*\n)*?" if line == r"\.\.\." + "\n" else line for line in lines)
    text = "".join(f"{changing_left_out(line)}\n" for line in printed if line.strip())
    return re.fullmatch(pattern, text) is not None


# --- the reader's machine -------------------------------------------------------------------------

COMMAND = """\
#!/bin/sh
exec {start} "$@"
"""
# Answers like GitHub's command for one issue.
GH = """\
#!{python} -IS
import subprocess, sys
issue = {issue!r}
if sys.argv[1:4] == ["issue", "view", "42"]:
    if "--jq" in sys.argv:
        sys.exit(subprocess.run(["jq", "-r", sys.argv[sys.argv.index("--jq") + 1]],
                                input=issue, text=True).returncode)
    print({view!r}, end="")
elif sys.argv[1:3] == ["pr", "create"]:
    branch = sys.argv[sys.argv.index("--head") + 1]
    subprocess.run(["git", "ls-remote", "--exit-code", "origin", branch], check=True,
                   stdout=subprocess.DEVNULL)
    print("https://github.com/acme/greet/pull/43")
else:
    sys.exit(f"gh: {{sys.argv[1:]}}")
"""
# Installs the sources of plugins that `--with` names, as folders and as repositories of git.
UV = """\
#!{python} -IS
import os, pathlib, shutil, subprocess, sys, tomllib
words = sys.argv[1:]
for place in [words[at + 1] for at, word in enumerate(words) if word.startswith("--with")]:
    source = pathlib.Path(place)
    if place.startswith("git+"):
        address, tag = place.removeprefix("git+").rsplit("@", 1)
        source = pathlib.Path({folder!r}, "cloned")
        clone = ["git", "clone", "--quiet", "--depth", "1", "--branch", tag, address, source]
        subprocess.run(clone, check=True, capture_output=True)
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    target = pathlib.Path({folder!r}, "packages")
    shutil.copytree(source / "src", target, dirs_exist_ok=True)
    info = target / f"{{project['name'].replace('-', '_')}}-{{project['version']}}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\\nName: {{project['name']}}\\nVersion: {{project['version']}}\\n"
    )
    (info / "entry_points.txt").write_text("".join(
        f"[{{group}}]\\n" + "".join(f"{{name}} = {{value}}\\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ))
"""
GREETING = 'def greet(name):\n    return f"Hello, {name}!"\n'
TEST = 'from greeting import greet\n\nassert greet("Ada") == "Hello, Ada!"\n'
PROJECT = {"greeting.py": GREETING, "test_greeting.py": TEST}
BUILD = "#!/bin/sh\nexec python3 -B test_greeting.py\n"
ISSUE = {
    "title": "Greet the world if there is no name",
    "body": 'greet("") returns "Hello, !". It should return "Hello, world!".\n',
}
VIEW = f"title:\t{ISSUE['title']}\nstate:\tOPEN\nauthor:\tada\n--\n{ISSUE['body']}"


def change(path: str, text: str, tokens: int = 1_840) -> Reply:
    return Reply(f"^^^{path}\n{text}^^^end\n", usage=Usage(input=tokens, output=96))


WORLD = change("greeting.py", GREETING.replace("{name}", "{name or 'world'}"))
RED = change("greeting.py", GREETING.replace("Hello", "Hi"))


@dataclass(frozen=True)
class Start:
    """What the reader of a page has, and what the model answers.

    `sent` are words in the prompts, `not_sent` are in none.
    """

    replies: Sequence[Reply]
    files: Mapping[str, str] = field(default_factory=lambda: PROJECT)
    build: str = BUILD
    sent: Sequence[str] = ()
    not_sent: Sequence[str] = ()


TITLE = change(
    "greeting.py",
    'def greet(name, title=""):\n    return f"Hello, {title} {name or \'world\'}!"\n',
)
DOCSTRING = change("greeting.py", f'"""Greetings."""\n\n{GREETING}')
INVOICE = "def total(lines):\n    return sum(line.price for line in lines)\n"
ROUNDED = change(
    "shop/billing/invoice.py", INVOICE.replace("sum(", "round(sum(").rstrip() + ", 2)\n", 5_180
)
AGAIN = change("shop/billing/invoice.py", f'"""Invoices."""\n\n{INVOICE}', 5_180)
SHOP = {
    "shop/billing/invoice.py": INVOICE,
    "tests/test_invoice.py": "from shop.billing.invoice import total\n\nassert total([]) == 0\n",
    **{
        f"shop/{part}/step_{number}.py": "".join(
            f"def {part}_{number}_{name}(order):\n    return order.{name}({number})\n\n\n"
            for name in ("check", "load", "store", "send", "log", "stop", "start", "list")
        )
        for part in ("cart", "search", "stock", "users")
        for number in range(100)
    },
}
NAMED = Reply("%%%files\nshop/billing/invoice.py\n%%%end\n", usage=Usage(input=20_410, output=14))
PAGES = {
    "github-issue.md": Start([WORLD, WORLD], sent=[ISSUE["title"], ISSUE["body"].strip()]),
    "team-rules.md": Start(
        [Reply(f"{WORLD.text}^^^api.py\n^^^delete\n"), WORLD],
        files={**PROJECT, "api.py": "from greeting import greet\n"},
        sent=["- Do not add dependencies.", "Customers import api.py"],
    ),
    "local-model.md": Start(
        [Reply("Sure! Use `name or 'world'` in greet.\n"), WORLD], sent=["Hello, world!"]
    ),
    "overnight.md": Start([WORLD, TITLE, RED, DOCSTRING], sent=["Give greet a docstring"]),
    "big-repository.md": Start(
        [ROUNDED, AGAIN, NAMED, replace(ROUNDED, usage=Usage(input=31_020, output=96))],
        files=SHOP,
        build="#!/bin/sh\nPYTHONPATH=. exec python3 -B tests/test_invoice.py\n",
        sent=["--- shop/billing/invoice.py ---"],
        not_sent=["--- shop/users/step_99.py ---"],
    ),
}


def script_of_step(step: Typed | Written) -> str:
    """Return what a shell does for a step; after a command, it prints the exit code."""
    if isinstance(step, Typed):
        return f"\n{step.command}\nprintf '\\036%s\\035' $?"
    folder, name = shlex.quote(str(Path(step.name).parent)), shlex.quote(step.name)
    return f"\nmkdir -p {folder}\ncat > {name} <<'{END_OF_FILE}'\n{step.text}{END_OF_FILE}"


@dataclass(frozen=True)
class Machine:
    """A folder for a page, with programs at the front of PATH."""

    project: Project
    environ: Mapping[str, str]
    instead: Mapping[str, str]

    def play(self, page: str) -> Iterator[tuple[Typed, list[str], int]]:
        """Yield each command of a page, the lines that it printed, and its exit code."""
        played = list(steps(page))
        script = "".join(map(script_of_step, played))
        for words, replacement in self.instead.items():
            script = script.replace(words, replacement)
        output = subprocess.run(
            ["bash", "-c", f"exec 2>&1\n{script}"],
            cwd=self.project.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        ).stdout
        printed = [part.rpartition("\x1e") for part in output.split("\x1d")[:-1]]
        commands = [step for step in played if isinstance(step, Typed)]
        assert len(printed) == len(commands), output
        for step, (text, _, code) in zip(commands, printed, strict=True):
            yield step, text.splitlines(), int(code)


def machine(start: Start, folder: Path, server: ScriptedServer) -> Machine:
    project = Project.create(folder, files=start.files, build=start.build, query=None, rollup=None)
    project.git("init", "-q", "--bare", str(folder / "remote.git"))
    project.git("remote", "add", "origin", str(folder / "remote.git"))
    project.git("init", "-q", "--bare", str(folder / "forge/acme/code-commit-acme.git"))
    project.git("branch", "-q", "-M", "main")
    programs = folder / "bin"
    programs.mkdir()
    environ = project.environment(server.environment()) | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "packages"),
        "GEMINI_API_KEY": "the key of the reader",
    }
    for who in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
    command = python_command("code_commit")
    if address := warm_address(project.environment()):
        command = warm_command(address, command)
    scripts = {
        "code-commit": COMMAND.format(start=shlex.join(command)),
        "gh": GH.format(python=sys.executable, issue=json.dumps(ISSUE), view=VIEW),
        "uv": UV.format(python=sys.executable, folder=str(folder)),
        "ollama": "#!/bin/sh\n",
    }
    for name, text in scripts.items():
        (programs / name).write_text(text, "utf-8")
        (programs / name).chmod(0o755)
    instead = {
        "~/code-commit": str(ROOT),
        "https://git.example.org": f"file://{folder}/forge",
        "http://127.0.0.1:11434/v1": server.url("openai"),
        "[providers.gemini.fast]": f'[providers.gemini.fast]\nbase_url = "{server.address}"',
    }
    return Machine(project, environ, instead)


@pytest.mark.skipif(shutil.which("jq") is None, reason="the pages use jq, and so does `gh` here")
@pytest.mark.fast_rows(3)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_its_reader_sees(page: str, tmp_path: Path) -> None:
    start = PAGES[page]
    with ScriptedServer(start.replies) as server:
        reader = machine(start, tmp_path, server)
        for step, printed, code in reader.play(page):
            seen = "\n".join([f"$ {step.command}", *printed])
            assert code == 0, seen
            assert is_shown(step.shown, printed), seen
        prompts = [request.prompt for request in server.requests]
        assert server.unused == 0
    sent = "\n".join(prompts)
    assert [words for words in start.sent if words not in sent] == []
    assert [words for words in start.not_sent if words in sent] == []


def test_every_page_is_played() -> None:
    assert PAGES.keys() == {page.name for page in HOW_TO.glob("*.md")}
