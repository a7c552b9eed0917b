"""Move files of the project from one version to another: all of them or none, even across crashes.

moving    decides what to write at each path, and writes it
three_way keeps what a person changed meanwhile
versions  what is at a path
lock      allows one run at a time in a project
survey    inspects the changed paths, and the folders to create or remove
line      the line of a log that tells of a move
journal   the folder with everything that a rollback needs, below the state folder
plan      the old and new state of each path; `parse_plan` reads it back
stage     puts new content and old files into the journal
apply     activates the journal, changes the project, closes the journal
recover   cleans up the journal of an earlier run
rollback  undoes the changes of a journal that is still active
contents  file contents in the journal: copies and digests
disk      writes, removes and flushes files in the project
home      opens the state folder
"""
