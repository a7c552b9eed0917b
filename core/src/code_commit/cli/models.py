"""`code-commit models`: list the models of the installed providers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from code_commit.cli.host import CommandHost
from code_commit.cli.parser import add_json
from code_commit.plugin_api.errors import ExitCode, NotReady
from code_commit_workspace.words import count_of, describe


def models_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `models`."""
    parser.description = "List the models of the installed providers, with their aliases."
    parser.add_argument(
        "--refresh", action="store_true", help="ask the services which models they have"
    )
    add_json(parser)


def models(host: CommandHost, arguments: Namespace) -> int:
    """List the models of the installed providers, with their aliases.

    The models of a plugin come before those that its service lists.
    """
    code: int = ExitCode.REACHED
    if arguments.refresh:
        code = _refresh(host)
    providers = host.registry.providers
    rows = _rows(host)
    if arguments.json:
        host.out.document({"models": rows})
        return code
    table = [(row["model"], row["provider"], ", ".join(row["aliases"])) for row in rows]
    services = sorted(name for name, (_, provider) in providers.items() if not provider.free)
    table += [(f"{name}/ANY-ID", name, "any other model of this provider") for name in services]
    host.out.table(table)
    if not services:
        from code_commit.plugin_api.how_to_install import installation
        from code_commit.plugins.first_party import offers

        providers_to_install = [name for name, offer in offers().items() if "model" in offer]
        host.out.line("no provider is installed. Install one:")
        host.out.table([("", installation(name)) for name in providers_to_install])
    return code


def _rows(host: CommandHost) -> list[dict[str, Any]]:
    """Return the models as `models --json` shows them."""
    from code_commit.models.listed_models import listed_models, window_of

    listed = listed_models()
    rows: list[dict[str, Any]] = []
    for name, (plugin, definition) in sorted(host.registry.providers.items()):
        for model in dict.fromkeys((*definition.models, *listed.get(name, {}))):
            row = {
                "model": model,
                "provider": name,
                "aliases": list(definition.models.get(model, ())),
                "window": window_of(definition, model, listed),
                "distribution": plugin.distribution,
            }
            rows.append(row)
    return rows


def _refresh(host: CommandHost) -> int:
    """Ask the services for their models, and store the answers.

    Return an exit code: 3 if none could be asked.
    """
    from code_commit.models.listed_models import listed_models, store_listed_models, usable_models
    from code_commit.models.resolution import ResolvedModel, Services
    from code_commit.plugin_api.conversation import ProviderError

    redactor = host.redactor
    code = ExitCode.NOT_READY
    listed = listed_models()
    services = Services(
        host.registry,
        host.configuration,
        host.keys_for(redactor),
        redactor=redactor,
        environ=host.environ,
        root=host.root,
    )
    for name, (plugin, definition) in sorted(host.registry.providers.items()):
        if not definition.base_url:
            continue
        try:
            provider: Any = services.connected(ResolvedModel(plugin, definition, None)).provider
            windows = usable_models(provider.models())
            without_keys = {
                model: windows[model] for model in windows if redactor.text(model) == model
            }
            listed[name] = without_keys or listed.get(name, {})
            host.out.note(f"{name} lists {count_of(len(windows), 'model')}")
            if code is ExitCode.NOT_READY:
                code = ExitCode.REACHED
        except NotReady as error:
            host.out.note(f"{name} was not asked: {error.message}")
        except ProviderError as error:
            host.out.error(str(error))
            code = ExitCode.PROVIDER_FAILED
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            owner = f"the provider {name} of {plugin.distribution}"
            host.out.error(f"{owner} failed: {describe(error)}")
            code = ExitCode.PROVIDER_FAILED
    store_listed_models(listed)
    return code
