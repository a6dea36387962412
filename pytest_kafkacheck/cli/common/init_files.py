"""The files that ``kafkacheck init`` writes: the first test, and with ``--ci`` those for continuous integration."""

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
on:
  push:
  pull_request:
  schedule:
    - cron: "17 1 * * *"

jobs:
  test:
    if: github.event_name != 'schedule'
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install pytest-kafkacheck
      - uses: actions/cache@v4
        with:
          path: kafka-images.tar
          key: kafka-images-${{ runner.os }}-${{ hashFiles('pyproject.toml', 'requirements*.txt') }}
      - run: if [ -f kafka-images.tar ]; then docker load --quiet --input kafka-images.tar; fi
      - run: kafkacheck setup
      - run: >-
          if [ ! -f kafka-images.tar ]; then docker save --output kafka-images.tar
          $(docker images --filter 'reference=kafkacheck/*' --filter 'reference=apache/kafka'
          --format '{{.Repository}}:{{.Tag}}'); fi
      - run: kafkacheck doctor
      - run: >-
          pytest -v --junitxml=kafkacheck.xml --kafkacheck-retain=failed
          --kafkacheck-summary="$GITHUB_STEP_SUMMARY" test_kafka.py
      - uses: actions/upload-artifact@v4
        if: failure()
        with:
          name: kafkacheck
          path: |
            kafkacheck.xml
            .kafkacheck/
          include-hidden-files: true

  soak:
    if: github.event_name == 'schedule'
    runs-on: ubuntu-latest
    timeout-minutes: 350
    permissions:
      contents: read
      issues: write
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install pytest-kafkacheck
      - run: kafkacheck setup
      # Status 3: no finding, and something was not exercised. The summary says what.
      - run: >-
          kafkacheck soak --preset safe --hours 4 --seed "$GITHUB_RUN_NUMBER" --stop-after 3 --shrink 20
          --keep invalid --junitxml soak.xml --markdown soak.md || [ $? -eq 3 ]
      - if: always()
        run: if [ -f soak.md ]; then cat soak.md >> "$GITHUB_STEP_SUMMARY"; fi
      - if: failure()
        run: gh issue create --title "kafkacheck soak $GITHUB_RUN_NUMBER" --body-file soak.md
        env:
          GH_TOKEN: ${{ github.token }}
      - uses: actions/upload-artifact@v4
        if: failure()
        with:
          name: kafkacheck-soak
          path: |
            soak.xml
            .kafkacheck/
          include-hidden-files: true
"""

GITLAB = """\
.kafkacheck:
  image: python:3.12
  services:
    - docker:dind
  variables:
    DOCKER_HOST: tcp://docker:2375
    DOCKER_TLS_CERTDIR: ""
    # The engine is a service of this job: nobody else reaches the ports that it publishes.
    KAFKACHECK_OPEN_PORTS: "yes"
  before_script:
    - apt-get update -qq && apt-get install -y -qq default-jre-headless
    - pip install pytest-kafkacheck
    - kafkacheck setup
    - kafkacheck doctor

kafkacheck:
  extends: .kafkacheck
  rules:
    - if: $CI_PIPELINE_SOURCE != "schedule"
  timeout: 30 minutes
  script:
    - pytest -v --junitxml=kafkacheck.xml --kafkacheck-retain=failed --kafkacheck-summary=kafkacheck.md test_kafka.py
  artifacts:
    when: always
    paths: [.kafkacheck/, kafkacheck.md]
    reports:
      junit: kafkacheck.xml

kafkacheck-soak:
  extends: .kafkacheck
  rules:
    - if: $CI_PIPELINE_SOURCE == "schedule"
  timeout: 5 hours
  allow_failure:
    exit_codes: 3
  script:
    - >-
      kafkacheck soak --preset safe --hours 4 --seed "$CI_PIPELINE_IID" --stop-after 3 --shrink 20
      --keep invalid --junitxml soak.xml --markdown soak.md
  artifacts:
    when: always
    paths: [.kafkacheck/, soak.md]
    reports:
      junit: soak.xml
"""

CI = {"github": (".github/workflows/kafkacheck.yml", GITHUB), "gitlab": (".gitlab-ci.yml", GITLAB)}
"""Service to the file that it reads, and its text."""
