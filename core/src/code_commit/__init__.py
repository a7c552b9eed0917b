"""code-commit changes a codebase through an LLM and lets the project's build judge the change."""

# Of each distribution, and of what they ask of each other: the only place that names it.
__version__ = "0.2.0"
