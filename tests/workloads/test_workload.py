"""Any class can be a workload: it is checked before anything starts, and loaded again from experiment.json."""

from __future__ import annotations

import doctest
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from workloads import stored, workload
from workloads.append_log import AppendLog
from workloads.conformance import MEMBERS, check_workload
from workloads.reference import NotLoadable, Reference
from workloads.roles.context import WorkerContext
from workloads.workload import PROBE, Topic, WorkerRole, WorkerSpec, Workload


def count(context: WorkerContext) -> None:
    """A role: never run here."""


COUNTER = WorkerRole("counter", count)


@dataclass(frozen=True)
class Counter(Workload):
    """The least that a workload needs."""

    partitions: int = 1

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (Topic(name=f"count-{run}", partitions=self.partitions, replication_factor=1),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        return (WorkerSpec(role=COUNTER, process=0), WorkerSpec(role=PROBE, process=1))


def test_the_example_of_the_docstring_holds() -> None:
    assert doctest.testmod(workload).failed == 0


def test_built_in_workloads_are_found_and_conform() -> None:
    assert stored.built_in()["AppendLog"] is AppendLog
    needed: dict[str, dict[str, Any]] = {
        "Pipeline": {"command": ["a", "{bootstrap}", "{source}", "{sink}"]},
        "Queue": {"library": "command:a"},
    }
    for name, kind in stored.built_in().items():
        check_workload(kind(**needed.get(name, {})))


def test_topics_and_workers_suffice() -> None:
    check_workload(Counter())
    assert Counter().main_topic("r") == "count-r"
    assert Counter().stop_order == (("counter",),)
    assert (Counter().load_counter, Counter().acknowledges, Counter().has_groups) == ("acks", True, False)
    assert (Counter().allowed, list(Counter().smaller())) == (frozenset(), [])
    assert Counter().requires == {"acks-after-faults"}
    with pytest.raises(ValueError, match="Counter does not define with_layout"):
        Counter().with_layout({0: [1]})


def test_a_class_that_does_not_inherit_needs_every_member() -> None:
    @dataclass(frozen=True)
    class Own:
        def topics(self, run: str) -> tuple[Topic, ...]:
            return Counter().topics(run)

    with pytest.raises(ValueError, match=r"Own does not define workers, main_topic, .*inherit from"):
        check_workload(Own())
    assert {"topics", "workers", "with_layout", "smaller", "to_json", "from_json"} < set(MEMBERS)


def role(function: Any, name: str = "counter") -> tuple[WorkerSpec, ...]:
    return (WorkerSpec(role=WorkerRole(name, function), process=0),)


def gives(value: Any) -> Callable[..., Any]:
    """A method that returns a value."""
    return lambda *_: value


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"topics": lambda _, run: [f"t-{run}"]}, "Wrong.topics gave ['t-a1']: expected one or more Topic"),
        ({"topics": gives(())}, "Wrong.topics gave ()"),
        ({"topics": lambda _: ()}, "Wrong: TypeError"),
        ({"topics": gives((Topic(name="t", partitions=1, replication_factor=1),))},
         "Wrong.topics gave the names t for run 'a1' and t for run 'b2': expected different ones"),
        ({"main_topic": gives("other")}, "Wrong.main_topic gave 'other': expected one of count-a1"),
        ({"aliases": gives(["orders"])}, "Wrong.aliases=['orders']: expected short names of groups"),
        ({"aliases": lambda _, run: {"my orders": run}}, "Wrong.aliases={'my orders': 'a1'}"),
        ({"workers": gives(None)}, "Wrong.workers gave None: expected one or more WorkerSpec"),
        ({"workers": gives((WorkerSpec(role=COUNTER, process=1),))}, "processes [1]: expected 0 to 0"),
        ({"workers": gives((WorkerSpec(role="counter", process=0),))},  # type: ignore[arg-type]
         "process 0 has role='counter'; expected a WorkerRole"),
        ({"workers": gives((WorkerSpec(role=COUNTER, process=0, library="jafka"),))},
         "role 'counter': no client library 'jafka'; there are confluent-kafka, java, kafka-python"),
        ({"workers": gives((WorkerSpec(role=COUNTER, process=0, group="orders"),))},
         "role 'counter': process 0 has group='orders'; expected a short name of Wrong.aliases, or None"),
        ({"workers": gives((WorkerSpec(role=COUNTER, process=0, options={"a": {1}}),))},
         "its options cannot be sent to another process as JSON"),
        ({"workers": gives(role(lambda _: None))}, "role 'counter': <lambda> is defined inside a function"),
        ({"workers": gives(role("nowhere"))}, "'nowhere': expected 'module:name'"),
        ({"workers": gives(role(3))}, "expected a function or 'module:name', got 3"),
        ({"workers": gives(role(count, "final"))}, "role 'final': this name belongs to the final reads"),
        ({"allowed": ["duplicate"]}, "Wrong.allowed=['duplicate']: expected a set of names"),
        ({"requires": "session-reads"}, "Wrong.requires='session-reads': expected a set of names of promises"),
        ({"library": "jafka"}, "Wrong.library='jafka': no such client library; there are confluent-kafka"),
        ({"load_counter": 3}, "Wrong.load_counter=3: expected text"),
        ({"acknowledges": None}, "Wrong.acknowledges=None: expected True or False"),
        ({"stop_order": ("counter",)}, "Wrong.stop_order=('counter',): expected stages"),
        ({"stop_order": (("writer",),)}, "names of its roles (counter, probe)"),
        ({"to_json": gives({"a": {1}})}, "Wrong.to_json gave no JSON"),
        ({"to_json": gives([])}, "Wrong.to_json gave []: expected a dictionary"),
        ({"to_json": gives({"more": 1})}, 'does not take back what to_json gave, {"more": 1}: TypeError'),
        ({"from_json": classmethod(lambda cls, _: cls(7))}, "expected an equal workload"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_before_anything_starts(members: dict[str, Any], message: str) -> None:
    # The qualified name makes it look like a class at the top level of this file.
    kind = type("Wrong", (Counter,), {**members, "__qualname__": "Wrong"})
    with pytest.raises(ValueError, match=re.escape(message)):
        check_workload(kind())


def test_a_class_inside_a_function_cannot_be_loaded_again() -> None:
    class Inner(Counter):
        pass

    with pytest.raises(ValueError, match=r"Inner cannot be loaded again .*top level of a file"):
        check_workload(Inner())


@pytest.fixture
def user_file(tmp_path: Path) -> Iterator[Path]:
    """A file with a workload that imports a module beside it, as test files do."""
    (tmp_path / "helper_of_user.py").write_text("REPLICAS = 1\n")
    source = Path(__file__).read_text()
    begin, end = source.index("def count("), source.index("def test_the_example")
    file = tmp_path / "user_workload.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from helper_of_user import REPLICAS\n"
        "from workloads.workload import PROBE, Topic, WorkerRole, WorkerSpec, Workload\n"
        "WorkerContext = object\n" + source[begin:end].replace("replication_factor=1", "replication_factor=REPLICAS")
    )  # fmt: skip
    before, modules = list(sys.path), set(sys.modules)
    yield file
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def entry(path: Path, **change: Any) -> dict[str, Any]:
    return {
        "type": "Counter",
        "module": "user_workload",
        "file": str(path),
        "values": {"partitions": 2},
        **change,
    }


def test_a_workload_of_a_user_is_loaded_from_its_file(user_file: Path) -> None:
    made = stored.from_json(entry(user_file))
    assert type(made).__name__ == "Counter"
    assert made.topics("r")[0].partitions == 2
    check_workload(made)
    assert stored.to_json(made) == entry(
        user_file, judging={"allowed": [], "requires": ["acks-after-faults"], "settings": {}}
    )
    assert type(stored.from_json(entry(user_file))) is type(made), "the file was executed twice"
    assert made.workers()[0].role.reference == Reference(
        module="user_workload", name="count", file=str(user_file)
    )


def test_a_module_of_the_same_name_from_another_file_stays_what_it_is(user_file: Path) -> None:
    first = type(stored.from_json(entry(user_file)))
    other = user_file.parent / "other"
    other.mkdir()
    (other / user_file.name).write_text(user_file.read_text())
    second = type(stored.from_json(entry(other / user_file.name)))
    assert first is not second
    assert sys.modules["user_workload"].Counter is first


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"file": "/no/such/file.py", "module": "no_such_module"},
         "workload 'Counter' cannot be loaded: /no/such/file.py: no such file, and module no_such_module cannot be "
         "imported either (ModuleNotFoundError"),
        ({"type": "Missing"}, "user_workload.py defines no Missing"),
        ({"type": "count"}, "expected a class that inherits from Workload"),
        ({"values": {"parts": 2}}, "workload Counter: "),
        ({"values": 3}, "workload Counter: "),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_named(user_file: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        stored.from_json(entry(user_file, **change))


def test_a_file_that_fails_is_named_with_its_error(tmp_path: Path) -> None:
    file = tmp_path / "broken_workload.py"
    file.write_text("import no_such_helper\n")
    with pytest.raises(
        NotLoadable, match=rf"{file} cannot be imported \(ModuleNotFoundError: .*no_such_helper"
    ):
        Reference(module="broken_workload", name="Counter", file=str(file)).load()
    assert "broken_workload" not in sys.modules


def test_this_class_survives_json() -> None:
    again = stored.from_json(json.loads(json.dumps(stored.to_json(replace(Counter(), partitions=3)))))
    assert again == Counter(3)
