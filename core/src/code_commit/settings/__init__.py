"""Settings of a run: flags beat variables, these beat the project's file, that beats the user's file.

Importing this loads pydantic-settings; it is done when a run starts or the configuration is shown.
"""

from __future__ import annotations

from code_commit.settings.loading import ModelChoice, SettingRow, Settings, load_settings
from code_commit.settings.provider_tables import EXAMPLE
from code_commit.settings.validation import about_a_flag, explained, validated

__all__ = [
    "EXAMPLE",
    "ModelChoice",
    "SettingRow",
    "Settings",
    "about_a_flag",
    "explained",
    "load_settings",
    "validated",
]
