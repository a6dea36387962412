"""The files that ``kafkacheck init`` writes."""

from __future__ import annotations

TEST = '''"""What must hold of this Kafka configuration while brokers fail."""

from pytest_kafkacheck import AppendLog, Experiment, isolate, kill

SAFE = {"min.insync.replicas": 2}


def test_acknowledged_writes_survive_an_isolated_leader(kafkacheck):
    run = kafkacheck(
        Experiment(
            workload=AppendLog(partitions=3, acks="all", topic_config=SAFE),
            faults=[isolate("leader", at=3, lasting=8)],
        )
    )
    run.assert_valid()


def test_acknowledged_writes_survive_a_killed_leader(kafkacheck):
    run = kafkacheck(
        Experiment(
            workload=AppendLog(partitions=3, acks="all", topic_config=SAFE),
            faults=[kill("leader", at=3, lasting=6)],
        )
    )
    run.assert_valid()
'''

GITHUB = """\
name: kafkacheck
on: [push, pull_request]

jobs:
  kafkacheck:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install pytest-kafkacheck
      - run: kafkacheck setup
      - run: kafkacheck doctor
      - run: pytest -v --junitxml=kafkacheck.xml test_kafka.py
      - uses: actions/upload-artifact@v4
        if: failure()
        with:
          name: kafkacheck
          path: |
            kafkacheck.xml
            .kafkacheck/
          include-hidden-files: true
"""

GITLAB = """\
kafkacheck:
  image: python:3.12
  services:
    - docker:dind
  variables:
    DOCKER_HOST: tcp://docker:2375
    DOCKER_TLS_CERTDIR: ""
  timeout: 30 minutes
  before_script:
    - apt-get update -qq && apt-get install -y -qq default-jre-headless
    - pip install pytest-kafkacheck
    - kafkacheck setup
    - kafkacheck doctor
  script:
    - pytest -v --junitxml=kafkacheck.xml test_kafka.py
  artifacts:
    when: always
    paths: [.kafkacheck/]
    reports:
      junit: kafkacheck.xml
"""

CI = {"github": (".github/workflows/kafkacheck.yml", GITHUB), "gitlab": (".gitlab-ci.yml", GITLAB)}
"""Service to the file that it reads, and its text."""
