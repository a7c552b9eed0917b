"""Link the bytecode of libraries between the environments of tox: compiling it takes seconds in
each of them.

    python tests/share_bytecode.py FOLDER

uv links each file of a library from its cache into the environments. What one environment compiled
from such a file is kept in FOLDER under the file's inode, and linked into the others that have the
file. Python checks bytecode as always: it must fit the time and the size of its source.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path


def share(packages: str, store: str) -> None:
    """Link the bytecode of each source in `packages` from the folder `kept`, or to it."""
    for folder, _folders, names in os.walk(packages):
        sources = [name for name in names if name.endswith(".py")]
        cache = Path(folder, "__pycache__")
        if sources:
            cache.mkdir(exist_ok=True)
        for source in sources:
            name = f"{source.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc"
            compiled, shared = (
                f"{cache}/{name}",
                f"{store}/{Path(folder, source).stat().st_ino}.{name}",
            )
            for old, new in ((shared, compiled), (compiled, shared)):
                with suppress(OSError):  # there is none yet, or one already
                    os.link(old, new)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    share(sysconfig.get_path("purelib"), sys.argv[1])
