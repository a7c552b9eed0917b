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
    error = reply.get("error")
    details = error.get("details") if isinstance(error, dict) else None
    details = (
        [detail for detail in details if isinstance(detail, dict)]
        if isinstance(details, list)
        else []
    )
    words, names = error_details(reply)
    kind = kind_of_error(status, names)
    reasons = [str(detail["reason"]) for detail in details if detail.get("reason")]
    if any(_AUTH_REASONS.match(reason) for reason in reasons):
        kind = "auth"
    elif "BILLING_DISABLED" in reasons or (kind == "rate" and _is_used_up(words, details)):
        kind = "quota"
    reason = reasons[0] if reasons else ""
    return service_error(status, reply, kind=kind, reason=reason, retry_after=_retry_delay(details))


def _is_used_up(words: str, details: list[dict[str, Any]]) -> bool:
    """Return whether waiting a minute does not help: the limit is per day, zero, or a matter of
    billing.
    """
    for detail in details:
        violations = detail.get("violations")
        for violation in violations if isinstance(violations, list) else []:
            if isinstance(violation, dict) and (
                "PerDay" in str(violation.get("quotaId")) or str(violation.get("quotaValue")) == "0"
            ):
                return True
        metadata = detail.get("metadata")
        if isinstance(metadata, dict) and (
            metadata.get("quota_limit_value") == "0" or "PerDay" in str(metadata.get("quota_limit"))
        ):
            return True
    # The service also reports a limit per minute like this.
    passes = _retry_delay(details) is not None or "PerMinute" in str(details)
    return _CHECK_BILLING in words.lower() and not passes


def _retry_delay(details: list[dict[str, Any]]) -> float | None:
    for detail in details:
        delay = _DURATION.fullmatch(str(detail.get("retryDelay")))
        if delay:
            return float(delay[1])
    return None
