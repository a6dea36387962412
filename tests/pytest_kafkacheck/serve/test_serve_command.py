"""``kafkacheck serve`` as a process: its address, its end, and who may ask it."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_kafkacheck.cli.main import main
from tests.support.kept_run import kept_run


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process, and its port."""
    kept_run(tmp_path / "runs")
    command = [
        sys.executable,
        "-m",
        "pytest_kafkacheck",
        "serve",
        "--dir",
        str(tmp_path / "runs"),
        "--port",
        "0",
    ]
    # Tests that run in the background of a shell ignore SIGINT, and so would their children.
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout is not None
        line = started.stdout.readline()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/ shows the runs in \S+; Ctrl-C ends it\n", line)
        assert match, line
        yield started, int(match[1])
    finally:
        started.kill()
        started.communicate()


def ask(port: int, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers={} if host is None else {"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_and_ends_quietly(
    serving: tuple[subprocess.Popen[str], int], number: signal.Signals
) -> None:
    started, port = serving
    status, html = ask(port, "/")
    assert (status, "7b29cd07" in html) == (200, True)
    assert ask(port, "/run/missing")[0] == 404
    started.send_signal(number)
    out, err = started.communicate(timeout=30)
    assert (started.returncode, out, err) == (0, "", "")


def test_a_browser_that_was_led_here_by_another_name_gets_nothing(
    serving: tuple[subprocess.Popen[str], int],
) -> None:
    _, port = serving
    assert ask(port, "/", host=f"localhost:{port}")[0] == 200
    for name in (f"evil.example:{port}", "evil.example", "", f"127.0.0.1.evil.example:{port}"):
        status, html = ask(port, "/", host=name)
        assert (status, "7b29cd07" in html) == (421, False)


def test_nothing_can_be_sent_to_it(serving: tuple[subprocess.Popen[str], int]) -> None:
    _, port = serving
    assert ask(port, "/", method="POST")[0] == 501


def test_it_listens_on_the_loopback_address_only(serving: tuple[subprocess.Popen[str], int]) -> None:
    _, port = serving
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


def test_a_port_in_use_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--dir", str(tmp_path), "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said == f"kafkacheck: --port {port}: is in use; name another one, or 0 for any that is free\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dir", "missing"], "--dir missing: no such folder"),
        (["--port", "70000"], "--port 70000: cannot be used"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".kafkacheck").mkdir()
    assert main(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err
