"""The command `code-commit`. `--version` answers before anything else is imported."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command with the process's arguments; return its exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from code_commit import __version__

        sys.stdout.write(f"code-commit {__version__}\n")
        return 0
    from code_commit.cli.main import run_command

    return run_command(arguments)


if __name__ == "__main__":
    sys.exit(main())
