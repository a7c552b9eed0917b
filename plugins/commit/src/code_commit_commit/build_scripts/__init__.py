"""A `build.sh` for a project, by the languages and the tools that its files name."""
