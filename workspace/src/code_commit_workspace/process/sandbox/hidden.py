"""Paths that no sandboxed process may see: credentials, and sockets of services that can start
programs outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from code_commit_workspace.files.path_kinds import is_socket

# In a home folder. Files that builds read, such as `.npmrc`, are not among them.
_STORES = (
    *(
        ".ssh",
        ".aws",
        ".azure",
        ".gnupg",
        ".docker",
        ".kube",
        ".oci",
        ".password-store",
        ".vault-token",
    ),
    *(
        ".netrc",
        "_netrc",
        ".git-credentials",
        ".pypirc",
        ".pgpass",
        ".my.cnf",
        ".boto",
        ".s3cfg",
        ".Xauthority",
    ),
    *(
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".gem/credentials",
        ".terraform.d/credentials.tfrc.json",
    ),
    *(
        ".fly",
        ".aliyun",
        ".databrickscfg",
        ".vercel",
        ".cloudflared",
        ".composer/auth.json",
        ".pulumi/credentials.json",
    ),
    *(".claude", ".claude.json", ".codex", ".gemini", ".mozilla", ".thunderbird"),
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history"),
    *(
        f".config/{name}"
        for name in (
            "code-commit",
            "gcloud",
            "gh",
            "glab-cli",
            "hub",
            "doctl",
            "fly",
            "heroku",
            "op",
            "rclone",
        )
    ),
    *(
        f".config/{name}"
        for name in ("git/credentials", "containers/auth.json", "github-copilot", "configstore")
    ),
    *(
        f".config/{name}"
        for name in ("google-chrome", "chromium", "BraveSoftware", "microsoft-edge", "pypoetry")
    ),
    *(
        f".config/{name}"
        for name in ("hcloud", "tea", "sops", "netlify", "scw", "lab", "helm/registry")
    ),
    *(f".config/{name}" for name in ("vivaldi", "opera", "google-chrome-beta")),
    *(".cache/huggingface/token", ".cache/huggingface/stored_tokens"),
    *(".var/app", "snap/firefox", "snap/chromium"),
    *(f".local/share/{name}" for name in ("keyrings", "kwalletd", "fish/fish_history")),
    ".local/state/watchman",
    # Machines of containers, with sockets that start programs.
    *(".colima", ".lima", ".rd", ".local/share/containers/podman/machine"),
)
# A read-only mount does not keep a process from connecting to a socket.
_SERVICES = (
    *(
        "/run/user",
        "/run/dbus",
        "/run/screen",
        "/run/docker",
        "/run/podman",
        "/run/containerd",
        "/run/crio",
    ),
    *(
        "/run/systemd/private",
        "/run/systemd/notify",
        "/run/docker.sock",
        "/run/buildkit",
        "/run/k3s",
        "/run/libvirt",
    ),
    *(
        "/run/snapd.socket",
        "/run/snapd-snap.socket",
        "/var/lib/lxd/unix.socket",
        "/var/lib/incus/unix.socket",
    ),
    *("/var/snap/lxd/common/lxd/unix.socket", "/run/cri-dockerd.sock", "/run/dockershim.sock"),
)
# In XDG_RUNTIME_DIR.
_USERS_SERVICES = (
    *(
        "bus",
        "systemd",
        "docker.sock",
        "docker",
        "podman",
        "podman.sock",
        "containerd",
        "containerd-rootless",
    ),
    *("buildkit", "libvirt", "gnupg", "keyring", "gcr", "at-spi"),
)
_ADDRESSES = (
    *(
        "DBUS_SESSION_BUS_ADDRESS",
        "DBUS_SYSTEM_BUS_ADDRESS",
        "DBUS_STARTER_ADDRESS",
        "NOTIFY_SOCKET",
    ),
    *(
        "DOCKER_HOST",
        "CONTAINER_HOST",
        "CONTAINERD_ADDRESS",
        "CONTAINER_RUNTIME_ENDPOINT",
        "BUILDKIT_HOST",
    ),
    *(
        "SSH_AUTH_SOCK",
        "GPG_AGENT_INFO",
        "TMUX",
        "STY",
        "VSCODE_IPC_HOOK_CLI",
        "KITTY_LISTEN_ON",
        "NVIM",
    ),
)
SERVICE_VARIABLES = frozenset(
    {*_ADDRESSES, "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"}
)


def credential_stores(homes: Iterable[str]) -> Iterator[str]:
    """Yield the places below `homes` where programs keep credentials, existing or not."""
    for home in homes:
        yield from (f"{home.rstrip('/')}/{name}" for name in _STORES)


def service_sockets(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the sockets, and folders of sockets, of services that can start a program outside of
    the sandbox.
    """
    yield from _SERVICES
    runtime = environ.get("XDG_RUNTIME_DIR", "").rstrip("/")
    if runtime.startswith("/"):
        yield from (f"{runtime}/{name}" for name in _USERS_SERVICES)
    for variable in _ADDRESSES:
        # unix:path=/run/user/1000/bus,guid=1;… · unix:///run/docker.sock ·
        # /tmp/tmux-1000/default,812,0
        for address in environ.get(variable, "").split(";"):
            path = address.partition(",")[0].removeprefix("unix:").removeprefix("path=")
            if path.startswith("/") and is_socket(path):
                yield f"/{path.lstrip('/')}"
