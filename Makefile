# `make demo` and `make test` each do everything on a fresh Debian or Ubuntu with Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pytest_kafkacheck nemesis workloads analyzers tests examples benchmarks docs/generate docs/conf.py

JAVA_CLIENT := workloads/clients/java

# Images of CI often set it. Without bytecode each worker takes 25 s, and not 13 s, of processor time to collect the tests.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-fast lint docs dist images prepared java-client nightly setup clean

demo: .venv/package
	$(BIN)/kafkacheck setup
	$(BIN)/kafkacheck demo

# Tests on clusters mostly wait, so two workers share them and those of Spark on two cores. A third one does the others at a
# low priority meanwhile, see tests/support/work_units.py.
test: .venv/ready
	$(MAKE) --jobs=2 --output-sync=target lint prepared
	$(BIN)/pytest -n 3 -m "not nightly" --durations=40 tests examples

# One after the other: both may install Debian packages. Java clients get class archives once our part of them is built.
prepared: .venv/ready
	$(MAKE) java-client
	$(MAKE) images

# The releases that `make test` needs.
images: .venv/ready
	$(BIN)/kafkacheck setup --compose --kafka 4.1.1 2.8.2 3.7.2 4.4.0

# Our part of Java clients, which the wheel contains.
java-client: $(JAVA_CLIENT)/client.jar

$(JAVA_CLIENT)/client.jar: $(JAVA_CLIENT)/pom.xml $(shell find $(JAVA_CLIENT)/src -type f)
	@{ command -v mvn && command -v javac; } >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq maven default-jdk-headless; } || \
	  { echo "the Java client needs Maven and a JDK: sudo apt-get install maven default-jdk-headless"; exit 2; }
	mvn -q -B -f $(JAVA_CLIENT)/pom.xml package
	cp $(JAVA_CLIENT)/target/client.jar $@.new
	mv $@.new $@ # clients that run have the old one open

# These tests wait for nearly half of their time; each further worker takes 10 s of processor time to collect them.
test-fast: .venv/ready lint
	$(BIN)/pytest -n 3 -m "not spark and not cluster and not nightly"

# All of them, or a part: make nightly TESTS=tests/cluster
nightly: TESTS ?= tests examples
nightly: setup lint .venv-connect/ready
	$(MAKE) java-client
	$(BIN)/kafkacheck setup --compose --kafka 3.9.0 4.1.0 4.1.1 4.3.0 --clients 2.8.2 3.9.2 4.1.0 4.1.1 4.1.2 4.4.0
	$(BIN)/kafkacheck image build
	KAFKACHECK_RELEASE_RESULTS=docs/release_results.json $(BIN)/pytest --hypothesis-profile=nightly $(TESTS)

lint: .venv/ready
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

# A broken link, also to a heading, ends the build.
docs: .venv/ready
	$(BIN)/python docs/generate --check
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs dist/docs
	@echo "the site is in dist/docs/index.html"

# Both distributions, and an SBOM of an environment with the wheel and nothing else.
dist: .venv/ready java-client
	rm -rf dist/*.whl dist/*.tar.gz .venv-dist .venv-release
	$(BIN)/python -m build --no-isolation
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --no-compile --constraint constraints.txt dist/*.whl
	.venv-dist/bin/python -m pip uninstall --quiet --yes setuptools pip
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-release/bin/python -m pip install --quiet --group release
	.venv-release/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	  --output-file dist/sbom.cdx.json .venv-dist/bin/python
	rm -rf .venv-dist .venv-release

setup: .venv/ready
	$(BIN)/kafkacheck setup

# The stamps change with what is installed, so that a second run starts at once. The first is what users have, and the second is
# what tests need as well.
.venv/package: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kafkacheck needs Python 3.11 or later; say which one: make PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { [ "$$(id -u)" = 0 ] && echo "installing python3-venv" && apt-get update -qq && apt-get install -y -qq python3-venv; } || \
	  { echo "this Python cannot make virtual environments: run 'sudo apt-get install python3-venv'"; exit 2; }
	@echo "installing the project into .venv (some minutes the first time: Spark is large)"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

.venv/ready: .venv/package
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	@touch $@

# Spark Connect wants pandas, which nothing else here does: an environment of its own, on top of the first.
.venv-connect/ready: .venv/ready
	$(PYTHON) -m venv .venv-connect
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$(.venv-connect/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/main.pth"
	.venv-connect/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[connect]"
	@touch $@

clean:
	rm -rf .venv .venv-connect .venv-dist .venv-release .kafkacheck dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
