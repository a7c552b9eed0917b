"""Where the code of this process is: a process that could change it would run its own code outside of the sandbox."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from pathlib import Path


def own_code() -> Iterator[str]:
    """Yield the real paths of this interpreter, of the folders that it imports from, and of our packages."""
    # Deno may be among the programs of an installation for one user.
    folders = {
        f"{site.getuserbase()}/bin",
        sys.prefix,
        sys.exec_prefix,
        sys.base_prefix,
        *filter(os.path.isabs, sys.path),
    }
    for name, module in tuple(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith("code_commit") and "." not in name and file:
            folders.add(str(Path(file).parent))
    yield from sorted({os.path.realpath(folder) for folder in folders})
