"""The steps before new requirements: the codebase, checks of git, and leftovers of an earlier run."""
