"""The settings of the Server: one definition, from which flags, checks and limits follow."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import typer
from typer.main import get_command

from a2c_smcp.cli.main import app
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.setting_definitions import flags, limits
from a2c_smcp.server.settings import ServerSettings


def options() -> dict[str, Any]:
    commands: Any = get_command(app)
    command = commands.commands["server"]
    return {option.name: option for option in command.get_params(typer.Context(command))}


def test_every_setting_but_the_token_key_has_a_flag() -> None:
    assert set(ServerSettings.model_fields) - set(options()) == {"jwt_key"}
    assert set(options()) - set(ServerSettings.model_fields) == {"config", "help"}


def test_the_help_shows_the_default_that_is_in_force() -> None:
    settings = ServerSettings()
    shown = {name: str(option.show_default) for name, option in options().items()}
    for name, *_ in flags():
        value = getattr(settings, name)
        if isinstance(value, bool):
            assert shown[name] == ("on" if value else "off")
        elif isinstance(value, int | float):
            assert float(shown[name]) == value
        elif value is not None:
            assert shown[name] == value


def test_settings_set_limits_whose_defaults_they_take() -> None:
    assert set(limits().values()) <= {field.name for field in fields(Limits)}
    assert ServerSettings().limits == Limits()
    assert ServerSettings.load({"max_message_bytes": 5_000}).limits == Limits(message_bytes=5_000)
