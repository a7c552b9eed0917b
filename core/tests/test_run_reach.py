"""What a workflow of a plugin reaches through its `Run`: files, git, other runs, settings, models,
the person.
"""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Finished, Project, install_plugin

PLUGIN = """
import json
from pathlib import Path
from pydantic import BaseModel
from code_commit.plugin_api import (
    Change,
    CodeCommitError,
    Flag,
    Message,
    NotReady,
    Outcome,
    Request,
    Result,
    Text,
    WorkflowDefinition,
    hookimpl,
    read_records,
)


class Options(BaseModel):
    reach: str = ""
    elsewhere: str = ""


@hookimpl
def code_commit_workflows():
    shared = dict(options="reach_plugin:Options", interactive=True)
    reach = Flag(("--reach",), "what", metavar="NAME", selects=True)
    elsewhere = Flag(("--elsewhere",), "what", metavar="NAME", selects=True)
    deaf = Flag(("--deaf",), "asks, but must not", selects=True)
    return [
        WorkflowDefinition(
            "reach",
            "try the run",
            (reach,),
            "reach_plugin:reach",
            roles=("default", "player"),
            optional_roles=("critic",),
            **shared,
        ),
        WorkflowDefinition(
            "elsewhere",
            "try a root",
            (elsewhere,),
            "reach_plugin:reach",
            root="reach_plugin:root",
            writes=False,
            **shared,
        ),
        WorkflowDefinition(
            "deaf", "try a root", (deaf,), "reach_plugin:reach", root="reach_plugin:root"
        ),
    ]


def root(options, ask):
    folder = ask("which\\x1b folder?")
    if folder is None:
        raise NotReady("no folder was named")
    if folder == "quit":
        return None
    return Path(folder)


def reach(run):
    names = (run.options.reach or run.options.elsewhere).split(",")
    found = [globals()[name](run) for name in names]
    return Result(Outcome.REACHED, "done", {"got": found if found[1:] else found[0]})


def tried(step, *arguments):
    try:
        return step(*arguments)
    except (CodeCommitError, ValueError) as error:
        return [type(error).__name__, str(error)]


def files(run):
    cases = json.loads((run.root / "agent-config/cases.json").read_bytes())
    return [run.files(patterns, recursive=recursive) for patterns, recursive in cases]


def committed(run):
    run.apply([Change("made.txt", b"x")])
    run.git("add", "--pathspec-from-file=-", stdin=b"made.txt")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    run.git(*author, "commit", "-q", "-m", "quietly")
    run.git(*author, "commit", "-q", "--allow-empty", "-m", "with hooks", hooks=True)
    failed = tried(lambda: run.git("-c", "a.b=c", "rev-parse", "--verify", "nothing"))
    large = run.git("hash-object", "-w", "--stdin", stdin=bytes(1 << 20)).decode().strip()
    return [
        run.git("log", "--format=%s").decode(),
        run.git("cat-file", "-e", "0" * 40, check=False).decode(),
        failed,
        len(run.git("cat-file", "blob", large, most=10)),
    ]


def place(run):
    return [str(run.root), str(run.repository_root)]


def sections(run):
    return [repr(run.settings_of(name)) for name in ("other", "absent")]


def chosen(run):
    return [run.model().reason, run.model("player").reason, run.model("player").name]


def asked(run):
    run.model().complete(Request((Message("user", (Text("?"),)),)), label="ask")
    return [run.model().name, run.model("player").name]


def critic(run):
    return tried(run.model, "critic")


def unnamed_role(run):
    return tried(run.model, "stranger")


def counted(run):
    count = run.state / "count"
    count.write_text(str(int(count.read_text()) + 1 if count.exists() else 1))
    return int(count.read_text())


def looked_back(run):
    folder = run.find_run("latest")
    kinds = [record.kind for record in read_records(folder / "events.jsonl")]
    return [folder == run.folder, kinds[0], tried(run.find_run, "2001")[0]]
"""
OTHER = """
from pydantic import BaseModel
from code_commit.plugin_api import hookimpl

class Section(BaseModel):
    depth: int = 3

@hookimpl
def code_commit_settings():
    return "other_plugin:Section"
"""


@pytest.fixture
def plugins(tmp_path):
    folder = install_plugin(tmp_path / "plugins", "reach", PLUGIN)
    install_plugin(folder, "other", OTHER)
    return install_plugin(
        folder,
        "scripted",
        "from code_commit_testing.scripted_provider import code_commit_providers",
    )


def run(
    project: Project, plugins, what: str, *arguments: str, model: str = "scripted", **options
) -> Finished:
    chosen = ("--model", model) if model else ()
    return project.command(
        "--json", *chosen, "--reach", what, *arguments, plugins=[plugins], **options
    )


def got(finished: Finished):
    assert finished.exit_code == 0, finished.stderr
    return finished.events[-1]["data"]["data"]["got"]


# --- files ----------------------------------------------------------------------------------------

FILES = (
    "a.py",
    "b.txt",
    "src/a.py",
    "src/b.txt",
    "src/deep/a.py",
    "src/deep/er/c.py",
    "ümläut.py",
    "build.sh",
)
CASES = [
    # patterns, recursive, what matches
    ([], True, {*FILES, ".gitignore"}),
    ([], False, {*FILES, ".gitignore"}),
    (["*.py"], True, {"a.py", "src/a.py", "src/deep/a.py", "src/deep/er/c.py", "ümläut.py"}),
    (["*.py"], False, {"a.py", "ümläut.py"}),
    (["a.py"], True, {"a.py", "src/a.py", "src/deep/a.py"}),
    (["a.py"], False, {"a.py"}),
    (["/a.py"], True, {"a.py"}),
    (["src/*.py"], True, {"src/a.py"}),
    (["src/*.py"], False, {"src/a.py"}),
    (["src"], True, {"src/a.py", "src/b.txt", "src/deep/a.py", "src/deep/er/c.py"}),
    (["src"], False, set()),
    (["src/"], True, {"src/a.py", "src/b.txt", "src/deep/a.py", "src/deep/er/c.py"}),
    (["src/"], False, {"src/a.py", "src/b.txt"}),
    (["src/**"], False, {"src/a.py", "src/b.txt"}),
    (["src/**/a.py"], True, {"src/a.py", "src/deep/a.py"}),
    (["src/**/a.py"], False, {"src/a.py"}),
    (["**/a.py"], False, {"a.py"}),
    (["**/deep/**/**/*.py"], False, set()),
    (["src/**/deep/*"], False, {"src/deep/a.py"}),
    (["*/*.txt"], False, {"src/b.txt"}),
    (["*.py", "!src/deep/"], True, {"a.py", "src/a.py", "ümläut.py"}),
    (["*.py", "b.txt", "!a.py"], False, {"b.txt", "ümläut.py"}),
    (
        [
            "../*",
            "/etc/passwd",
            "agent-config/*",
            "logs/**",
            "ignored.py",
            "link.py",
            "inner/*",
            "",
        ],
        True,
        set(),
    ),
    (
        ["../*", "/etc/passwd", "agent-config/*", "logs/", "ignored.py", "link.py", "inner/*", ""],
        False,
        set(),
    ),
]


@pytest.mark.slow
def test_files_are_found_by_patterns(project, plugins):
    project.write({path: "x" for path in FILES if path != "build.sh"})
    project.git("rm", "-q", "a.txt")
    project.write(
        {
            "ignored.py": "x",
            "inner/a.py": "x",
            "gone.py": "x",
            ".gitignore": "/agent-config\nignored.py\n",
        }
    )
    (project.root / "link.py").symlink_to("a.py")
    (project.root / "linked").symlink_to("src")
    project.git("-C", "inner", "init", "-q")
    project.git("add", "-f", "ignored.py", "gone.py", "src")
    (project.root / "gone.py").unlink()
    project.write({"agent-config/cases.json": json.dumps([case[:2] for case in CASES])})
    answers = got(run(project, plugins, "files"))
    for (patterns, recursive, expected), paths in zip(CASES, answers, strict=True):
        assert paths == sorted(expected), (patterns, recursive)


# --- git, settings and models ---------------------------------------------------------------------


def test_the_repository_may_begin_above_the_root_and_a_flag_chooses_every_model(project, plugins):
    project.write({"sub/.gitignore": "/agent-config\n", "sub/agent-config/config.toml": ""})
    place, chosen, sections = got(
        run(project, plugins, "place,chosen,sections", cwd=project.root / "sub")
    )
    assert place == [f"{project.root}/sub", str(project.root)]
    assert chosen == ["--model", "--model", "scripted"]
    assert sections == ["Section(depth=3)", "None"]


def test_what_a_workflow_reaches_through_its_run(project, plugins):
    providers = "[providers]\ndefault_provider = 'scripted.default'\nplayer = 'scripted.quick'\n"
    configs = "[providers.scripted.quick]\nmodel = 'quick'\n[plugins.other]\ndepth = 7\n"
    project.write({"agent-config/config.toml": providers + configs})
    hook = project.root / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho ran >> .git/hooked\n")
    hook.chmod(0o755)
    names = "sections,chosen,unnamed_role,looked_back,committed"
    sections, chosen, unnamed, looked_back, committed = got(run(project, plugins, names, model=""))
    assert sections == ["Section(depth=7)", "None"]
    where = "in [providers], agent-config/config.toml"
    assert chosen == [f"default_provider {where}", f"player {where}", "quick"]
    role = "reach asked for a model of the role 'stranger', which its definition does not declare"
    assert unnamed == ["NotReady", role]
    assert looked_back == [True, "run.started", "NotReady"]
    log, absent, failed, size_of_beginning = committed
    assert (log, absent, failed[0]) == ("with hooks\nquietly\nstart\n", "", "GitError")
    assert failed[1].startswith("`git rev-parse` failed")
    assert 10 < size_of_beginning < 1 << 20
    assert project.read(".git/hooked") == "ran\n"
    assert project.git("status", "--porcelain", "made.txt") == ""


def test_another_plugins_wrong_section_is_told(project, plugins):
    project.write({"agent-config/config.toml": "[plugins.other]\ndepth = 'deep'\n"})
    finished = run(project, plugins, "sections")
    assert finished.exit_code == 3
    assert "depth" in finished.stderr


@pytest.mark.slow
def test_all_roles_are_connected_before_the_run_folder_exists(project, plugins):
    project.write(
        {
            "agent-config/config.toml": '[providers.scripted.default]\nmodel = "scripted"\nreplies = ["!"]\n'
        }
    )
    got(run(project, plugins, "asked", model="scripted.default"))
    recorded = project.run_folder.name
    roles = "[providers]\ndefault_provider = 'replay.default'\nplayer = 'replay.latest'\n"
    configs = (
        f"[providers.replay]\ndefault = {{model = '{recorded}'}}\nlatest = {{model = 'latest'}}\n"
    )
    project.write({"agent-config/config.toml": roles + configs})
    assert got(run(project, plugins, "asked", model="")) == [f"replay/{recorded}"] * 2


def test_an_optional_role_needs_its_key_when_it_is_asked_and_its_settings_before(project, plugins):
    code = "from code_commit_testing.loopback_provider import code_commit_providers"
    install_plugin(plugins, "loopback", code)
    roles = "[providers]\ndefault_provider = 'scripted.default'\ncritic = 'loopback.default'\n"
    roles += "[providers.scripted.default]\nmodel = 'scripted'\nreplies = ['!']\n"

    def result(what: str, config: str) -> Finished:
        project.write({"agent-config/config.toml": roles + config})
        return run(project, plugins, what, model="")

    assert got(result("asked", "")) == ["scripted"] * 2
    kind, message = got(result("critic", ""))
    assert (kind, message) == (
        "NotReady",
        "no key for loopback.default at https://loopback.example.org",
    )
    folders = len(list(project.root.glob("logs/*/")))
    for fault in ("base_url = 'http://elsewhere.example'", "modell = 'x'", "stream = 7"):
        finished = result("asked", f"[providers.loopback.default]\n{fault}\n")
        assert (finished.exit_code, fault.split()[0] in finished.stderr) == (3, True)
    assert len(list(project.root.glob("logs/*/"))) == folders


# --- from run to run ------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_workflows_of_a_plugin_share_its_state(project, plugins):
    assert got(run(project, plugins, "counted")) == 1
    elsewhere = project.command(
        "--elsewhere", "counted", "--json", "--model", "scripted", plugins=[plugins], stdin="."
    )
    assert got(elsewhere) == 2


# --- the person, before there is a run ------------------------------------------------------------


@pytest.fixture
def elsewhere(project, plugins):
    (project.root / "sub").mkdir()
    project.write({"sub/.gitignore": "/agent-config\n", "sub/agent-config/config.toml": ""})

    def command(stdin: str | bytes) -> Finished:
        arguments = ("--elsewhere", "place", "--json", "--model", "scripted")
        return project.command(*arguments, plugins=[plugins], stdin=stdin)

    return command


def test_the_root_can_be_asked_for(project, elsewhere):
    finished = elsewhere("sub\n")
    assert got(finished)[0] == f"{project.root}/sub"
    assert finished.stderr.startswith("which\\x1b folder?\n")
    assert finished.events[0]["kind"] == "run.started"


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (b"", "no folder was named"),
        (b"\xff\n", "there is no folder"),
        (b".gitignore\n", "there is no folder"),
    ],
)
def test_without_a_root_there_is_no_run(elsewhere, stdin, message):
    finished = elsewhere(stdin)
    assert finished.exit_code == 3
    assert [event["kind"] for event in finished.events] == ["run.finished"]
    assert message in finished.stderr


def test_a_person_may_quit_instead_of_naming_a_root(project, elsewhere):
    finished = elsewhere("quit\n")
    assert finished.exit_code == 0
    assert [(event["kind"], event["data"]["outcome"]) for event in finished.events] == [
        ("run.finished", "reached")
    ]
    assert not (project.root / "logs").exists()


def test_a_workflow_that_is_not_interactive_asks_nobody(project, plugins):
    finished = project.command(
        "--deaf", "--json", "--model", "scripted", plugins=[plugins], stdin="sub\n"
    )
    assert finished.exit_code == 3
    assert "asked a question" in finished.stderr
    assert "which" not in finished.stderr
