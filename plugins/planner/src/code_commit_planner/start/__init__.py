"""The steps before new requirements: codebase, checks of git, leftovers of an earlier run."""
