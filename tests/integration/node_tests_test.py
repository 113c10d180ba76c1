#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's operator tests of the newest opset, as PyPI's onnx generates them, against the reference and every backend.

Usage: node_tests_test.py BUILD_FOLDER. Skipped (77) without PyPI's onnx.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import warnings

try:
    import onnx
    from onnx.backend.test import cmd_tools
    from onnx.backend.test.case import node
except ImportError as missing:
    print(f"skipped: {missing}; run ci/setup test")
    sys.exit(77)

#: What passes with onnx 1.23: guards against a reader that suddenly refuses most.
LEAST_PASSED = {"tests/unit/engine/plumb_engine_test": 1090, "tests/contract/plumb_backend_contract_test": 1030}


def generate(folder):
    """Writes the node tests: the package's own command also asks for models of other kinds, which need more than it installs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = node.collect_testcases(None)
    cmd_tools.model_test = types.SimpleNamespace(collect_testcases=lambda: cases)
    cmd_tools.generate_data(argparse.Namespace(output=str(folder)))
    return len(cases)


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="plumb-") as folder:
        count = generate(pathlib.Path(folder))
        environment = {**os.environ, "PLUMB_ONNX_NODE_TESTS": str(pathlib.Path(folder) / "node")}
        for test, least in LEAST_PASSED.items():
            command = [build / test, "--gtest_filter=OnnxNodeTests.*:*passes_onnx_operator_tests*"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
            print(f"{test}, onnx {onnx.__version__}, {count} tests\n{done.stdout}{done.stderr}")
            tallies = re.findall(r"ONNX node tests: (\d+) passed, (\d+) unsupported, (\d+) failed", done.stdout)
            assert done.returncode == 0 and tallies, f"exit status {done.returncode}"
            for passed, unsupported, failed in tallies:
                assert int(failed) == 0 and int(passed) >= least
                assert int(passed) + int(unsupported) == count, "every test is counted"


if __name__ == "__main__":
    main()
