#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documents: links and their anchors lead somewhere, lines of prose fit, READMEs stay short.
The target of a link such as [`Store::append`](store.hpp) has these words, if it is a source.

ci/check_docs.py [FILE…]: without a file, all that git knows. Prose is what is neither a table row nor
in a code block; a line without a space but its indent may be longer, for a link cannot be broken.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_COLUMNS = 100
MAX_LINES = {"README.md": 150}
MAX_MODULE_README_LINES = 40
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
NAME_LINK = re.compile(r"\[`([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)`\]\(([^)#\s]+)\)")
SOURCES = (".cpp", ".cuh", ".hpp", ".proto", ".py", ".sql")


def tracked(pattern: str):
    listed = subprocess.run(["git", "ls-files", "-z", pattern], cwd=ROOT, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).exists()]


def is_frozen(name: str) -> bool:
    """Tells whether a document is a record of its day, which later rules leave alone."""
    return name == "CHANGELOG.md" or name.startswith(("docs/results/", "tests/"))


def prose_lines(text: str):
    """Yields (number, line) of what is outside code blocks."""
    fenced = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors_of(path: pathlib.Path):
    """Returns the anchors that a renderer gives the headings."""
    anchors = {}
    names = set()
    for _, line in prose_lines(path.read_text(encoding="utf-8")):
        heading = re.match(r"#{1,6} +(.*)", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            repeat = anchors.get(anchor, 0)
            anchors[anchor] = repeat + 1
            names.add(f"{anchor}-{repeat}" if repeat else anchor)
    return names


def broken_links(name: str, text: str):
    path = ROOT / name
    for number, line in prose_lines(text):
        for target, anchor in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            other = (path.parent / target).resolve() if target else path
            if not other.exists():
                yield f"{name}:{number}: there is no {target}"
            elif anchor and other.suffix == ".md" and anchor not in anchors_of(other):
                yield f"{name}:{number}: {target or name} has no heading for #{anchor}"


def missing_names(name: str, text: str):
    for number, line in prose_lines(text):
        for names, target in NAME_LINK.findall(line):
            source = (ROOT / name).parent / target
            if source.suffix in SOURCES and source.is_file():
                words = set(re.findall(r"\w+", source.read_text(encoding="utf-8")))
                for word in names.split("::"):
                    if word not in words:
                        yield f"{name}:{number}: {target} has no word {word}"


def faults_of(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    yield from broken_links(name, text)
    if is_frozen(name):
        return
    yield from missing_names(name, text)
    for number, line in prose_lines(text):
        if len(line) > MAX_COLUMNS and not line.lstrip().startswith("|") and " " in line.strip():
            yield f"{name}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
    limit = MAX_LINES.get(name, MAX_MODULE_README_LINES if name.endswith("/README.md") else None)
    lines = text.count("\n")
    if limit and lines > limit:
        yield f"{name}: {lines} lines, at most {limit}"


def main() -> int:
    names = sys.argv[1:] or tracked("*.md")
    faults = [fault for name in names for fault in faults_of(name)]
    print("\n".join(faults) if faults else f"documents: {len(names)} files, no fault")
    return 1 if faults or not names else 0


if __name__ == "__main__":
    sys.exit(main())
