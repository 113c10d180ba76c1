#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups sources that may be compiled as one unit: unity_groups.py ROOT MOST < sources > groups.cmake

Reads paths relative to ROOT. Sources of one module share a unit, at most MOST of them, unless one of them gives a name to
itself alone (in an anonymous namespace, as `static`, by a macro) that another uses too. Sources that need protobuf or
oneDNN stay apart from those that do not: not every target links them. So do those that instantiate templates for others. Prints
CMake commands."""
import collections
import functools
import pathlib
import re
import sys

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|\[\[\w+\]\] |/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"[A-Za-z_]\w*")
# Calls of functions, and names of types and constants; a variable or a member of the same name disturbs nobody.
USED = re.compile(r"(?<![.\w])(?<!->)(?:[a-z_]\w*(?=[(<{])|(?:[A-Z]|k[A-Z])\w*)")
# dnnl_types.h declares no function.
LIBRARIES = {"onednn": re.compile(r"^oneapi/(?!dnnl/dnnl_types\.h)"), "protobuf": re.compile(r"pb\.h$|^google/protobuf|^onnx/")}
# Sources with these headers instantiate templates that others declare only.
INSTANTIATING = re.compile(r"/described_content\.hpp$")
KEYWORDS = frozenset(
    "alignas auto bool char class const constexpr double enum explicit extern false float for if inline int int8_t int32_t int64_t "
    "uint8_t uint16_t uint32_t uint64_t long namespace noexcept operator private public return short size_t static std string "
    "string_view struct template thread_local true typename union unsigned using vector void while plumb testing TEST TEST_F TEST_P "
    "TYPED_TEST optional pair map array span function".split()
)


def libraries_of(path: pathlib.Path, root: pathlib.Path) -> str:
    """Returns which of LIBRARIES a source needs: itself, or a source that it may call, however far away."""
    found, seen, left = set(), set(), [path]
    while left:
        file = left.pop()
        if file in seen:
            continue
        seen.add(file)
        included = includes_of(file)
        found |= {library for library, header in LIBRARIES.items() if any(map(header.search, included))}
        left += [root / name for name in included if (root / name).is_file()]
        if file.suffix == ".hpp" and (source := file.with_suffix(".cpp")).is_file():
            left.append(source)
    return "".join(f"_{library}" for library in sorted(found))


@functools.cache
def includes_of(path: pathlib.Path) -> list:
    return re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"), re.MULTILINE)


def plain(text: str) -> str:
    """Returns C++ without comments, attributes and literals."""
    return COMMENT_OR_TEXT.sub(lambda found: "" if found[0].startswith("[[") else " ", text)


def own_names(text: str, blocks: list) -> set:
    """Returns the names that a source keeps to itself: those at the first column of its anonymous namespaces, shorter names of types,
    and macros."""
    names = set(re.findall(r"^#define (\w+)", text, re.MULTILINE)) - set(re.findall(r"^#undef (\w+)", text, re.MULTILINE))
    lines = [line for block in blocks for line in block.split("\n")] + re.findall(r"^(?:static|using \w+ =) .*", text, re.MULTILINE)
    for line in lines:
        if line[:1].isalpha():
            names |= declared(line)
    return names


def declared(line: str) -> set:
    """Returns what a declaration that begins with this line names."""
    if found := re.match(r"(?:template.*> )?(?:struct|class|enum(?: class)?|union|using|namespace) (\w+)", line):
        return {found[1]}
    head = re.split(r"[({=;\[]", line.replace("template <", "<"), maxsplit=1)[0]
    return set(NAME.findall(head)[-1:])


def module_of(path: str) -> str:
    """Returns the folder whose sources may share a unit: harness/analysis, tests/unit/analysis."""
    folders = pathlib.PurePosixPath(path).parent.parts
    return "/".join(folders[: 3 if folders[0] == "tests" else 2])


def groups_of(folder_sources: dict, most: int) -> list:
    """Returns lists of sources; each fits the first group none of whose members it disturbs."""
    groups = []
    for path, (own, used) in sorted(folder_sources.items()):
        for group in groups:
            if len(group) < most and not any(own & other_used or used & other_own for other_own, other_used in map(folder_sources.get, group)):
                group.append(path)
                break
        else:
            groups.append([path])
    return groups


def main() -> int:
    root, most = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    folders = collections.defaultdict(dict)
    for path in sys.stdin.read().split():
        raw = (root / path).read_text(encoding="utf-8")
        text = plain(raw)
        blocks = [plain(block) for block in ANONYMOUS.findall(raw)]
        apart = "_templates" if any(map(INSTANTIATING.search, includes_of(root / path))) else ""
        folders[module_of(path) + libraries_of(root / path, root) + apart][path] = (own_names(text, blocks) - KEYWORDS, set(USED.findall(text)))
    for folder, sources in sorted(folders.items()):
        for number, group in enumerate(groups_of(sources, most)):
            for path in group:
                print(f'set(PLUMB_GROUP_{re.sub(r"[^A-Za-z0-9]", "_", path)} "{re.sub(r"[^A-Za-z0-9]", "_", folder)}_{number}")')
    return 0


if __name__ == "__main__":
    sys.exit(main())
