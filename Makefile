# Start here. `make demo` and `make test` do everything on a fresh Debian 12, 13 or Ubuntu 24.04: install what is missing,
# configure, build, run. Nothing is done twice.
#
#   make demo                    train and sample the toys, write build/demo/report.html
#   make test                    build and run all tests
#   make build                   build/segre and the library
#   make python                  the Python package, into .venv: .venv/bin/python -c 'import segre'
#   make wheel                   the same as a file to install elsewhere, dist/segre-*.whl
#   make deb                     the program with its LibTorch as a Debian package, dist/segre_*.deb
#   make mutants                 plant small mistakes one by one and check that the tests find them
#   make asan | make tsan        run the tests under the address or the thread sanitizer
#   make fuzz SECONDS=60         feed hostile files to every reader, for this many seconds each
#   make bench                   compare training speed with PyTorch (installs PyTorch's remaining 2 GB)
#   make format | lint | clean
#
#   CUDA=1                       build with CUDA (default if an NVIDIA GPU and nvcc are found); CUDA=0: without
#   TORCH=2.15.0                 install this version of LibTorch, 2.11 to 2.15 (default: 2.11.0)
#   TORCH_DIR=/path/to/libtorch  use this LibTorch, 2.11 or later, instead of installing the wheel
#   BUILD=build                  where to build
#   PRESET=cpu|cuda|asan|...     configuration, see CMakePresets.json

BUILD ?= build
CUDA ?= $(shell command -v nvcc >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1 && echo 1 || echo 0)
PRESET ?= $(if $(filter 1,$(CUDA)),cuda,cpu)
TORCH_DIR ?=
TORCH ?= 2.11.0
export TORCH TORCH_DIR CUDA

torch_option = $(if $(TORCH_DIR),-DSEGRE_TORCH_DIR=$(TORCH_DIR),)
say = @printf '\033[1m== %s\033[0m\n' "$(1)"

.PHONY: help setup configure build python wheel deb test mutants asan tsan fuzz demo bench format lint clean

help:
	@sed -n '4,21s/^# \{0,1\}//p' Makefile

setup:
	@scripts/setup.sh build

configure: setup
	$(call say,configure ($(PRESET), $(BUILD)/))
	@cmake --preset $(PRESET) -B $(BUILD) $(torch_option) > $(BUILD).configure.log 2>&1 || { cat $(BUILD).configure.log; exit 1; }
	@mv $(BUILD).configure.log $(BUILD)/configure.log

build: configure
	$(call say,build)
	@cmake --build $(BUILD)

# scikit-build-core works in the same build folder, so nothing is compiled twice. Debian 12's pip has no -C.
skbuild = --no-build-isolation --no-deps --quiet --disable-pip-version-check --config-settings=build-dir=$(BUILD) \
  --config-settings=cmake.define.SEGRE_TESTS=ON --config-settings=cmake.define.SEGRE_CUDA=$(if $(filter 1,$(CUDA)),ON,OFF) \
  $(if $(TORCH_DIR),--config-settings=cmake.define.SEGRE_TORCH_DIR=$(TORCH_DIR))

# It leaves the place of the wheel behind as the prefix of the next 'cmake --install', and that it was there.
restore_prefix = cmake -B $(BUILD) -DCMAKE_INSTALL_PREFIX=/usr/local -U 'SKBUILD*' > $(BUILD)/configure.log 2>&1

python: setup-python configure
	$(call say,build the Python package into .venv)
	@.venv/bin/python -m pip install $(skbuild) . && $(restore_prefix)

wheel: setup-python configure
	$(call say,build the wheel)
	@.venv/bin/python -m pip wheel $(skbuild) --wheel-dir dist . && $(restore_prefix)
	@ls -l dist/segre-*.whl

deb: configure
	@[ '$(CUDA)' != 1 ] || { echo 'make deb packs the program for the CPU: make deb CUDA=0' >&2; exit 2; }
	@cmake --build $(BUILD) --target segre_cli segre_share
	$(call say,pack the program and its LibTorch)
	@cd $(BUILD) && cpack -G DEB > cpack.log || { cat cpack.log; exit 1; }
	@dpkg-deb -c $(BUILD)/deb/segre_*.deb | grep libtorch_cpu.so > /dev/null
	@mkdir -p dist && mv $(BUILD)/deb/segre_*.deb dist/ && rm -r $(BUILD)/deb
	@ls -l dist/segre_*.deb

# Says what the first run takes, in minutes.
.PHONY: plan-demo plan-test
plan-demo:
	@[ -e $(BUILD)/segre ] || echo 'The first run takes about 6 minutes on two cores: packages, LibTorch (0.55 GB),' \
	  'compiling, and then the demo itself.'
plan-test:
	@[ -e $(BUILD)/segre_tests ] || echo 'The first run takes about 20 minutes on two cores: packages, LibTorch' \
	  '(0.55 GB), compiling, and then the tests themselves.'

test: plan-test setup-test build python
	$(call say,test)
	@ctest --test-dir $(BUILD) --output-on-failure --parallel 2
	$(call say,test the Python package)
	@.venv/bin/python -m mypy
	@.venv/bin/python -m pytest --numprocesses 2

# MUTANTS="--revision REV", "--only 'io-*'": see scripts/mutants.py --help.
mutants: setup setup-test
	@scripts/mutants.py $(MUTANTS)

.PHONY: setup-python setup-test setup-bench setup-lint setup-fuzz
setup-python setup-test setup-bench setup-lint setup-fuzz:
	@scripts/setup.sh $(subst setup-,,$@)

# Suppressions and options are in scripts/sanitizers/, each with its reason.
asan: setup-test
	@scripts/sanitize.sh asan $(torch_option)

tsan: setup-test
	@scripts/sanitize.sh tsan $(torch_option)

SECONDS ?= 60
fuzz: setup-fuzz
	$(call say,build the fuzz targets (build-fuzz/))
	@cmake --preset fuzz $(torch_option) > build-fuzz.configure.log 2>&1 || { cat build-fuzz.configure.log; exit 1; }
	@mv build-fuzz.configure.log build-fuzz/configure.log
	@cmake --build build-fuzz --target fuzz_targets
	$(call say,fuzz)
	@fuzz/run.sh build-fuzz $(SECONDS)

demo: plan-demo configure
	$(call say,build the program)
	@cmake --build $(BUILD) --target segre_cli segre_share
	$(call say,demo)
	@$(BUILD)/segre demo --out $(BUILD)/demo

bench: setup-bench build
	$(call say,bench)
	@cmake --build $(BUILD) --target segre_bench
	@bench/run.sh $(BUILD)
	@bench/unet.sh $(BUILD) $(if $(filter 1,$(CUDA)),cuda,cpu)

sources = $(shell git ls-files -co --exclude-standard '*.h' '*.cpp' '*.cu')

format: setup-lint
	@clang-format -i $(sources)

lint: setup-lint setup
	$(call say,clang-format)
	@clang-format --dry-run --Werror $(sources)
	$(call say,clang-tidy)
	@scripts/lint.sh

clean:
	rm -rf build build-* dist runs
