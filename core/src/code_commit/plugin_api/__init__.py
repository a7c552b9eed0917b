"""Everything a plugin may import from the host: records, protocols, errors, the hook markers.

    from code_commit.plugin_api import ProviderDefinition, hookimpl

    @hookimpl
    def code_commit_providers():
        return [ProviderDefinition(...)]

The hooks are in `code_commit.plugin_api.hookspecs`; test doubles are in `code_commit_testing`.
"""

from __future__ import annotations

from typing import Any

import lazy_loader
import pluggy

# Imports names on first use: plugins are loaded at every start, even for `--help`.
_import, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
# Old names, with the new one and the first version without the old one, which is the next minor.
_RENAMED: dict[str, tuple[str, str]] = {}

hookimpl = pluggy.HookimplMarker("code_commit")
# For a plugin's own hooks, see `code_commit_addhooks`
hookspec = pluggy.HookspecMarker("code_commit")
__all__ += ["hookimpl", "hookspec"]


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        from code_commit_workspace.renamed import current_name

        name = current_name(__name__, name, _RENAMED)
    return _import(name)


def __dir__() -> list[str]:
    return __all__
