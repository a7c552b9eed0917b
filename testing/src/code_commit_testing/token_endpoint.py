"""A token endpoint, which hands out access tokens beside the script of a `ScriptedServer`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping

from code_commit.plugin_api import AccessToken
from code_commit_testing.scripted_replies import Reply
from code_commit_testing.scripted_server import RecordedRequest

Answer = tuple[int, Mapping[str, str], bytes]


def oauth_answer(token: AccessToken) -> Answer:
    """Return the answer with `token` of an endpoint as of OAuth 2."""
    document = {"access_token": token.value, "token_type": "Bearer", "expires_in": token.seconds}
    return 200, {}, json.dumps(document).encode()


def oauth_refusal() -> Answer:
    """Return how an endpoint as of OAuth 2 refuses a key."""
    return 400, {}, b'{"error": "invalid_client", "error_description": "unknown client"}'


class TokenEndpoint:
    """Answers each request with a new token. `answer` writes it.

    `seconds` is how long the next tokens are valid, `refusal` an answer in place of the next ones.
    `requests` records the requests.
    """

    def __init__(self, answer: Callable[[AccessToken], Answer] = oauth_answer) -> None:
        self.requests: list[RecordedRequest] = []
        self.seconds = 3600
        self.refusal: Answer | None = None
        self.answer = answer
        self._lock = threading.Lock()

    @staticmethod
    def token(number: int) -> str:
        """Return the value of the token that the request of this number gets, counted from 1."""
        return f"token/of+the+endpoint-{number:04}"

    def __call__(self, request: RecordedRequest) -> Reply:
        """Answer a request."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        answer = self.refusal or self.answer(AccessToken(self.token(number), self.seconds))
        status, headers, body = answer
        return Reply(status=status, headers=headers, body=body)
