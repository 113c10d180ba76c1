#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the programs that `plumb layer --emit` writes, with CMake, the compiler and oneDNN alone.

Usage: reproducers_test.py BUILD_FOLDER CXX ONEDNN_LIBRARY ONEDNN_HEADERS [unittest arguments].
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
compiler, library, headers = (sys.argv.pop(1) for _ in range(3))

FUSED = (
    "v1:conv;in=f32[1,16,8,8],f32[16,16,3,3]c,f32[16]c,f32[1,16,8,8];out=f32[1,16,8,8];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=add@3,relu"
)
GRADIENT = (
    "v1:conv_backward_weights;in=f32[2,16,5,5],f32[2,8,10,10];out=f32[16,8,3,3],f32[16];acc=f32;math=strict;"
    "dilations=[1,1];group=1;outputs=wb;pads=[1,1,1,1];strides=[2,2]"
)
MATMUL = "v1:matmul;in=f32[64,256],f32[256,128]c;out=f32[64,128];acc=f32;math=strict"
FACTOR = 50.0  # between two times on a host where anything else may run: only a wrong unit or another kernel is beyond it


class Reproducers(Command):
    def reproduce(self, key, *arguments, options=()):
        """Emits, builds and runs; returns the rows and, of each variant, its implementation, bits and ratio."""
        folder = self.folder / "reproducer"
        self.plumb("layer", key, "--emit", folder, *arguments)
        rows = json.loads((folder / "row.json").read_text())
        self.assertEqual((rows["schema_version"], rows["key"]), (1, key))
        build = folder / "build"
        given = (f"-DDNNL_LIBRARY={library}", f"-DDNNL_INCLUDE_DIR={headers}", f"-DCMAKE_CXX_COMPILER={compiler}")
        subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", build, *given, *options], check=True, capture_output=True, timeout=120)
        subprocess.run(["cmake", "--build", build], check=True, capture_output=True, timeout=300)
        ran = subprocess.run([build / "reproducer"], capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(ran.stdout.count("  ratio "), len(rows["rows"]), ran.stdout)
        return folder, rows["rows"], ran.stdout

    def check_same(self, rows, output):
        """The program's implementation is the row's, its output has the row's bits, its time is near."""
        self.assertTrue(any(row["library_choice"] for row in rows))
        for row, part in zip(rows, re.split(r"^impl=", output, flags=re.MULTILINE)[1:], strict=True):
            implementation = re.match(r"impl=([^;]*)", row["variant"]).group(1)
            self.assertIn(f"  executes  {implementation}\n", part)
            self.assertIn(f"{row['output_hash']} (the row's bits)", part)
            self.assertLess(float(re.search(r"at most (\S+) of", part).group(1)), 1e-6, part)
            ratio = float(re.search(r"ratio +(\S+)", part).group(1))
            self.assertTrue(1 / FACTOR < ratio < FACTOR, part)

    def test_a_convolution_with_what_one_attaches_to_a_report(self):
        folder, rows, output = self.reproduce(CONV)
        self.check_same(rows, output)
        self.assertEqual({path.name for path in folder.iterdir()}, {"main.cpp", "CMakeLists.txt", "README.md", "row.json", "api.log", "build"})
        log = (folder / "api.log").read_text().splitlines()
        self.assertTrue(all(line.startswith("onednn_verbose") for line in log))
        self.assertTrue(any(",exec," in line and ",convolution," in line for line in log), log)
        readme = (folder / "README.md").read_text()
        for expected in (CONV, "library.sha256", "DNNL_LIBRARY", str(rows[0]["n"])):
            self.assertIn(expected, readme)
        self.assertNotIn("harness/", (folder / "main.cpp").read_text())

    def test_a_product(self):
        folder, rows, output = self.reproduce(MATMUL)
        self.check_same(rows, output)
        self.check_benchmarks(folder, rows)

    def check_benchmarks(self, folder, rows):
        """Google Benchmark filters, repeats and reports the same variants."""
        program = [folder / "build/reproducer", "--benchmark_min_time=0.02"]
        ran = subprocess.run([*program, "--benchmark_repetitions=2", "--benchmark_format=json"], capture_output=True, text=True,
                             timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        runs = [entry for entry in json.loads(ran.stdout)["benchmarks"] if entry["run_type"] == "iteration"]
        self.assertEqual([entry["name"] for entry in runs], [f"{MATMUL}/{row['variant']}/manual_time" for row in rows for _ in range(2)])
        for row in rows:  # a repetition is a mean, so the better one counts
            times = [entry["real_time"] for entry in runs if entry["name"] == f"{MATMUL}/{row['variant']}/manual_time"]
            ratio = min(times) * 1e-6 / row["median_raw_seconds"]
            self.assertTrue(1 / FACTOR < ratio < FACTOR, ratio)
        for entry in runs:
            self.assertAlmostEqual(entry["macs_per_second"] * entry["real_time"] * 1e-6 / (64 * 256 * 128), 1, delta=1e-3)
            self.assertGreater(entry["bytes_per_second"], 0)
        none = subprocess.run([*program, "--benchmark_filter=nothing"], capture_output=True, text=True, timeout=120)
        self.assertEqual(none.returncode, 2, none.stdout)
        listed = subprocess.run([*program, "--benchmark_list_tests"], capture_output=True, text=True, timeout=120)
        self.assertEqual(listed.stdout.count(MATMUL), len(rows))

    def test_a_gradient_whose_descriptor_hangs_on_the_layers_own(self):
        folder, rows, output = self.reproduce(GRADIENT, options=["-DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON"])
        self.check_same(rows, output)
        without = subprocess.run([folder / "build/reproducer", "--benchmark_filter=all"], capture_output=True, text=True, timeout=60)
        self.assertEqual(without.returncode, 2)
        self.assertIn("built without Google Benchmark", without.stderr)

    def test_one_variant_of_a_fused_layer(self):
        listed = self.json("layer", FUSED)["rows"]
        slowest = [row["variant"] for row in listed if row["outcome"] in ("ok", "unstable") and row["purpose"] == "full"][-1]
        _, rows, output = self.reproduce(FUSED, "--variant", slowest)
        self.assertEqual([row["variant"] for row in rows], [slowest])
        self.assertIn("(the row's bits)", output)

    def test_refuses_what_it_must(self):
        full = self.folder / "full"
        full.mkdir()
        (full / "mine").write_text("kept")
        self.assertIn("not empty", self.plumb("layer", CONV, "--emit", full, expect=2).stderr)
        self.assertIn("not a folder", self.plumb("layer", CONV, "--emit", full / "mine", expect=2).stderr)
        self.assertEqual([path.name for path in full.iterdir()], ["mine"])
        self.assertIn("--cache none", self.plumb("layer", CONV, "--emit", self.folder / "a", "--cache", "all", expect=2).stderr)
        error = self.plumb("layer", CONV, "--stack", "fake", "--emit", full, "--force", expect=2).stderr
        self.assertIn("writes no reproducers", error)
        view = "v1:view;in=f32[4,10];out=f32[40];acc=f32;math=strict"
        self.assertIn("it is a view", self.plumb("layer", view, "--emit", self.folder / "b", expect=2).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
