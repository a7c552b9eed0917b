"""The run folder and its records: files, events, `run.json`, log sinks, progress."""
