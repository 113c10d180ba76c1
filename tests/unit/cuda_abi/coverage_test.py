#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks of the ABI headers of runners/cuda: is all that they state compared with NVIDIA's headers, and is a mistake noticed?

coverage_test.py COMPILER HEADERS [unittest arguments]: HEADERS is the folder of NVIDIA's headers. Without them, mistakes are not
tried (skipped).
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
COMPILER = sys.argv.pop(1)
HEADERS = pathlib.Path(sys.argv.pop(1))

#: What a comparison needs of GoogleTest, so that it is compiled in less than a second.
GTEST = "#pragma once\nstruct Said { int operator<<(const char*) { return 0; } };\n#define TEST(suite, name) static void suite##name()\n#define SUCCEED() Said()\n#define GTEST_SKIP() Said()\n"

#: Numbers of Plumbline's own choice.
OWN = {"kOneNestingLevel"}
#: The name of an entry point of NVIDIA's in quotes.
ENTRY = re.compile(r'"((?:cu|cudnn|cublas|cublasLt|cupti|nvml|nvrtc)[A-Z]\w*)"')


def abi_headers():
    return {path: path.read_text() for path in sorted((ROOT / "runners/cuda").glob("*/*_abi.hpp"))}


def stated(text):
    """Yields what a header states: (what, pattern of a comparison)."""
    for name, body in re.findall(r"enum class (\w+) : \w+ \{(.*?)\};", text, re.DOTALL):
        for enumerator in re.findall(r"\b(k\w+) =", body):
            yield f"{name}::{enumerator}", rf"\b{name}::{enumerator}\b"
    for constant in set(re.findall(r"^inline constexpr \S+ (k\w+) =", text, re.MULTILINE)) - OWN:
        yield constant, rf"(?<!:)\b{constant}\b"
    for name, body in structures(text):
        for constant in re.findall(r"^  static constexpr \S+ (k\w+) =", body, re.MULTILINE):
            yield f"{name}::{constant}", rf"::{constant}\b"
        if "(*" in body or " Create " in body:
            continue  # calls: the compiler compares each of them
        for field in re.findall(r"^  (?!static|using)[\w:<>, ]+[*&]* (\w+)(?: = [^;]*|\{\})?;", body, re.MULTILINE):
            if (name, field) not in SIZED:
                yield f"{name}.{field}", rf"\b{name},\s+{field}\b"


def structures(text, owner=""):
    """Yields the name and the body of each structure, and of those in it before it, as if they stood outside."""
    pattern = re.compile(r"^struct (\w+) \{(.*?)^\};", re.DOTALL | re.MULTILINE)
    for name, body in pattern.findall(text):
        inner = re.sub(r"^  ", "", body, flags=re.MULTILINE)
        yield from structures(inner, f"{owner}{name}::")
        yield f"{owner}{name}", re.sub(r"^(?=.)", "  ", pattern.sub("", inner), flags=re.MULTILINE)


#: Fields that is_sized_as() compares, in all structures that have them.
SIZED = {(name, field) for text in abi_headers().values() for name, _ in structures(text) for field in ("bytes", "reserved")
         if re.search(rf"is_sized_as<{name},\s", (HERE / "profiler_abi_test.cpp").read_text())}


class Coverage(unittest.TestCase):
    def setUp(self):
        self.comparisons = "\n".join(path.read_text() for path in sorted(HERE.glob("*_test.cpp")))

    def test_every_number_and_field_is_compared(self):
        count = 0
        for path, text in abi_headers().items():
            for what, pattern in stated(text):
                count += 1
                self.assertRegex(self.comparisons, pattern, f"{path.name} states {what}, which nothing compares")
        self.assertGreater(count, 400)

    def test_every_entry_point_that_is_looked_up_is_compared(self):
        declared = set(re.findall(r"^    PLUMB_(?:DECLARED|OVERLOADED)\((\w+)", self.comparisons, re.MULTILINE))
        named = set()
        for path in sorted((ROOT / "runners/cuda").rglob("*.[ch]pp")):
            named |= set(ENTRY.findall(re.sub(r"//.*", "", path.read_text())))
        self.assertEqual(named, declared)
        self.assertGreater(len(named), 190)

    def test_every_structure_of_calls_is_compared(self):
        for path, text in abi_headers().items():
            for calls in re.findall(r"^struct (\w+Calls) \{", text, re.MULTILINE):
                self.assertRegex(self.comparisons, rf"are_declared<\w+, {calls}>", path.name)


class Mistakes(unittest.TestCase):
    """Mistakes in the headers do not compile."""

    def compiled(self, test, header=None, text=None):
        """Returns what the compiler says of a comparison, with another text of a header; nothing if it compiles."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "gtest").mkdir()
            (folder / "gtest/gtest.h").write_text(GTEST)
            if header:
                (folder / header).parent.mkdir(parents=True)
                (folder / header).write_text(text)
            command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{folder}", f"-I{ROOT}", "-isystem", str(HEADERS), str(HERE / test)]
            ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            return ran.stderr if ran.returncode else ""

    def test_are_noticed(self):
        if not (HEADERS / "cuda.h").exists():
            self.skipTest("NVIDIA's headers are not here: run ci/setup test")
        mistakes = tomllib.loads((HERE / "mistakes.toml").read_text())
        self.assertGreaterEqual(len(mistakes), 8)
        for test in sorted({mistake["test"] for mistake in mistakes.values()}):
            self.assertEqual(self.compiled(test), "", f"{test} as it is")
        for name, mistake in mistakes.items():
            with self.subTest(name):
                text = (ROOT / mistake["header"]).read_text()
                self.assertEqual(text.count(mistake["from"]), 1, mistake["from"])
                said = self.compiled(mistake["test"], mistake["header"], text.replace(mistake["from"], mistake["to"]))
                self.assertIn(mistake["says"], said)


if __name__ == "__main__":
    unittest.main()
