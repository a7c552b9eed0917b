"""The commands beside the workflows: a line of help each, and where their code is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """`run` is `"package.module:function"`, a `Callable[[Sequence[str]], int]`, imported when chosen."""

    help: str
    run: str


COMMANDS = {
    "init": Command("make what a project needs before its first run", "code_commit_commit.commands.init:init"),
    "rollup": Command("collect the code that the model is shown", "code_commit_commit.commands.rollup:rollup"),
    "demo": Command(
        "watch a recorded run repair a red build, in a scratch folder", "code_commit_commit.demo.play:demo"
    ),
    "runs": Command("list, show, compare, export and prune earlier runs", "code_commit_history.runs.command:runs"),
    "replay": Command("run a recorded run again, offline, and compare", "code_commit_history.replay:replay"),
    "undo": Command("take back what a run changed", "code_commit.cli.undo:undo"),
    "check": Command("say whether a response may change paths, and why not", "code_commit_commit.commands.check:check"),
    "plugins": Command("list plugins: what is loaded, what failed and why", "code_commit.cli.listing:plugins"),
    "models": Command("list the models that --model knows", "code_commit.cli.listing:models"),
    "config": Command("print every setting and where it comes from", "code_commit.cli.configuration:config"),
    "completion": Command("print a script that completes the command line", "code_commit.cli.completion:completion"),
}
