"""Everything a plugin may import from the host: records, protocols, errors, the hook markers.

    from code_commit.plugin_api import ProviderDefinition, hookimpl

    @hookimpl
    def code_commit_providers():
        return [ProviderDefinition(...)]

The hooks are in `code_commit.plugin_api.hookspecs`, what tests need in `code_commit_testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from code_commit.plugin_api.conversation import (
        Completion,
        Finish,
        Json,
        Message,
        Opaque,
        Part,
        ProviderError,
        ProviderErrorKind,
        Request,
        Text,
        ToolCall,
        ToolResult,
        ToolSpec,
        Usage,
    )
    from code_commit.plugin_api.conversation_json import parts_from_json, parts_to_json
    from code_commit.plugin_api.errors import (
        CodeCommitError,
        Interrupted,
        LimitReached,
        NotReady,
        ProviderFailed,
        ResponseRefused,
        UsageError,
    )
    from code_commit.plugin_api.event import (
        CallFinished,
        CallRetried,
        CallStarted,
        ChangesApplied,
        ChangesParsed,
        ChangesRefused,
        ChangesUndone,
        Event,
        LogSink,
        MessageLogged,
        PluginFailed,
        ProcessFinished,
        ProcessStarted,
        QuestionAnswered,
        QuestionAsked,
        Record,
        RunFinished,
        RunStarted,
        StateEntered,
    )
    from code_commit.plugin_api.prices import cost_of
    from code_commit.plugin_api.provider import Call, HttpCall, Provider, ProviderDefinition, Wire
    from code_commit.plugin_api.reply import (
        kind_of_status,
        read_arguments,
        reply_error,
        reply_member,
        reply_object,
        reply_objects,
        token_count,
    )
    from code_commit.plugin_api.run_files import is_running, read_records
    from code_commit.plugin_api.threads import run_concurrently
    from code_commit.plugin_api.workflow import Flag, Model, Outcome, Result, Run, WorkflowDefinition
    from code_commit_workspace.project_text import decode_text, read_text
    from code_commit_workspace.protected import PROTECTED, Protected, protected_list
    from code_commit_workspace.records import Change, PathRule, ProcessResult, Refusal, Tree

hookimpl = pluggy.HookimplMarker("code_commit")
hookspec = pluggy.HookspecMarker("code_commit")  # for hooks of a plugin's own, see `code_commit_addhooks`

# Where each name is at home. Imported when it is asked for: plugins are loaded at every start, `--help` included.
_HOMES = {
    "Call": "code_commit.plugin_api.provider",
    "CallFinished": "code_commit.plugin_api.event",
    "CallRetried": "code_commit.plugin_api.event",
    "CallStarted": "code_commit.plugin_api.event",
    "Change": "code_commit_workspace.records",
    "ChangesApplied": "code_commit.plugin_api.event",
    "ChangesParsed": "code_commit.plugin_api.event",
    "ChangesRefused": "code_commit.plugin_api.event",
    "ChangesUndone": "code_commit.plugin_api.event",
    "CodeCommitError": "code_commit.plugin_api.errors",
    "Completion": "code_commit.plugin_api.conversation",
    "Event": "code_commit.plugin_api.event",
    "Finish": "code_commit.plugin_api.conversation",
    "Flag": "code_commit.plugin_api.workflow",
    "HttpCall": "code_commit.plugin_api.provider",
    "Interrupted": "code_commit.plugin_api.errors",
    "Json": "code_commit.plugin_api.conversation",
    "LimitReached": "code_commit.plugin_api.errors",
    "LogSink": "code_commit.plugin_api.event",
    "Message": "code_commit.plugin_api.conversation",
    "MessageLogged": "code_commit.plugin_api.event",
    "Model": "code_commit.plugin_api.workflow",
    "NotReady": "code_commit.plugin_api.errors",
    "Opaque": "code_commit.plugin_api.conversation",
    "Outcome": "code_commit.plugin_api.workflow",
    "PROTECTED": "code_commit_workspace.protected",
    "Part": "code_commit.plugin_api.conversation",
    "PathRule": "code_commit_workspace.records",
    "PluginFailed": "code_commit.plugin_api.event",
    "ProcessFinished": "code_commit.plugin_api.event",
    "ProcessResult": "code_commit_workspace.records",
    "ProcessStarted": "code_commit.plugin_api.event",
    "Protected": "code_commit_workspace.protected",
    "Provider": "code_commit.plugin_api.provider",
    "ProviderDefinition": "code_commit.plugin_api.provider",
    "ProviderError": "code_commit.plugin_api.conversation",
    "ProviderErrorKind": "code_commit.plugin_api.conversation",
    "ProviderFailed": "code_commit.plugin_api.errors",
    "QuestionAnswered": "code_commit.plugin_api.event",
    "QuestionAsked": "code_commit.plugin_api.event",
    "Record": "code_commit.plugin_api.event",
    "Refusal": "code_commit_workspace.records",
    "Request": "code_commit.plugin_api.conversation",
    "ResponseRefused": "code_commit.plugin_api.errors",
    "Result": "code_commit.plugin_api.workflow",
    "Run": "code_commit.plugin_api.workflow",
    "RunFinished": "code_commit.plugin_api.event",
    "RunStarted": "code_commit.plugin_api.event",
    "StateEntered": "code_commit.plugin_api.event",
    "Text": "code_commit.plugin_api.conversation",
    "ToolCall": "code_commit.plugin_api.conversation",
    "ToolResult": "code_commit.plugin_api.conversation",
    "ToolSpec": "code_commit.plugin_api.conversation",
    "Tree": "code_commit_workspace.records",
    "Usage": "code_commit.plugin_api.conversation",
    "UsageError": "code_commit.plugin_api.errors",
    "Wire": "code_commit.plugin_api.provider",
    "WorkflowDefinition": "code_commit.plugin_api.workflow",
    "cost_of": "code_commit.plugin_api.prices",
    "decode_text": "code_commit_workspace.project_text",
    "kind_of_status": "code_commit.plugin_api.reply",
    "parts_from_json": "code_commit.plugin_api.conversation_json",
    "parts_to_json": "code_commit.plugin_api.conversation_json",
    "protected_list": "code_commit_workspace.protected",
    "read_arguments": "code_commit.plugin_api.reply",
    "read_records": "code_commit.plugin_api.run_files",
    "read_text": "code_commit_workspace.project_text",
    "is_running": "code_commit.plugin_api.run_files",
    "reply_error": "code_commit.plugin_api.reply",
    "reply_member": "code_commit.plugin_api.reply",
    "reply_object": "code_commit.plugin_api.reply",
    "reply_objects": "code_commit.plugin_api.reply",
    "run_concurrently": "code_commit.plugin_api.threads",
    "token_count": "code_commit.plugin_api.reply",
}

__all__ = [
    "PROTECTED",
    "Call",
    "CallFinished",
    "CallRetried",
    "CallStarted",
    "Change",
    "ChangesApplied",
    "ChangesParsed",
    "ChangesRefused",
    "ChangesUndone",
    "CodeCommitError",
    "Completion",
    "Event",
    "Finish",
    "Flag",
    "HttpCall",
    "Interrupted",
    "Json",
    "LimitReached",
    "LogSink",
    "Message",
    "MessageLogged",
    "Model",
    "NotReady",
    "Opaque",
    "Outcome",
    "Part",
    "PathRule",
    "PluginFailed",
    "ProcessFinished",
    "ProcessResult",
    "ProcessStarted",
    "Protected",
    "Provider",
    "ProviderDefinition",
    "ProviderError",
    "ProviderErrorKind",
    "ProviderFailed",
    "QuestionAnswered",
    "QuestionAsked",
    "Record",
    "Refusal",
    "Request",
    "ResponseRefused",
    "Result",
    "Run",
    "RunFinished",
    "RunStarted",
    "StateEntered",
    "Text",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Tree",
    "Usage",
    "UsageError",
    "Wire",
    "WorkflowDefinition",
    "cost_of",
    "decode_text",
    "hookimpl",
    "hookspec",
    "is_running",
    "kind_of_status",
    "parts_from_json",
    "parts_to_json",
    "protected_list",
    "read_arguments",
    "read_records",
    "read_text",
    "reply_error",
    "reply_member",
    "reply_object",
    "reply_objects",
    "run_concurrently",
    "token_count",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
