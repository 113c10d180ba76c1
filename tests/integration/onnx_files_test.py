#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads with `plumb model show` what onnx's own tools write: networks at every opset, and the models that onnx ships.

Usage: onnx_files_test.py BUILD_FOLDER [unittest arguments]. Needs PyPI's onnx; exits 77 (skipped) without it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    print("skipped: no onnx in this Python; ci/setup test installs it")
    sys.exit(77)

PLUMB = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "plumb"
OPSETS = (7, 9, 11, 13, 15, 17, 18, 20, 21)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def show(model, *arguments):
    done = subprocess.run([PLUMB, "--json", "model", "show", str(model), *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{model}: {done.stderr}")
    return json.loads(done.stdout)


class Network:
    """Collects the nodes of one network and says what each layer must be: operator, output shape, multiply-accumulates."""

    def __init__(self, opset, batch="N"):
        self.opset, self.batch = opset, batch
        self.nodes, self.weights, self.expected, self.inputs = [], [], [], []

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, FLOAT, [self.batch, *shape]))
        return name

    def weight(self, name, *shape):
        count = 1
        for extent in shape:
            count *= extent
        self.weights.append(helper.make_tensor(name, FLOAT, shape, [0.5] * count))
        return name

    def integers(self, name, *values):
        self.weights.append(helper.make_tensor(name, INT64, [len(values)], values))
        return name

    def real(self, name, value):
        self.weights.append(helper.make_tensor(name, FLOAT, [], [value]))
        return name

    def node(self, op, inputs, shape, macs=0, outputs=1, **attributes):
        name = f"n{len(self.nodes)}"
        made = [name] + [f"{name}_{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(op, inputs, made, name=name, **attributes))
        self.expected.append((name, op, list(shape), macs))
        return made[0] if outputs == 1 else made

    def configured(self, op, x, values, shape, since, attribute=None, macs=0, **others):
        """Adds a node whose list of integers was an attribute and became an input with opset `since`."""
        if self.opset < since:
            return self.node(op, [x], shape, macs, **{attribute: values}, **others)
        return self.node(op, [x, self.integers(f"c{len(self.nodes)}", *values)], shape, macs, **others)

    def save(self, folder, output, *shape):
        graph = helper.make_graph(self.nodes, "network", self.inputs,
                                  [helper.make_tensor_value_info(output, FLOAT, [self.batch, *shape])], self.weights)
        imports = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=helper.find_min_ir_version_for(imports))
        if model.ir_version < 4:  # weights had to be inputs as well
            for weight in self.weights:
                model.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))
        onnx.checker.check_model(model, full_check=True)
        path = pathlib.Path(folder) / f"opset{self.opset}.onnx"
        onnx.save(model, path)
        return path


def vision(opset, folder, n=2):
    """Convolutions and what changed most between opsets: BatchNorm, Dropout, Clip, Pad, Slice, Squeeze, Softmax, Upsample, Split."""
    net = Network(opset)
    x = net.input("x", 3, 32, 32)
    x = net.node("Conv", [x, net.weight("w0", 8, 3, 3, 3), net.weight("b0", 8)], [n, 8, 16, 16], n * 8 * 16 * 16 * 27,
                 kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    x = net.node("BatchNormalization", [x] + [net.weight(f"bn{i}", 8) for i in range(4)], [n, 8, 16, 16], epsilon=1e-3)
    if opset < 11:
        x = net.node("Clip", [x], [n, 8, 16, 16], min=0.0, max=6.0)
    else:
        x = net.node("Clip", [x, net.real("low", 0.0), net.real("high", 6.0)], [n, 8, 16, 16])
    x = net.node("Conv", [x, net.weight("w1", 8, 1, 3, 3)], [n, 8, 16, 16], n * 8 * 16 * 16 * 9, auto_pad="SAME_UPPER", group=8)
    if opset < 11:
        x = net.node("Pad", [x], [n, 8, 17, 18], pads=[0, 0, 0, 1, 0, 0, 1, 1], mode="constant", value=0.0)
    else:
        x = net.node("Pad", [x, net.integers("pads", 0, 0, 0, 1, 0, 0, 1, 1), net.real("zero", 0.0)], [n, 8, 17, 18], mode="constant")
    if opset < 10:
        x = net.node("Slice", [x], [n, 8, 16, 16], axes=[2, 3], starts=[0, 1], ends=[16, 17])
    else:
        x = net.node("Slice", [x, net.integers("s", 0, 1), net.integers("e", 16, 17), net.integers("a", 2, 3)], [n, 8, 16, 16])
    x = net.node("MaxPool", [x], [n, 8, 8, 8], kernel_shape=[2, 2], strides=[2, 2])
    halves = [4, 4]
    if opset < 13:
        a, b = net.node("Split", [x], [n, 4, 8, 8], outputs=2, axis=1, split=halves)
    else:
        a, b = net.node("Split", [x, net.integers("halves", *halves)], [n, 4, 8, 8], outputs=2, axis=1)
    x = net.node("Concat", [b, a], [n, 8, 8, 8], axis=1)
    x = net.node("AveragePool", [x], [n, 8, 8, 8], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    x = net.node("GlobalAveragePool", [x], [n, 8, 1, 1])
    x = net.configured("Squeeze", x, [2, 3], [n, 8], since=13, attribute="axes")
    if opset < 12:
        x = net.node("Dropout", [x], [n, 8], ratio=0.5)
    else:
        x = net.node("Dropout", [x, net.real("ratio", 0.5)], [n, 8])
    x = net.node("Gemm", [x, net.weight("w2", 10, 8), net.weight("b2", 10)], [n, 10], n * 80, transB=1)
    x = net.node("Softmax", [x], [n, 10], axis=1)
    return net.save(folder, x, 10), net.expected


def text(opset, folder, n=2):
    """A layer of attention over 6 tokens of width 16: matrix products, reductions, layer normalisation written out."""
    net = Network(opset)
    x = net.input("x", 6, 16)

    def projected(name, perm, shape):
        y = net.node("MatMul", [x, net.weight(name, 16, 16)], [n, 6, 16], n * 6 * 16 * 16)
        y = net.node("Add", [y, net.weight(f"{name}_b", 16)], [n, 6, 16])
        y = net.node("Reshape", [y, net.integers(f"{name}_heads", 0, 0, 2, 8)], [n, 6, 2, 8])
        return net.node("Transpose", [y], shape, perm=perm)

    q = projected("q", [0, 2, 1, 3], [n, 2, 6, 8])
    k = projected("k", [0, 2, 3, 1], [n, 2, 8, 6])
    v = projected("v", [0, 2, 1, 3], [n, 2, 6, 8])
    scores = net.node("MatMul", [q, k], [n, 2, 6, 6], n * 2 * 6 * 8 * 6)
    scores = net.node("Div", [scores, net.real("root", 2.828427)], [n, 2, 6, 6])
    scores = net.node("Softmax", [scores], [n, 2, 6, 6], axis=3)
    y = net.node("MatMul", [scores, v], [n, 2, 6, 8], n * 2 * 6 * 6 * 8)
    y = net.node("Transpose", [y], [n, 6, 2, 8], perm=[0, 2, 1, 3])
    y = net.node("Reshape", [y, net.integers("joined", 0, 0, 16)], [n, 6, 16])
    y = net.node("Add", [y, x], [n, 6, 16])
    mean = net.configured("ReduceMean", y, [2], [n, 6, 1], since=18, attribute="axes", keepdims=1)
    centred = net.node("Sub", [y, mean], [n, 6, 16])
    square = net.node("Mul", [centred, centred], [n, 6, 16])
    variance = net.configured("ReduceMean", square, [2], [n, 6, 1], since=18, attribute="axes", keepdims=1)
    variance = net.node("Add", [variance, net.real("epsilon", 1e-5)], [n, 6, 1])
    deviation = net.node("Sqrt", [variance], [n, 6, 1])
    y = net.node("Div", [centred, deviation], [n, 6, 16])
    total = net.configured("ReduceSum", y, [1], [n, 16], since=13, attribute="axes", keepdims=0)
    return net.save(folder, total, 16), net.expected


class EveryOpset(unittest.TestCase):
    """The same network has the same layers, whatever opset it is written in."""

    def check(self, network):
        keys = None
        with tempfile.TemporaryDirectory() as folder:
            for opset in OPSETS:
                with self.subTest(opset=opset):
                    path, expected = network(opset, folder)
                    model = show(path, "--batch", "2")
                    self.assertEqual(model["opset"], opset)
                    self.assertEqual(model["layers"], len(expected))
                    rows = [(row["name"], row["op"], row["output_shapes"][0], row["macs"]) for row in model["layer_list"]]
                    self.assertEqual(rows, expected)
                    self.assertEqual(model["macs"], sum(row[3] for row in expected))
                    own = [row["key"] for row in model["layer_list"]]
                    self.assertTrue(all(key.startswith("v1:") for key in own), own)
                    keys = keys or own
                    self.assertEqual(own, keys)

    def test_vision(self):
        self.check(vision)

    def test_text(self):
        self.check(text)

    def test_operators_that_came_later(self):
        with tempfile.TemporaryDirectory() as folder:
            for opset, op, scale in ((17, "LayerNormalization", True), (20, "Gelu", False), (21, "GroupNormalization", True)):
                with self.subTest(op=op):
                    net = Network(opset)
                    x = net.input("x", 4, 8)
                    shape = 8 if op == "LayerNormalization" else 4
                    weights = [net.weight("scale", shape), net.weight("shift", shape)] if scale else []
                    attributes = {"num_groups": 2} if op == "GroupNormalization" else {}
                    y = net.node(op, [x, *weights], [2, 4, 8], **attributes)
                    row = show(net.save(folder, y, 4, 8), "--batch", "2")["layer_list"][0]
                    self.assertEqual(row["output_shapes"], [[2, 4, 8]])
                    self.assertTrue(row["key"].startswith("v1:"), row)


class ShippedWithOnnx(unittest.TestCase):
    """onnx carries nine well-known models without weights, as Caffe2 exported them."""

    FOLDER = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    SAME = {"bvlc_alexnet": "bvlc-alexnet", "densenet121": "densenet121", "inception_v1": "inception-v1",
            "inception_v2": "inception-v2", "shufflenet": "shufflenet", "zfnet512": "zfnet512"}
    # exports of other sources than the zoo's: nodes, GMAC
    OTHER = {"resnet50": (176, 4.0892), "squeezenet": (66, 0.3492), "vgg19": (46, 19.6321)}

    def test_all_nine_are_there(self):
        found = {path.stem.removeprefix("light_") for path in self.FOLDER.glob("*.onnx")}
        self.assertEqual(found, {*self.SAME, *self.OTHER})

    def test_six_equal_the_zoo_layer_by_layer(self):
        for light, name in self.SAME.items():
            with self.subTest(model=name):
                theirs, ours = show(self.FOLDER / f"light_{light}.onnx"), show(name)
                columns = ("op", "key", "macs", "input_shapes", "output_shapes")
                for a, b in zip(theirs["layer_list"], ours["layer_list"]):
                    self.assertEqual({c: a[c] for c in columns}, {c: b[c] for c in columns}, f"{a['name']} and {b['name']}")
                for total in ("layers", "unique_layers", "macs", "parameters", "ops"):
                    self.assertEqual(theirs[total], ours[total], total)

    def test_three_other_exports_are_read_whole(self):
        for light, (layers, macs) in self.OTHER.items():
            with self.subTest(model=light):
                model = show(self.FOLDER / f"light_{light}.onnx")
                self.assertEqual(model["layers"], layers)
                self.assertAlmostEqual(model["macs"] / 1e9, macs, places=4)
                for row in model["layer_list"]:
                    self.assertTrue(row.get("key") or row.get("folded"), row)


if __name__ == "__main__":
    unittest.main(verbosity=2)
