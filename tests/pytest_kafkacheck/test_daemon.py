"""The daemon that keeps Spark warm: what a command has of its client, and how both sides end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.daemon import processes
from pytest_kafkacheck.daemon.address import SWITCH, folder, is_wanted, make_folder, short, socket_path
from pytest_kafkacheck.errors import UsageError
from tests.support.processes import is_alive

LIMIT = 150
"""Seconds for a small process on a busy machine."""

SERVER = """
import os, sys, time
from pathlib import Path
from pytest_kafkacheck.daemon.server import serve
from pytest_kafkacheck.spark import KeptSpark

KeptSpark.is_started = True  # these commands need none

def run(arguments):
    name, *rest = arguments
    if name == "where":
        Path("made").touch()
        print(os.getcwd(), os.environ.get("OF_CLIENT"), oct(os.stat("made").st_mode)[-3:], input())
        print("to standard error", file=sys.stderr)
        return 3
    if name == "import":
        import of_user
        print(of_user.VALUE)
    if name == "wait":
        Path("begun").touch()
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            print("cleaned up", flush=True)
            Path("cleaned").touch()
            return 130
    if name == "crash":
        os._exit(9)
    if name == "wrong":
        raise ValueError("of the command")
    return 0

serve(run, idle=float(sys.argv[1]), ready=lambda word: print(word.decode(), flush=True))
"""

CLIENT = """
import sys
from pytest_kafkacheck.daemon.client import carry_out
from pytest_kafkacheck.errors import KafkacheckError
from pytest_kafkacheck.termination import terminated_like_interrupted
try:
    with terminated_like_interrupted():
        status = carry_out(sys.argv[1:])
except KafkacheckError as error:
    sys.exit(f"{type(error).__name__}: {error}")
print("status", status)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OF_CLIENT", "seen")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(idle: float = LIMIT) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(idle)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "listens\n"
    return process


@pytest.fixture
def server(home: Path) -> Iterator[subprocess.Popen[str]]:
    assert socket_path().is_relative_to(home)
    process = start()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def command(*arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def carried_out(*arguments: str, given: str = "") -> tuple[str, str]:
    """What it printed."""
    return command(*arguments).communicate(given, timeout=LIMIT)


@retry(retry=retry_if_result(lambda found: not found), stop=stop_after_delay(LIMIT), wait=wait_fixed(0.05))
def appears(path: Path) -> bool:
    return path.exists()


def test_a_command_has_streams_folder_environment_and_umask_of_its_client(
    server: subprocess.Popen[str], home: Path
) -> None:
    umask = os.umask(0o027)
    try:
        out, error = carried_out("where", given="typed\n")
    finally:
        os.umask(umask)
    assert out == f"{home} seen 640 typed\nstatus 3\n"
    assert error == "to standard error\n"
    assert server.poll() is None


@pytest.mark.usefixtures("server")
def test_each_command_imports_the_modules_of_its_user_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = []
    for value in (1, 2):
        place = home / f"project-{value}"
        place.mkdir()
        (place / "of_user.py").write_text(f"VALUE = {value}\n")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), os.environ["PYTHONPATH"]]))
        values.append(carried_out("import")[0].partition("\n")[0])
    assert values == ["1", "2"]


def test_while_one_command_is_carried_out_another_one_has_to_do_without(
    server: subprocess.Popen[str], home: Path
) -> None:
    waiting = command("wait")
    assert appears(home / "begun")
    assert carried_out("where")[0] == "status None\n"
    waiting.send_signal(signal.SIGINT)
    out, error = waiting.communicate(timeout=LIMIT)
    assert out == "cleaned up\nstatus 130\n"
    assert error.count("interrupted") == 1
    server.communicate(timeout=LIMIT)  # it ends after an interrupted command
    assert not socket_path().exists()


@pytest.mark.usefixtures("server")
def test_a_client_that_ends_before_its_command_leaves_the_daemon_free() -> None:
    for is_reset in [False, True] * 10:
        with socket.socket(socket.AF_UNIX) as connection, short(socket_path()) as name:
            connection.connect(name)
            if is_reset:  # by the answer that it has, and does not read
                connection.recv(1, socket.MSG_PEEK)
    assert is_free()


@retry(retry=retry_if_result(lambda free: not free), stop=stop_after_delay(LIMIT), wait=wait_fixed(0.05))
def is_free() -> bool:
    return carried_out("import-nothing")[0] == "status 0\n"


def test_a_client_that_is_killed_interrupts_its_command(server: subprocess.Popen[str], home: Path) -> None:
    waiting = command("wait")
    assert appears(home / "begun")
    waiting.kill()
    waiting.communicate()
    assert appears(home / "cleaned")
    server.communicate(timeout=LIMIT)


def test_a_daemon_that_ends_within_a_command_is_an_error_and_leaves_no_obstacle(
    server: subprocess.Popen[str],
) -> None:
    _, error = carried_out("crash")
    assert error.startswith("InfrastructureError: the daemon that carried out this command ended")
    assert "--no-daemon" in error
    server.communicate(timeout=LIMIT)
    second = start()  # at the place that the first one has left
    try:
        assert carried_out("import-nothing")[0] == "status 0\n"
    finally:
        second.kill()
        second.communicate()


@pytest.mark.usefixtures("server")
def test_an_error_of_a_command_is_told_to_its_client() -> None:
    out, error = carried_out("wrong")
    assert out == "status 1\n"
    assert error.endswith("ValueError: of the command\n")
    assert carried_out("import-nothing")[0] == "status 0\n"


@pytest.mark.usefixtures("home")
def test_it_ends_when_it_was_idle() -> None:
    server = start(idle=0.1)
    server.communicate(timeout=LIMIT)
    assert server.returncode == 0
    assert processes.found() == []
    assert not socket_path().exists()


def test_only_one_runs(server: subprocess.Popen[str]) -> None:
    second = subprocess.run(
        [sys.executable, "-c", SERVER, "0"], stdout=subprocess.PIPE, text=True, timeout=LIMIT
    )
    assert second.stdout == "other\n"
    assert [each.pid for each in processes.found()] == [server.pid]


def test_it_is_listed_and_can_be_ended(server: subprocess.Popen[str]) -> None:
    (daemon,) = processes.found()
    assert daemon.memory_mb > 5
    processes.end(daemon)
    server.communicate(timeout=LIMIT)
    assert processes.found() == []


@pytest.mark.usefixtures("home")
def test_a_change_of_what_decides_on_the_result_has_another_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    before = socket_path()
    assert socket_path() == before
    monkeypatch.setenv("JAVA_HOME", "/another/java")
    assert socket_path() != before


@pytest.mark.usefixtures("home")
def test_a_folder_that_others_can_enter_is_refused() -> None:
    folder().mkdir(parents=True, mode=0o700)
    make_folder()
    folder().chmod(0o755)
    with pytest.raises(UsageError, match="mode 755; expected a folder that only you can enter"):
        make_folder()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, True),
        ({"CI": "true"}, False),
        ({SWITCH: "no"}, False),
        ({SWITCH: "yes", "CI": "true"}, True),
    ],
)
def test_it_is_switched_off_by_a_variable_and_in_continuous_integration(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: bool
) -> None:
    for name in ("CI", SWITCH):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_wanted() is expected
    monkeypatch.setenv(SWITCH, "maybe")
    with pytest.raises(UsageError, match="expected yes or no"):
        is_wanted()


HISTORY = """\
{"kafkacheck_history": 1, "unit": "ms"}
{"f": "send", "type": "ok", "process": "a", "topic": "t", "partition": 0, "offset": 0, "value": "1", \
"invoked": 1, "completed": 2}
{"f": "final-read", "type": "ok", "process": "b", "topic": "t", "partition": 0, "start_offset": 0, "end_offset": 0, \
"invoked": 9, "completed": 10}
"""


def test_a_command_that_needs_no_spark_in_the_end_leaves_no_daemon(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "yes")
    done = subprocess.run(
        [sys.executable, "-m", "pytest_kafkacheck", "analyze", "missing.jsonl"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kafkacheck: missing.jsonl: ")
    assert list((home / "cache").rglob("*.lock")), "no daemon was asked"
    assert none_runs()


@retry(retry=retry_if_result(lambda none: not none), stop=stop_after_delay(LIMIT), wait=wait_fixed(0.05))
def none_runs() -> bool:
    return not processes.found()


@pytest.mark.nightly
@pytest.mark.spark
def test_commands_share_one_spark_and_answer_as_without_a_daemon(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new process is started for it, which the last part of the test ends."""
    monkeypatch.setenv(SWITCH, "yes")
    (home / "lost.jsonl").write_text(HISTORY)

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest_kafkacheck", *arguments],
            capture_output=True,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout

    try:
        judged = run("analyze", "lost.jsonl", "--json", "first.json")
        (daemon,) = processes.found()
        jvms = [each for each in psutil.Process(daemon.pid).children() if each.name() == "java"]
        assert len(jvms) == 1
        explained = run("explain", "lost.jsonl", "lost-write")
        again = run("analyze", "lost.jsonl", "--json", "second.json")
        assert [each for each in psutil.Process(daemon.pid).children() if each.name() == "java"] == jvms
        assert run("analyze", "missing.jsonl")[0] == 2
    finally:
        for each in processes.found():
            processes.end(each)
    assert not any(map(is_alive, jvms))
    assert judged == again == run("analyze", "lost.jsonl", "--no-daemon", "--json", "third.json")
    assert judged[0] == 1
    assert (home / "first.json").read_text() == (home / "third.json").read_text()
    assert explained == run("explain", "lost.jsonl", "lost-write", "--no-daemon")
    assert processes.found() == []
