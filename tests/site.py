#!/usr/bin/env python3
"""The documentation site as a reader without a network has it: site.py SOURCE_DIR SITE [SHOTS].

SITE is what `make site` built. SHOTS: a folder that gets screenshots. Without Chromium the part that needs a browser is
skipped with a message.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile

source, site = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path[:0] = [str(source / "tests"), str(source / "scripts" / "site")]
import c_reference  # noqa: E402
import report_browser  # noqa: E402

# What a page would fetch unasked: scripts, styles, pictures, fonts, frames.
LOADS = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
                   r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon))[^>]*\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
                   r"""|@import\s+["']?(https?:[^"';]+)|url\(["']?(https?:[^"')]+)""")


def test_nothing_from_elsewhere() -> None:
    pages = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert len(pages) > 40, f"only {len(pages)} pages in {site}"
    for path in pages:
        found = LOADS.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path} loads {found[0]}"


def test_warnings_are_errors() -> None:
    """mkdocs counts only the warnings that it may print."""
    log = (site.parent / "site.log").read_text(encoding="utf-8")
    assert "Documentation built" in log and "WARNING" not in log, log


def refused(text: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".h") as file:
        file.write(text)
        file.flush()
        try:
            c_reference.page(file.name)
        except c_reference.HeaderError as error:
            return str(error).removeprefix(file.name)
    return ""


def test_header_reference() -> None:
    page = (site / "reference" / "c.html").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", "", (source / "include/sked/sked.h").read_text(encoding="utf-8"), flags=re.S)
    names = set(re.findall(r"SKED_API\b[^;{]*?\b(sked_\w+)\(", header))
    assert len(names) > 100
    for name in names:
        assert f'id="{name}"' in page, f"reference/c.html does not have {name}"
    frame = "/* All. */\n#ifndef X\n/* Of the version. */\n#define V 1\n\n/* ------------------ things */\n\n"
    good = frame + "/* Says it. */\nSKED_API int sked_thing(int x);\n"
    assert refused(good) == ""
    assert refused(good + "SKED_API int sked_other(int x);\n") == ":10: sked_other has no contract"
    assert refused(good + "int sked_stray;\n") == ":10: not understood: int sked_stray;"


def test_in_a_browser(shots: str) -> bool:
    """Pages opened from disk: navigation and search work, and the console stays empty."""
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not chromium:
        print("skipped: chromium or chromedriver is not installed")
        return False
    with tempfile.TemporaryDirectory() as profile:
        browser = report_browser.Browser(driver, chromium, profile)
        try:
            browser.open(str(site / "index.html"))
            browser.wait("return document.readyState === 'complete'", "the first page")
            if shots:
                for page in ("index", "tutorials/hls", "reference/c", "reference/python", "reference/command", "methods/gaus"):
                    browser.open(str(site / f"{page}.html"))
                    browser.shot(os.path.join(shots, page.replace("/", "-") + ".png"))
                browser.open(str(site / "index.html"))
            browser.click("input.md-search__input")
            browser.keys("input.md-search__input", "initiation interval")
            browser.wait("return document.querySelectorAll('.md-search-result__item').length > 3", "results of the search")
            if shots:
                browser.shot(os.path.join(shots, "search.png"))
            errors = browser.errors()
            assert not errors, errors[0]
        finally:
            browser.close()
    return True


test_nothing_from_elsewhere()
test_warnings_are_errors()
test_header_reference()
browsed = test_in_a_browser(sys.argv[3] if len(sys.argv) > 3 else "")
print("4 passed, 0 failed" if browsed else "3 passed, 0 failed, 1 skipped")
