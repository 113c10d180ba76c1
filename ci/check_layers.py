#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the order of the code's folders, as ci/modules.toml states it, over their #include lines.

For each folder with sources modules.toml has a table: its purpose and what it sees. A right to see a folder covers the
folders below it. Refused are an include without such a right, a right that no include uses, a cycle between folders or
between components (a header and the source of its name), a header of another module that its CMakeLists.txt lists neither under HEADERS nor PROJECT_HEADERS, a target that links less or more than
its folders see, a folder with more than 40 sources at one level, a namespace of another module, and two types of one
name in one namespace.

ci/check_layers.py [--edges]: --edges prints who sees whom, with the number of includes."""

import collections
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOUSE = ("harness", "runners", "reporting", "suites")
SOURCES = (".cpp", ".hpp", ".cuh")
MAX_FILES = 40
ANONYMOUS = re.compile(r"^namespace \{\n.*?^\}  // namespace$", re.DOTALL | re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: :(?!:)[^;{]*)? \{", re.MULTILINE)
# Heavy or foreign headers stay where they belong: the pattern, and the folders that may include it.
FOREIGN = [
    (r"(oneapi/)?dnnl", ("runners/onednn",)),
    (r"cuda|cudnn|cublas", ("runners/cuda", "tests")),
    (r"sqlite3", ("harness/store/sqlite",)),
    (r"CLI/", ("harness/cli",)),
    (r"benchmark/", ("runners/engine/bench", "runners/onednn/reproducer", "tests")),
    (r"prometheus/", ("reporting/prometheus", "harness/serve", "harness/cli", "tests")),
    (r"(boost/(asio|beast)/|curl/)", ("harness/serve", "tests")),
    (r"capstone/", ("harness/importers/symbols",)),
    (r"zlib\.h", ("harness/serve", "harness/importers/traces", "reporting/content/samples", "tests")),
    (r"onnx/", ("harness/model/onnx", "suites/zoo", "harness/session/zoo", "harness/cli", "tests", "runners/engine", "runners/onnxruntime")),
]
HEAVY_IN_HEADERS = re.compile(r"(nlohmann/json\.hpp|toml\+\+|CLI/|onnx/|google/protobuf|(oneapi/)?dnnl|sqlite3)")
# Modules whose namespace is not named after their folder.
NAMESPACES = {"harness/base": "plumb"}
# A namespace that is opened for declarations of types alone.
FORWARD = re.compile(r"^namespace [\w:]+ \{\n+(?:(?:class|struct|enum class) [^{;]+;\n*)+\}", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def is_within(folder: str, other: str) -> bool:
    return folder == other or folder.startswith(other + "/")


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def read_sources():
    """Returns the text of each source of the house, by its path."""
    texts = {}
    for top in HOUSE:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SOURCES or path.name.endswith((".cpp.in", ".hpp.in")):
                texts[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    return texts


def listed_under(keyword: str, text: str):
    """Returns what a call of plumb_module() lists under a keyword."""
    found = re.search(rf"(?<!\w){keyword}(.*?)(?=\b(?:PROJECT_HEADERS|SOURCES|DEPENDS|PRIVATE_DEPENDS)\b|$)", text, re.DOTALL)
    return found.group(1).split() if found else []


class Modules:
    """The CMake targets of the house: their folders, headers and links."""

    def __init__(self):
        self.public = {}  # folder of the CMakeLists.txt: headers that are installed
        self.headers = {}  # likewise: those and the ones that other modules of the project may include
        self.links = {}  # likewise: folders of the targets that it links
        names = {}
        texts = {}
        for top in HOUSE:
            for listing in sorted((ROOT / top).rglob("CMakeLists.txt")):
                text = listing.read_text(encoding="utf-8")
                module = re.search(r"plumb_module\((\w+)(.*?)\n?\)", text, re.DOTALL)
                if module:
                    folder = folder_of(listing.relative_to(ROOT).as_posix())
                    names[module.group(1)] = folder
                    texts[folder] = module.group(2)
        for folder, text in texts.items():
            public, shared = listed_under("HEADERS", text), listed_under("PROJECT_HEADERS", text)
            self.public[folder] = {f"{folder}/{name}" for name in public}
            self.headers[folder] = self.public[folder] | {f"{folder}/{name}" for name in shared}
            self.links[folder] = {names[name] for name in re.findall(r"plumb::(\w+)", text) if name in names}

    def of(self, folder: str):
        """Returns the folder of the module that a folder belongs to."""
        return max((each for each in self.headers if is_within(folder, each)), key=len, default=None)

    def reach(self, module: str):
        """Returns all modules that a module links, directly or not."""
        found, left = set(), [module]
        while left:
            for each in self.links[left.pop()] - found:
                found.add(each)
                left.append(each)
        return found


def cycles(edges):
    """Yields the strongly connected parts of more than one node (Tarjan, 1972)."""
    index, low, stack = {}, {}, []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                yield from visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                yield sorted(part)

    for node in sorted(edges):
        if node not in index:
            yield from visit(node)


def component_of(path: str) -> str:
    return path.rsplit(".", 1)[0]


def faults_of_components(texts):
    graph = {component_of(path): set() for path in texts}
    for path, text in texts.items():
        graph[component_of(path)].update(component_of(name) for name in INCLUDE.findall(text) if name in texts)
    for component, seen in graph.items():
        seen.discard(component)
    for part in cycles(graph):
        yield f"a cycle of components: {' '.join(part)}; move what they share into a file of its own"


def faults_of_rights(table, edges):
    used = collections.defaultdict(set)
    for (folder, target), files in sorted(edges.items()):
        rights = [each for each in table.get(folder, {}).get("sees", []) if is_within(target, each)]
        used[folder].update(rights)
        if folder in table and not rights:
            yield f"{folder} may not include {target}: {files[0]}" + (f" and {len(files) - 1} more" if files[1:] else "")
    for folder, entry in table.items():
        for right in sorted(set(entry["sees"]) - used[folder]):
            yield f"ci/modules.toml: {folder} lists {right} and includes nothing of it"


def faults_of_folders(table, texts):
    counts = collections.Counter(folder_of(path) for path in texts)
    for folder, count in sorted(counts.items()):
        if folder not in table:
            yield f"ci/modules.toml: {folder} is missing"
            continue
        limit = table[folder].get("max_files", MAX_FILES)
        if count > limit:
            yield f"{folder}: {count} sources at one level, at most {limit}"
    for folder in sorted(set(table) - set(counts)):
        yield f"ci/modules.toml: {folder} has no sources"


def is_there(include: str, texts):
    """Returns whether a header is there, or what the build makes it of."""
    return include in texts or include.endswith(".pb.h") or (ROOT / f"{include}.in").exists()


def faults_of_headers(texts, modules):
    for path, text in texts.items():
        own = modules.of(folder_of(path))
        for include in INCLUDE.findall(text):
            if include.startswith(HOUSE) and not is_there(include, texts):
                yield f"{path}: '{include}' is not there"
            other = modules.of(folder_of(include)) if include.startswith(HOUSE) else None
            if other and other != own and include in texts and include not in modules.headers[other]:
                yield f"{path}: '{include}' is private to {other}"
            for pattern, allowed in FOREIGN:
                if re.match(pattern, include) and not any(is_within(folder_of(path), each) for each in allowed):
                    yield f"{path}: '{include}' is only for {', '.join(allowed)}"
            if own and path in modules.public[own] and not own.startswith("runners/") and HEAVY_IN_HEADERS.match(include):
                yield f"{path}: '{include}' is too heavy for a public header; keep it in a .cpp"


def namespace_of(path: str):
    """Returns the namespace of the module that a source belongs to."""
    parts = path.split("/")
    module = parts[0] if parts[0] == "reporting" else "/".join(parts[:2])
    return NAMESPACES.get(module, f"plumb::{module.rpartition('/')[2]}")


def faults_of_namespaces(texts):
    for path, text in texts.items():
        own = namespace_of(path)
        for name in sorted(set(re.findall(r"^namespace (plumb[\w:]*) \{", FORWARD.sub("", text), re.MULTILINE))):
            if name != own and (own == "plumb" or not name.startswith(own + "::")):
                yield f"{path}: namespace {name}; this module's is {own}"


def faults_of_types(texts):
    defined = collections.defaultdict(set)
    for path, text in texts.items():
        named = ANONYMOUS.sub("", text)
        namespace = "::".join(re.findall(r"^namespace ([\w:]+) \{", named, re.MULTILINE))
        for name in TYPE.findall(named):
            defined[f"{namespace}::{name}"].add(path)
    for name, paths in sorted(defined.items()):
        if len(paths) > 1:
            yield f"{name} is defined in {' and '.join(sorted(paths))}: a program that links both mixes them up"


def faults_of_links(edges, modules):
    seen = collections.defaultdict(set)
    for folder, target in edges:
        own, other = modules.of(folder), modules.of(target)
        if own and other and own != other:
            seen[own].add(other)
    for module in sorted(modules.links):
        for other in sorted(seen[module] - modules.reach(module)):
            yield f"{module}/CMakeLists.txt: includes {other} and does not link it"
        for other in sorted(modules.links[module]):
            if other not in seen[module]:
                yield f"{module}/CMakeLists.txt: links {other} and includes nothing of it"


def main() -> int:
    texts = read_sources()
    edges = collections.defaultdict(list)
    for path, text in texts.items():
        for include in INCLUDE.findall(text):
            folder, target = folder_of(path), folder_of(include)
            if include.startswith(HOUSE) and folder != target:
                edges[(folder, target)].append(f"{path} includes {include}")
    if "--edges" in sys.argv:
        for (folder, target), files in sorted(edges.items()):
            print(f"{folder} -> {target}: {len(files)}")
        return 0
    with (ROOT / "ci/modules.toml").open("rb") as file:
        table = tomllib.load(file)
    modules = Modules()
    graph = collections.defaultdict(set)
    for folder, target in edges:
        graph[folder].add(target)
        graph.setdefault(target, set())
    faults = [
        *faults_of_folders(table, texts),
        *faults_of_rights(table, edges),
        *(f"a cycle of folders: {' '.join(part)}" for part in cycles(graph)),
        *faults_of_components(texts),
        *faults_of_headers(texts, modules),
        *faults_of_links(edges, modules),
        *faults_of_namespaces(texts),
        *faults_of_types(texts),
    ]
    print("\n".join(faults) if faults else f"order of folders: {len(table)} folders, {len(texts)} files, no fault")
    return 1 if faults or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
