"""A connection to an MCP server.

Its event loop runs in a separate thread, so that any thread can call tools.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import anyio
import httpx2
from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, Tool

from code_commit.plugin_api import STOP
from code_commit_toolbox.mcp.pipes import LONGEST_LINE, pipe_transport
from code_commit_toolbox.mcp.process import ServerProcess
from code_commit_toolbox.mcp.replies import limit_reply

_START_SECONDS = 30.0
_SPARE_SECONDS = 5.0  # for the SDK to report its own time limit
_MOST_PAGES = 50  # of a list of tools


class ConnectionFailed(Exception):  # noqa: N818 - the name of an event
    """The server failed, or does not answer as an MCP server.

    The message is for people and models.
    """


class _Opened(NamedTuple):
    portal: BlockingPortal
    client: Client
    tools: list[Tool]


class Connection:
    """A connection to a server: a process, or an address with `headers`.

    It ends when our own process ends.
    """

    def __init__(
        self,
        server: ServerProcess | str,
        *,
        headers: Mapping[str, str],
        seconds: float,
    ) -> None:
        # The SDK's log lines quote messages.
        logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)
        self._server = server
        self._headers = dict(headers)
        self._seconds = seconds
        self._opened: Future[_Opened] = Future()

    def open(self) -> list[Tool]:
        """Connect, and return the server's tools.

        Raises:
            ConnectionFailed: there is no answer within 30 seconds, or it is not that of an MCP
                server.
        """
        threading.Thread(target=anyio.run, args=(self._serve,), name="mcp", daemon=True).start()
        try:
            with STOP.child(partial(self._opened.set_exception, ConnectionFailed("interrupted"))):
                return self._opened.result(_START_SECONDS).tools
        except TimeoutError:
            raise ConnectionFailed(f"no answer within {_START_SECONDS:g} s") from None
        except Exception as error:
            raise ConnectionFailed(_described(error)) from error

    def call(self, tool: str, arguments: Mapping[str, Any], *, seconds: float) -> CallToolResult:
        """Call a tool.

        Raises:
            ConnectionFailed: the server did not answer in time, refused the call, or has ended.
        """
        portal, client, _ = self._opened.result(0)
        call = partial(client.call_tool, tool, dict(arguments), read_timeout_seconds=seconds)
        try:
            running = portal.start_task_soon(call)
        except RuntimeError:  # the portal is closed
            raise ConnectionFailed("the server has ended") from None
        try:
            with STOP.child(running.cancel):
                return running.result(seconds + _SPARE_SECONDS)
        except TimeoutError:
            raise ConnectionFailed(f"no answer within {seconds:g} s") from None
        except Exception as error:
            raise ConnectionFailed(_described(error)) from error
        finally:
            running.cancel()

    async def _serve(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                portal = await stack.enter_async_context(BlockingPortal())
                client = await stack.enter_async_context(await self._client(portal, stack))
                self._opened.set_result(_Opened(portal, client, await _tools(client)))
                await portal.sleep_until_stopped()
        except BaseException as error:  # noqa: BLE001 - passed to `open`; later, calls fail by themselves
            if not self._opened.done():
                if not isinstance(error, Exception):
                    error = ConnectionFailed("interrupted")
                self._opened.set_exception(error)

    async def _client(self, portal: BlockingPortal, stack: AsyncExitStack) -> Client:
        if isinstance(self._server, str):
            client = httpx2.AsyncClient(
                headers={"Accept-Encoding": "identity", **self._headers},
                timeout=httpx2.Timeout(self._seconds + _SPARE_SECONDS),
                event_hooks={"response": [limit_reply]},
            )
            await stack.enter_async_context(client)
            transport = streamable_http_client(
                self._server, http_client=client, max_sse_event_size=LONGEST_LINE
            )
        else:
            transport = pipe_transport(self._server, portal)
        return Client(
            transport,
            read_timeout_seconds=self._seconds,
            client_info=Implementation(name="code-commit", version=version("code-commit-toolbox")),
            cache=None,
        )


async def _tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _described(error: BaseException) -> str:
    """Return the first cause of an error, which the SDK wraps in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ConnectionFailed):
        return str(error)
    return f"{type(error).__name__}: {error}".rstrip(": ")
