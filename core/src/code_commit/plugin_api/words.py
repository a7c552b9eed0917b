"""Words for people: numbers with nouns, lists of paths, errors, and text that is safe to show."""

# ruff: noqa: PLC0414 - words of the workspace, for plugins
from code_commit_workspace.errors import no_room as no_room
from code_commit_workspace.words import closest as closest
from code_commit_workspace.words import count_of as count_of
from code_commit_workspace.words import describe as describe
from code_commit_workspace.words import describe_ending as describe_ending
from code_commit_workspace.words import did_you_mean as did_you_mean
from code_commit_workspace.words import join_paths as join_paths
from code_commit_workspace.words import printable as printable
from code_commit_workspace.words import shorten as shorten
from code_commit_workspace.words import traceback_of as traceback_of
