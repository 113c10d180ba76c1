#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ci/check_layers.py on small trees that break one rule each.

Usage: check_layers_test.py [unittest arguments].
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "ci/check_layers.py"
MODULE = "plumb_module({name}\n  HEADERS\n    {headers}\n  SOURCES\n    a.cpp\n  DEPENDS {links}\n  PRIVATE_DEPENDS fmt::fmt)\n"


class CheckLayers(unittest.TestCase):
    """A sound tree: harness/upper sees harness/lower, and harness/lower/deep stands below that."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "ci").mkdir()
        shutil.copy(SCRIPT, self.root / "ci/check_layers.py")
        self.write("harness/lower/CMakeLists.txt", MODULE.format(name="lower", headers="b.hpp\n    deep/c.hpp", links="fmt::fmt"))
        self.write("harness/upper/CMakeLists.txt", MODULE.format(name="upper", headers="a.hpp", links="plumb::lower"))
        self.write("harness/lower/deep/c.hpp", "#include <string>\n")
        self.write("harness/lower/b.hpp", '#include "harness/lower/deep/c.hpp"\n')
        self.write("harness/lower/hidden.hpp", "\n")
        self.write("harness/upper/a.hpp", '#include "harness/lower/b.hpp"\n')
        self.modules = {
            "harness/lower/deep": [],
            "harness/lower": ["harness/lower/deep"],
            "harness/upper": ["harness/lower"],
        }

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def faults(self):
        tables = [f'["{name}"]\npurpose = "x"\nsees = {sees}\n' for name, sees in self.modules.items()]
        self.write("ci/modules.toml", "".join(tables))
        done = subprocess.run(
            [sys.executable, str(self.root / "ci/check_layers.py")], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0 if "no fault" in done.stdout else 1, done.stderr)
        return [] if "no fault" in done.stdout else done.stdout.splitlines()

    def test_a_sound_tree_has_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_an_include_needs_a_right(self):
        self.write("harness/lower/deep/c.hpp", '#include "harness/lower/b.hpp"\n')
        found = self.faults()
        self.assertTrue(any("harness/lower/deep may not include harness/lower" in fault for fault in found), found)
        self.assertTrue(any("a cycle of folders: harness/lower harness/lower/deep" in fault for fault in found), found)

    def test_a_cycle_is_refused_whatever_the_rights(self):
        self.write("harness/lower/deep/c.hpp", '#include "harness/lower/b.hpp"\n')
        self.modules["harness/lower/deep"] = ["harness/lower"]
        self.assertIn("a cycle of folders: harness/lower harness/lower/deep", self.faults())

    def test_a_right_covers_the_folders_below(self):
        self.write("harness/upper/a.hpp", '#include "harness/lower/deep/c.hpp"\n')
        self.assertEqual(self.faults(), [])

    def test_a_right_that_nothing_uses_is_refused(self):
        self.modules["harness/lower/deep"] = ["harness/upper"]
        self.assertEqual(self.faults(), ["ci/modules.toml: harness/lower/deep lists harness/upper and includes nothing of it"])

    def test_a_private_header_of_another_module_is_refused(self):
        self.write("harness/upper/a.hpp", '#include "harness/lower/hidden.hpp"\n')
        self.assertEqual(self.faults(), ["harness/upper/a.hpp: 'harness/lower/hidden.hpp' is private to harness/lower"])

    def test_a_header_that_is_not_there_is_refused(self):
        self.write("harness/upper/a.cpp", '#include "harness/lower/gone.hpp"\n#include "harness/lower/made.hpp"\n')
        self.write("harness/lower/made.hpp.in", "")
        self.assertEqual(self.faults(), ["harness/upper/a.cpp: 'harness/lower/gone.hpp' is not there"])

    def test_a_header_for_the_project_is_not(self):
        self.write("harness/upper/a.hpp", '#include "harness/lower/hidden.hpp"\n')
        listing = (self.root / "harness/lower/CMakeLists.txt").read_text().replace("  SOURCES", "  PROJECT_HEADERS\n    hidden.hpp\n  SOURCES")
        self.write("harness/lower/CMakeLists.txt", listing)
        self.assertEqual(self.faults(), [])

    def test_links_are_those_of_the_includes(self):
        self.write("harness/upper/CMakeLists.txt", MODULE.format(name="upper", headers="a.hpp", links="fmt::fmt"))
        self.assertEqual(self.faults(), ["harness/upper/CMakeLists.txt: includes harness/lower and does not link it"])
        self.write("harness/lower/CMakeLists.txt", MODULE.format(name="lower", headers="b.hpp\n    deep/c.hpp", links="plumb::upper"))
        self.assertIn("harness/lower/CMakeLists.txt: links harness/upper and includes nothing of it", self.faults())

    def test_a_folder_without_an_entry_and_an_entry_without_a_folder(self):
        del self.modules["harness/lower/deep"]
        self.modules["harness/gone"] = []
        self.assertEqual(
            self.faults(), ["ci/modules.toml: harness/lower/deep is missing", "ci/modules.toml: harness/gone has no sources"])

    def test_a_crowded_folder_is_refused(self):
        for number in range(40):
            self.write(f"harness/lower/deep/file{number}.hpp", "\n")
        self.assertEqual(self.faults(), ["harness/lower/deep: 41 sources at one level, at most 40"])

    def test_a_cycle_between_two_components_of_a_folder_is_refused(self):
        self.write("harness/upper/c.hpp", '#include "harness/upper/a.hpp"\n')
        self.assertEqual(self.faults(), [])
        self.write("harness/upper/a.cpp", '#include "harness/upper/c.hpp"\n')
        self.assertEqual(
            self.faults(),
            ["a cycle of components: harness/upper/a harness/upper/c; move what they share into a file of its own"])

    def test_two_types_of_one_name_are_refused(self):
        row = "namespace plumb::upper {\nstruct Row {\n};\n}\n"
        self.write("harness/upper/hidden.hpp", row)
        self.write(
            "harness/upper/a.cpp",
            "namespace plumb::upper {\nnamespace {\n" + row.split("\n", 1)[1].replace("}\n", "}  // namespace\n}\n", 1))
        self.write("harness/upper/b.cpp", "namespace plumb::upper {\nstruct Row;\n}\n")
        self.assertEqual(self.faults(), [])
        self.write("harness/upper/b.cpp", row)
        self.assertEqual(
            self.faults(),
            ["plumb::upper::Row is defined in harness/upper/b.cpp and harness/upper/hidden.hpp: "
             "a program that links both mixes them up"])

    def test_a_module_defines_nothing_in_the_namespace_of_another(self):
        self.write("harness/upper/a.cpp", "namespace plumb::lower {\nclass Known;\nstruct Other;\n}\n\nnamespace plumb::upper {\n}\n")
        self.write("harness/upper/b.cpp", "namespace plumb::upper::detail {\nint a;\n}\n")
        self.assertEqual(self.faults(), [])
        self.write("harness/lower/deep/c.hpp", "namespace plumb {\nint a;\n}\n")
        self.write("harness/upper/a.cpp", "namespace plumb::lower {\nint known();\n}\n")
        self.assertEqual(
            self.faults(),
            ["harness/lower/deep/c.hpp: namespace plumb; this module's is plumb::lower",
             "harness/upper/a.cpp: namespace plumb::lower; this module's is plumb::upper"])

    def test_a_foreign_header_stays_in_its_place(self):
        self.write("harness/upper/a.cpp", "#include <sqlite3.h>\n")
        self.assertEqual(self.faults(), ["harness/upper/a.cpp: 'sqlite3.h' is only for harness/store/sqlite"])

    def test_a_heavy_header_stays_out_of_public_ones(self):
        self.write("harness/upper/a.hpp", '#include "harness/lower/b.hpp"\n#include <nlohmann/json.hpp>\n')
        self.assertEqual(
            self.faults(), ["harness/upper/a.hpp: 'nlohmann/json.hpp' is too heavy for a public header; keep it in a .cpp"])


if __name__ == "__main__":
    unittest.main()
