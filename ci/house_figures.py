#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what the house holds: files, types, cycles, comments, prose and compile time.

Sources are the C++ and CUDA files below harness, runners, reporting and suites. Templates (`*.in`)
and generated files are not counted. Tests and documents have figures of their own.

Definitions:
- A module is a folder of the second level in harness and runners, else the top folder.
- A type is a class, struct or enum with a name and a body at namespace scope, in a header or not.
  Nested types, types in anonymous namespaces and forward declarations are not counted.
  A specialization of a template is a type.
- A folder is counted with the files at its own level. The 90th percentile is the nearest rank.
- A component is the files of one folder with one stem, such as foo.hpp and foo.cpp (Lakos).
  A cycle is a strongly connected set of two or more components, or of two or more folders.
  Both graphs have an edge for each include of a source that exists.
- A comment is a block of `///` lines. Only its first word is looked at.
  A comment is on a type if a class, struct or enum follows, nested or not.
- A user of a header is a source that includes it, outside of the header's component and of tests.
- A sentence ends with a full stop, question mark or exclamation mark before white space, or with
  its paragraph or list item. A code span is one word. A token without letter or digit is no word.
  Fenced code, tables, headings, images and link targets are not prose.
- Compile time is the sum of wall times of the jobs that made C++ and CUDA objects, by Ninja's log.
  It is close to CPU time where no more jobs than cores ran. The newest entry of an output counts.
  Precompiled headers have a sum of their own. Comparisons need builds without a compiler cache.
"""

import argparse
import collections
import io
import json
import math
import pathlib
import posixpath
import re
import statistics
import subprocess
import sys
import tarfile
import textwrap

from house.cpp_types import describes_type, types_of
from house.include_graph import component_of, compute_cycles, includes_of
from house.markdown_prose import count_words, paragraphs_of, sentences_of

HOUSE = ("harness", "runners", "reporting", "suites")
SOURCE_SUFFIXES = (".hpp", ".cpp", ".h", ".cu", ".cuh", ".inc")
HEADER_SUFFIXES = (".hpp", ".h", ".cuh", ".inc")
LONG_FILES = (300, 500)
MAX_FILES = 40
MAX_WORDS = 25
MAX_COLUMNS = 100
SHORT_LIST = 10
WRAPPED = {"subsequent_indent": " " * 10, "break_long_words": False, "break_on_hyphens": False}

COMMENT = re.compile(r"\s*///<?\s*(\w*)")
FIRST_WORDS = ("Is", "Says", "Holds", "Has", "Knows", "Tells")
OBJECT = re.compile(r"\.(?:cpp|cc|cxx|cu)\.o$")
PRECOMPILED = re.compile(r"\.(?:gch|pch)$")


class InputError(Exception):
    """A mistake of the user's: one line says what it is."""


def is_read(path: str) -> bool:
    """Returns whether a figure looks at the file."""
    top = path.split("/")[0]
    if top in HOUSE or top == "tests":
        return path.endswith(SOURCE_SUFFIXES)
    return path == "README.md" or (top == "docs" and path.endswith(".md"))


def read_tree(root: pathlib.Path) -> dict:
    """Returns the text of each file of a checkout that is looked at, by its path."""
    if not root.is_dir():
        raise InputError(f"no folder '{root}'")
    paths = [root / "README.md"]
    for folder in (*HOUSE, "tests", "docs"):
        paths.extend((root / folder).rglob("*"))
    named = {path.relative_to(root).as_posix(): path for path in paths if path.is_file()}
    return {name: decode(named[name].read_bytes()) for name in sorted(named) if is_read(name)}


def read_revision(root: pathlib.Path, revision: str) -> tuple:
    """Returns the full hash of a revision and what read_tree returns, without a checkout."""
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    commit = git(root, *verify, f"{revision}^{{commit}}")
    if commit is None:
        raise InputError(f"no revision '{revision}' in '{root}'")
    commit = commit.decode().strip()
    archive = git(root, "archive", "--format=tar", commit)
    if archive is None:
        raise InputError(f"git cannot archive '{revision}'")
    files = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for entry in tar:
            if entry.isfile() and is_read(entry.name):
                files[entry.name] = decode(tar.extractfile(entry).read())
    return commit, dict(sorted(files.items()))


def git(root: pathlib.Path, *arguments: str):
    """Returns the output of git, or None where it fails."""
    if not root.is_dir():
        raise InputError(f"no folder '{root}'")
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def decode(content: bytes) -> str:
    return content.decode("utf-8", errors="replace").replace("\r\n", "\n")


def module_of(path: str) -> str:
    parts = path.split("/")
    deep = parts[0] in ("harness", "runners") and len(parts) > 2
    return "/".join(parts[:2]) if deep else parts[0]


def count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def compute_sizes(files: dict) -> dict:
    lines = {path: count_lines(text) for path, text in files.items()}
    counts = sorted(lines.values())
    folders = collections.Counter(posixpath.dirname(path) for path in files)
    return {
        "files": len(files),
        "lines": sum(counts),
        "median_lines": statistics.median(counts) if counts else None,
        "p90_lines": counts[math.ceil(0.9 * len(counts)) - 1] if counts else None,
        **{f"over_{limit}_lines": above(lines, limit) for limit in LONG_FILES},
        "crowded_folders": above(folders, MAX_FILES),
    }


def above(counts: dict, limit: int) -> dict:
    """Returns the entries above a limit, the largest first."""
    chosen = [(name, count) for name, count in counts.items() if count > limit]
    return dict(sorted(chosen, key=lambda entry: (-entry[1], entry[0])))


def compute_modules(files: dict) -> tuple:
    """Returns files, lines and types by module, and the number of types by namespace."""
    modules, namespaces = {}, collections.Counter()
    for path, text in files.items():
        row = modules.setdefault(module_of(path), {"files": 0, "lines": 0, "types": 0})
        row["files"] += 1
        row["lines"] += count_lines(text)
        for namespace, name in types_of(text):
            row["types"] += name is not None
            namespaces[namespace or "(global)"] += name is not None
    return dict(sorted(modules.items())), above(namespaces, -1)


def compute_comments(files: dict) -> dict:
    blocks, first_words, on_types = 0, dict.fromkeys(FIRST_WORDS, 0), 0
    for text in files.values():
        lines = text.split("\n")
        inside = [line.lstrip().startswith("///") for line in lines]
        for i, line in enumerate(lines):
            if not inside[i] or (i and inside[i - 1]):
                continue
            blocks += 1
            word = COMMENT.match(line)[1]
            if word in first_words:
                first_words[word] += 1
                on_types += word == "Is" and describes_type(lines[i:])
    return {"blocks": blocks, "first_words": first_words, "is_on_types": on_types}


def compute_headers(files: dict) -> dict:
    users = {path: set() for path in files if path.endswith(HEADER_SUFFIXES)}
    for source, target in includes_of(files):
        if target in users and component_of(source) != component_of(target):
            users[target].add(source)
    return {
        "headers": len(users),
        "one_user": {header: min(of) for header, of in users.items() if len(of) == 1},
        "no_user": [header for header, of in users.items() if not of],
    }


def compute_prose(documents: dict) -> dict:
    total, long, wide, wide_prose = 0, [], {}, 0
    readme = documents.get("README.md")
    for path, text in documents.items():
        wide[path] = 0
        for line in text.split("\n"):
            wide[path] += len(line) > MAX_COLUMNS
            wide_prose += len(line) > MAX_COLUMNS and not line.lstrip().startswith("|")
        for line, paragraph in paragraphs_of(text):
            for sentence in sentences_of(paragraph):
                total += 1
                if (words := count_words(sentence)) > MAX_WORDS:
                    place = {"file": path, "line": line, "words": words}
                    long.append({**place, "begins": " ".join(sentence.split()[:8])})
    return {
        "files": len(documents),
        "lines": sum(map(count_lines, documents.values())),
        "readme_lines": count_lines(readme) if readme is not None else None,
        "sentences": total,
        "long_sentences": long,
        "wide_lines": above(wide, 0),
        "wide_lines_outside_tables": wide_prose,
    }


def read_compile_times(build: pathlib.Path) -> dict:
    log = build / ".ninja_log"
    if not log.is_file():
        raise InputError(f"no Ninja log '{log}'")
    newest = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) >= 4 and not line.startswith("#"):
            newest[fields[3]] = int(fields[1]) - int(fields[0])
    objects = [time for output, time in newest.items() if OBJECT.search(output)]
    headers = [time for output, time in newest.items() if PRECOMPILED.search(output)]
    return {
        "units": len(objects),
        "seconds": sum(objects) / 1000,
        "precompiled_headers": len(headers),
        "precompiled_header_seconds": sum(headers) / 1000,
    }


def compute_figures(files: dict) -> dict:
    house = {path: text for path, text in files.items() if path.split("/")[0] in HOUSE}
    if not house:
        raise InputError(f"no source in any of {', '.join(HOUSE)}")
    modules, namespaces = compute_modules(house)
    edges = includes_of(house)
    types = sum(row["types"] for row in modules.values())
    components = [tuple(map(component_of, edge)) for edge in edges]
    folders = [tuple(map(posixpath.dirname, edge)) for edge in edges]
    return {
        "sources": {**compute_sizes(house), "types": types, "modules": modules},
        "namespaces": namespaces,
        "component_cycles": compute_cycles(components),
        "folder_cycles": compute_cycles(folders),
        "comments": compute_comments(house),
        "headers": compute_headers(house),
        "tests": compute_sizes({p: text for p, text in files.items() if p.startswith("tests/")}),
        "documents": compute_prose({p: text for p, text in files.items() if p.endswith(".md")}),
    }


def size_rows(sizes: dict, kind: str):
    """Yields (label, value, entries) of each figure, as the other functions on rows do."""
    yield f"{kind} files", sizes["files"], []
    yield f"{kind} lines", sizes["lines"], []
    yield f"{kind} lines a file, median", sizes["median_lines"], []
    yield f"{kind} lines a file, 90th percentile", sizes["p90_lines"], []
    for limit in LONG_FILES:
        yield f"{kind} files over {limit} lines", *counted(sizes[f"over_{limit}_lines"])
    yield f"{kind} folders over {MAX_FILES} files", *counted(sizes["crowded_folders"])


def counted(entries: dict) -> tuple:
    return len(entries), [f"{count:6}  {name}" for name, count in entries.items()]


def cycle_rows(figures: dict):
    for kind in ("component", "folder"):
        cycles = figures[f"{kind}_cycles"]
        entries = [f"{len(cycle):6}  {' '.join(cycle)}" for cycle in cycles]
        yield f"include cycles between {kind}s", len(cycles), entries


def text_rows(figures: dict):
    """Yields the rows of comments and documents."""
    comments, documents = figures["comments"], figures["documents"]
    yield "comments", comments["blocks"], []
    words = comments["first_words"]
    yield f"comments beginning {'|'.join(words)}", sum(words.values()), counted(words)[1]
    yield "comments on types beginning Is", comments["is_on_types"], []
    yield "documents", documents["files"], []
    yield "document lines", documents["lines"], []
    yield "README lines", documents["readme_lines"], []
    yield "sentences", documents["sentences"], []
    long = collections.Counter(sentence["file"] for sentence in documents["long_sentences"])
    yield f"sentences over {MAX_WORDS} words", long.total(), counted(above(long, 0))[1]
    wide = documents["wide_lines"]
    label = f"document lines over {MAX_COLUMNS} columns"
    yield label, sum(wide.values()), counted(wide)[1]
    yield f"{label}, outside tables", documents["wide_lines_outside_tables"], []


def rows_of(figures: dict):
    modules = [
        f"{row['files']:6} {row['lines']:7} {row['types']:6}  {module}"
        for module, row in figures["sources"]["modules"].items()
    ]
    headers = figures["headers"]
    yield from size_rows(figures["sources"], "source")
    yield "modules (files, lines, types)", len(modules), modules
    yield "types at namespace scope", figures["sources"]["types"], []
    yield "namespaces (types)", *counted(figures["namespaces"])
    yield from cycle_rows(figures)
    yield "headers", headers["headers"], []
    one = [f"{header} < {user}" for header, user in headers["one_user"].items()]
    yield "headers with one user", len(one), one
    yield "headers with no user", len(headers["no_user"]), headers["no_user"]
    yield from size_rows(figures["tests"], "test")
    yield from text_rows(figures)
    for name, value in (figures["compile"] or {"units": None, "seconds": None}).items():
        yield f"compiled {name.replace('_', ' ')}", value, []


def print_text(figures: dict, limit) -> None:
    print(f"house figures of {figures['revision'] or 'the working tree'}")
    for label, value, entries in rows_of(figures):
        shown = f"{value:.1f}" if isinstance(value, float) else "–" if value is None else value
        print(f"{label:56} {shown:>10}")
        for entry in entries[:limit]:
            print(textwrap.fill(entry, 100, initial_indent="  ", **WRAPPED))
        if len(entries) > len(entries[:limit]):
            print(f"  … and {len(entries) - limit} more (--all)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=here, help="another checkout")
    parser.add_argument("--rev", help="a revision of the checkout's repository, read from git")
    parser.add_argument("--build", type=pathlib.Path, help="a build folder with Ninja's log")
    parser.add_argument("--json", action="store_true", help="one JSON document, complete")
    parser.add_argument("--all", action="store_true", help="lists in full, not only ten entries")
    arguments = parser.parse_args()
    try:
        commit, files = None, {}
        if arguments.rev is None:
            files = read_tree(arguments.root)
        else:
            commit, files = read_revision(arguments.root, arguments.rev)
        figures = {"schema_version": 1, "revision": commit, **compute_figures(files)}
        figures["compile"] = read_compile_times(arguments.build) if arguments.build else None
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(figures, indent=2, ensure_ascii=False))
    else:
        print_text(figures, None if arguments.all else SHORT_LIST)
    return 0


if __name__ == "__main__":
    sys.exit(main())
