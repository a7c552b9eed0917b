"""Everything a plugin may import from the host: records, protocols, errors, the hook marker.

    from code_commit.plugin_api import ProviderDefinition, hookimpl

    @hookimpl
    def code_commit_providers():
        return [ProviderDefinition(...)]

The hooks are in `code_commit.hookspecs`, what tests need in `code_commit.testing`.
"""

from __future__ import annotations

import pluggy

from code_commit.records.change import Change, PathRule, Refusal, Tree
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
from code_commit.records.errors import (
    CodeCommitError,
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
from code_commit.records.protected import PROTECTED, Protected, protected_list
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
from code_commit.records.workflow import (
    Flag,
    Model,
    Outcome,
    ProcessResult,
    Result,
    Run,
    WorkflowDefinition,
)

hookimpl = pluggy.HookimplMarker("code_commit")

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
    "hookimpl",
    "kind_of_status",
    "protected_list",
    "read_arguments",
    "reply_error",
    "reply_member",
    "reply_object",
    "reply_objects",
    "token_count",
]
