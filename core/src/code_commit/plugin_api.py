"""Everything a plugin may import from the host: records, protocols, errors, the hook markers.

    from code_commit.plugin_api import ProviderDefinition, hookimpl

    @hookimpl
    def code_commit_providers():
        return [ProviderDefinition(...)]

The hooks are in `code_commit.hookspecs`, what tests need in `code_commit_testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from code_commit.prices import cost_of
    from code_commit.records.conversation import (
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
    from code_commit.records.conversation_json import parts_from_json, parts_to_json
    from code_commit.records.errors import (
        CodeCommitError,
        Interrupted,
        LimitReached,
        NotReady,
        ProviderFailed,
        ResponseRefused,
        UsageError,
    )
    from code_commit.records.event import (
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
    from code_commit.records.json_record import read_records
    from code_commit.records.provider import Call, HttpCall, Provider, ProviderDefinition, Wire
    from code_commit.records.reply import (
        kind_of_status,
        read_arguments,
        reply_error,
        reply_member,
        reply_object,
        reply_objects,
        token_count,
    )
    from code_commit.records.workflow import Flag, Model, Outcome, Result, Run, WorkflowDefinition
    from code_commit.side_by_side import side_by_side
    from code_commit.sign_of_life import run_goes_on
    from code_commit_workspace.project_text import decode_text, read_text
    from code_commit_workspace.protected import PROTECTED, Protected, protected_list
    from code_commit_workspace.records import Change, PathRule, ProcessResult, Refusal, Tree

hookimpl = pluggy.HookimplMarker("code_commit")
hookspec = pluggy.HookspecMarker("code_commit")  # for hooks of a plugin's own, see `code_commit_addhooks`

# Where each name is at home. Imported when it is asked for: plugins are loaded at every start, `--help` included.
_HOMES = {
    "Call": "code_commit.records.provider",
    "CallFinished": "code_commit.records.event",
    "CallRetried": "code_commit.records.event",
    "CallStarted": "code_commit.records.event",
    "Change": "code_commit_workspace.records",
    "ChangesApplied": "code_commit.records.event",
    "ChangesParsed": "code_commit.records.event",
    "ChangesRefused": "code_commit.records.event",
    "ChangesUndone": "code_commit.records.event",
    "CodeCommitError": "code_commit.records.errors",
    "Completion": "code_commit.records.conversation",
    "Event": "code_commit.records.event",
    "Finish": "code_commit.records.conversation",
    "Flag": "code_commit.records.workflow",
    "HttpCall": "code_commit.records.provider",
    "Interrupted": "code_commit.records.errors",
    "Json": "code_commit.records.conversation",
    "LimitReached": "code_commit.records.errors",
    "LogSink": "code_commit.records.event",
    "Message": "code_commit.records.conversation",
    "MessageLogged": "code_commit.records.event",
    "Model": "code_commit.records.workflow",
    "NotReady": "code_commit.records.errors",
    "Opaque": "code_commit.records.conversation",
    "Outcome": "code_commit.records.workflow",
    "PROTECTED": "code_commit_workspace.protected",
    "Part": "code_commit.records.conversation",
    "PathRule": "code_commit_workspace.records",
    "PluginFailed": "code_commit.records.event",
    "ProcessFinished": "code_commit.records.event",
    "ProcessResult": "code_commit_workspace.records",
    "ProcessStarted": "code_commit.records.event",
    "Protected": "code_commit_workspace.protected",
    "Provider": "code_commit.records.provider",
    "ProviderDefinition": "code_commit.records.provider",
    "ProviderError": "code_commit.records.conversation",
    "ProviderErrorKind": "code_commit.records.conversation",
    "ProviderFailed": "code_commit.records.errors",
    "QuestionAnswered": "code_commit.records.event",
    "QuestionAsked": "code_commit.records.event",
    "Record": "code_commit.records.event",
    "Refusal": "code_commit_workspace.records",
    "Request": "code_commit.records.conversation",
    "ResponseRefused": "code_commit.records.errors",
    "Result": "code_commit.records.workflow",
    "Run": "code_commit.records.workflow",
    "RunFinished": "code_commit.records.event",
    "RunStarted": "code_commit.records.event",
    "StateEntered": "code_commit.records.event",
    "Text": "code_commit.records.conversation",
    "ToolCall": "code_commit.records.conversation",
    "ToolResult": "code_commit.records.conversation",
    "ToolSpec": "code_commit.records.conversation",
    "Tree": "code_commit_workspace.records",
    "Usage": "code_commit.records.conversation",
    "UsageError": "code_commit.records.errors",
    "Wire": "code_commit.records.provider",
    "WorkflowDefinition": "code_commit.records.workflow",
    "cost_of": "code_commit.prices",
    "decode_text": "code_commit_workspace.project_text",
    "kind_of_status": "code_commit.records.reply",
    "parts_from_json": "code_commit.records.conversation_json",
    "parts_to_json": "code_commit.records.conversation_json",
    "protected_list": "code_commit_workspace.protected",
    "read_arguments": "code_commit.records.reply",
    "read_records": "code_commit.records.json_record",
    "read_text": "code_commit_workspace.project_text",
    "run_goes_on": "code_commit.sign_of_life",
    "reply_error": "code_commit.records.reply",
    "reply_member": "code_commit.records.reply",
    "reply_object": "code_commit.records.reply",
    "reply_objects": "code_commit.records.reply",
    "side_by_side": "code_commit.side_by_side",
    "token_count": "code_commit.records.reply",
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
    "run_goes_on",
    "side_by_side",
    "token_count",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
