"""Path rules for responses, and rules for what a model may read.

`names` and `protected` check the text of a path, `path_conflicts` compares the paths of one
response, `places` checks the files and folders on disk, `ignored` asks git, and `redacted` checks
the content. The `Guard` asks them in order. `reading` decides what a model may see, `executed`
warns about files that other programs execute. `private_folder` checks, before any of this, that no
key or setting came with the repository.
"""
