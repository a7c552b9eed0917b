"""`build.sh` runs as its first line says, and one that cannot run ends before anything is paid for."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Project

GREEN = "^^^a.txt\ngood\n^^^end\n"
STRICT = "#!/bin/bash -e\nfalse\necho done\n"


def started(change) -> list[list[str]]:
    events = map(json.loads, (change.project.run_folder / "events.jsonl").read_text().splitlines())
    return [event["data"]["argv"] for event in events if event["kind"] == "process.started"]


@pytest.mark.parametrize(
    ("build", "argv", "exit_code"),
    [
        (STRICT, ["/bin/bash", "-e", "build.sh"], 1),
        ("#!/bin/sh -e\nfalse\necho done\n", ["/bin/sh", "-e", "build.sh"], 1),
        (
            "#!/usr/bin/env -S bash -euo pipefail\nfalse | true\necho done\n",
            ["/usr/bin/env", "-S bash -euo pipefail", "build.sh"],
            1,
        ),
        (
            "#!/usr/bin/env python3\nimport sys\nprint('python')\nsys.exit(3)\n",
            ["/usr/bin/env", "python3", "build.sh"],
            1,
        ),
        ("#!/usr/bin/env python3\nprint('python')\n", ["/usr/bin/env", "python3", "build.sh"], 0),
        ("false\ntrue\n", ["bash", "build.sh"], 0),
    ],
)
def test_a_run_obeys_the_first_line(change, build, argv, exit_code):
    change.project.write({"build.sh": build})
    assert (change.project.root / "build.sh").stat().st_mode & 0o111 == 0
    finished = change([GREEN], "--repairs", "0")
    assert finished.exit_code == exit_code, finished.stderr
    assert started(change)[0] == argv
    document = json.loads((change.project.run_folder / "run.json").read_text())
    assert document["seconds"]["build"] > 0
    assert "[0:00] build " in finished.stderr


def test_a_build_that_stops_at_its_first_failure_is_not_committed(change):
    change.project.write({"build.sh": STRICT})
    change.project.git("config", "user.name", "Somebody")
    change.project.git("config", "user.email", "somebody@example.org")
    change.project.git("add", "-A")
    change.project.git("commit", "-qm", "strict")
    before = change.project.git("rev-parse", "HEAD")
    assert change([GREEN], "--repairs", "0", "--commit").exit_code == 1
    assert change.project.git("rev-parse", "HEAD") == before


@pytest.mark.parametrize(
    ("build", "reason", "hint"),
    [
        (
            b"#!/bin/bash\r\nset -e\r\nfalse\r\n",
            "line 1 of build.sh has a carriage return (CRLF line ends)",
            "run `sed -i 's/",
        ),
        (
            b"#!/bin/bash\nset -e\r\nfalse\r\n",
            "line 2 of build.sh has a carriage return (CRLF line ends)",
            "run `sed -i 's/",
        ),
        (b"\x7fELF\x02\x01\x01\0\0\0", "build.sh is a binary file, not a script", "write a script"),
        (
            b"#!/no/such/bash -e\n",
            "the interpreter /no/such/bash, which the first line of build.sh names,",
            "install it",
        ),
        (
            b"#!/usr/bin/env no-such-python\n",
            "no-such-python, which the first line of build.sh names,",
            "install no-such",
        ),
        (
            b"#!/usr/bin/env -i bash\n",
            "env takes `-i bash` in the first line of build.sh as one option",
            "write `#!/usr/bin/env -S -i bash`",
        ),
        (
            b"#!./agent-config/../a.txt\n",
            "the interpreter ./agent-config/../a.txt, which the first line of build.sh names, is not an executable",
            "use its absolute path",
        ),
        (b"", "build.sh is a link", "replace it with a script"),
    ],
)
def test_a_build_that_cannot_run_ends_before_a_call(change, build, reason, hint):
    script = change.project.root / "build.sh"
    if build:
        script.write_bytes(build)
    else:
        script.rename(change.project.root / "real.sh")
        script.symlink_to("real.sh")
    finished = change([GREEN])
    assert finished.exit_code == 3
    assert f"error: {reason}" in finished.stderr
    assert f"hint: {hint}" in finished.stderr
    assert not list(change.project.root.glob("logs/*/*-query.txt"))
    assert change.project.read("a.txt") == "old\n"
    finished = change.project.command("doctor")
    assert (finished.exit_code, reason in finished.stdout) == (3, True)
    finished = change.project.command("init")
    assert (finished.exit_code, "build.sh" in finished.stderr) == (3, True)


def test_init_and_doctor_name_the_interpreter_and_a_command_that_works(tmp_path):
    project = Project.create(tmp_path, build=STRICT, rollup=None)
    finished = project.command("init")
    assert "build.sh ended with exit code 1 after " in finished.stderr
    assert "(interpreter: /bin/bash -e), before any change" in finished.stderr
    assert finished.stderr.endswith("Next: /bin/bash -e build.sh\n")
    (project.root / "build.sh").chmod(0o755)
    assert project.command("init").stderr.endswith("Next: ./build.sh\n")
    assert project.command("init", "--json").document["build"]["interpreter"] == "/bin/bash -e"
    (line,) = [
        each
        for each in project.command("doctor", "--json").document["checks"]
        if each["name"] == "build.sh"
    ]
    assert "(interpreter: /bin/bash -e)" in line["text"]
    assert "run `./build.sh`" in line["hint"]


def test_how_a_build_ended_is_one_sentence(change):
    change.project.write({"build.sh": "kill -KILL $$\n"})
    finished = change([GREEN], "--repairs", "0", "--sandbox", "off")
    assert "build.sh was ended by signal 9 (SIGKILL) after 1 attempt" in finished.stderr
    change.project.write({"a.txt": "old\n", "build.sh": "sleep 600\n"})
    finished = change([GREEN], "--repairs", "0", settings="[build]\ntimeout_seconds = 1\n")
    assert "build.sh ran into its time limit of 1 s after 1 attempt" in finished.stderr


TOOL = '#!/bin/sh\nexec /bin/sh "$@"\n'
GONE = "^^^tools/i\n^^^delete\n"


@pytest.fixture
def own_interpreter(change):
    build = "#!./tools/i\ngrep -q good a.txt\n"
    change.project.write({"build.sh": build, "tools/i": TOOL})
    (change.project.root / "tools/i").chmod(0o755)
    change.show()


@pytest.mark.usefixtures("own_interpreter")
def test_a_response_that_deletes_the_interpreter_is_repaired(change):
    finished = change([GREEN + GONE, f"^^^tools/i\n{TOOL}^^^end\n"], "--repairs", "1")
    reason = "build.sh cannot run: the interpreter ./tools/i, which the first line of build.sh names, does not exist in"
    assert reason in change.prompts()[1]
    assert reason in finished.stderr


@pytest.mark.usefixtures("own_interpreter")
@pytest.mark.parametrize("then", [[], ["Why?"]])
def test_a_build_that_a_response_broke_is_red_at_the_end(change, then):
    finished = change([GREEN + GONE, *then], "--repairs", str(len(then)))
    assert finished.exit_code == 1, finished.stderr
    assert (
        "the build is red: build.sh cannot run: the interpreter ./tools/i, which" in finished.stderr
    )
    assert finished.stderr.count("code-commit undo") == 1
