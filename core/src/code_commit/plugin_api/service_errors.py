"""Turn the errors of services into a `ProviderError`, by one table of their names and statuses.

`service_error` creates that of an error in JSON, `reply_error` that of any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from code_commit.plugin_api.conversation import Json, ProviderError, ProviderErrorKind
from code_commit.plugin_api.finish_words import in_lower_case
from code_commit_workspace.words import shorten

# HTTP statuses
FIRST_ERROR = 400
_LAST_ERROR = 599
_UNAUTHORIZED = 401
_FORBIDDEN = 403
_LONGEST_QUOTE = 500  # characters
_REASON = re.compile(r"[A-Za-z][A-Za-z_]{1,63}")  # a name; a key has digits
# What services say about an account without credit, whatever the status.
_OUT_OF_CREDIT = re.compile(
    r"spend(ing)? (limit|cap)"
    r"|credits are depleted"
    r"|credit balance is too low"
    r"|insufficient (balance|credit|funds)"
    r"|billing (account )?(is )?(disabled|not enabled)"
    r"|reached your specified (API )?usage limits",
    re.IGNORECASE,
)
# An error is of the first kind of which one word is part of the error's name (its type or code), in
# lower case with underscores. The host retries `rate` and `server`.
_ERROR_NAMES: Mapping[ProviderErrorKind, tuple[str, ...]] = {
    "rate": ("rate_limit", "ratelimit", "too_many_requests", "throttl", "resource_exhausted"),
    "server": (
        "overload",
        "unavailable",
        "timeout",
        "timed_out",
        "server_error",
        "internal",
        "api_error",
        "bad_gateway",
        "deadline_exceeded",
        "cancelled",
        "capacity",
        "busy",
    ),
    "quota": ("quota", "billing", "credit", "insufficient_balance", "spend_limit", "usage_limit"),
    "auth": (
        "authentication",
        "unauthenticated",
        "unauthorized",
        "permission",
        "forbidden",
        "api_key",
    ),
    "rejected": (
        "invalid",
        "not_found",
        "bad_request",
        "filter",
        "policy",
        "safety",
        "sensitive",
        "context",
        "model",
        "unsupported",
        "too_large",
    ),
}
# Zhipu's numbers that are permanent; others, such as 1302 and 1305, are limits of the moment.
_ERROR_NUMBERS: Mapping[ProviderErrorKind, frozenset[str]] = {
    "auth": frozenset({"1000", "1001", "1002", "1003", "1004", "1220"}),
    "quota": frozenset({"1110", "1111", "1112", "1113", "1304", "1308", "1309", "1310"}),
    "rejected": frozenset(
        {"1210", "1211", "1212", "1213", "1214", "1215", "1221", "1222", "1261", "1301"}
    ),
}
_TOO_GENERAL = "api_error"  # gateways send it with any status
_MEANING: dict[ProviderErrorKind, str] = {
    "auth": "the service rejected the key",
    "quota": "the account's quota or credit is used up",
    "rate": "the service limits the rate of requests",
    "network": "the service could not be reached",
    "server": "the service failed",
    "rejected": "the service rejected the request",
    "invalid_response": "the reply cannot be parsed",
}


def service_error(
    status: int,
    reply: Json,
    *,
    kind: ProviderErrorKind | None = None,
    reason: str = "",
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error that `reply` contains, whatever its HTTP status.

    `kind` overrides `kind_of_error`, and `reason` the first name of the error.
    """
    words, names = error_details(reply)
    reasons = (name for name in (reason, *names) if _REASON.fullmatch(name))
    return reply_error(
        _meant_status(status, names),
        kind=kind or kind_of_error(status, names),
        words=words or ", ".join(names),
        reason=next(reasons, ""),
        retry_after=retry_after,
    )


def reply_error(
    status: int,
    *,
    kind: ProviderErrorKind | None = None,
    words: str = "",
    reason: str = "",
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error for an unsuccessful reply.

    `kind` overrides the meaning of `status`; `words` is the service's message, `reason` its
    machine-readable one, such as `SERVICE_DISABLED`. Words about used up credit mean `quota`.

    A 401 is always `auth`, unless `kind` is `quota`. An `auth` error shows `reason`, never `words`:
    services quote the key in them.
    """
    kind = kind or kind_of_status(status)
    if status == _UNAUTHORIZED and kind != "quota":
        kind = "auth"
    elif _OUT_OF_CREDIT.search(words):
        kind = "quota"
    message = _MEANING[kind]
    if kind == "auth" and status == _FORBIDDEN:
        message = "the key does not have permission for this"
    if status >= FIRST_ERROR:  # a success has an error in its body or stream
        message += f" (HTTP {status})"
    quote = shorten(" ".join(words.split()), _LONGEST_QUOTE)
    if kind != "auth" and quote:
        message += f': "{quote}"'
    if kind == "auth" and _REASON.fullmatch(reason):
        message += f": {reason}"
    return ProviderError(message, kind=kind, retry_after=retry_after)


def error_details(reply: Json) -> tuple[str, tuple[str, ...]]:
    """Return the message of an error in a reply, and its names: code, type and status.

    It reads `{"error": {…}}`, `{"error": "…"}` and an error without a member `error`.
    """
    error = reply.get("error", reply)
    fields = error if isinstance(error, dict) else reply
    words: Any
    if isinstance(error, str):
        words = error
    else:
        words = fields.get("message") or fields.get("detail") or fields.get("msg")
    values = [fields.get("code")]
    inner_error = fields.get("innererror")
    if isinstance(inner_error, dict):
        values.append(inner_error.get("code"))
    values += [fields.get("type"), fields.get("status")]
    names = [
        str(value)
        for value in values
        if isinstance(value, str | int) and not isinstance(value, bool)
    ]
    return str(words or ""), tuple(filter(None, names))


def kind_of_error(status: int, names: Sequence[str]) -> ProviderErrorKind:
    """Return the kind of an error by its HTTP status and its names, the most specific one first.

    An error in a reply of status 200 is retried, unless one of its names is known as permanent; a
    code such as `"429"` counts as a status. For other statuses, names decide only where the status
    tells too little.
    """
    kinds = [kind for kind in map(_kind_of_name, names) if kind is not None]
    for permanent in ("quota", "auth"):
        if permanent in kinds:
            return permanent
    meant_status = _meant_status(status, names)
    by_status = kind_of_status(meant_status)
    if status >= FIRST_ERROR:
        if by_status == "rejected":
            return _passing_kind(names) or "rejected"
        return by_status
    by_name = kinds[0] if kinds else None
    if by_name is not None and "rejected" in {by_name, by_status}:
        return by_name
    if meant_status >= FIRST_ERROR:
        return by_status
    return by_name or "server"


def _passing_kind(names: Sequence[str]) -> ProviderErrorKind | None:
    """Return the kind that the host retries, if one of the names of an error says so."""
    kinds = {_kind_of_name(name) for name in names if in_lower_case(name) != _TOO_GENERAL}
    if "rate" in kinds:
        return "rate"
    if "server" in kinds:
        return "server"
    return None


def _kind_of_name(name: str) -> ProviderErrorKind | None:
    lower = in_lower_case(name)
    for kind, words in _ERROR_NAMES.items():
        if any(word in lower for word in words):
            return kind
    for kind, numbers in _ERROR_NUMBERS.items():
        if name in numbers:
            return kind
    return None


def _meant_status(status: int, names: Sequence[str]) -> int:
    """Return the HTTP status of an error. Some services send it as a code, with status 200."""
    if status >= FIRST_ERROR:
        return status
    numbers = (int(name) for name in names if len(name) == 3 and name.isdecimal())  # noqa: PLR2004 - digits
    return next((number for number in numbers if FIRST_ERROR <= number <= _LAST_ERROR), status)


def kind_of_status(status: int) -> ProviderErrorKind:
    """Return the kind of error for an HTTP status.

    A success, whose body has an error, is `server`.
    """
    if status in {_UNAUTHORIZED, _FORBIDDEN}:
        return "auth"
    if status == 402:  # noqa: PLR2004 - Payment Required
        return "quota"
    if status == 429:  # noqa: PLR2004 - Too Many Requests
        return "rate"
    if status < FIRST_ERROR or status in {408, 409} or status >= 500:  # noqa: PLR2004 - 529 included
        return "server"
    return "rejected"
