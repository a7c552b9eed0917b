"""What a response may change and what a model may read: the path rules of DESIGN section 9.

`names` and `protected` judge a path by its text, `together` the paths of one response among themselves, `places` what
stands there on disk, `ignored` asks git, `censored` looks at the content; `reading` is the other direction. The `Guard`
puts them in order.
"""

from code_commit_workspace.guard.guard import Guard
from code_commit_workspace.guard.names import normalised

__all__ = ["Guard", "normalised"]
