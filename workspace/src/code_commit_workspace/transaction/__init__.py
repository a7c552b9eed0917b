"""Apply a set of changes completely or not at all, even across crashes.

lock      one run at a time in a project
survey    the files at the changed paths, and the folders that are made or removed
journal   the folder of everything that a rollback needs, below the state folder
plan      what each path was and becomes; `parse_plan` reads it back
stage     puts new content and old files into the journal
apply     activates the journal, changes the project, closes the journal
recover   clears away the journal of an earlier run
rollback  undoes the changes of a journal that is still active
contents  file contents in the journal: copies and digests
disk      writes, removes and flushes files in the project
home      opens the state folder
"""
