#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the tests of every executable: their parameters must have names that a reader can tell apart.

GoogleTest prints a parameter of a type without a printer by its bytes, and text behind a pointer with the pointer.
"""

import re
import subprocess
import sys
import unittest

NAMELESS = re.compile(r"-byte object <|GetParam\(\) = \(?0x[0-9a-f]+")


class TestNames(unittest.TestCase):
    def test_parameters_have_names(self):
        self.assertGreater(len(EXECUTABLES), 0)
        for executable in EXECUTABLES:
            with self.subTest(executable=executable):
                listing = subprocess.run([executable, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
                self.assertIn("\n  ", listing, "no test")
                self.assertEqual([line for line in listing.splitlines() if NAMELESS.search(line)], [])


if __name__ == "__main__":
    EXECUTABLES = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
