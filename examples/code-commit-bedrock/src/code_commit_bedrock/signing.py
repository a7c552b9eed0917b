"""Credentials of AWS, and headers signed with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from botocore.session import Session
from code_commit.plugin_api import NotReady, ProviderError

from code_commit_bedrock.config import BedrockConfig


class Signer:
    """Signs with the credentials that botocore finds in variables, in files, or from a command."""

    def __init__(self, config: BedrockConfig) -> None:
        self._profile = config.profile
        try:
            self._credentials = self._find()
            session = Session(profile=self._profile)
            self.region = config.region or session.get_config_variable("region")
        except BotoCoreError as error:
            raise NotReady(f"the AWS configuration cannot be read: {error}") from error
        if self._credentials is None:
            raise NotReady("there are no AWS credentials", hint="aws configure")
        if not self.region:
            raise NotReady("no AWS region is set", hint="export AWS_DEFAULT_REGION=us-east-1")

    def headers(self, url: str, body: bytes, hide: Callable[[str], None]) -> dict[str, str]:
        """Return the headers of a POST. Refresh credentials that soon expire, and `hide` them."""
        request = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=body)
        try:
            credentials = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            name = type(error).__name__
            raise ProviderError(
                f"the AWS credentials cannot be refreshed: {name}", kind="auth"
            ) from None
        hide(credentials.secret_key)
        if credentials.token:
            hide(credentials.token)
        SigV4Auth(credentials, "bedrock", self.region).add_auth(request)
        return dict(request.headers.items())

    def renew(self) -> None:
        """Look for credentials again: the service says that these have expired."""
        self._credentials = self._find() or self._credentials

    def _find(self) -> Any:
        # A session keeps what it finds: use a new one.
        return Session(profile=self._profile).get_credentials()
