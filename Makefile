# sked: `make` builds, `make demo` shows, `make test` tests. Each installs what is missing first, and no more
# than it needs itself.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
SECONDS_PER_TARGET ?= 60
PYTHONS ?= 3.9 3.10 3.11 3.12 3.13
MINUTES ?= 60
# nvcc is often installed without being on the path.
CUDACXX ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc) nvcc)
export CUDACXX

.PHONY: all tests test python wheel wheel-test python-asan python-tsan demo install bench fuzz fuzz-build fuzz-short asan tsan cuda cuda-test emulated mpi static static-test debug format soak valgrind \
	check-format lint clean evidence evidence-full site site-test package package-test

all: build/build.ninja
	@cmake --build build -j $(JOBS)

build/build.ninja: CMakePresets.json scripts/packages-build.txt
	@scripts/setup.sh build
	@cmake --preset release >/dev/null
	@touch $@

# The tests share the folder of the release: its objects are compiled once, whichever comes first.
build/tests/CTestTestfile.cmake: build/build.ninja scripts/packages-test.txt scripts/packages-mpi.txt
	@scripts/setup.sh test mpi
	@cmake --preset release -DSKED_TESTS=ON >/dev/null
	@touch $@

tests: build/tests/CTestTestfile.cmake
	@cmake --build build -j $(JOBS) --target all tests

# The Python package and what its tests need, into build/venv. `make -j test` has two of these at a time, but never two
# builds in one folder.
python: build/tests/CTestTestfile.cmake | $(filter tests,$(patsubst test,tests,$(MAKECMDGOALS)))
	@cmake --build build -j $(JOBS) --target sked_static sked_tool
	@python/setup.sh build

# A wheel that carries its libraries, build/wheel/*.whl, for every CPython from 3.9 on; and a test that installs it in a fresh
# environment of each of PYTHONS that is here, and uses it.
wheel: python
	@python/wheel.sh build

wheel-test: wheel
	@tests/wheel.sh build/wheel $(PYTHONS)

# Everything public of the Python package with arguments of all kinds, for SECONDS_PER_TARGET seconds, and its threads: linked
# with the library under AddressSanitizer and UBSan, and under ThreadSanitizer.
python-asan: python
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS) --target sked_static
	@python/sanitized.sh asan python/tests/fuzz_calls.py $(SECONDS_PER_TARGET)

python-tsan: python
	@cmake --preset tsan >/dev/null
	@cmake --build build/tsan -j $(JOBS) --target sked_static
	@python/sanitized.sh tsan -m pytest -q -p no:cacheprovider -k thread python/tests/test_hostile.py

# Every parser is fuzzed shortly, then every test runs; the last line counts them.
test: tests python fuzz-short
	@scripts/test.sh build

# Random problems, random options, all methods, for MINUTES, with assertions; stops at the first disagreement.
soak:
	@scripts/setup.sh build test mpi
	@cmake --preset debug >/dev/null
	@cmake --build build/debug -j $(JOBS) --target soak
	@build/debug/tests/soak $(MINUTES)

# Every test program under Valgrind, one after the other: about an hour.
valgrind: tests
	@scripts/setup.sh valgrind
	@scripts/valgrind.sh build

demo: all
	@scripts/demo.sh

install: all
	DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)

bench: all
	build/sked-bench scale
	build/sked-bench quality

# Runs the commands that stand beside the figures of README.md and docs, and rewrites those figures: about half an hour on
# two cores that nothing else uses; evidence-full the long ones (hours, some with a GPU, where nvcc is there).
evidence: all
	@scripts/evidence.py

evidence-full: all $(if $(wildcard $(CUDACXX)),cuda)
	@scripts/evidence.py --full

# The documentation as a site in build/site, and what its reader may expect of it.
site: all
	@scripts/setup.sh docs
	@scripts/site.sh

site-test: site
	@python3 tests/site.py . build/site

# Debian packages in build/package, and a test that installs them where nothing else is touched.
package: build/build.ninja
	@scripts/setup.sh package
	@scripts/package.sh

package-test: package
	@tests/package.sh build/package

asan:
	@scripts/setup.sh build test
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS) --target all tests
	@scripts/test.sh build/asan

# ThreadSanitizer on every test that asks for more than one thread.
tsan:
	@scripts/setup.sh build test
	@cmake --preset tsan >/dev/null
	@cmake --build build/tsan -j $(JOBS) --target thread_tests
	@TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 $$TSAN_OPTIONS" scripts/test.sh build/tsan -L threads

# build/cuda/sked and build/mpi/sked: the same command and library with the CUDA backend, or over MPI.
cuda:
	@scripts/setup.sh build
	@cmake --preset cuda >/dev/null
	@cmake --build build/cuda -j $(JOBS)

cuda-test:
	@scripts/setup.sh build test mpi
	@cmake --preset cuda -DSKED_TESTS=ON >/dev/null
	@cmake --build build/cuda -j $(JOBS) --target all cuda_tests
	@if [ -e /dev/nvidiactl ]; then scripts/test.sh build/cuda -L cuda; else \
		scripts/test.sh build/cuda -R '^test_backend$$' && \
		echo "there is no GPU here: kernels were compiled only; \`make emulated\` runs them on the CPU"; fi

# The kernels of the CUDA backend compiled for the CPU (tests/emulate), against the plain CPU version.
emulated:
	@scripts/setup.sh build test
	@cmake --preset emulated >/dev/null
	@cmake --build build/emulated -j $(JOBS) --target cuda_tests
	@scripts/test.sh build/emulated -L cuda

mpi:
	@scripts/setup.sh build mpi
	@cmake --preset mpi >/dev/null
	@cmake --build build/mpi -j $(JOBS)

# build/static/sked: the command as one file, for machines that have none of its libraries; and what it must be able to do there.
static:
	@scripts/setup.sh build static
	@cmake --preset static >/dev/null
	@cmake --build build/static -j $(JOBS) --target sked_tool

static-test: static
	@tests/static.sh build/static/sked

debug:
	@scripts/setup.sh build test mpi
	@cmake --preset debug >/dev/null
	@cmake --build build/debug -j $(JOBS) --target all tests

fuzz-build:
	@scripts/setup.sh build test
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz -j $(JOBS) --target parser_fuzzer

fuzz-short: fuzz-build
	@fuzz/run.sh 1

# Long fuzzing: every parser for SECONDS_PER_TARGET seconds.
fuzz: fuzz-build
	@fuzz/run.sh $(SECONDS_PER_TARGET)

format:
	@git ls-files '*.c' '*.h' '*.cu' '*.cpp' | xargs clang-format -i

check-format:
	@git ls-files '*.c' '*.h' '*.cu' '*.cpp' | xargs clang-format --dry-run --Werror

# After a build, because some headers are generated.
lint: all
	@scripts/lint.sh

clean:
	rm -rf build demo
