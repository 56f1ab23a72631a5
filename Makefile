# Everything a developer runs. A clean clone needs CPython 3.11, g++ and make;
# `make setup` brings the rest into .venv (CMake and ninja too).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
JOBS ?= 2
# Which PyTorch; another one than CI's has an environment and a build of its own.
CI_TORCH := 2.13.0
TORCH ?= $(CI_TORCH)
ifeq ($(TORCH),$(CI_TORCH))
VENV := .venv
BUILD := build
else
VENV := .venv-torch-$(TORCH)
BUILD := build-torch-$(TORCH)
endif
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CMAKE := $(BIN)/cmake
SITE = $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# torch's own thread pools slow the tests down when several run side by side.
RUN := OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/python

.PHONY: setup build test test-cpp test-python test-quick test-cpython \
        test-behind test-peer test-cuda test-asan golden fuzz demo bench sweep wheel \
        wheels check-aarch64 lint format clean distclean

setup: $(READY)

$(READY): requirements-dev.txt tools/setup_system.sh
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; \
	  sys.exit(None if v == (3, 11) else "make: CPython 3.11 is needed and \
	$(PYTHON) is %d.%d; run make PYTHON=/path/to/python3.11" % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q torch==$(TORCH)
	$(BIN)/python -m pip install -q -r requirements-dev.txt
	sh tools/setup_system.sh
	touch $@

# Configures and builds one preset; `$(call compile,<preset>,<folder>,<target>)`.
# ninja needs to be found by CMake, hence the PATH.
define compile
	PATH="$(CURDIR)/$(BIN):$$PATH" $(CMAKE) --preset $(1) -B $(2) \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python --log-level=NOTICE && \
	PATH="$(CURDIR)/$(BIN):$$PATH" $(CMAKE) --build $(2) -j $(JOBS) -t $(3)
endef

build: $(READY)
	$(call compile,release,$(BUILD),all)
	$(CMAKE) --build $(BUILD) -t use
	echo $(CURDIR)/python > "$(SITE)/magneto-dev.pth"

test-cpp: build
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

test-python: build
	$(RUN) $(BIN)/python -m pytest -n $(JOBS) $(ARGS)

# CPython's own tests with every test method compiled, beside plain Python.
test-cpython: build
	@$(RUN) $(BIN)/python -m tests.cpython --jobs $(JOBS) $(ARGS)

# pytest comes last: its summary line is the last line.
test: test-cpp
	$(RUN) $(BIN)/python -m pytest -n $(JOBS) $(ARGS)

# What a developer runs between edits: the C++ tests, and of the Python tests
# all but the files that take long (tests/python/support/slow_files.py).
test-quick: test-cpp
	$(RUN) $(BIN)/python -m pytest -n $(JOBS) --quick $(ARGS)

# Writes the graphs and guards in tests/python/golden anew; read the difference.
golden: build
	$(RUN) $(BIN)/python -m pytest --update-golden \
	  tests/python/surface/test_golden_texts.py

# Each program that the tests compare, with PyTorch's compilers behind its graphs
# (and BACKEND=inductor, which is slow).
BACKEND ?= aot_eager
test-behind: build
	$(RUN) $(BIN)/python -m pytest -n $(JOBS) --behind $(BACKEND) $(ARGS)

# Test files that were written for torch.compile, in the folder PEER, with it and
# with magneto; prints which ones only it passes.
test-peer: build
	@$(RUN) $(BIN)/python -m tests.peer $(PEER) $(FILES) --jobs $(JOBS) $(ARGS)

# What needs an NVIDIA GPU, and a PyTorch that was built for it.
test-cuda: build
	$(RUN) $(BIN)/python -m pytest -m cuda -n $(JOBS) tests/python/cuda $(ARGS)

# The debug build under AddressSanitizer and UBSan: the C++ tests, then the
# Python tests with the sanitizers' runtime loaded before the interpreter.
test-asan: $(READY)
	$(call compile,asan,build-asan,all)
	$(BIN)/ctest --test-dir build-asan --output-on-failure -j $(JOBS)
	sh tools/with_asan.sh build-asan $(BIN)/python -m pytest $(ARGS)

# Random programs, eager against compiled: of everything, or of one idea
# (WHAT=operands); ARGS=--list says which there are.
WHAT ?= general
fuzz: build
	@$(RUN) $(BIN)/python -m tests.fuzz --what $(WHAT) --jobs $(JOBS) $(ARGS)

# A wheel for this CPython, in dist/: with an extension for CI's PyTorch, or for
# each release that is named (RELEASES="2.13.0 2.14.1"); `make wheels` takes all
# of tools/torch_releases.txt, which downloads several GB. docs/releasing.md.
RELEASES ?= $(CI_TORCH)
wheel: $(READY)
	$(BIN)/python -m pip install -q -r requirements-wheel.txt
	$(BIN)/python tools/build_wheel.py --jobs $(JOBS) \
	  $(foreach release,$(RELEASES),--torch $(release))

wheels:
	$(MAKE) wheel RELEASES=

demo: build
	@$(RUN) $(BIN)/python -m bench.demo

bench: build
	@$(RUN) $(BIN)/python -m bench $(ARGS)

# Many more programs than the tests, each in a process of its own; a table.
sweep: build
	@$(RUN):$(CURDIR)/tests/python $(BIN)/python -m support.sweep $(ARGS)

lint: $(READY)
	$(BIN)/python tools/check_format.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/sizes.py --check
	PATH="$(CURDIR)/$(BIN):$$PATH" $(CMAKE) --preset tidy --log-level=NOTICE
	$(BIN)/python tools/tidy.py --jobs $(JOBS)

# All but src/tensor, with Debian's cross compiler.
check-aarch64: build
	$(BIN)/python tools/check_aarch64.py --jobs $(JOBS)

format: $(READY)
	$(BIN)/python tools/check_format.py --fix
	$(BIN)/ruff format .

clean:
	rm -rf build build-* dist python/magneto/_C_t*.so

distclean: clean
	rm -rf .venv .venv-torch-*
