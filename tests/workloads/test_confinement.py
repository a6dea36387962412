"""What faults do to an application's processes, on this kernel: packets to brokers, processor time, memory."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.real_cluster import wait_until
from workloads.applications import control_group
from workloads.applications.confinement import NO_LIMIT, Confinement, why_not
from workloads.applications.control_group import ControlGroup, Unavailable
from workloads.applications.packet_gate import PacketGate, Way, peers

BOUND = Path(__file__).parents[2] / "workloads" / "workers" / "parent_death.py"

Confine = Callable[..., Confinement]
Run = Callable[..., "subprocess.Popen[str]"]

TALKER = """
import socket, sys
def connected(host, port):
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.settimeout(0.5)
    try:
        made.connect((host, int(port)))
        return made
    except TimeoutError:
        return None
first = connected(*sys.argv[1:3])
print(first is not None, flush=True)
for line in sys.stdin:
    if line == "send\\n":
        first.sendall(b"x")
    elif line == "receive\\n":
        first.settimeout(10)
        print(first.recv(5), flush=True)
    else:
        try:
            print(connected(*line.split()) is not None, flush=True)
        except ConnectionRefusedError:
            print("refused", flush=True)
"""


@pytest.fixture
def confine() -> Iterator[Confine]:
    made: list[Confinement] = []

    def confine(*wanted: str, brokers: tuple[tuple[str, int], ...] = ()) -> Confinement:
        for each in wanted:
            if reason := why_not(each):
                pytest.skip(f"this host cannot confine an application by {each}: {reason}")
        made.append(Confinement("test", len(made), wanted, brokers))
        return made[-1]

    yield confine
    for each in made:
        each.remove()
    assert not [folder for each in made for folder in each.folders if folder.exists()]


@pytest.fixture
def run() -> Iterator[Run]:
    """Starts a Python program in the groups of a confinement."""
    started: list[subprocess.Popen[str]] = []

    def run(held: Confinement, program: str, *arguments: str) -> subprocess.Popen[str]:
        groups = os.pathsep.join(map(str, held.folders))
        bound = [sys.executable, "-I", "-S", str(BOUND), str(os.getpid()), groups]
        started.append(
            subprocess.Popen(
                [*bound, sys.executable, "-u", "-c", program, *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        return started[-1]

    yield run
    for each in started:
        each.kill()
        each.communicate()


def ask(process: subprocess.Popen[str], line: str) -> str:
    tell(process, line)
    return answer(process)


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def opened(gate: PacketGate) -> Iterator[None]:
    try:
        yield
    finally:
        gate.open()


def listening(host: str, port: int = 0) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.bind((host, port))
    made.listen()
    made.settimeout(10)
    return made


@pytest.mark.parametrize(
    ("broker", "reached_at"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "::ffff:127.0.0.1"), ("::1", "::1")],
    ids=["IPv4", "IPv4 by a socket of IPv6, as Java does", "IPv6"],
)
def test_nothing_passes_to_a_broker_while_the_gate_is_closed(
    confine: Confine, run: Run, broker: str, reached_at: str
) -> None:
    with closing(listening(broker)) as server, closing(listening("127.0.0.1")) as other:
        port = server.getsockname()[1]
        with closing(listening("127.0.0.2", port)) as same_port:
            # Another one before and behind it, so that the program has to go on to the next.
            held = confine("packets", brokers=(("10.9.8.7", 1), (broker, port), ("::2", 2)))
            gate = held.gate
            assert gate is not None
            talker = run(held, TALKER, reached_at, str(port))
            assert answer(talker) == "True"
            accepted, _ = server.accept()
            with closing(accepted):
                accepted.settimeout(0.5)
                gate.close()
                tell(talker, "send")
                accepted.sendall(b"reply")
                with pytest.raises(TimeoutError):
                    accepted.recv(1)
                assert ask(talker, f"{reached_at} {port}") == "False"
                assert ask(talker, f"127.0.0.1 {other.getsockname()[1]}") == "True"
                assert ask(talker, f"127.0.0.2 {same_port.getsockname()[1]}") == "True"
                assert gate.is_closed
                assert gate.tried >= 3
                with closing(socket.create_connection((broker, port), timeout=5)):
                    pass  # A process that is not confined.
                gate.open()
                assert (gate.is_closed, gate.tried) == (False, 0)
                # What waited arrives: the connection was open all the time.
                accepted.settimeout(30)
                assert accepted.recv(1) == b"x"
                assert ask(talker, "receive") == "b'reply'"
                assert ask(talker, f"{reached_at} {port}") == "True"


@pytest.mark.parametrize(("way", "arrives"), [("in", "request"), ("out", "answer")])
def test_one_direction_is_cut_and_the_other_one_is_not(
    confine: Confine, run: Run, way: Way, arrives: str
) -> None:
    """The kernel of the other side is the witness: it got the data, or it did not."""
    with closing(listening("127.0.0.1")) as server:
        held = confine("packets")
        talker = run(held, TALKER, "127.0.0.1", str(server.getsockname()[1]))
        assert answer(talker) == "True"
        gate = PacketGate(held.folders[0], [server.getsockname()], [way])
        accepted, _ = server.accept()
        with closing(accepted), opened(gate):
            accepted.settimeout(0.5)
            gate.close()
            tell(talker, "send")
            accepted.sendall(b"reply")
            if arrives == "request":
                assert accepted.recv(1) == b"x"
            else:
                with pytest.raises(TimeoutError):
                    accepted.recv(1)
                assert ask(talker, "receive") == "b'reply'"
            wait_until(lambda: gate.dropped[way] > 0)
            assert list(gate.dropped) == [way]
            gate.open()
            accepted.settimeout(30)
            if arrives == "request":
                assert ask(talker, "receive") == "b'reply'"
            else:
                assert accepted.recv(1) == b"x"


def test_packets_are_lost_on_their_way_and_not_refused_by_the_sender(confine: Confine, run: Run) -> None:
    """TCP then waits longer and longer between its tries, instead of trying again with each write."""
    with closing(listening("127.0.0.1")) as server:
        held = confine("packets")
        talker = run(held, TALKER, "127.0.0.1", str(server.getsockname()[1]))
        assert answer(talker) == "True"
        gate = PacketGate(held.folders[0], [server.getsockname()], ["out"])
        with opened(gate):
            gate.close()
            for _ in range(200):
                tell(talker, "send")
            assert ask(talker, "127.0.0.1 9") == "refused", "all sends are behind it"
            assert 0 < gate.dropped["out"] < 50


def test_gates_of_one_group_add_up(confine: Confine, run: Run) -> None:
    with closing(listening("127.0.0.1")) as server:
        port = server.getsockname()[1]
        held = confine("packets")
        talker = run(held, TALKER, "127.0.0.1", str(port))
        assert answer(talker) == "True"
        first, second = (PacketGate(held.folders[0], [("127.0.0.1", port)], ["out"]) for _ in range(2))
        with opened(first), opened(second):
            first.close()
            second.close()
            assert ask(talker, f"127.0.0.1 {port}") == "False"
            first.open()
            assert ask(talker, f"127.0.0.1 {port}") == "False"
            assert second.dropped["out"] > 0
            second.open()
            assert ask(talker, f"127.0.0.1 {port}") == "True"


HOLDER = """
import sys
from pathlib import Path
from workloads.applications.packet_gate import PacketGate
PacketGate(Path(sys.argv[1]), [("127.0.0.1", int(sys.argv[2]))]).close()
print("closed", flush=True)
sys.stdin.read()
"""


def test_nothing_is_cut_after_the_holder_of_a_gate_was_killed(confine: Confine, run: Run) -> None:
    with closing(listening("127.0.0.1")) as server:
        port = server.getsockname()[1]
        held = confine("packets")
        talker = run(held, TALKER, "127.0.0.1", str(port))
        assert answer(talker) == "True"
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(held.folders[0]), str(port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(BOUND.parents[2])},
        )  # fmt: skip
        with holder:
            assert answer(holder) == "closed"
            assert ask(talker, f"127.0.0.1 {port}") == "False"
            holder.kill()
            holder.wait(30)
        assert ask(talker, f"127.0.0.1 {port}") == "True"


def test_a_gate_can_be_closed_again_and_again(confine: Confine) -> None:
    gate = confine("packets", brokers=(("127.0.0.1", 9),)).gate
    assert gate is not None
    for _ in range(3):
        gate.close()
        gate.close()
        assert gate.is_closed
        gate.open()
        gate.open()
        assert not gate.is_closed


def test_a_gate_of_a_group_that_is_gone_says_so(tmp_path: Path) -> None:
    gate = PacketGate(tmp_path / "gone", [("127.0.0.1", 9)])
    with pytest.raises(OSError, match="gone"):
        gate.close()
    assert not gate.is_closed


def test_names_of_brokers_are_resolved_to_all_of_their_addresses() -> None:
    assert peers([("127.0.0.1", 9), ("::1", 10), ("127.0.0.1", 9)]) == [
        (b"\x7f\0\0\1", 9),
        (bytes(15) + b"\1", 10),
    ]
    with pytest.raises(OSError, match=r"the address of broker no-such-host\.invalid:9 is unknown"):
        peers([("no-such-host.invalid", 9)])


def test_processor_time_is_limited_and_counted(confine: Confine, run: Run) -> None:
    held = confine("cpu")
    assert held.counts() == {"cpu_limit": NO_LIMIT, "throttled": 0}
    run(held, "while True: pass")
    held.limit("cpu", 0.05)
    wait_until(lambda: held.counts()["throttled"] > 2)
    assert held.counts()["cpu_limit"] == 50
    held.limit("cpu", None)
    assert held.counts()["cpu_limit"] == NO_LIMIT


GROWS = """
import sys
print("begun")
sys.stdin.readline()
held = []
while True:
    held.append(bytearray(1 << 20))
"""


def test_memory_is_limited_to_what_is_used_and_some_more(confine: Confine, run: Run) -> None:
    held = confine("memory")
    assert held.counts()["memory_limit"] == NO_LIMIT
    growing = run(held, GROWS)
    assert answer(growing) == "begun"
    held.limit("memory", 4 << 20)
    counts = held.counts()
    assert 0 < counts["memory_limit"] - counts["memory_used"] <= 5 << 20
    assert counts["memory_reached"] == 0
    tell(growing, "go")
    assert growing.wait(30) == -9, "the kernel kills it, because nothing can be reclaimed"
    assert held.counts()["memory_reached"] > 0
    held.limit("memory", None)
    assert held.counts()["memory_limit"] == NO_LIMIT


def test_a_group_of_a_process_that_was_killed_is_removed_by_the_next(confine: Confine) -> None:
    parent = confine("packets").folders[0].parent
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    left = parent / control_group.NAME.format(run="test", member="app-7", owner=ended.pid)
    left.mkdir()
    kept = parent / control_group.NAME.format(run="test", member="app-8", owner=os.getppid())
    kept.mkdir()
    try:
        confine("packets")
        assert (left.exists(), kept.exists()) == (False, True)
    finally:
        kept.rmdir()


@pytest.mark.parametrize("wanted", ["packets", "cpu", "memory"])
def test_a_host_without_control_groups_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setattr(control_group, "hierarchies", lambda: iter(()))
    said = f"no hierarchy of control groups for {wanted} is mounted"
    assert why_not(wanted) == said
    with pytest.raises(Unavailable, match=re.escape(said)):
        ControlGroup("test", "app-0", [wanted])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"cgroup.controllers": "cpu memory"}, "No such file or directory"),
        (
            {"cgroup.controllers": "pids", "cgroup.subtree_control": ""},
            "no hierarchy of control groups for cpu",
        ),
    ],
)
def test_a_hierarchy_of_version_2_without_the_controller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], said: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(control_group, "hierarchies", lambda: iter([(2, tmp_path, frozenset(), Path())]))
    with pytest.raises(Unavailable, match=said):
        ControlGroup("test", "app-0", ["cpu"])


def test_files_of_version_2_are_those_of_the_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a folder in place of the hierarchy, with the files of Documentation/admin-guide/cgroup-v2.rst."""
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu\n")
    name = control_group.NAME.format(run="test", member="app-0", owner=os.getpid())
    folder = tmp_path / name
    folder.mkdir()
    for file, text in {
        "cpu.stat": "usage_usec 1\nnr_periods 9\nnr_throttled 4\n",
        "cpu.max": "max 100000\n",
        "memory.events": "low 0\nhigh 0\nmax 3\noom 1\n",
        "memory.current": "4096\n",
        "memory.max": "max\n",
    }.items():
        (folder / file).write_text(text)
    monkeypatch.setattr(control_group, "hierarchies", lambda: iter([(2, tmp_path, frozenset(), Path("own"))]))
    group = ControlGroup("test", "app-0", ["cpu", "memory"])
    assert group.folders == (folder,)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory"
    assert (group.cpu_limit(), group.throttled(), group.memory(), group.reached()) == (
        None,
        4,
        (4096, None),
        3,
    )
    group.limit_cpu(0.25)
    group.limit_memory(8192)
    assert ((folder / "cpu.max").read_text(), group.cpu_limit()) == ("25000 100000", 0.25)
    assert group.memory() == (4096, 8192)
    group.limit_cpu(None)
    group.limit_memory(None)
    assert ((folder / "cpu.max").read_text(), group.memory()) == ("max 100000", (4096, None))


def test_a_command_that_cannot_enter_its_group_is_not_started(tmp_path: Path) -> None:
    bound = [sys.executable, "-I", "-S", str(BOUND), str(os.getpid()), str(tmp_path / "gone")]
    ended = subprocess.run([*bound, "echo", "x"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (127, "")
    assert "gone cannot be entered: No such file or directory" in ended.stderr
