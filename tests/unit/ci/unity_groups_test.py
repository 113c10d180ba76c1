#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ci/cmake/unity_groups.py on small trees: which sources share a unit?

Usage: unity_groups_test.py [unittest arguments].
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "ci/cmake/unity_groups.py"


class UnityGroups(unittest.TestCase):
    def groups(self, most=12, **texts):
        """Returns the groups of sources `a/NAME.cpp`, as sets of names."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a").mkdir()
            for name, text in texts.items():
                (root / "a" / f"{name}.{'hpp' if name == 'header' else 'cpp'}").write_text(text, encoding="utf-8")
            sources = "\n".join(f"a/{name}.cpp" for name in texts if name != "header")
            done = subprocess.run([sys.executable, str(SCRIPT), folder, str(most)], input=sources, capture_output=True, text=True, timeout=60, check=True)
        found = collections.defaultdict(set)
        for name, group in re.findall(r'^set\(PLUMB_GROUP_a_(\w+)_cpp "(\w+)"\)$', done.stdout, re.MULTILINE):
            found[group].add(name)
        return sorted(map(sorted, found.values()))

    @staticmethod
    def own(text):
        return f"namespace {{\n{text}\n}}  // namespace\n"

    def test_sources_without_names_of_their_own_share_a_unit(self):
        self.assertEqual(self.groups(x="int f();\n", y="int g();\n"), [["x", "y"]])

    def test_a_unit_has_so_many_sources_at_most(self):
        self.assertEqual(self.groups(most=2, x="", y="", z=""), [["x", "y"], ["z"]])

    def test_two_helpers_of_one_name_are_apart(self):
        helper = self.own("int first() {\n  return 1;\n}\n[[noreturn]] void refuse(int what) {\n}")
        self.assertEqual(self.groups(x=helper, y=self.own("void refuse(int what) {\n}")), [["x"], ["y"]])

    def test_a_helper_is_apart_from_who_calls_another_of_its_name(self):
        self.assertEqual(self.groups(x=self.own("int text(int a) {\n}"), y="int g() { return text(1); }\n"), [["x"], ["y"]])

    def test_members_variables_comments_and_literals_disturb_nobody(self):
        user = 'int g() { int text = 0; a.text(); p->text(); /* text() */ return f("text()"); }  // text()\n'
        self.assertEqual(self.groups(x=self.own("int text(int a) {\n}"), y=user), [["x", "y"]])

    def test_types_constants_and_macros_count_wherever_they_stand(self):
        for own, use in (("struct Row {", "Row row;"), ("constexpr int kMost = 1;", "f(kMost);"), ("using Rows = int;", "Rows rows;")):
            self.assertEqual(self.groups(x=self.own(own), y=use), [["x"], ["y"]], own)
        self.assertEqual(self.groups(x="#define ROW 1\n", y="int a = ROW;\n"), [["x"], ["y"]])

    def test_types_of_onednn_need_no_library_and_its_functions_do(self):
        self.assertEqual(
            self.groups(x="int f();\n", types="#include <oneapi/dnnl/dnnl_types.h>\n", calls="#include <oneapi/dnnl/dnnl.hpp>\n"), [["calls"], ["types", "x"]]
        )

    def test_protobuf_stays_apart_through_headers_too(self):
        texts = {"header": "#include <onnx/onnx_pb.h>\n", "x": '#include "a/header.hpp"\n', "y": "", "z": "#include <onnx/onnx_pb.h>\n"}
        self.assertEqual(self.groups(**texts), [["x", "z"], ["y"]])


if __name__ == "__main__":
    unittest.main()
