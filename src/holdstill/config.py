"""Settings: of the search log, and of the command line from `holdstill.toml` and the environment."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from holdstill.arguments import as_flag
from holdstill.errors import InvalidInput, MalformedInput
from holdstill.query import check_whole

LOCK_TIMEOUT = 10.0  #: seconds to wait for another process, unless said otherwise

_FILE = "holdstill.toml"
_SWITCH = {"on": True, "off": False}
_VARIABLES = {"enabled": "HOLDSTILL_LOG", "queries": "HOLDSTILL_LOG_QUERIES"}


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is kept of searches, and for how long.

    Args:
        enabled: whether searches are logged.
        queries: whether the log keeps what was asked: text, terms, filters and vector, all of them or none.
        max_bytes: a file of the log that would grow beyond this many bytes is put aside, and a new one begun.
        max_age_days: so is one whose first search was this many days ago.
        keep: of the files put aside, how many of the newest are kept, 1 or more.

    Raises:
        holdstill.InvalidInput: a value is of another type, or out of range.
    """

    enabled: bool = True
    queries: bool = True
    max_bytes: int = 16 * 2**20
    max_age_days: int = 30
    keep: int = 12

    def __post_init__(self) -> None:
        for name in ("enabled", "queries"):
            as_flag(name, getattr(self, name))
        for name in ("max_bytes", "max_age_days", "keep"):
            check_whole(name, getattr(self, name), 1)


def as_log_settings(value: object) -> LogSettings:
    """The value, if it is the settings of a log; the defaults where it is None.

    Raises:
        holdstill.InvalidInput: it is anything else.
    """
    if value is None or isinstance(value, LogSettings):
        return value or LogSettings()
    raise InvalidInput("log cannot be used", field="log", expected="a LogSettings", got=value)


# -- the command line --------------------------------------------------------------------------------


def log_settings() -> LogSettings:
    """The log's settings, from the file `HOLDSTILL_CONFIG` or `./holdstill.toml`, then from the environment.

    Raises:
        holdstill.MalformedInput: the file cannot be read, or is not TOML.
        holdstill.InvalidInput: an unknown key, or a value that cannot be used; the file and the key are named.
    """
    settings = _from_file()
    for name, variable in _VARIABLES.items():
        given = os.environ.get(variable, "").strip()
        if given and given not in _SWITCH:
            raise InvalidInput(
                f"the environment's {variable} cannot be used", field=variable, expected="on or off", got=given
            )
        if given:
            settings = replace(settings, **{name: _SWITCH[given]})
    return settings


def _from_file() -> LogSettings:
    named = os.environ.get("HOLDSTILL_CONFIG", "").strip()
    path = Path(named or _FILE)
    if not named and not path.is_file():
        return LogSettings()
    given = _only(path, _read(path), ["log"], "").get("log", {})
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{str(path)!r}: log is no table", field="log", expected="[log]", got=given)
    values = _only(path, given, [each.name for each in fields(LogSettings)], "log.")
    try:
        return LogSettings(**values)
    except InvalidInput as error:
        key = f"log.{error.field}"
        renamed = InvalidInput(
            f"{str(path)!r}: {key} cannot be used", field=key, expected=(error.expected or "").lower()
        )
        renamed.got = error.got
        raise renamed from error


def _only(path: Path, given: Mapping[str, Any], known: list[str], prefix: str) -> Mapping[str, Any]:
    """The table, if it has none but known keys."""
    for key in given:
        if key not in known:
            raise InvalidInput(
                f"{str(path)!r}: there is no setting {prefix}{key}",
                field=prefix + key,
                expected="one of " + ", ".join(prefix + each for each in known),
            )
    return given


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MalformedInput(f"{str(path)!r} cannot be read: {error.strerror}", field=str(path)) from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise MalformedInput(f"{str(path)!r} is not TOML: {error}", field=str(path)) from error


def lock_timeout() -> float:
    """Seconds to wait for another process: `HOLDSTILL_LOCK_TIMEOUT`, or the engine's default.

    Raises:
        holdstill.InvalidInput: it is not a number of seconds.
    """
    given = os.environ.get("HOLDSTILL_LOCK_TIMEOUT", "").strip()
    if not given:
        return LOCK_TIMEOUT
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= 86_400:
        raise InvalidInput(
            "the environment's HOLDSTILL_LOCK_TIMEOUT cannot be used",
            field="HOLDSTILL_LOCK_TIMEOUT",
            expected="seconds to wait for another process, 0 to 86400",
            got=given,
        )
    return seconds
