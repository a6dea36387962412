"""The parser of the command line: argparse, with hints for what is not known."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

EXAMPLES = "examples:"

SECTIONS = "kafkacheck_sections"
"""The attribute of a list of commands that has their names by heading."""


class HelpFormatter(argparse.HelpFormatter):
    """Fills paragraphs, but keeps the lines of examples as they are written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLES):
            return "".join(f"{indent}{line}\n" for line in text.splitlines())
        return super()._fill_text(text, width, indent)

    def _format_action(self, action: argparse.Action) -> str:
        """A list of commands with `SECTIONS` has a heading above those of each section."""
        sections: Mapping[str, Sequence[str]] | None = getattr(action, SECTIONS, None)
        if sections is None:
            return super()._format_action(action)
        parts = []
        for heading, names in sections.items():
            listed = [each for each in self._iter_indented_subactions(action) if each.dest in names]
            parts += [f"  {heading}:\n", *map(self._format_below, listed)]
        return "".join(parts)

    def _format_below(self, action: argparse.Action) -> str:
        self._indent()
        text = super()._format_action(action)
        self._dedent()
        return text


class Parser(argparse.ArgumentParser):
    """Says what was probably meant, and which command does not know an option."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=HelpFormatter, **options)
        self.set_defaults(parser=self)  # of an action, in the end: the innermost sets its own last

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        options, unknown = self.parse_known_args(args, namespace)
        innermost: Parser = options.parser
        if unknown:
            from nemesis.validation import did_you_mean

            known = [option for action in innermost._actions for option in action.option_strings]
            hints = [did_you_mean(each.partition("=")[0], known) for each in unknown]
            innermost.error(f"unrecognized arguments: {' '.join(unknown)}{next(filter(None, hints), '')}")
        return options

    def error(self, message: str) -> NoReturn:
        """Without the usage, which may have many lines."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from nemesis.validation import did_you_mean

            choices = [str(each) for each in action.choices]
            hint = did_you_mean(value, choices) or f"; expected {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"{value!r} is not known{hint}")
