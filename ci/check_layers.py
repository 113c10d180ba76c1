#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the one-way order of the modules over their #include lines (docs/design/architecture.md)."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORE = ["base", "model", "rewrite", "measure", "scenario", "results"]
SEES = {
    "base": [],
    "model": ["base"],
    "rewrite": ["base", "model"],
    "measure": ["base"],
    "scenario": ["base", "measure"],
    "results": ["base", "model", "rewrite", "measure", "scenario"],
    "suite": CORE,
    "worker": CORE,
    "store": CORE,
    "analyze": CORE,
    "plan": CORE + ["suite", "worker", "store", "analyze"],
    "reporting": CORE + ["analyze"],
    "zoo": ["base", "model"],
    "engine": CORE + ["worker"],
    "runner": CORE + ["worker", "engine"],
    "cli": None,
    "tests": None,
}
# Heavy or foreign headers stay where they belong.
FOREIGN = [
    (re.compile(r"^(oneapi/)?dnnl"), {"runner"}),
    (re.compile(r"^cuda|^cudnn|^cublas"), {"runner", "tests"}),
    (re.compile(r"^sqlite3"), {"store"}),
    (re.compile(r"^CLI/"), {"cli"}),
    (re.compile(r"^benchmark/"), {"engine", "measure", "tests"}),
    (re.compile(r"^prometheus/"), {"reporting", "cli", "tests"}),
    (re.compile(r"^(boost/(asio|beast)/|curl/|zlib\.h)"), {"cli", "tests"}),
    (re.compile(r"^onnx/"), {"model", "zoo", "cli", "tests", "engine"}),
]
HEAVY_IN_HEADERS = re.compile(r"^(nlohmann/json\.hpp|toml\+\+|CLI/|onnx/|google/protobuf|(oneapi/)?dnnl|sqlite3)")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def module_of(path: str):
    parts = path.split("/")
    if parts[0] == "harness":
        return parts[1] if len(parts) > 2 else None
    if parts[0] == "runners":
        return "engine" if parts[1] == "engine" else "runner"
    if parts[0] == "suites":
        return "zoo"
    return parts[0] if parts[0] in ("reporting", "tests") else None


def is_public(path: pathlib.Path) -> bool:
    """Tells whether the module's CMakeLists.txt lists the header under HEADERS."""
    listing = path.parent / "CMakeLists.txt"
    if path.suffix != ".hpp" or not listing.exists() or module_of(path.relative_to(ROOT).as_posix()) in ("runner", "tests"):
        return False
    headers = re.search(r"HEADERS(.*?)(SOURCES|DEPENDS|\))", listing.read_text(encoding="utf-8"), re.DOTALL)
    return bool(headers) and path.name in headers.group(1).split()


def faults_of(path: pathlib.Path):
    relative = path.relative_to(ROOT).as_posix()
    module = module_of(relative)
    if module is None:
        return
    sees = SEES[module] if module in SEES else []
    for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
        target = module_of(include) if "/" in include else None
        if target and target != module and sees is not None and target not in sees:
            yield f"{relative}: '{module}' must not include '{include}' of '{target}'"
        if target == "runner" and module == "runner" and include.split("/")[1] != relative.split("/")[1]:
            yield f"{relative}: one backend must not include another: '{include}'"
        for pattern, allowed in FOREIGN:
            if pattern.search(include) and module not in allowed:
                yield f"{relative}: '{include}' is only for {', '.join(sorted(allowed))}"
        if is_public(path) and HEAVY_IN_HEADERS.search(include):
            yield f"{relative}: '{include}' is too heavy for a public header; keep it in a .cpp"


def main() -> int:
    count = 0
    faults = []
    for folder in ("harness", "runners", "reporting", "suites", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp"):
                count += 1
                faults.extend(faults_of(path))
    print("\n".join(faults) if faults else f"include order: {count} files, no fault")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
