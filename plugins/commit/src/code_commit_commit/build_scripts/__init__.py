"""Write a `build.sh` for the languages and tools that a project's files name."""
