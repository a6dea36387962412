"""`kafkacheck audit FILE...`: what it reads, and what it says of each kind of topic."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.cli.main import main
from tests.support.compose_project import HAS_PLUGIN
from tests.support.configuration_files import (
    BITNAMI_CHART,
    COMPOSE_EXTENDS,
    COMPOSE_PROFILES,
    COMPOSE_ZOOKEEPER,
    MSK,
    STRIMZI_POOLS,
)

LETTERS = {"K": "keeps", "L": "loses", "U": "unavailable", "?": "unknown"}


class Audited:
    """What an audit of files wrote as JSON."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        capsys.readouterr()
        self.status = main(["audit", "--json", "-", *arguments])
        out, err = capsys.readouterr()
        assert not err, err
        self.json: Any = json.loads(out)

    def of(self, name: str) -> Any:
        return next(each for each in self.json["subjects"] if each["subject"].startswith(name))

    def effects(self, name: str) -> dict[str, str]:
        return {each["event"]: each["effect"] for each in self.of(name)["outcomes"]}

    def settings(self, name: str) -> Any:
        return self.of(name)["settings"]

    def why(self, name: str, event: str) -> str:
        found = next(each for each in self.of(name)["outcomes"] if each["event"] == event)
        return "\n".join([*found["why"], *found["also"]])

    @property
    def said(self) -> str:
        problems = [f"{each['tried']}: {each['missing']}" for each in self.json["problems"]]
        return "\n".join(
            [
                *self.json["remarks"],
                *problems,
                *(note for each in self.json["subjects"] for note in each["notes"]),
            ]
        )


def letters(text: str) -> dict[str, str]:
    """In the order of docs/audit.md."""
    return {
        event: LETTERS[each] for event, each in zip(EVENTS, text.split(), strict=False) if each in LETTERS
    }


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "topics", "expected"),
    [
        ("quick_start.properties", "topics made automatically", "U U U L L L L L L U ?"),
        ("quick_start.properties", "__consumer_offsets", "U U U L L L L L L U -"),
        ("quick_start.properties", "__transaction_state", "U U U L L L L L L U -"),
        ("three_unclean_3_6.properties", "topics made automatically", "K K L L K K L L K K ?"),
        ("three_unclean_3_6.properties", "__transaction_state", "K K L L K K L L K K -"),
        ("strimzi_ephemeral.yaml", "topics made automatically", "U - - - - - - - - L"),
        ("strimzi_ephemeral.yaml", "topic orders", "K - - - - - - - - K"),
    ],
)
def test_cases_from_practice_have_the_stated_answer(
    shared: Path, capsys: pytest.CaptureFixture[str], file: str, topics: str, expected: str
) -> None:
    found = Audited(capsys, str(shared / "cases" / "audit" / file), "--acks", "all").effects(topics)
    stated = letters(expected)
    assert {event: found[event] for event in stated} == stated


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("quick_start.properties", ["log.dirs=/tmp/kraft-combined-logs lies below /tmp, which many systems empty"]),
        ("three_unclean_3_6.properties", ["log.retention.hour is no setting of Kafka (log.retention.hours?)"]),
        ("strimzi_ephemeral.yaml", [
            "storage ephemeral",
            "2 of 3 controllers that lose their disks lose the metadata",
            "a killed leader is a voter as well; 2 of 3 remain",
        ]),
        ("compose_env.yml", [
            "default.replication.factor: brokers have different values: 3 on b1 and b2; 1 on b3, by default",
            "min.insync.replicas: brokers have different values: 2 on b1 and b2; 1 on b3",
            "__consumer_offsets has 1 replica: committed positions are lost with one disk",
        ]),
    ],
)  # fmt: skip
def test_cases_from_practice_must_also_say(
    shared: Path, capsys: pytest.CaptureFixture[str], file: str, said: list[str]
) -> None:
    found = Audited(capsys, str(shared / "cases" / "audit" / file)).said
    assert all(each in found for each in said), found


@pytest.mark.shared
def test_a_planned_stop_and_an_absence_in_practice(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = Audited(capsys, str(shared / "cases" / "audit" / "three_unclean_3_6.properties"))
    assert "a planned stop is a crash" in found.why("topics made", "rolling-restart")
    assert "offsets.retention.minutes=1440 (1 day) begins by auto.offset.reset" in found.why(
        "topics made", "group-away"
    )


@pytest.mark.shared
def test_a_topic_that_differs_by_its_maker_depends_on_it(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Audited(capsys, str(shared / "cases" / "audit" / "compose_env.yml"))
    assert found.of("topics made automatically")["unknown"] == {"replication": [3, 1], "min_isr": [2, 1]}
    assert found.why("topics made", "leader-wiped").startswith("it depends on replication factor")
    assert found.effects("__consumer_offsets")["leader-wiped"] == "loses"


STOPS = "U U U L U U L L U U ?"
"""Two dual-role nodes, two replicas in two racks, a minimum of 1."""


def test_of_two_dual_role_nodes_each_stop_leaves_no_majority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for node in (1, 2):
        file = tmp_path / f"server{node}.properties"
        file.write_text(
            f"process.roles=broker,controller\nnode.id={node}\nbroker.rack=r{node}\nlog.dirs=/var/kafka\n"
            "controller.quorum.voters=1@a:9093,2@b:9093\ndefault.replication.factor=2\nmin.insync.replicas=1\n"
        )
        files.append(str(file))
    found = Audited(capsys, *files)
    assert found.effects("topics made").items() >= letters(STOPS).items()
    assert "no majority remains" in found.said


def test_files_of_brokers_controllers_and_clients_are_told_apart_by_their_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "a": "process.roles=broker\nnode.id=1\ncontroller.quorum.voters=9@c:1\nunclean.leader.election.enable=false\n"
        "process.roles=broker\nnode.id=1\ncontroller.quorum.voters=9@c:1\nunclean.leader.election.enable=false\n",
        "b": "process.roles=controller\nnode.id=9\nunclean.leader.election.enable=true\n",
        "c": "bootstrap.servers=x:9092\nacks=1\n",
        "d": "group.id=g\nauto.offset.reset=latest\nenable.auto.commit=false\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = Audited(capsys, *(str(tmp_path / name) for name in texts))
    settings = found.settings("topics made automatically")
    assert settings.items() >= {
        "unclean": True, "roles": "separate", "controllers": 1, "acks": 1, "auto_offset_reset": "latest",
    }.items()  # fmt: skip
    assert found.effects("topics made")["group-away"] == "loses"
    assert found.settings("__consumer_offsets")["acks"] == "all"
    assert (
        Audited(capsys, *(str(tmp_path / name) for name in texts), "--acks", "all").settings("topics")["acks"]
        == "all"
    )


def test_a_misspelt_name_of_a_client_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server").write_text("broker.id=1\nlog.dirs=/d\n")
    (tmp_path / "producer").write_text("linger.ms=5\nenable.idempotance=true\nqueue.buffering.max.ms=5\n")
    (remark,) = Audited(capsys, *(str(tmp_path / name) for name in ("server", "producer"))).json["remarks"]
    assert remark.startswith(
        f"{tmp_path / 'producer'}:2: enable.idempotance is no setting of Kafka (enable.idempotence?)"
    )


def test_a_broker_of_which_no_file_says_the_mode_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was judged as one of KRaft without a word."""
    file = tmp_path / "server.properties"
    file.write_text("broker.id=1\nlog.dirs=/d\nmin.insync.replicas=2\n")
    text = f"{file}:1: a broker with broker.id, and neither process.roles nor zookeeper.connect"
    main(["audit", str(file)])
    assert text in "".join(capsys.readouterr())
    for said in (["--mode", "kraft"], ["--mode", "zookeeper", "--version", "3.9.2"]):
        main(["audit", str(file), *said])
        assert "one of which it needs" not in "".join(capsys.readouterr())


def test_producers_that_differ_count_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {
        "b": "broker.id=1\ndefault.replication.factor=3",
        "p": "acks=1",
        "q": "acks=all",
    }.items():
        (tmp_path / name).write_text(text)
    found = Audited(capsys, *(str(tmp_path / name) for name in "bpq"))
    assert found.of("topics made")["unknown"] == {"acks": [1, "all"]}
    assert (
        found.why("topics made", "leader-killed")
        == "it depends on acks: loses with acks=1; keeps with acks=all"
    )


def test_the_text_of_a_managed_service_is_one_of_brokers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "msk.txt"
    file.write_text(MSK)
    found = Audited(capsys, str(file), "--version", "3.6.0")
    assert found.settings("topics made").items() >= {"replication": 3, "min_isr": 2, "unclean": True}.items()
    assert found.effects("topics made")["rack-lost"] == "unknown"
    assert "/tmp" not in found.said


def test_a_compose_file_is_resolved_without_docker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, text in COMPOSE_EXTENDS.items():
        (tmp_path / name).write_text(text)
    found = Audited(capsys, str(tmp_path / "compose.yml"))
    settings = found.settings("topics made automatically")
    assert settings.items() >= {
        "version": "3.9.1", "replication": 3, "min_isr": 2, "unclean": True, "flush_messages": 7, "storage": "kept",
        "roles": "combined", "controllers": 3,
    }.items()  # fmt: skip
    assert "compose.yml:16: KAFKA_LOG_CLEANER_ENABLE" in found.said
    assert "env_file absent.env: the file cannot be read: No such file or directory" in found.said
    assert found.of("topics made")["origins"]["min_isr"].endswith("base.yml:5")
    assert found.of("topics made")["origins"]["unclean"].endswith("broker.env:2")


def test_a_compose_file_is_resolved_by_docker_where_it_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Docker says of a setting counts; where it stands is read."""
    file, docker = tmp_path / "compose.yml", tmp_path / "docker"
    file.write_text(
        "services:\n  k:\n    image: apache/kafka:4.1.1\n    environment:\n      KAFKA_MIN_INSYNC_REPLICAS: 1\n"
    )
    resolved = {
        "services": {"k": {"image": "apache/kafka:4.0.0", "environment": {"KAFKA_MIN_INSYNC_REPLICAS": "2"}}}
    }
    docker.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(resolved))})\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Audited(capsys, str(file))
    assert found.settings("topics made").items() >= {"version": "4.0.0", "min_isr": 2}.items()
    assert found.of("topics made")["origins"]["min_isr"] == f"{file}:5"
    docker.write_text(f"#!{sys.executable}\nraise SystemExit(1)\n")
    assert Audited(capsys, str(file)).settings("topics made")["min_isr"] == 1


@pytest.mark.parametrize(
    "by",
    ["reading", pytest.param("docker", marks=pytest.mark.skipif(not HAS_PLUGIN, reason="no docker compose"))],
)
def test_variables_of_an_env_file_and_profiles_are_those_of_docker_compose(
    by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "reading":
        monkeypatch.setenv("PATH", str(tmp_path))
    for name, text in COMPOSE_PROFILES.items():
        (tmp_path / name).write_text(text)
    found = Audited(capsys, str(tmp_path / "compose.yml"))
    settings = found.settings("topics made automatically")
    assert settings.items() >= {"min_isr": 2, "unclean": True, "controllers": 1}.items()
    assert "k2 is left out: none of its profiles is active" in found.said
    monkeypatch.setenv("COMPOSE_PROFILES", "less, more")
    assert Audited(capsys, str(tmp_path / "compose.yml")).settings("topics made")["controllers"] == 2


def test_zookeeper_images_of_confluent_and_what_is_on_no_volume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "docker-compose.yaml"
    file.write_text(COMPOSE_ZOOKEEPER)
    found = Audited(capsys, str(file))
    settings = found.settings("topics made automatically")
    assert settings.items() >= {
        "mode": "zookeeper", "version": "3.4", "zookeepers": 1, "storage": "ephemeral", "replication": 1,
    }.items()  # fmt: skip
    assert found.effects("topics made")["rolling-restart"] == "loses"
    assert "kafka: /var/lib/kafka/data is on no volume that outlives the container" in found.said
    assert "the disk of the only one of the nodes of ZooKeeper goes with its container" in found.said
    assert "init" not in found.said
    assert "3 replicas need as many brokers, and there is 1" in found.said  # of __transaction_state
    file.write_text(
        COMPOSE_ZOOKEEPER.replace(
            "KAFKA_BROKER_ID: 1", "KAFKA_BROKER_ID: 1\n    volumes: [d:/var/lib/kafka/data]"
        )
    )
    assert Audited(capsys, str(file)).effects("topics made")["rolling-restart"] == "unavailable"


def test_pools_of_strimzi_and_their_disks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kafka.yaml"
    file.write_text(STRIMZI_POOLS)
    found = Audited(capsys, str(file))
    assert found.settings("topics made").items() >= {
        "roles": "separate", "controllers": 1, "storage": "kept", "metadata_storage": "ephemeral", "version": "4.0.0",
    }.items()  # fmt: skip
    assert found.effects("topics made")["rolling-restart"] == "loses"
    assert "in how many zones these are, only the live cluster knows" in found.said
    assert (
        found.settings("topic page.views").items() >= {"replication": 2, "min_isr": 1, "tiered": True}.items()
    )
    assert "tiered storage is outside of this audit" in found.said
    assert "min.insync.replica is no setting of Kafka (min.insync.replicas?)" in found.said


def test_a_rendered_chart_is_read_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BITNAMI_CHART.encode())))
    found = Audited(capsys, "-")
    assert found.settings("topics made").items() >= {
        "replication": 3, "min_isr": 2, "roles": "combined", "controllers": 3, "version": "3.9.0", "storage": "kept",
    }.items()  # fmt: skip
    assert found.of("topics made")["origins"]["replication"] == "standard input:9"


@pytest.mark.parametrize(
    ("setting", "version", "said"),
    [
        ("min.insync.replica=2", "4.1.1", "min.insync.replica is no setting of Kafka (min.insync.replicas?)"),
        (
            "share.coordinator.state.topic.min.isr=1",
            "3.9.0",
            "no setting of Kafka 3.9: Kafka has it from 4.0 on",
        ),
        ("log.message.format.version=2.8", "4.0.0", "no setting of Kafka 4.0: Kafka has it in 2.8 to 3.9"),
        (
            "controller.quorum.bootstrap.server=x:1",
            "4.1.1",
            "(controller.quorum.bootstrap.servers?, since Kafka 3.8)",
        ),
        ("our.own.thing=1", "4.1.1", "our.own.thing is no setting of Kafka; a plugin may read it"),
    ],
)
def test_names_that_kafka_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], setting: str, version: str, said: str
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"node.id=1\nprocess.roles=broker\nlog.dirs=/d\nlistener.name.x.ssl.key=1\n{setting}\n")
    (remark,) = Audited(capsys, str(file), "--version", version).json["remarks"]
    assert remark.startswith(f"{file}:5: ")
    assert said in remark


def test_values_of_the_environment_are_not_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("broker.id=1\ndefault.replication.factor=3\nmin.insync.replicas=${file:/etc/k:min}\n")
    found = Audited(capsys, str(file))
    assert found.of("topics made")["unknown"] == {"min_isr": [1, 2]}
    assert f"{file}:3: min.insync.replicas=${{file:/etc/k:min}}" in found.said
    assert "min_isr" not in Audited(capsys, str(file), "--min-isr", "2").of("topics made")["unknown"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.properties", b"", "{}: it is empty; expected settings of Kafka"),
        ("x.properties", b"node.id=1\n\0\1", "{}:2: it is no text file"),
        ("x.properties", b"node.id=1\nmin.insync.replicas=two\n", "{}:2: min.insync.replicas=two: expected a whole"),
        ("x.properties", b"\nunclean.leader.election.enable=yes\n", "{}:2: unclean.leader.election.enable=yes:"),
        ("x.properties", b"foo=1\n", "{}:1: Kafka knows none of its settings (foo)"),
        ("x.properties", b"client.id=me\n", "{}:1: its settings (client.id) are those of producers and"),
        ("x.properties", b"acks=1\n", "{}: only settings of clients; add the file of a broker"),
        ("x.properties", b"acks=2\n", "{}:1: acks=2: expected all, -1, 1, 0"),
        ("x.yml", b"\na: [1\nb: c: d\n", "{}:3: this is no valid YAML: "),
        ("x.yml", b"# nothing\n", "{}:1: it is empty"),
        ("x.yml", b"- a\n", "{}:1: expected a compose file, or resources of Kubernetes"),
        ("x.yml", b"replicaCount: 3\n", "render it first: helm template"),
        ("x.yml", b"kind: Deployment\nmetadata: {name: x}\n", "{}:1: kind Deployment: nothing here runs Kafka"),
        ("x.yml", b"services:\n  web: {image: nginx}\n", "{}:2: no service runs Kafka: none of web"),
        ("x.yml", b"services:\n  k: {extends: k, image: apache/kafka}\n", "{}:2: the service k extends itself"),
        ("x.yml", b"services:\n  k:\n    image: apache/kafka:4.1.1\n    environment: {KAFKA_ZOOKEEPER_CONNECT: z}\n",
         "{}:4: zookeeper.connect with Kafka 4.1.1: Kafka 4.0 removed ZooKeeper mode"),
    ],
)  # fmt: skip
def test_a_bad_input_is_one_sentence_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    assert main(["audit", str(file)]) == 2
    out, err = capsys.readouterr()
    assert said.format(file) in err
    assert (out, err.strip().count("\n")) == ("", 0)


def test_a_directory_and_a_missing_file_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path)]) == 2
    assert f"{tmp_path}: it is a directory; expected files" in capsys.readouterr().err
    assert main(["audit", str(tmp_path / "no.properties")]) == 2
    assert "no.properties: cannot be read: No such file or directory" in capsys.readouterr().err


def test_files_are_read_without_the_packages_of_clusters(tmp_path: Path) -> None:
    """They make up most of the time to start, and an audit of a file needs none of them."""
    file = tmp_path / "server.properties"
    file.write_text("node.id=1\n")
    program = (
        "import sys; from pytest_kafkacheck.cli.main import main; main(['audit', sys.argv[1]]); "
        "print('loaded:', *sorted({'kafka', 'docker', 'pyspark', 'pyarrow', 'pytest'} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert run.stdout.splitlines()[-1] == "loaded:"
