# sked: `make` builds, `make demo` shows, `make test` tests. Each installs what is missing first.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
SECONDS_PER_TARGET ?= 60

.PHONY: all test demo install bench fuzz fuzz-short asan debug format check-format lint clean

all: build/build.ninja
	@cmake --build build -j $(JOBS)

build/build.ninja: CMakeLists.txt CMakePresets.json scripts/packages-build.txt scripts/packages-test.txt
	@scripts/setup.sh build test
	@cmake --preset release >/dev/null
	@touch $@

# Every reader is fuzzed shortly, then every test runs; the last line counts them.
test: all fuzz-short
	@scripts/test.sh build

fuzz-short:
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz -j $(JOBS)
	@fuzz/run.sh 2

demo: all
	@scripts/demo.sh

install: all
	DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)

bench: all
	build/sked-bench scale
	build/sked-bench quality

asan:
	@scripts/setup.sh build test
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS)
	@scripts/test.sh build/asan

debug:
	@scripts/setup.sh build test
	@cmake --preset debug >/dev/null
	@cmake --build build/debug -j $(JOBS)

# Long fuzzing: every reader for SECONDS_PER_TARGET seconds.
fuzz:
	@scripts/setup.sh build test
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz -j $(JOBS)
	@fuzz/run.sh $(SECONDS_PER_TARGET)

format:
	@git ls-files '*.c' '*.h' '*.cu' | xargs clang-format -i

check-format:
	@git ls-files '*.c' '*.h' '*.cu' | xargs clang-format --dry-run --Werror

# cppcheck on what changed since BASE (default: everything).
lint: all
	@scripts/lint.sh $(BASE)

clean:
	rm -rf build demo
