"""What a process can reach: its mounts, its private folders, and the command of bubblewrap.

sandbox          chooses the isolation of a process
view             which places a process sees, and which it may change
mounts           the mounts for that, in an order that works
hidden           what no process sees
read_only        what no process changes
private_folders  folders for temporary files and caches
caches           variables that lead build tools to private caches
old_caches       removes caches that no run uses any more
opened           places that the user opened
bubblewrap       the command that makes the mounts
"""
