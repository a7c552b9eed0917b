"""Refuse a prompt that exceeds the model's context window, and notice one that a server cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from code_commit.imports import import_later
from code_commit.models.listed_models import window_of
from code_commit.models.resolution import Service
from code_commit.plugin_api.conversation import Completion, Finish, Request
from code_commit.plugin_api.prompt_size import PromptSize

# Tokens, if neither plugin nor service says; the list loads in a fifth of a second.
_ALWAYS_FITS = 100_000
_SHORTEST = 512  # tokens; a service that reports less does not count the prompt
_CUT = 0.5  # of the estimate


def listed_window(model: str) -> int | None:
    """Return the window of `model` in tokens from the list of genai-prices, or None."""
    with import_later("httpx2"), import_later("asyncio"):
        from genai_prices import data_snapshot

    snapshot = data_snapshot.get_snapshot()
    try:
        own: int | None = snapshot.find_provider_model(model, None, None, None)[1].context_window
    except LookupError:
        return None
    if own:
        return own
    windows = [
        listed.context_window or 0
        for provider in snapshot.providers
        for listed in provider.models
        if listed.id.rpartition("/")[2] == model
    ]
    return max(windows, default=0) or None


@dataclass(slots=True)
class Windows:
    """The windows of the models of a run, each looked up once.

    `warn` gets a warning about a prompt that was cut.
    """

    warn: Callable[[str], None]
    # By the plugin or the service.
    _own: dict[tuple[str, str], int | None] = field(default_factory=dict)
    _listed: dict[str, int | None] = field(default_factory=dict)
    _counted: tuple[Request | None, int | None] = None, None  # the latest
    _cut: set[str] = field(default_factory=set)  # models that were warned of

    def of(self, service: Service, *, tokens: int | None = None) -> int | None:
        """Return the most tokens that a model reads, or None if unknown.

        With `tokens`, a window that only a long list has is looked up only if so many tokens might
        exceed it.
        """
        key = service.definition.name, service.model
        if key not in self._own:
            self._own[key] = window_of(service.definition, service.model)
        if self._own[key] or (tokens is not None and tokens <= _ALWAYS_FITS):
            return self._own[key]
        if service.model not in self._listed:
            self._listed[service.model] = listed_window(service.model)
        return self._listed[service.model]

    def require_fit(
        self,
        size: PromptSize,
        service: Service,
        *,
        count: Callable[[Request], int | None],
        paid: bool,
    ) -> None:
        """Check that a prompt fits.

        `count` asks the service, once for a request, if the estimate is near the window. Without
        a request, only an estimate that is far above the window counts.

        Raises:
            NotReady: it does not fit, and no call of the run was paid for.
            LimitReached: it does not fit, after calls that were `paid`.
        """
        window = self.of(service, tokens=size.tokens)
        if window is None:
            return
        if size.is_near(window):
            if size.request is None:
                return
            if self._counted[0] is not size.request:
                self._counted = size.request, count(size.request)
            size = replace(size, tokens=self._counted[1] or size.tokens)
        if size.tokens > window:
            raise size.refusal(service.model, window, paid=paid)

    def warn_if_cut(self, size: PromptSize, completion: Completion, service: Service) -> None:
        """Warn once if a service says that it read less than half of a prompt.

        Cached input counts as read.
        """
        usage = completion.usage
        if usage.input is None or completion.cached or completion.finish is Finish.STOPPED_EARLY:
            return
        read = max(usage.input, (usage.cache_read or 0) + (usage.cache_write or 0))
        if not _SHORTEST <= read < size.tokens * _CUT or service.model in self._cut:
            return
        self._cut.add(service.model)
        self.warn(
            f"{service.model} read {read:,} tokens of a prompt that has about {size.tokens:,}: "
            "the server seems to have cut it, so the model did not see all of it; "
            "raise the context length of the server (OLLAMA_CONTEXT_LENGTH or num_ctx, "
            "-c of llama-server, --max-model-len of vLLM), or send less"
        )
