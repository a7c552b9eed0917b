"""What a build in the sandbox gets from its environment, and what the user is told when it needs
more.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.records import ProcessResult

pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]


def test_build_tools_find_their_caches(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setenv("NPM_CONFIG_CACHE", "/mine")
    monkeypatch.setenv("MAVEN_OPTS", "-Xmx1g")

    names = (
        "GOMODCACHE GOFLAGS npm_config_cache PNPM_HOME pnpm_config_store_dir MAVEN_OPTS GRADLE_USER_HOME CARGO_HOME "
        "UV_LINK_MODE YARN_GLOBAL_FOLDER MAVEN_USER_HOME"
    )
    values = run(f"for name in {names}; do echo ${{!name}}; done").output.decode().split("\n")

    cache = f"{home}/.cache"
    assert values[:-1] == [
        *(f"{cache}/go-mod", "-mod=mod", "", f"{cache}/pnpm", f"{cache}/pnpm/store"),
        *(f"-Xmx1g -Dmaven.repo.local={cache}/maven", f"{cache}/gradle", f"{cache}/cargo", "copy"),
        *(f"{cache}/yarn-berry", f"{cache}/maven-wrapper"),
    ]


def test_pnpms_store_is_private_and_stays_where_it_is(
    run: Run, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PNPM_HOME", raising=False)
    store = home / ".local/share/pnpm/store"
    store.mkdir(parents=True)
    (store / "kept").write_text("the user's")

    assert run(
        "touch ~/.local/share/pnpm/store/{kept,made}; rm ~/.local/share/pnpm/store/kept"
    ).passed
    result = run(
        "ls ~/.local/share/pnpm/store; echo $pnpm_config_store_dir $PNPM_HOME; touch ~/.local/share/pnpm/x"
    )

    assert result.output.decode().startswith(f"made\n{store}\n")
    assert b"Read-only file system" in result.output
    assert [(path.name, path.read_text()) for path in store.iterdir()] == [("kept", "the user's")]


def test_cargo_and_gradle_keep_the_users_configuration(run: Run, home: Path) -> None:
    for name in (".cargo", ".gradle/init.d"):
        (home / name).mkdir(parents=True)
    (home / ".cargo/config.toml").write_text("[build]\n")
    (home / ".gradle/gradle.properties").write_text("org.gradle.daemon=false\n")

    assert run("cat $CARGO_HOME/config.toml; mkdir $CARGO_HOME/registry").output == b"[build]\n"
    assert run("cat $GRADLE_USER_HOME/gradle.properties; test -d $GRADLE_USER_HOME/init.d").passed
    assert run("ls -A $GRADLE_USER_HOME $CARGO_HOME | sort").output.split()[2:] == [
        *(b"config.toml", b"gradle.properties", b"init.d", b"registry")
    ]
    # A link that a process left there is not followed by the host.
    run("rm -r $CARGO_HOME; ln -s /tmp $CARGO_HOME")
    assert run("test -L $CARGO_HOME").passed


@pytest.mark.parametrize(
    ("output", "opened"),
    [
        ("touch: cannot touch '{home}/.tool/x': Read-only file system", "~/.tool"),
        (
            "OSError: [Errno 30] Read-only file system: '{home}/.local/share/tool/a b/c'",
            "~/.local/share/tool",
        ),
        ("Error: EROFS: read-only file system, mkdir '{home}/.config/tool'", "~/.config/tool"),
        ("mkdir {home}/go/pkg: read-only file system", "~/go"),
        (
            "error: failed to create directory `{home}/.cargo/git/x`\n\nCaused by:\n  Read-only file system (os error 30)",
            "~/.cargo/git",
        ),
        (
            '[WARN] GET https://packages.example/a/-/b.tgz (Failed to make "{home}/st/v11": Read-only file system)',
            "~/st",
        ),
        ("[ERROR] Could not create local repository at {home}/.m2/repository -> [Help 1]", "~/.m2"),
        (
            "npm error enoent ENOENT: no such file or directory, mkdir '/usr/lib/node_modules/x'",
            "/usr/lib/node_modules",
        ),
        ("Internal Error: ENOENT: no such file or directory, mkdir '{home}/.yarn'", "~/.yarn"),
        (
            "error: failed to create directory `{home}/.local/share/uv/tools`: Read-only file system",
            "~/.local/share/uv",
        ),
        ("npm error enoent ENOENT: no such file or directory, mkdir '{home}/.npm/_logs'", "~/.npm"),
        (
            "cp: cannot create regular file '/usr/local/lib/x': Read-only file system",
            "/usr/local/lib",
        ),
        ("touch: cannot touch 'build.sh': Read-only file system", ""),
        ("fatal: Unable to create '{root}/.git/index.lock': Read-only file system", ""),
    ],
)
def test_a_build_that_fails_on_a_read_only_place_says_so(
    run: Run, home: Path, project: Path, output: str, opened: str
) -> None:
    (project / "output").write_text(
        f"compiling\n{output.format(home=home, root=project)}\nfailed\n"
    )

    advice = run("cat output >&2; exit 1").advice

    assert "\n" not in advice
    if opened:
        assert f'sandbox.writable = ["{opened}"]' in advice
    else:
        assert "keeps .git, build.sh and" in advice


def test_a_build_that_passes_gets_no_advice(run: Run) -> None:
    assert run("echo 'mkdir /x/y/z: read-only file system' >&2").advice == ""


def test_what_is_to_be_opened_can_be(run: Run, home: Path) -> None:
    opened = [
        f"~/{name}"
        for name in ("st", "go", ".tool", ".yarn", ".npm", ".m2", ".cargo/git", ".local/share/uv")
    ]
    for place in opened:
        (home / place[2:]).mkdir(parents=True)
    assert run("".join(f"touch {place}/new;" for place in opened), writable=(*opened,)).passed


@pytest.mark.parametrize(
    "output",
    [
        "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: '{home}/.local'",
        "error: could not lock config file {home}/.gitconfig: Read-only file system",
        "cp: cannot create regular file '{home}/.local/bin/x': Read-only file system",
        "touch: cannot touch '{home}/.ssh/x': Read-only file system",
        "mkdir: cannot create directory '/x': Read-only file system",
    ],
)
def test_what_other_programs_run_is_not_named_as_what_to_open(
    run: Run, project: Path, home: Path, output: str
) -> None:
    (project / "output").write_text(output.format(home=home))

    advice = run("cat output; exit 1").advice

    assert "sandbox.writable" not in advice
    assert advice.endswith(
        "change the build to write inside the project, for example to a virtual environment there"
    )


def test_an_error_without_a_path_names_no_folder(run: Run) -> None:
    advice = run("echo '2: Read-only file system (os error 30)'; exit 1").advice

    assert advice.endswith(
        "everything outside the project read-only: 2: Read-only file system (os error 30)"
    )


@pytest.mark.parametrize(
    "output",
    [
        "cat: x: No such file or directory",
        "open {home}/src/project/x: no such file or directory",
        "failed",
    ],
)
def test_a_build_that_fails_for_its_own_reason_gets_no_advice(
    run: Run, home: Path, output: str
) -> None:
    assert run(f"echo '{output.format(home=home)}'; exit 1").advice == ""
