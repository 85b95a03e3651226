#!/usr/bin/env python3
"""What the build promises about its binaries: hardening.py READELF FORTIFIED FILE ...; FORTIFIED is 1 where copies are checked."""
import re
import subprocess
import sys

readelf, fortified = sys.argv[1], sys.argv[2] == "1"
passed, failed = 0, 0


def rule(path, name, holds):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(f"FAILED {path}: {name}")


for path in sys.argv[3:]:
    text = subprocess.run([readelf, "-W", "-h", "-l", "-d", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
    stack = re.search(r"GNU_STACK.*", text)
    rule(path, "position-independent", re.search(r"Type: +DYN", text) and (".so" in path or re.search(r"FLAGS_1.*PIE", text)))
    rule(path, "RELRO", "GNU_RELRO" in text)
    rule(path, "addresses bound at start", re.search(r"FLAGS\).*BIND_NOW", text) or re.search(r"FLAGS_1.*NOW", text))
    rule(path, "stack that cannot be executed", stack and " RWE" not in stack[0])
    rule(path, "no writable and executable segment", not re.search(r"LOAD .* RWE ", text))
    rule(path, "canaries", "__stack_chk_fail" in text)
    if fortified:
        rule(path, "checked copies", "__snprintf_chk" in text and "__memcpy_chk" in text)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or passed == 0 else 0)
