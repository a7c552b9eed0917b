"""Everything a plugin may import from the host: records, protocols, errors, the hook markers.

    from code_commit.plugin_api import ProviderDefinition, hookimpl

    @hookimpl
    def code_commit_providers():
        return [ProviderDefinition(...)]

The hooks are in `code_commit.plugin_api.hookspecs`; test doubles are in `code_commit_testing`.
"""

from __future__ import annotations

import lazy_loader
import pluggy

# Imports names on first use: plugins are loaded at every start, even for `--help`.
__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)

hookimpl = pluggy.HookimplMarker("code_commit")
# For a plugin's own hooks, see `code_commit_addhooks`
hookspec = pluggy.HookspecMarker("code_commit")
__all__ += ["hookimpl", "hookspec"]


def __dir__() -> list[str]:
    return __all__
