"""Checks the signature of a request as AWS describes it, without botocore."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import quote

FORM = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8}/[^,]+), SignedHeaders=([^,]+), Signature=(\w{64})"
)


def is_signed(
    path: str, headers: Mapping[str, str], body: bytes, secrets: Mapping[str, str], service: str
) -> bool:
    """Return whether a POST has the signature of one of `secrets`, by the id of their key."""
    match = FORM.fullmatch(headers.get("authorization", ""))
    if match is None or match[1] not in secrets:
        return False
    key_id, scope, names, signature = match.groups()
    signed = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names.split(";"))
    canonical = "\n".join(
        ["POST", quote(path), "", signed, names, hashlib.sha256(body).hexdigest()]
    )
    date, region, named, _ = scope.split("/")
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            headers["x-amz-date"],
            scope,
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{secrets[key_id]}".encode()
    for part in (date, region, named, "aws4_request", text):
        key = hmac.digest(key, part.encode(), "sha256")
    needed = {"host", "x-amz-date"}
    return (
        named == service
        and needed <= {*names.split(";")}
        and hmac.compare_digest(key.hex(), signature)
    )
