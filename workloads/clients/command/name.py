"""Names of client libraries that are commands."""

from __future__ import annotations

import shlex

PREFIX = "command:"


def words(name: str) -> list[str]:
    """The words of the command in a library's name. Raises ValueError for no command."""
    try:
        found = shlex.split(name.removeprefix(PREFIX))
    except ValueError as error:
        raise ValueError(f"client library {name!r}: {error}; expected a command as in a shell") from None
    if not found:
        raise ValueError(f"client library {name!r}: expected a command, such as {PREFIX}java -jar client.jar")
    return found
