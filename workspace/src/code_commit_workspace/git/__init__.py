"""The only place that runs git. It treats the repository as untrusted.

A repository's configuration can name programs to run: hooks, filters, a file system monitor,
pagers, password prompts, transports. Our git reads none of it, and gets only the parts of the
caller's environment that it needs, so that no key reaches it.

command        `Git`: runs commands, asks about files
layout         finds the repository of a folder
repository     opens a repository with the settings that count
common_folder  gives git our own configuration, attributes and hooks instead of the repository's
config         chooses settings
config_file    reads a configuration file as data
process        runs one git process
committing     finds what differs from the last commit, and what would spoil the next one
reading        lists the commands that change nothing
"""

from __future__ import annotations

from code_commit_workspace.git.command import CHECK_IGNORE, NO_REPOSITORY, Git, listing
from code_commit_workspace.git.layout import GitError, NoRepository

__all__ = ["CHECK_IGNORE", "NO_REPOSITORY", "Git", "GitError", "NoRepository", "listing"]
