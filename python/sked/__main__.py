"""The command `sked`, also as `python -m sked`: the program beside this file, or else the one on the PATH."""

from __future__ import annotations

import os
import shutil
import sys


def _program() -> str:
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sked")
    if os.path.exists(own):
        return own
    other = shutil.which("sked")  # Debian's package, say; but not the script that has called us
    if other is None or os.path.realpath(other) == os.path.realpath(sys.argv[0]):
        sys.exit("sked: the command is not installed with this package, and there is none on the PATH")
    return other


def main() -> None:
    """Becomes the command."""
    os.execv(_program(), ["sked", *sys.argv[1:]])


if __name__ == "__main__":
    main()
