"""The application of a user as a worker process: it is started, struck, started again and ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_cluster import wait_until
from tests.workloads.test_transactions import rows
from workloads.applications.confinement import why_not
from workloads.clients.security import BEGIN, Security
from workloads.pipeline import APP
from workloads.roles.application import connection_settings, filled
from workloads.user_program import environment
from workloads.workers.process import STOPPED, WorkerProcess, group_states
from workloads.workload import WorkerSpec

ROOT = str(Path(__file__).parents[2])
WAIT = "import time, sys; print('begun', flush=True); time.sleep(600)"
WITH_CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAIT}"

Start = Callable[..., WorkerProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[WorkerProcess] = []

    def start(
        program: str,
        *arguments: str,
        command: list[str] | None = None,
        confined: tuple[str, ...] = (),
        broker: tuple[Any, ...] = ("h", 9),
        **options: Any,
    ) -> WorkerProcess:
        given = {
            "command": command or [sys.executable, "-u", "-c", program, *arguments],
            "env": {"SINK": "{sink}"},
            "source": "s",
            "sink": "o",
            "group": "g",
            "instance": 3,
            "restarts": 0,
            "stop_limit": 5.0,
            **options,
        }
        order = {
            "run": "r",
            "home": str(tmp_path),
            "brokers": {1: list(broker)},
            "topics": {"s-r": 1, "o-r": 1},
            "confined": confined,
        }
        worker = WorkerProcess(
            WorkerSpec(role=APP, process=len(started), options=given), order, home=tmp_path
        )
        started.append(worker)
        assert worker.wait_ready(60) or worker.problem
        worker.go()
        return worker

    yield start
    for worker in started:
        worker.kill()
        worker.wait(60)


def printed(home: Path) -> str:
    file = home / "logs" / "client-app-3.log"
    return file.read_text() if file.exists() else ""


def has_begun(home: Path) -> None:
    wait_until(lambda: "begun" in printed(home))


def members(worker: WorkerProcess) -> int:
    return len(group_states(worker.pid))


def test_it_gets_what_its_placeholders_stand_for_and_its_output_is_kept(start: Start, tmp_path: Path) -> None:
    program = (
        "import os, sys; print(sys.argv[1:], os.environ['SINK'], os.getenv('KAFKACHECK_PARENT')); "
        "sys.stderr.write('oh\\n'); " + WAIT
    )
    worker = start(program, "{bootstrap}", "{source}", "{sink}", "{group}", "{instance}", '{"a": {x}}')
    has_begun(tmp_path)
    lines = printed(tmp_path).splitlines()
    assert lines[0] == "['h:9', 's-r', 'o-r', 'g-r', '3', '{\"a\": {x}}'] o-r None"
    assert lines[1:] == ["oh", "begun"]
    worker.stop()
    assert worker.wait(60)
    assert (worker.trouble, worker.problem) == ("", "")


def test_its_environment_has_the_settings_of_the_connection() -> None:
    names = ("security.protocol", "sasl.mechanism", "sasl.password", "ssl.truststore.certificates")
    secured = Security(
        protocol="SASL_SSL", mechanism="PLAIN", username="u", password="p", ca=f"{BEGIN}CERTIFICATE-----"
    )
    found = connection_settings(secured)
    assert [found[name] for name in names] == ["SASL_SSL", "PLAIN", "p", f"{BEGIN}CERTIFICATE-----"]
    assert [connection_settings(None)[name] for name in names] == ["PLAINTEXT", "", "", ""]
    assert connection_settings(None).keys() == connection_settings(secured).keys() >= secured.kafka().keys()


def test_a_program_on_a_secured_cluster_gets_them(start: Start, tmp_path: Path) -> None:
    security = Security(protocol="SASL_PLAINTEXT", mechanism="PLAIN", username="u", password="pass{sink}")
    program = f"import os; print(os.environ['PASSWORD'], os.environ['CA'] == ''); {WAIT}"
    env = {"PASSWORD": "{sasl.password}", "CA": "{ssl.truststore.certificates}"}
    start(program, broker=("h", 9, security.to_json()), env=env)
    has_begun(tmp_path)
    assert printed(tmp_path).splitlines()[0] == "pass{sink} True"


def test_a_program_that_is_not_there_is_named(start: Start) -> None:
    worker = start("", command=["no-such-program", "x"])
    assert worker.wait(60)
    assert "app:3 (no-such-program x): there is no program 'no-such-program'" in worker.problem
    assert not worker.trouble


def test_one_that_ends_by_itself_is_started_again_and_then_given_up(start: Start) -> None:
    worker = start("import sys; print('first'); print('no \\x07 broker\\n'); sys.exit(3)", restarts=1)
    assert worker.wait(60)
    assert (
        "ended by itself with status 3, and was started 2 times; its last output: no ? broker"
        in worker.problem
    )
    worker = start("", command=[sys.executable, "-c", "import os; os.kill(os.getpid(), 6)"])
    assert worker.wait(60)
    assert (
        "ended by itself with signal 6, and was started 1 times; its last output: no ? broker"
        in worker.problem
    )


def test_its_ends_and_the_errors_that_it_prints_are_recorded(start: Start, tmp_path: Path) -> None:
    program = (
        "import sys, time; print('invoice 7'); print('ERR: KafkaTimeoutError: no answer'); "
        "print('%3|FAIL| Local: Message timed out'); sys.stdout.write('code=_MSG_TIMED_OUT'); sys.exit(3)"
    )
    worker = start(program, restarts=1)
    assert worker.wait(60)
    found = [json.loads(row["value"]) for row in rows(tmp_path, "observations")]
    printed = ["ERR: KafkaTimeoutError: no answer", "%3|FAIL| Local: Message timed out"]
    once = ["started", *printed, "ended"]
    assert [each.get("line", each["event"]) for each in found] == [*once, *once]
    assert {each["instance"] for each in found} == {"app:3"}
    assert {each.get("status") for each in found} == {None, 3}


def test_one_that_prints_nothing(start: Start) -> None:
    worker = start("raise SystemExit")
    assert worker.wait(60)
    assert worker.problem.endswith(
        "ended by itself with status 0, and was started 1 times; it printed nothing"
    )


def test_a_file_that_cannot_be_executed_is_named(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "app"
    file.write_text("#!/no/such/interpreter\n")
    file.chmod(0o755)
    worker = start("", command=[str(file)])
    assert worker.wait(60)
    assert f"'{file}' cannot be started: No such file" in worker.problem


def test_one_that_ignores_sigterm_is_killed_and_reported(start: Start, tmp_path: Path) -> None:
    worker = start(DEAF, stop_limit=0.5)
    has_begun(tmp_path)
    worker.stop()
    assert worker.wait(60)
    assert "did not end within 0.5 s after SIGTERM, and was killed; its last output: begun" in worker.problem
    assert group_states(worker.pid) == []


def test_a_command_that_stands_for_something_else_gets_its_own_signal_and_name(
    start: Start, tmp_path: Path
) -> None:
    program = (
        f"import sys; signal.signal(signal.SIGINT, lambda *_: sys.exit(print('at once', flush=True))); {WAIT}"
    )
    worker = start(
        DEAF.replace(WAIT, program), stop_limit=0.5, called="image app:1", kill_signal=int(signal.SIGINT)
    )
    has_begun(tmp_path)
    worker.stop()
    assert worker.wait(60)
    assert worker.problem == (
        "app:3 (image app:1) did not end within 0.5 s after SIGTERM, and was killed; its last output: at once"
    )


@pytest.mark.parametrize("program", [WAIT, WITH_CHILD], ids=["alone", "with a child of its own"])
def test_faults_of_the_worker_are_faults_of_the_application(start: Start, program: str) -> None:
    worker = start(program)
    number = 2 if program == WAIT else 3
    wait_until(lambda: members(worker) == number)
    # A stop between vfork and exec stops the child, and leaves its parent in uninterruptible sleep until the exec.
    wait_until(lambda: "D" not in group_states(worker.pid))
    worker.pause()
    wait_until(lambda: worker.is_paused)
    assert set(group_states(worker.pid)) == {"T"}
    worker.resume()
    wait_until(lambda: not worker.is_paused)
    assert "T" not in group_states(worker.pid)
    worker.kill_by_fault()
    wait_until(lambda: members(worker) == 0)
    assert (worker.trouble, worker.problem) == ("", "")


def test_faults_confine_the_application_and_not_its_worker(start: Start) -> None:
    for each in ("packets", "cpu"):
        if reason := why_not(each):
            pytest.skip(f"this host cannot confine an application by {each}: {reason}")
    with socket.create_server(("127.0.0.1", 0)) as broker:
        address = broker.getsockname()
        # Two threads: one is stuck in a connection while it is cut, the other one needs the processor.
        program = (
            "import socket, sys, threading\n"
            "def work():\n"
            "    while True: pass\n"
            "threading.Thread(target=work, daemon=True).start()\n"
            "host, port = sys.argv[1].split(':')\n"
            "made = socket.create_connection((host, int(port)))\n"
            "while True: made.sendall(b'x')\n"
        )
        worker = start(program, "{bootstrap}", confined=("packets", "cpu"), broker=address)
        accepted, _ = broker.accept()
        reading = threading.Thread(target=_read_to_its_end, args=(accepted,))
        reading.start()
        worker.isolate()
        wait_until(lambda: bool(worker.counts.get("isolated") and worker.counts.get("blocked")))
        worker.connect()
        wait_until(lambda: not worker.counts["isolated"])
        worker.limit("cpu", 0.02)
        wait_until(lambda: worker.counts["cpu_limit"] == 20 and worker.counts["throttled"] > 0)
        worker.limit("cpu", None)
        wait_until(lambda: worker.counts["cpu_limit"] == -1)
        worker.isolate()
        wait_until(lambda: bool(worker.counts["isolated"]))
        worker.stop()
        assert worker.wait(60)
        reading.join(60)
    assert (worker.trouble, worker.problem) == ("", "")


def _read_to_its_end(connection: socket.socket) -> None:
    with connection, contextlib.suppress(ConnectionResetError):
        while connection.recv(1 << 16):
            pass


def test_an_application_that_cannot_be_isolated_says_so(start: Start) -> None:
    if reason := why_not("packets"):
        pytest.skip(f"this host cannot confine an application: {reason}")
    worker = start(WAIT, confined=("packets",), broker=("no-such-host.invalid", 9))
    worker.isolate()
    wait_until(lambda: bool(worker.problem))
    assert "app 0: isolate: the address of broker no-such-host.invalid:9 is unknown" in worker.problem
    assert not worker.counts.get("isolated")


def test_it_is_not_paused_as_long_as_the_application_runs(start: Start) -> None:
    worker = start(WAIT)
    wait_until(lambda: members(worker) == 2)
    os.kill(worker.pid, signal.SIGSTOP)
    wait_until(lambda: "T" in group_states(worker.pid))
    assert not worker.is_paused
    os.kill(worker.pid, signal.SIGCONT)


def test_what_the_application_leaves_running_ends_with_it(start: Start) -> None:
    worker = start("import subprocess, sys; subprocess.Popen(['sleep', '600'])")
    assert worker.wait(60)
    wait_until(lambda: members(worker) == 0)


def test_it_ends_with_a_worker_that_is_killed_alone(start: Start, tmp_path: Path) -> None:
    """As the kernel does when the harness is killed."""
    worker = start("import os; print(os.getpid(), 'begun', flush=True); import time; time.sleep(600)")
    has_begun(tmp_path)
    child = int(printed(tmp_path).split()[0])
    os.kill(worker.pid, signal.SIGKILL)
    wait_until(lambda: not _runs(child))


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_command_that_binds_it_to_its_parent_ends_where_the_parent_is_gone() -> None:
    file = str(Path(ROOT) / "workloads" / "workers" / "parent_death.py")
    ended = subprocess.run(
        [sys.executable, "-I", "-S", file, "1", "", "echo", "x"], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (1, "")


def test_it_gets_the_environment_of_the_test() -> None:
    ours = {"A": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}/x"}
    assert environment(ours) == {"A": "1", "PYTHONPATH": "/x"}
    assert environment({"PYTHONPATH": ROOT}) == {}
    assert environment({"PYTHONPATH": "/x"}) == {"PYTHONPATH": "/x"}
    assert filled("{a}{b}{}", {"a": "1"}) == "1{b}{}"


def test_an_instance_is_frozen_and_its_worker_is_not(start: Start) -> None:
    worker = start(WITH_CHILD)
    wait_until(lambda: members(worker) == 3)
    assert worker.freeze(60)
    assert worker.is_frozen
    assert sorted(state in STOPPED for state in group_states(worker.pid)) == [False, True, True]
    worker.pause()
    worker.thaw()
    wait_until(lambda: worker.is_paused)
    assert not worker.freeze(60), "a fault holds it"
    worker.resume()
    wait_until(lambda: not set(group_states(worker.pid)) & STOPPED)
    assert worker.freeze(60)
    worker.kill_by_fault()
    assert not worker.is_frozen


def test_a_process_that_stops_late_is_frozen(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = start(WITH_CHILD)
    wait_until(lambda: members(worker) == 3)
    looks = [["S", "R", "R"], ["S", "T", "R"], ["S", "T", "T"]]
    monkeypatch.setattr("workloads.workers.process.group_states", lambda _: looks.pop(0))
    assert worker.freeze(60)
    assert looks == []


def test_nothing_that_runs_is_nothing_to_freeze(start: Start, tmp_path: Path) -> None:
    worker = start("print('begun')", restarts=5)
    has_begun(tmp_path)
    wait_until(lambda: members(worker) == 1)
    assert not worker.freeze(60)
    assert not worker.is_frozen
