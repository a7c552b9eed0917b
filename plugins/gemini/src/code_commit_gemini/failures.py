"""Map Google's error model to provider errors."""

from __future__ import annotations

import re
from typing import Any

from code_commit.plugin_api import Json, ProviderError, error_details, kind_of_error, service_error

_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")
_AUTH_REASONS = re.compile(
    r"API_KEY_|ACCESS_TOKEN_|CREDENTIALS_MISSING|SERVICE_DISABLED|CONSUMER_(INVALID|SUSPENDED)"
)
_CHECK_BILLING = "check your plan and billing"
FIRST_ERROR = 400  # HTTP status


def failure(status: int, reply: Json) -> ProviderError:
    """Return the error in a reply with any HTTP status."""
    words, names = error_details(reply)
    details = _details(reply)
    reasons = [str(detail["reason"]) for detail in details if detail.get("reason")]
    kind = kind_of_error(status, names)
    if any(_AUTH_REASONS.match(reason) for reason in reasons):
        kind = "auth"
    elif "BILLING_DISABLED" in reasons or (kind == "rate" and _is_used_up(words, details)):
        kind = "quota"
    return service_error(
        status,
        reply,
        kind=kind,
        reason=next(iter(reasons), ""),
        retry_after=_retry_delay(details),
    )


def _details(reply: Json) -> list[dict[str, Any]]:
    """Return the objects among the details of the error; gateways send errors of any shape."""
    error = reply.get("error")
    if not isinstance(error, dict):
        return []
    return _objects(error.get("details"))


def _objects(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [member for member in value if isinstance(member, dict)]


def _is_used_up(words: str, details: list[dict[str, Any]]) -> bool:
    """Return whether waiting a minute does not help.

    The limit is per day, zero, or a matter of billing.
    """
    for detail in details:
        for violation in _objects(detail.get("violations")):
            if _stays(violation.get("quotaId"), violation.get("quotaValue")):
                return True
        for metadata in _objects([detail.get("metadata")]):
            if _stays(metadata.get("quota_limit"), metadata.get("quota_limit_value")):
                return True
    # The service also reports a limit per minute like this.
    passes = _retry_delay(details) is not None or "PerMinute" in str(details)
    return _CHECK_BILLING in words.lower() and not passes


def _stays(quota: object, limit: object) -> bool:
    return "PerDay" in str(quota) or str(limit) == "0"


def _retry_delay(details: list[dict[str, Any]]) -> float | None:
    for detail in details:
        delay = _DURATION.fullmatch(str(detail.get("retryDelay")))
        if delay:
            return float(delay[1])
    return None
