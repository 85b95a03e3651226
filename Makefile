# `make` builds, `make test` tests, `make demo` shows; each installs what is missing first.
.PHONY: all
all:
	cmake --preset release
	cmake --build build
