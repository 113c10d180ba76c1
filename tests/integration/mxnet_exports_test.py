#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports models with MXNet, as the authors of the zoo's originals did, and compares them with the zoo layer by layer.

Usage: mxnet_exports_test.py BUILD_FOLDER [unittest arguments]. Needs MXNet (ci/setup exporters); exits 77 (skipped) without it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import mxnet
    import numpy
    from mxnet.gluon.model_zoo import vision
    from mxnet.onnx import export_model
except ImportError:
    print("skipped: no MXNet in this Python; ci/setup exporters installs it")
    sys.exit(77)

PLUMB = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "plumb"


def show(model):
    done = subprocess.run([PLUMB, "--json", "model", "show", str(model)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{model}: {done.stderr}")
    return json.loads(done.stdout)


def exported(network, folder):
    network.initialize()
    network.hybridize()
    network(mxnet.nd.zeros((1, 3, 224, 224)))
    network.export(f"{folder}/model", 0)
    path = f"{folder}/model.onnx"
    export_model(f"{folder}/model-symbol.json", f"{folder}/model-0000.params", [(1, 3, 224, 224)], [numpy.float32], path)
    return show(path)


class MxnetExports(unittest.TestCase):
    def compare(self, network, name):
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = exported(network, folder), show(name)
        # Its last release flattens before every fully connected layer, where the originals of v2 reshape once.
        keys = [[row["key"] for row in model["layer_list"] if not row["key"].startswith("v1:view;")] for model in (theirs, ours)]
        self.assertEqual(keys[0], keys[1])
        self.assertEqual((theirs["macs"], theirs["parameters"]), (ours["macs"], ours["parameters"]))

    def test_resnet_v1(self):
        self.compare(vision.resnet18_v1(), "resnet18-v1")

    def test_resnet_v1_with_bottlenecks(self):
        self.compare(vision.resnet50_v1(), "resnet50-v1")

    def test_resnet_v2(self):
        self.compare(vision.resnet18_v2(), "resnet18-v2")

    def test_squeezenet(self):
        self.compare(vision.squeezenet1_1(), "squeezenet1.1")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
