"""The password of a proxy is a secret that builds get, because they need the network, and that
nobody else sees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from code_commit_testing import Finished, Project, Reply, ScriptedServer

PASSWORD = "c4n@ry:proxy/0123456789"
Traces = Callable[..., dict[str, list[str]]]
KEY = "sk-canary-0123456789-key7Q"
CHANGE = "^^^a.txt\ngood\n^^^end\n"


def run(project: Project, variable: str, address: str, *arguments: str) -> Finished:
    with ScriptedServer([Reply(CHANGE)]) as server:
        environ = {"OPENAI_API_KEY": KEY, **server.environment(), variable: address}
        return project.command("--model=gpt-5", *arguments, environ=environ)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_build_uses_the_password_and_nothing_shows_it(
    tmp_path: Path, key_traces: Traces, variable: str
) -> None:
    address = f"http://user:{quote(PASSWORD, safe='')}@127.0.0.1:9"
    digest = hashlib.sha256(address.encode()).hexdigest()
    build = f"""
        printf %s "${variable}" | sha256sum | grep {digest} || exit 1
        echo "${variable}"; printf %s "${variable}" | base64; printf %s "${variable}" | xxd >&2
        printf '%b' "$(printf %s "${variable}" | sed 's/%/\\\\x/g')"
    """
    project = Project.create(tmp_path, build=build)
    finished = run(project, variable, address)
    assert finished.exit_code == 0, finished.stderr
    assert "http://user:***89@127.0.0.1:9" in (project.run_folder / "1-build.txt").read_text()
    assert key_traces(project, finished, PASSWORD) == {}
    assert key_traces(project, finished, quote(PASSWORD, safe="")) == {}


def test_a_proxy_that_holds_a_key_is_hidden(tmp_path: Path, key_traces: Traces) -> None:
    project = Project.create(tmp_path, build='test -z "$HTTPS_PROXY"\n')
    finished = run(project, "HTTPS_PROXY", f"http://127.0.0.1:9/{KEY}")
    assert finished.exit_code == 0, finished.stderr
    assert key_traces(project, finished, KEY) == {}


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    "address", ["user:päss@[::1", "http://:@", "", "nonsense", "http://user:short@127.0.0.1:9"]
)
def test_any_address_is_read(tmp_path: Path, address: str) -> None:
    assert run(Project.create(tmp_path), "http_proxy", address).exit_code == 0
