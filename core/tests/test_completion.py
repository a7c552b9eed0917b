"""`code-commit completion`: the scripts, in the shells that are installed."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest

from code_commit_testing import Project, install_plugin

ODD = """
from code_commit.plugin_api import (
    CommandDefinition,
    Flag,
    ProviderDefinition,
    WorkflowDefinition,
    hookimpl,
)

EVIL = "it's odd: $(touch pwned) `touch pwned`"


@hookimpl
def code_commit_workflows():
    flags = (
        Flag(("--odd",), EVIL, EVIL, selects=True),
        Flag(("--from",), "a file", "FILE"),
        Flag(("--into",), "a folder", "FOLDER"),
    )
    return [WorkflowDefinition("odd", "odd", flags, "nowhere:run")]


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(name, models, "", None, None, ("a", "{key}"), "x:y", "x:y")
        for name, models in {"odd": {"odd-1": (), EVIL: ()}, "replay": {}}.items()
    ]


@hookimpl
def code_commit_commands():
    return [
        CommandDefinition("absent deep", EVIL, "nowhere:run"),
        CommandDefinition("look", EVIL, "nowhere:run", "odd_plugin:arguments"),
        CommandDefinition("past", EVIL, "nowhere:run", "odd_plugin:actions"),
        CommandDefinition("broken", EVIL, "nowhere:run", "nowhere:arguments"),
    ]


@hookimpl
def code_commit_log_sinks():
    return []


def actions(parser):
    action = parser.add_subparsers(dest="action")
    action.add_parser("show").add_argument("run", nargs="?", metavar="RUN")
    action.add_parser("export").add_argument("--sink", metavar="NAME")


def arguments(parser):
    parser.add_argument("paths", nargs="+", metavar="PATH", help=EVIL)
    parser.add_argument("--deep", choices=[EVIL, "plain"], metavar=EVIL)
    parser.add_subparsers(dest=EVIL, metavar=EVIL)
"""
WORSE = ODD.replace("--odd", "--a;touch pwned").replace('"odd", "odd"', '"worse", "worse"')


@pytest.fixture
def project(tmp_path):
    project = Project.create(tmp_path)
    project.write({"logs/2026-01-01-00-00-00-x/events.jsonl": "", "a.txt": ""})
    return project


def script(project, shell, **options):
    finished = project.command("completion", shell, **options)
    assert finished.exit_code == 0, finished.stderr
    return finished.stdout


def completed(project, text, cases):
    """What bash offers for the last of the words of each case."""
    code = f"{text}\n"
    for words, _ in cases:
        line = " ".join(f"'{word}'" for word in words)
        code += f'COMPREPLY=(); COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _shtab_code_commit; echo "${{COMPREPLY[@]}}"\n'
    completed = subprocess.run(
        ["bash", "--norc"],
        input=code,
        cwd=project.root,
        capture_output=True,
        text=True,
        check=True,
        env=project.environment(),
    )
    assert completed.stderr == ""
    return [
        (words, sorted(line.split()))
        for (words, _), line in zip(cases, completed.stdout.splitlines(), strict=True)
    ]


CASES = [
    (["code-commit", "plu"], ["plugins"]),
    (["code-commit", "--sandb"], ["--sandbox"]),
    (["code-commit", "--model", "odd-"], ["odd-1"]),
    (["code-commit", "--quiet", "--on-f"], ["--on-failure"]),
    (["code-commit", "--on-failure", ""], ["keep", "restore"]),
    (["code-commit", "--sandbox", "r"], ["require"]),
    (["code-commit", "--model", "repl"], ["replay/latest"]),
    (["code-commit", "doctor", "--model", "odd-"], ["odd-1"]),
    (["code-commit", "--max-cost", ""], []),
    (["code-commit", "abs"], []),
    (["code-commit", "broke"], ["broken"]),
    (["code-commit", "look", "a.txt", "--deep", ""], ["plain"]),
    (["code-commit", "--into", "a."], ["a.txt"]),
    (["code-commit", "--model", "replay/"], ["replay/2026-01-01-00-00-00-x", "replay/latest"]),
    (["code-commit", "--model", "replay/l"], ["replay/latest"]),
    (["code-commit", "--disable-plugin", "od"], ["odd"]),
    (["code-commit", "undo", ""], ["2026-01-01-00-00-00-x", "latest"]),
    (["code-commit", "undo", "2026"], ["2026-01-01-00-00-00-x"]),
    (["code-commit", "undo", "--js"], ["--json"]),
    (["code-commit", "plugins", ""], ["doctor", "new"]),
    (["code-commit", "plugins", "doctor", "--js"], ["--json"]),
    (["code-commit", "completion", "z"], ["zsh"]),
    (["code-commit", "past", "s"], ["show"]),
    (["code-commit", "past", "show", ""], ["2026-01-01-00-00-00-x", "latest"]),
    (["code-commit", "past", "export", "--sink", "od"], ["odd"]),
    (["code-commit", "--from", "a."], ["a.txt"]),
    (["code-commit", "look", "a."], ["a.txt"]),
    (["code-commit", "look", "a.txt", "--de"], ["--deep"]),
]
OFFERS = pytest.mark.parametrize(("words", "offered"), CASES, ids=" ".join)
# A terminal with zsh takes a quarter of a second to start.
ZSH_OFFERS = pytest.mark.parametrize(
    ("words", "offered"),
    [*CASES[:3], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[3:])],
    ids=" ".join,
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Return a function that gives the script of a shell with the odd plugin."""
    folder = tmp_path_factory.mktemp("odd")
    project, plugins = Project.create(folder), [install_plugin(folder / "plugins", "odd", ODD)]
    return cache(lambda shell: script(project, shell, plugins=plugins))


def test_bash_offers_what_may_follow(project, odd):
    assert completed(project, odd("bash"), CASES) == CASES


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_names_of_folders_do_not_run(project, odd, shell):
    """A repository can have them, and a person presses the tab key there."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    for name in (
        "$(touch pwned)",
        "`touch pwned`",
        "2026-$(touch pwned)",
        "-O pwned",
        "2026-01-02-00-00-00-;touch pwned",
    ):
        (project.root / "logs" / name).mkdir(parents=True)
        (project.root / "logs" / name / "events.jsonl").touch()
    cases = [(["code-commit", "undo", ""], []), (["code-commit", "--model", "replay/"], [])]
    if shell == "bash":
        offered = [word for _, words in completed(project, odd("bash"), cases) for word in words]
        assert {*offered} == {
            "2026-01-01-00-00-00-x",
            "latest",
            "replay/2026-01-01-00-00-00-x",
            "replay/latest",
        }
    else:
        completions = "".join(f"complete -C '{' '.join(words)}'\n" for words, _ in cases)
        command = ["fish", "--no-config", "-c", f"{odd('fish')}\n{completions}"]
        subprocess.run(
            command, cwd=project.root, env=project.environment(), capture_output=True, check=True
        )
    assert not (project.root / "pwned").exists()


@pytest.mark.fast_rows(1)
@OFFERS
@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_offers_what_may_follow(project, odd, words, offered):
    line = " ".join(words)
    completed = subprocess.run(
        ["fish", "--no-config", "-c", f"{odd('fish')}\ncomplete -C '{line}'"],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    assert sorted(line.partition("\t")[0] for line in completed.stdout.splitlines()) == offered


# A terminal with zsh: the widget that ends each completion prints all that was added.
ZSH = """
zmodload zsh/zpty
zpty z 'zsh -f -i'
zpty -w z "PS1=; autoload -U compinit; compinit -D -u; source $1"
zpty -w z 'added=(); compadd() { local -a some; [[ "$*" == *-[OAD]* ]] || { builtin compadd -O some "$@"; added+=($some); }; builtin compadd "$@"; }'
zpty -w z 'tell() { print -r -- "<ADD""ED $added ADD""ED>"; exit; }; comppostfuncs=(tell); bindkey "^I" complete-word; print REA""DY'
zpty -r z out '*READY*'
zpty -n -w z "$2"$'\\t'
zpty -r z out '*ADDED>*'
print -r -- "${${out##*<ADDED}%%ADDED>*}"
"""


@pytest.mark.slow
@ZSH_OFFERS
@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_offers_what_may_follow(project, odd, tmp_path, words, offered):
    (tmp_path / "script").write_text(odd("zsh"))
    completed = subprocess.run(
        ["zsh", "-f", "-c", ZSH, "zsh", tmp_path / "script", " ".join(words)],
        cwd=project.root,
        env={**project.environment(), "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert sorted(set(completed.stdout.split())) == offered


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_script_is_one_and_what_a_plugin_says_does_not_run(project, tmp_path, shell):
    folder = tmp_path / "plugins"
    plugins = [install_plugin(folder, "odd", ODD)]
    install_plugin(folder, "worse", WORSE)
    text = script(project, shell, plugins=plugins)
    assert "--odd" in text or "-l odd" in text
    assert "a;touch" not in text
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed: its script was only looked at")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    (tmp_path / "script").write_text(text)
    before = "autoload -U compinit; compinit -D; " if shell == "zsh" else ""
    after = "; [[ $_comps[code-commit] == _shtab_code_commit ]]" if shell == "zsh" else ""
    completed = subprocess.run(
        [program, *flags, "-c", f"{before}source {tmp_path}/script{after}"],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    assert not (project.root / "pwned").exists()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_command_is_described_by_its_line_in_the_list(odd, shell):
    shown = odd(shell)
    assert "list the installed plugins, and what failed" in shown
    assert "what is loaded, and what failed and why" not in shown
    uses = {"zsh": ':_code_commit_{}"', "fish": "(_code_commit_{})"}[shell]
    assert all(uses.format(subject) in shown for subject in ("models", "runs"))


@pytest.mark.slow
def test_an_unknown_shell_is_a_usage_error(project):
    assert project.command("completion", "csh").exit_code == 2
