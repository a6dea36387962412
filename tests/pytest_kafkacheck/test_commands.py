"""How commands are declared and found, and what ``kafkacheck --help`` costs."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cli.command import SECTIONS, CommandGroup, discover
from pytest_kafkacheck.errors import InfrastructureError, UsageError, VerdictError

FOLDER = "pytest_kafkacheck.cli"
LARGE = (
    "docker",
    "kafka",
    "pyspark",
    "pyarrow",
    "py4j",
    "rich",
    "psutil",
    "workloads",
    "nemesis",
    "analyzers",
)

HELLO = """
    from pytest_kafkacheck.cli.command import Command

    def _add_options(parser):
        parser.add_argument("--name", default="world")

    def _run(options):
        print("hello", options.name)
        return 7

    COMMAND = Command(name="hello", help="print a greeting", order=85, add_options=_add_options, run=_run)
"""


@pytest.fixture
def more_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose files are commands as well, as if they lay in the folder of commands."""
    monkeypatch.setattr(import_module(FOLDER), "__path__", [*import_module(FOLDER).__path__, str(tmp_path)])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(f"{FOLDER}."):
            del sys.modules[name]


def test_a_new_file_is_a_new_command(more_commands: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (more_commands / "hello.py").write_text(dedent(HELLO))
    (more_commands / "helper.py").write_text("VALUE = 1\n")
    assert cli.main(["hello", "--name", "Kafka"]) == 7
    assert capsys.readouterr().out == "hello Kafka\n"
    listed = re.findall(r"^    (\w+) ", cli.parser().format_help(), flags=re.MULTILINE)
    assert listed[listed.index("export") :][:3] == ["export", "hello", "cluster"], (
        "order 85 is between 80 and 100"
    )
    assert "helper" not in listed


def test_every_declaration_is_listed_by_help_in_its_order() -> None:
    commands = discover(FOLDER)
    text = cli.parser().format_help()
    positions = [
        re.search(rf"^    {each.name}\s+{re.escape(each.help)}$", text, re.MULTILINE) for each in commands
    ]
    assert all(positions)
    starts = [found.start() for found in positions if found]
    assert starts == sorted(starts)
    headings = [text.index(f"\n  {heading}:\n") for _, heading in SECTIONS]
    assert sorted(headings) == headings
    assert headings[0] < starts[0] < headings[-1] < starts[-1]
    for level in (commands, *(discover(each.package) for each in commands if isinstance(each, CommandGroup))):
        assert len({each.order for each in level}) == len(level), "two commands have the same position"
        assert len({each.name for each in level}) == len(level)


@pytest.mark.parametrize("command", discover(FOLDER), ids=lambda command: command.name)
def test_a_command_is_named_as_its_file(command: object) -> None:
    module = import_module(f"{FOLDER}.{getattr(command, 'name').replace('-', '_')}")  # noqa: B009
    assert module.COMMAND is command


def test_help_imports_nothing_large() -> None:
    program = (
        "import sys\n"
        "from pytest_kafkacheck.cli.main import parser\n"
        "parser().format_help()\n"
        f"print([name for name in {LARGE!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (UsageError("wrong option"), cli.USAGE, "kafkacheck: wrong option\n"),
        (InfrastructureError("no engine"), cli.INFRASTRUCTURE, "kafkacheck: no engine\n"),
        (VerdictError("not valid"), cli.NOT_AS_EXPECTED, "kafkacheck: not valid\n"),
    ],
)
def test_an_error_decides_the_exit_status(
    more_commands: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    status: int,
    message: str,
) -> None:
    (more_commands / "hello.py").write_text(dedent(HELLO))
    cli.parser()

    def fail(_: argparse.Namespace) -> int:
        raise error

    hello = sys.modules[f"{FOLDER}.hello"]
    monkeypatch.setattr(hello, "COMMAND", type(hello.COMMAND)(name="hello", help="fail", order=85, run=fail))
    assert cli.main(["hello"]) == status
    assert capsys.readouterr().err == message


def test_an_interrupted_command_may_say_how_to_go_on(
    more_commands: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (more_commands / "hello.py").write_text(
        dedent(HELLO).replace(
            'print("hello", options.name)',
            'interrupt = KeyboardInterrupt(); interrupt.add_note("call it again"); raise interrupt',
        )
    )
    assert cli.main(["hello"]) == cli.INTERRUPTED
    assert capsys.readouterr().err == (
        "kafkacheck: interrupted; everything it had started is removed\nkafkacheck: call it again\n"
    )


def test_what_libraries_log_has_no_traceback() -> None:
    """In a process of its own, because pytest has handlers of its own."""
    program = (
        "import logging\n"
        "from pytest_kafkacheck.cli.common.console import brief_logs\n"
        "with brief_logs():\n"
        "    try:\n"
        "        1 / 0\n"
        "    except ZeroDivisionError:\n"
        "        logging.getLogger('py4j').exception('connection\\nlost')\n"
        "    logging.getLogger('py4j').info('connected')\n"
        "    logging.getLogger('kafka.net.transport').error('socket disconnected')\n"
        "    logging.getLogger('kafka.net.selector').error('unhandled')\n"
        "    logging.getLogger('kafka.net.selector').warning('a step ran for 0.121s')\n"
        "assert not logging.getLogger().handlers\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == (
        "  py4j: connection (ZeroDivisionError: division by zero)\n  kafka.net.selector: unhandled\n"
    )
