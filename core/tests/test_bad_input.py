"""Bad input prints one clear line with a hint, and exits with the right code."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

KEY = "sk-canary-0123456789-key7Q"
GOOD = Reply("^^^a.txt\nnew\n^^^end\n")


@pytest.fixture
def server():
    with ScriptedServer([GOOD]) as server:
        yield server


def run(
    project: Project,
    server: ScriptedServer,
    *arguments: str,
    model="gpt-5",
    environ=None,
    **options,
):
    variables = {"OPENAI_API_KEY": KEY, **server.environment(), **(environ or {})}
    return project.command("--model", model, *arguments, environ=variables, **options)


def remove(path):
    return lambda project: (project.root / path).unlink()


def put(path, content):
    return lambda project: (project.root / path).write_bytes(content)


def instead(path, make):
    return lambda project: (remove(path)(project), make(project.root / path))


def link(path):
    path.symlink_to("a.txt")


NOT_READY = {
    "an unknown setting": (put("agent-config/config.toml", b'modle = "x"\n'), "modle", "model"),
    "the old form of a provider": (
        put("agent-config/config.toml", b'[providers.anthropic]\napi_key = "sk-secret-123"\n'),
        "providers.anthropic",
        "[providers.anthropic.planner]",
    ),
    "no query": (remove("agent-config/query.txt"), "agent-config/query.txt is missing", "--query"),
    "an empty query": (
        put("agent-config/query.txt", b" \n"),
        "the query is empty",
        "describe the change",
    ),
    "a rollup that is not UTF-8": (
        put("agent-config/codeRollup.txt", b"one\ntwo\n\xff\n"),
        "agent-config/codeRollup.txt is not UTF-8: line 3",
        "convert it",
    ),
    "an empty rollup": (
        put("agent-config/codeRollup.txt", b"\n"),
        "codeRollup.txt is empty",
        "codeRollup.sh",
    ),
    "a rollup that is a link": (
        instead("agent-config/codeRollup.txt", link),
        "it is a link",
        "a regular file",
    ),
    "no build.sh": (remove("build.sh"), "there is no build.sh", "exit with 0"),
    "a folder build.sh": (
        instead("build.sh", Path.mkdir),
        "build.sh is not a readable regular file",
        "replace it",
    ),
    "a link build.sh": (instead("build.sh", link), "build.sh is a link", "replace it"),
    "no line in .gitignore": (put(".gitignore", b"*.log\n"), ".gitignore", "/agent-config"),
    "no .gitignore": (remove(".gitignore"), ".gitignore", "/agent-config"),
    "broken TOML": (
        put("agent-config/config.toml", b'model = "x"\nbroken = [\n'),
        "config.toml",
        "line",
    ),
}


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("name", NOT_READY)
def test_a_missing_requirement_of_a_run_is_exit_3(project, server, name):
    spoil, message, hint = NOT_READY[name]
    spoil(project)
    finished = run(project, server)
    assert finished.exit_code == 3
    assert re.match(r"error: |\[0:\d\d\]", finished.stderr)
    assert message in finished.stderr
    assert hint in finished.stderr
    assert "Traceback" not in finished.stderr
    assert server.requests == []


@pytest.mark.slow
def test_a_query_in_another_encoding_is_exit_3(project, server):
    finished = project.command(
        "--model", "gpt-5", "--query", "caf\udce9", environ=server.environment()
    )
    assert (finished.exit_code, "--query is not UTF-8" in finished.stderr) == (3, True), (
        finished.stderr
    )
    assert server.requests == []


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    "key",
    [
        b"sh0rt",
        b"",
        b"\n",
        b"one-line-key\ntwo-line-key\n",
        "schlüssel-123".encode(),
        b"with\x00nul-bytes",
    ],
)
def test_an_invalid_key_is_exit_3_and_is_not_shown(project, server, key):
    (project.root / "agent-config/openai-key.txt").write_bytes(key)
    finished = run(project, server)
    assert finished.exit_code == 3
    assert "agent-config/openai-key.txt" in finished.stderr
    for part in key.split():
        assert part.decode() not in finished.stderr


def test_a_missing_key_lists_the_places_for_it(project):
    finished = project.command("--model", "gpt-5")
    assert finished.exit_code == 3
    for place in ("agent-config/openai-key.txt", "OPENAI_API_KEY", "api_key"):
        assert place in finished.stderr


@pytest.mark.slow
def test_another_address_is_called_without_a_key(project, server):
    finished = run(project, server, environ={"OPENAI_API_KEY": ""})
    assert finished.exit_code == 0
    assert "authorization" not in server.requests[0].headers
    assert "\ncost: $0.0001, 10 tokens in, 5 tokens out, 1 call, 0:" in finished.stderr


@pytest.mark.slow
def test_the_gitignore_is_checked_before_a_key_is_read(project):
    (project.root / ".gitignore").write_text("# /agent-config\n!/agent-config\n")
    os.mkfifo(project.root / "agent-config/openai-key.txt")  # opening it waits forever
    finished = project.command("--model", "gpt-5")
    assert (finished.exit_code, "/agent-config" in finished.stderr) == (3, True)


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    "line", ["/agent-config\r", "/agent-config", "agent-config", "/agent-config/", "agent-config/"]
)
def test_each_form_of_the_line_is_accepted(project, line):
    (project.root / ".gitignore").write_bytes(f"x\n{line}\n".encode())
    assert project.command("config").exit_code == 0


@pytest.mark.slow
def test_a_missing_git_repository_is_exit_3(tmp_path, server):
    project = Project.create(tmp_path)
    subprocess.run(["rm", "-rf", project.root / ".git"], check=True)
    finished = run(project, server)
    assert (finished.exit_code, "git init" in finished.stderr) == (3, True)


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("arguments", [["--model", "gpt-5"], ["config"], ["plugins", "doctor"]])
def test_tracked_configuration_is_not_trusted(project, server, arguments):
    evil = f'[providers.openai.default]\nbase_url = "{server.url("openai")}"\n'
    project.write({"agent-config/config.toml": evil})
    project.git("add", "-f", "agent-config/config.toml")
    finished = project.command(*arguments, environ={"OPENAI_API_KEY": KEY})
    assert (finished.exit_code, "git tracks agent-config/config.toml" in finished.stderr) == (
        3,
        True,
    )
    assert server.url("openai") not in finished.stdout
    assert server.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["Agent-Config", "agent-con\ufb01g", "agent-config."])
def test_configuration_with_an_equivalent_name_is_not_trusted(project, server, folder):
    project.write({f"{folder}/config.toml": ""})
    project.git("add", "-f", folder)
    finished = run(project, server)
    assert (finished.exit_code, f"git tracks {folder}/config.toml" in finished.stderr) == (3, True)
    assert server.requests == []


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("kind", ["link", "submodule", "repository"])
def test_a_tracked_private_folder_is_not_trusted(project, server, kind):
    """`git clone --recurse-submodules` creates such a folder.

    Otherwise its address would get the user's key.
    """
    folder = project.root / "agent-config"
    (folder / "config.toml").write_text(
        f'[providers.openai.default]\nbase_url = "{server.url("openai")}"\n'
    )
    if kind == "link":
        folder.rename(project.root / "theirs")
        folder.symlink_to("theirs")
        project.git("add", "-f", "agent-config")
    else:
        project.git("init", "-q", "agent-config")
        project.git("-C", "agent-config", "add", "-A")
        project.git("-C", "agent-config", "commit", "-q", "-m", "theirs")
    if kind == "submodule":
        project.git("add", "-f", "agent-config")
    finished = project.command("--model", "gpt-5", environ={"OPENAI_API_KEY": KEY})
    words = "is a git repository itself" if kind == "repository" else "git tracks agent-config"
    assert (finished.exit_code, words in finished.stderr) == (3, True), finished.stderr
    assert server.requests == []


@pytest.mark.slow
def test_configuration_that_a_repository_around_has_is_not_trusted(project, server):
    project.write({"agent-config/config.toml": ""})
    around = ("-C", str(project.root.parent))
    project.git(*around, "init", "-q")
    blob = project.git("hash-object", "-w", "agent-config/config.toml").strip()
    project.git(
        *around,
        "update-index",
        "--add",
        "--cacheinfo",
        f"100644,{blob},project/agent-config/config.toml",
    )
    finished = run(project, server)
    assert (finished.exit_code, "git tracks agent-config/config.toml" in finished.stderr) == (
        3,
        True,
    )
    assert server.requests == []


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("file", ["index", "HEAD"])
def test_configuration_is_not_trusted_if_git_fails(project, server, file):
    (project.root / ".git" / file).write_bytes(b"broken")
    finished = run(project, server)
    assert (
        finished.exit_code,
        "git cannot check whether it tracks agent-config" in finished.stderr,
    ) == (3, True)
    assert server.requests == []


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--query=a", "models"], "the command models must come before all flags"),
        (["--repairs", "many"], "--repairs"),
        (["--nonsense"], "there is no flag --nonsense"),
        (["--modle=gpt-5"], "did you mean --model?"),
        (["--mod", "gpt-5"], "there is no flag --mod"),
        (["plugin"], "did you mean plugins?"),
        (["--quiet", "plugin"], "did you mean plugins?"),
        (["runs", "export", "--sink", "htlm"], "there is no log sink 'htlm'"),
        (["--model", "gpt-55"], "there is no model 'gpt-55'"),
        (["-m", "Add a test"], "hint: describe the change with --query; -m is short for --model\n"),
        (["--model", "gpt-5-mimi"], "did you mean gpt-5-mini?"),
        (["--repairs=-1"], "--repairs"),
        (["--max-cost", "0"], "--max-cost should be greater than 0"),
        (["--sandbox", "maybe"], "--sandbox"),
        (["--query", "a", "--query-file", "b"], "cannot be used with"),
    ],
)
def test_usage_errors_are_exit_2_and_suggest_names(project, arguments, words):
    finished = project.command(*arguments)
    assert (finished.exit_code, words in finished.stderr) == (2, True), finished.stderr
    as_json = project.command(*arguments, "--json")
    assert [event["kind"] for event in as_json.events] == ["run.finished"]
    assert as_json.events[0]["data"]["exit_code"] == 2


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["--model", "gpt-5", "--model=gemini-2.5-pro"], "--model"),
        (["-m", "gpt-5", "--model", "o3"], "--model"),
        (["--query", "a", "--query", "b"], "--query"),
        (["--repairs", "1", "--repairs", "2"], "--repairs"),
        (["--sandbox", "off", "--sandbox", "require"], "--sandbox"),
        (["runs", "diff", "--attempt", "1", "--attempt", "2"], "--attempt"),
        (["runs", "export", "--sink", "one", "--sink", "two"], "--sink"),
    ],
)
def test_a_flag_with_one_value_is_not_given_twice(project, arguments, flag):
    finished = project.command(*arguments)
    error = f"error: {flag} is given twice, with different values\n"
    assert (finished.exit_code, error in finished.stderr) == (2, True), finished.stderr


def test_the_same_value_twice_and_a_repeatable_flag_are_fine(project, server, tmp_path):
    plugins = [install_plugin(tmp_path / name, name, "import missing") for name in ("one", "two")]
    repeated = [
        "--repairs=0",
        "--repairs",
        "0",
        "--disable-plugin",
        "one",
        "--disable-plugin",
        "two",
    ]
    finished = run(project, server, *repeated, plugins=plugins)
    assert (finished.exit_code, len(server.requests)) == (0, 1), finished.stderr


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("flag", "plugin"), [("--planning", "planner"), ("--task=x", "tasks"), ("--cc", "consistency")]
)
def test_the_flag_of_a_missing_plugin_shows_what_to_install(project, flag, plugin):
    installed = importlib.util.find_spec(f"code_commit_{plugin}") is not None
    disabled = [f"--disable-plugin={plugin}"] * installed
    words = f"--disable-plugin {plugin} disables" if installed else f'pip install ".[{plugin}]"'
    finished = project.command(flag, *disabled)
    assert (finished.exit_code, words in finished.stderr) == (2, True), finished.stderr


@pytest.mark.slow
def test_a_broken_plugin_with_path_rules_stops_a_run_that_writes(project, server, tmp_path):
    plugins = install_plugin(
        tmp_path / "plugins", "guard", "import missing", group="code_commit.path_rules"
    )
    finished = run(project, server, plugins=[plugins])
    assert (
        finished.exit_code,
        "code-commit-guard has path rules and is broken" in finished.stderr,
    ) == (3, True)
    assert server.requests == []
    assert run(project, server, "--disable-plugin", "guard", plugins=[plugins]).exit_code == 0


@pytest.mark.slow
def test_a_broken_sink_is_reported_once_and_the_run_continues(project, server, tmp_path):
    code = (
        "from code_commit.plugin_api import hookimpl\n"
        "class Sink:\n"
        "    def receive(self, record): raise OSError('disk')\n"
        "    def close(self): pass\n"
        "@hookimpl\n"
        "def code_commit_log_sinks(settings): return [Sink()]\n"
    )
    plugins = install_plugin(tmp_path / "plugins", "sinking", code)
    finished = run(project, server, "--json", plugins=[plugins])
    assert finished.exit_code == 0
    failures = [event["data"] for event in finished.events if event["kind"] == "plugin.failed"]
    assert [(failure["plugin"], failure["error"]) for failure in failures] == [
        ("sinking", "OSError: disk")
    ]


@pytest.mark.slow
def test_a_rule_of_a_plugin_refuses_and_so_does_a_broken_rule(project, server, tmp_path):
    code = (
        "from code_commit.plugin_api import Refusal, hookimpl\n"
        "class Rule:\n"
        "    name = 'no-a'\n"
        "    def judge(self, changes, tree): {body}\n"
        "@hookimpl\n"
        "def code_commit_path_rules(settings): return [Rule()]\n"
    )
    for index, body in enumerate(
        ["return [Refusal(changes[0].path, 'no-a', 'not this one')]", "raise KeyError('x')"]
    ):
        plugins = install_plugin(
            tmp_path / str(index), "ruling", code.format(body=body), group="code_commit.path_rules"
        )
        server.script(GOOD)
        finished = run(project, server, plugins=[plugins])
        assert finished.exit_code == 5
        assert project.read("a.txt") == "old\n"


@pytest.mark.slow
def test_a_rule_may_request_a_repair(project, server, tmp_path):
    code = (
        "from code_commit.plugin_api import Refusal, hookimpl\n"
        "class Rule:\n"
        "    name = 'sends-back'\n"
        "    def judge(self, changes, tree):\n"
        "        for change in changes:\n"
        "            if change.content == b'new\\n':\n"
        "                yield Refusal(change.path, 'sends-back', 'say newer', then='repair')\n"
        "@hookimpl\n"
        "def code_commit_path_rules(settings): return [Rule()]\n"
    )
    plugins = install_plugin(tmp_path / "plugins", "ruling", code, group="code_commit.path_rules")
    server.script(Reply("^^^a.txt\nnewer\n^^^end\n"))
    finished = run(project, server, plugins=[plugins])
    assert (finished.exit_code, project.read("a.txt")) == (0, "newer\n")
    assert "a.txt: say newer" in server.requests[1].prompt


def test_a_second_run_at_the_same_time_is_exit_3(project, server):
    project.write({"build.sh": "read line < fifo; rm fifo\n"})
    project.git("commit", "-qam", "a build that waits")
    os.mkfifo(project.root / "fifo")
    # For reading and writing: no open waits for the other end.
    gate = os.open(project.root / "fifo", os.O_RDWR)
    environ = {"OPENAI_API_KEY": KEY, **server.environment()}
    with project.start("--model", "gpt-5", "--quiet", "--json", environ=environ) as first:
        assert any(b'"process.started"' in line for line in first.stdout)
        second = run(project, server)
        os.write(gate, b"continue\n")
        assert first.stdout.read()
    os.close(gate)
    assert first.returncode == 0
    assert second.exit_code == 3
    assert re.search(
        rf"another run is using this project.*, run {project.run_folder.name}\n", second.stderr
    ), second.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_read_only_folder_is_exit_3(project, server):
    project.root.chmod(0o555)
    finished = run(project, server)
    project.root.chmod(0o755)
    assert finished.exit_code == 3


@pytest.mark.slow
def test_a_rollup_of_50_megabytes_is_sent(project, server):
    line = b"x" * 99 + b"\n"
    (project.root / "agent-config/codeRollup.txt").write_bytes(
        b"--- a.txt ---\nold\n" + line * 500_000
    )
    refused = run(project, server, "--dry-run")
    assert (refused.exit_code, "gpt-5 reads at most" in refused.stderr) == (3, True)
    finished = run(project, server, "--dry-run", model="openai/of-unknown-window")
    assert finished.exit_code == 0, finished.stderr
    assert len(server.requests[0].body) > 50_000_000


@pytest.mark.slow
def test_too_few_open_files_are_noticed_before_a_call(project, server):
    command = [
        "bash",
        "-c",
        'ulimit -n 32; exec "$@"',
        "-",
        sys.executable,
        "-P",
        "-m",
        "code_commit",
    ]
    environ = project.environment({"OPENAI_API_KEY": KEY, **server.environment()})
    arguments = [*command, "--model", "gpt-5"]
    completed = subprocess.run(
        arguments, cwd=project.root, env=environ, capture_output=True, text=True, check=False
    )
    assert (completed.returncode, server.requests) == (3, [])
    assert completed.stderr == (
        "error: a process may open only 32 files here, too few to run\nhint: raise it: ulimit -n 256\n"
    )
