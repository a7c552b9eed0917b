"""What no process in the sandbox may see.

The lists are policy: who drops a name says so here, too.
"""

from __future__ import annotations

import socket

from code_commit_workspace.process.sandbox.hidden import (
    SERVICE_VARIABLES,
    credential_stores,
    service_sockets,
)

IN_A_HOME_FOLDER = """
    .ssh .aws .azure .gnupg .docker .kube .oci .password-store .vault-token .netrc _netrc .git-credentials .pypirc
    .pgpass .my.cnf .boto .s3cfg .Xauthority .cargo/credentials .cargo/credentials.toml .gem/credentials
    .terraform.d/credentials.tfrc.json .fly .aliyun .databrickscfg .vercel .cloudflared .composer/auth.json
    .pulumi/credentials.json .claude .claude.json .codex .gemini .mozilla .thunderbird .bash_history .zsh_history
    .python_history .psql_history .mysql_history .var/app snap/firefox snap/chromium .local/share/keyrings
    .local/share/kwalletd .local/share/fish/fish_history .local/state/watchman .colima .lima .rd
    .local/share/containers/podman/machine .cache/huggingface/token .cache/huggingface/stored_tokens
"""
IN_CONFIG = """
    code-commit gcloud gh glab-cli hub doctl fly heroku op rclone git/credentials containers/auth.json github-copilot
    configstore google-chrome chromium BraveSoftware microsoft-edge pypoetry hcloud tea sops netlify scw lab helm/registry
    vivaldi opera google-chrome-beta
"""
OF_THE_SYSTEM = """
    /run/user /run/dbus /run/screen /run/docker /run/podman /run/containerd /run/crio /run/systemd/private
    /run/systemd/notify /run/docker.sock /run/buildkit /run/k3s /run/libvirt /run/snapd.socket /run/snapd-snap.socket
    /var/lib/lxd/unix.socket /var/lib/incus/unix.socket /var/snap/lxd/common/lxd/unix.socket /run/cri-dockerd.sock
    /run/dockershim.sock
"""
OF_A_USER = """
    bus systemd docker.sock docker podman podman.sock containerd containerd-rootless buildkit libvirt gnupg keyring gcr
    at-spi
"""
ADDRESSES = """
    DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DBUS_STARTER_ADDRESS NOTIFY_SOCKET DOCKER_HOST CONTAINER_HOST
    CONTAINERD_ADDRESS CONTAINER_RUNTIME_ENDPOINT BUILDKIT_HOST SSH_AUTH_SOCK GPG_AGENT_INFO TMUX STY
    VSCODE_IPC_HOOK_CLI KITTY_LISTEN_ON NVIM
"""


def test_the_places_of_credentials():
    expected = {*IN_A_HOME_FOLDER.split(), *(f".config/{name}" for name in IN_CONFIG.split())}
    assert {*credential_stores(["/a", "/b/"])} == {
        f"{home}/{name}" for home in ("/a", "/b") for name in expected
    }


def test_the_sockets_of_services():
    system = {*OF_THE_SYSTEM.split()}
    assert {*service_sockets({})} == {*service_sockets({"XDG_RUNTIME_DIR": "relative"})} == system
    expected = system | {f"/run/me/{name}" for name in OF_A_USER.split()}
    assert {*service_sockets({"XDG_RUNTIME_DIR": "/run/me/"})} == expected


def test_the_sockets_that_variables_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ADDRESSES.split()
    assert {*SERVICE_VARIABLES} == {
        *names,
        "XDG_RUNTIME_DIR",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
    }
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        forms = (
            "{0}",
            "unix:{0}",
            "unix:path={0},guid=1",
            "unix:path=/missing;unix:path={0}",
            "unix://{0}",
            "{0},812,0",
        )
        for name, form in zip(names, forms * 3, strict=False):
            assert {*service_sockets({name: form.format(tmp_path / "s")})} - {
                *service_sockets({})
            } == {f"{tmp_path}/s"}
    for value in (f"unix:path={tmp_path}/file", f"{tmp_path}/missing", "tcp:host=/s", "s", ""):
        assert {*service_sockets({"DOCKER_HOST": value})} == {*service_sockets({})}
