"""Paths that no sandboxed process may see: credentials, and sockets of services.

Through such a socket, a process could start programs outside of the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from code_commit_workspace.files.path_kinds import is_socket

# All in a home folder. Files that builds read, such as `.npmrc`, are not among them.
_AGENTS = (
    ".config/code-commit",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
)
_KEYS_AND_PASSWORDS = (
    ".ssh",
    ".gnupg",
    ".password-store",
    ".vault-token",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".Xauthority",
    ".config/op",
    ".config/sops",
    ".local/share/keyrings",
    ".local/share/kwalletd",
)
_CLOUDS = (
    ".aws",
    ".azure",
    ".oci",
    ".fly",
    ".aliyun",
    ".vercel",
    ".cloudflared",
    ".boto",
    ".s3cfg",
    ".databrickscfg",
    ".terraform.d/credentials.tfrc.json",
    ".pulumi/credentials.json",
    ".config/gcloud",
    ".config/doctl",
    ".config/fly",
    ".config/heroku",
    ".config/hcloud",
    ".config/netlify",
    ".config/scw",
    ".config/rclone",
)
# Registries, clusters, and machines with sockets that start programs.
_CONTAINERS = (
    ".docker",
    ".kube",
    ".config/containers/auth.json",
    ".config/helm/registry",
    ".colima",
    ".lima",
    ".rd",
    ".local/share/containers/podman/machine",
)
_FORGES_AND_REGISTRIES = (
    ".config/gh",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/hub",
    ".config/lab",
    ".config/tea",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".gem/credentials",
    ".pypirc",
    ".config/pypoetry",
    ".config/configstore",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
)
_BROWSERS = (
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".var/app",
    "snap/firefox",
    "snap/chromium",
)
_HISTORIES = (
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".local/share/fish/fish_history",
    ".local/state/watchman",
)
_STORES = (
    *_AGENTS,
    *_KEYS_AND_PASSWORDS,
    *_CLOUDS,
    *_CONTAINERS,
    *_FORGES_AND_REGISTRIES,
    *_BROWSERS,
    *_HISTORIES,
)

# A read-only mount does not keep a process from connecting to a socket.
_SERVICES = (
    "/run/user",
    "/run/dbus",
    "/run/screen",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/docker",
    "/run/docker.sock",
    "/run/cri-dockerd.sock",
    "/run/dockershim.sock",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/buildkit",
    "/run/k3s",
    "/run/libvirt",
    "/run/snapd.socket",
    "/run/snapd-snap.socket",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
)
# In XDG_RUNTIME_DIR.
_USERS_SERVICES = (
    "bus",
    "systemd",
    "docker",
    "docker.sock",
    "podman",
    "podman.sock",
    "containerd",
    "containerd-rootless",
    "buildkit",
    "libvirt",
    "gnupg",
    "keyring",
    "gcr",
    "at-spi",
)
# Variables with the address of a socket.
_ADDRESSES = (
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "NOTIFY_SOCKET",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "CONTAINERD_ADDRESS",
    "CONTAINER_RUNTIME_ENDPOINT",
    "BUILDKIT_HOST",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "TMUX",
    "STY",
    "VSCODE_IPC_HOOK_CLI",
    "KITTY_LISTEN_ON",
    "NVIM",
)
SERVICE_VARIABLES = frozenset(
    {*_ADDRESSES, "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"}
)


def credential_stores(homes: Iterable[str]) -> Iterator[str]:
    """Yield the places below `homes` where programs keep credentials, existing or not."""
    for home in homes:
        yield from (f"{home.rstrip('/')}/{name}" for name in _STORES)


def service_sockets(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the sockets of services that can start a program outside, and folders of sockets."""
    yield from _SERVICES
    runtime = environ.get("XDG_RUNTIME_DIR", "").rstrip("/")
    if runtime.startswith("/"):
        yield from (f"{runtime}/{name}" for name in _USERS_SERVICES)
    for variable in _ADDRESSES:
        # unix:path=/run/user/1000/bus,guid=1;…
        # unix:///run/docker.sock
        # /tmp/tmux-1000/default,812,0
        for address in environ.get(variable, "").split(";"):
            path = address.partition(",")[0].removeprefix("unix:").removeprefix("path=")
            if path.startswith("/") and is_socket(path):
                yield f"/{path.lstrip('/')}"
