"""What a user probably meant with a word that is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(text: object, known: Iterable[str]) -> str:
    """The end of a message, such as ``; did you mean 'leader'?``. Empty where nothing is near.

    Only what is before a colon is compared, since any name may follow it: ``leder:orders-0`` is ``leader:orders-0``.
    """
    if not isinstance(text, str):
        return ""
    word, colon, rest = text.partition(":")
    near = get_close_matches(word.lower(), list(known), n=2)
    return f"; did you mean {' or '.join(repr(each + colon + rest) for each in near)}?" if near else ""


def first_words(allowed: str) -> tuple[str, ...]:
    """With which the quoted forms in a text begin: ``leader`` of ``'leader:<topic>-<partition>'``."""
    return tuple(dict.fromkeys(re.findall(r"'([a-z-]{3,})[:']", allowed)))
