"""Reads a TOML file strictly: every key required, typed and known; decimals kept exact."""

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from .errors import InvalidConfig

_NAMES = {
    int: "an integer", str: "a string", bool: "true or false",
    float: "a number", Fraction: "a number", list: "a list", dict: "a table",
}


class Table:
    """One TOML table; ``take`` removes a key, ``done`` fails when any key is left over."""

    def __init__(self, data: dict[str, Any], where: str):
        self._data = dict(data)
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def keys(self) -> list[str]:
        return list(self._data)

    def take(self, key: str, kind: type) -> Any:
        """The value of a required key.

        Args:
            key: name of the key in this table.
            kind: int, str, bool, float, Fraction (exact decimal), list or dict.

        Raises:
            InvalidConfig: the key is missing or has another type.
        """
        if key not in self._data:
            raise InvalidConfig(f"{self.where}: the required key '{key}' is missing.")
        value = self._data.pop(key)
        number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
        if kind in (float, Fraction) and number and Decimal(value).is_finite():
            return kind(value)
        if kind not in (float, Fraction) and type(value) is kind:
            return value
        raise InvalidConfig(f"{self.where}: '{key}' must be {_NAMES[kind]}, got {_shown(value)}.")

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self.take(key, str)
        if value not in allowed:
            raise InvalidConfig(
                f"{self.where}: '{key}' must be one of {', '.join(allowed)}, got {value!r}.")
        return value

    def within(self, key: str, kind: type, low: float, high: float) -> Any:
        """A required number with ``low < value < high``."""
        value = self.take(key, kind)
        if not low < value < high:
            raise InvalidConfig(
                f"{self.where}: '{key}' must lie strictly between {low} and {high}, "
                f"got {_shown(value)}.")
        return value

    def items_of(self, key: str, kind: type) -> tuple[Any, ...]:
        """A required non-empty list whose items all have one type."""
        values = self.take(key, list)
        if not values or any(type(item) is not kind for item in values):
            raise InvalidConfig(
                f"{self.where}: '{key}' must be a non-empty list, each item {_NAMES[kind]}.")
        return tuple(values)

    def table(self, key: str) -> "Table":
        return Table(self.take(key, dict), f"{self.where} [{key}]")

    def tables(self, key: str) -> list["Table"]:
        entries = self.items_of(key, dict)
        names = [entry.get("slug", entry.get("name", number))
                 for number, entry in enumerate(entries, start=1)]
        return [Table(entry, f"{self.where} [[{key}]] {name}")
                for name, entry in zip(names, entries)]

    def done(self) -> None:
        if self._data:
            raise InvalidConfig(f"{self.where}: unknown key '{sorted(self._data)[0]}'.")


def read_toml(path: Path) -> dict[str, Any]:
    """The parsed file, decimals as ``decimal.Decimal``.

    Raises:
        InvalidConfig: the file is missing or is not TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"), parse_float=Decimal)
    except FileNotFoundError:
        raise InvalidConfig(f"{path} does not exist.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path} is not valid TOML: {error}.") from None


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, (Decimal, Fraction)) else repr(value)
