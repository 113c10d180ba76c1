#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Previews upgrades: what is refused without any cuDNN, and real answers of three versions where ci/fetch-cudnn has fetched them.

Usage: preview_test.py BUILD_FOLDER CACHE_FOLDER [unittest arguments].
"""

import json
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
STACKS = pathlib.Path(sys.argv.pop(1)) / "cudnn/plumb/stacks"
WIDE = CONV.replace("[1,8,14,14]", "[8,256,14,14]").replace("[16,8,3,3]", "[256,256,3,3]").replace("[1,16,14,14]", "[8,256,14,14]")
TOOLKIT = pathlib.Path("/usr/local/cuda/lib64")
OLD, NEW, LINKED = "cudnn-9.12.0.46", "cudnn-9.26.1.1", "cudnn-9.28.1.4"  # the last links the driver
GPUS = ["A100", "B200", "H100", "H200", "L40S", "T4"]


class Preview(Command):
    def one_layer(self, key=CONV):
        (self.folder / "one_layer.toml").write_text(f'[[layers]]\nkey = "{key}"\ncount = 3\n')
        return self.suite('[suite]\nname = "one"\n[[layers]]\nfile = "one_layer.toml"\n', "one")

    def profile(self, change):
        properties = json.loads((self.build / "share/plumb/suites/gpus/H200.json").read_text())["properties"]
        change(properties)
        path = self.folder / "mine.json"
        path.write_text(json.dumps(properties))
        return path

    def refusal(self, gpu, from_stack="fake", to_stack="fake", expect=2):
        return self.plumb("preview", self.one_layer(), "--from", from_stack, "--to", to_stack, "--gpu", gpu, expect=expect).stderr


class Refusals(Preview):
    def test_profiles(self):
        for name in GPUS:
            profile = json.loads((self.build / f"share/plumb/suites/gpus/{name}.json").read_text())
            self.assertGreaterEqual(set(profile["properties"]), set(profile["vendor_figures"]))
        self.assertIn("L40S", self.refusal("H300"))
        self.assertIn("'l2CacheSize' is missing", self.refusal(self.profile(lambda p: p.pop("l2CacheSize"))))
        self.assertIn("'maxGridSize'", self.refusal(self.profile(lambda p: p.update(maxGridSize=[1, 2]))))
        self.assertIn("'smClockRateKHz'", self.refusal(self.profile(lambda p: p.update(smClockRateKHz=-5))))
        (self.folder / "broken.json").write_text("{")
        self.assertIn("not a JSON object", self.refusal(self.folder / "broken.json"))

    def test_a_backend_that_chooses_only_on_its_device_says_so(self):
        self.assertIn("'cuda'", self.refusal("H200"))

    def test_a_stack_without_its_library_says_how_to_get_one(self):
        folder = self.folder / "plumb/stacks/empty"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text('backend = "cuda"\n')
        self.assertIn("plumb stacks fetch", self.refusal("H200", "empty", "empty", expect=3))


@unittest.skipUnless((TOOLKIT / "libcudnn.so.9").exists() and not pathlib.Path("/dev/nvidiactl").exists(), "there is no cuDNN of a toolkit, or there is a GPU")
class CompiledEngines(Preview):
    """Layers for which cuDNN compiles its engines itself: the worker brings a driver for previews."""

    LAYERS = {
        "matmul": ("product", "v1:matmul;in=f16[8,128,768],f16[768,768]c;out=f16[8,128,768];acc=f32;math=strict"),
        "attention": ("sdpa", "v1:attention;in=f16[1,16,2048,128],f16[1,4,2048,128],f16[1,4,2048,128];out=f16[1,16,2048,128];acc=f32;math=strict;"
                              "causal=1;kv_heads=4;outputs=y;q_heads=16;scale=0.088;softcap=0.0"),
        "layer_norm": (None, "v1:layer_norm;in=bf16[8,384,768],bf16[768]c,bf16[768]c;out=bf16[8,384,768];acc=f32;math=strict;axis=2;epsilon=1e-12"),
        "max_pool": (None, "v1:max_pool;in=f16[1,64,112,112];out=f16[1,64,56,56];acc=f32;math=strict;ceil_mode=0;dilations=[1,1];"
                           "kernel=[3,3];pads=[0,0,1,1];strides=[2,2]"),
        "eltwise": (None, "v1:eltwise;in=f16[3,50];out=f16[3,50];acc=f32;math=strict;fn=relu;parameters=[]"),
    }

    def setUp(self):
        super().setUp()
        folder = self.folder / "plumb/stacks/toolkit"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(f'backend = "cuda"\nlibraries = ["{TOOLKIT}/libcudnn.so.9"]\nfolders = ["{TOOLKIT}"]\n')

    def test_products_attention_norms_and_pools_are_covered(self):
        (self.folder / "layers.toml").write_text("".join(f'[[layers]]\nkey = "{key}"\ncount = 2\n' for _, key in self.LAYERS.values()))
        suite = self.suite('[suite]\nname = "five"\n[[layers]]\nfile = "layers.toml"\n', "five")
        document = self.json("preview", suite, "--from", "toolkit", "--to", "toolkit", "--gpu", "H200")
        chosen = {layer["key"]: layer for layer in document["layers"]}
        for op, (layout, key) in self.LAYERS.items():
            if op == "eltwise":
                self.assertNotIn(key, chosen)
                continue
            self.assertEqual(chosen[key]["change"], "same", op)
            self.assertRegex(chosen[key]["to"]["plan_sha256"], "^[0-9a-f]{64}$")
            if layout:
                self.assertEqual(chosen[key]["layout"], layout)
        self.assertEqual([(row["op"], row["nodes"]) for row in document["not_covered"]], [("eltwise", 2)])

    def test_measuring_still_says_that_there_is_no_driver(self):
        self.assertIn("no NVIDIA driver: this machine has no libcuda.so.1", self.plumb("layer", CONV, "--stack", "toolkit", expect=3).stderr)


@unittest.skipUnless(all((STACKS / name).exists() for name in (OLD, NEW, LINKED)), "ci/fetch-cudnn fetches the three versions")
class RealVersions(Preview):
    def setUp(self):
        super().setUp()
        for name in (OLD, NEW, LINKED):
            (self.folder / "plumb/stacks" / name).symlink_to(STACKS / name)

    def preview(self, suite, *arguments, to_stack=NEW, gpu="H200", expect=0):
        return self.json("preview", suite, "--from", OLD, "--to", to_stack, "--gpu", gpu, *arguments, expect=expect)

    @unittest.skipIf(pathlib.Path("/dev/nvidiactl").exists(), "there is a GPU here")
    def test_without_a_driver_measuring_says_what_is_missing(self):
        for command in (["layer", CONV], ["run", self.one_layer()]):
            text = self.plumb(*command, "--stack", OLD, expect=3).stderr
            self.assertIn("no NVIDIA driver", text, command)
            self.assertIn("run on a machine with an NVIDIA GPU", text, command)
        environment = self.json("env", "--stack", OLD)["environments"]
        self.assertIn("no NVIDIA driver", json.dumps(environment))

    def test_probe_names_every_part_within_two_seconds(self):
        self.json("stacks", "probe", OLD)
        started = time.monotonic()
        stack = self.json("stacks", "probe", OLD)["stacks"][0]
        elapsed = time.monotonic() - started
        versions = {library["name"]: library["version"] for library in stack["libraries"]}
        self.assertEqual(versions["libcudnn_heuristic"], "9.12.0")
        self.assertEqual(versions["libcublasLt"], "13.1.0")
        print(f"probe: {elapsed:.2f} s")

    def test_the_same_version_twice_is_the_same(self):
        summary = self.preview(self.tiny(), to_stack=OLD)["summary"]
        # 9.12 has no pool in NHWC that keeps f32's promise.
        self.assertEqual(summary["same"]["comparisons"] + summary["no_engine"]["comparisons"], summary["comparisons"])
        self.assertGreater(summary["same"]["comparisons"], summary["no_engine"]["comparisons"])

    def test_an_upgrade_changes_the_first_choice(self):
        key = ("v1:conv;in=f16[1,128,28,28],f16[512,128,1,1]c,f16[512]c;out=f16[1,512,28,28];acc=f32;math=strict;"
               "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]")
        document = self.preview(self.one_layer(key), "--gate", expect=1)
        layer = next(layer for layer in document["layers"] if layer["layout"] == "NCHW")
        self.assertEqual((layer["change"], layer["nodes"]), ("numerics", 3))
        self.assertEqual(layer["from"]["numerical_notes"], [])
        self.assertEqual(layer["to"]["numerical_notes"], ["TENSOR_CORE"])
        self.assertRegex(layer["to"]["plan_sha256"], "^[0-9a-f]{64}$")

    def test_gpus_get_different_engines(self):
        chosen = {gpu: self.preview(self.one_layer(WIDE.replace("f32[", "f16[")), gpu=gpu)["layers"][0]["from"]["engine"]
                  for gpu in ("T4", "H200")}
        self.assertNotEqual(chosen["T4"], chosen["H200"])

    def test_strict_f32_never_gets_tensor_cores_and_tf32_may(self):
        notes = {math: self.preview(self.one_layer(WIDE.replace("strict", math)))["layers"][0]["from"]["numerical_notes"]
                 for math in ("strict", "tf32")}
        self.assertNotIn("TENSOR_CORE", notes["strict"])
        self.assertIn("TENSOR_CORE", notes["tf32"])

    def test_a_choice_has_its_knobs_and_its_workspace(self):
        layers = self.preview(self.one_layer(WIDE.replace("f32[", "f16[")))["layers"]
        choice = next(layer for layer in layers if layer["layout"] == "NHWC")["from"]
        self.assertIn("TILE_SIZE", choice["knobs"])
        self.assertGreater(choice["workspace_bytes"], 0)
        self.assertEqual(choice["numerical_notes"], ["TENSOR_CORE"])

    def test_a_difference_counts_engines_and_offers(self):
        suite = self.one_layer(WIDE.replace("f32[", "f16["))
        counts = self.json("stacks", "diff", OLD, NEW, suite, "--gpu", "H200")["engines"]["conv"]
        self.assertEqual((counts["layers_times_layouts"], counts["without_engine"]), (2, [0, 0]))
        self.assertTrue(all(engines > 0 for engines in counts["engines"]), counts)
        self.assertTrue(all(offered > 0 for offered in counts["configurations_offered"]["A"]), counts)
        self.assertIn("heuristic A", self.plumb("stacks", "diff", OLD, NEW, suite, "--gpu", "H200").stdout)

    @unittest.skipIf(pathlib.Path("/dev/nvidiactl").exists(), "there is a GPU here")
    def test_a_version_that_links_the_driver_answers_beside_the_one_for_previews(self):
        layers = CompiledEngines.LAYERS | {"conv": (None, WIDE.replace("f32[", "f16["))}
        (self.folder / "layers.toml").write_text("".join(f'[[layers]]\nkey = "{key}"\ncount = 1\n' for _, key in layers.values()))
        suite = self.suite('[suite]\nname = "six"\n[[layers]]\nfile = "layers.toml"\n', "six")
        document = self.json("preview", suite, "--from", NEW, "--to", LINKED, "--gpu", "H200")
        self.assertEqual({layer["key"] for layer in document["layers"]}, {key for op, (_, key) in layers.items() if op != "eltwise"})
        for layer in document["layers"]:
            self.assertRegex(layer["to"]["plan_sha256"], "^[0-9a-f]{64}$", layer["key"])
        narrow = self.profile(lambda properties: properties.pop("memoryBusWidth"))
        self.preview(self.one_layer(WIDE), gpu=narrow)
        self.assertIn("does not accept the device's description", self.refusal(narrow, OLD, LINKED))

    def test_mixed_parts_are_refused(self):
        parts = pathlib.Path(tempfile.mkdtemp(dir=STACKS.parent))  # links work on one file system only
        self.addCleanup(shutil.rmtree, parts)
        for part in (STACKS / OLD / "nvidia/cudnn/lib").iterdir():
            source = STACKS / (NEW if "heuristic" in part.name else OLD) / "nvidia/cudnn/lib" / part.name
            (parts / part.name).hardlink_to(source.resolve())
        folder = self.folder / "plumb/stacks/mixed"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(
            f'backend = "cuda"\nlibraries = ["{parts}/libcudnn.so.9"]\nfolders = ["{parts}", "{STACKS / OLD}/nvidia/cu13/lib"]\n')
        self.assertIn("mixes versions", self.plumb("stacks", "probe", "mixed", expect=3).stderr)

    def test_measuring_says_what_is_missing(self):
        self.assertIn("no NVIDIA driver", self.plumb("layer", CONV, "--stack", OLD, expect=3).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
