#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the package plumb_worker against the C++ side, and its reference against onnx.reference.

Usage: plumb_worker_test.py BUILD_FOLDER ORACLE [unittest arguments]. Exits 77 (skipped) without onnx, numpy and protobuf.
"""

import json
import pathlib
import random
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
ORACLE = sys.argv.pop(1)
sys.path.insert(0, str(BUILD / "libexec/plumb/python"))
try:
    import numpy
    import onnx
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator
    from plumb_worker import disturbance, layer_measurement, random_numbers, reference, sampler, summary, weights
    from plumb_worker import layer_model as layers
    from plumb_worker import message, row
    from plumb_worker import protocol_pb2 as protocol
    from plumb_worker.backend import Backend
    from plumb_worker.channel import MAX_FRAME, Channel, ChannelClosed, ChannelError
    from plumb_worker.layer_key import parse_key
    from plumb_worker.outcome import Unsupported, UserError, outcome_of
    from plumb_worker.protocol_version import PROTOCOL_VERSION
    from plumb_worker.worker import Server
except ImportError as missing:
    print(f"skipped: {missing}; ci/setup test installs it")
    sys.exit(77)

CONV = ("v1:conv;in=f32[1,6,9,8],f32[4,3,3,2]c,f32[4]c;out=f32[1,4,5,7];acc=f32;math=strict;"
        "dilations=[1,1];group=2;pads=[1,0,1,0];strides=[2,1];epilogue=relu")
KEYS = [
    CONV,
    "v1:eltwise;in=f32[7,3];out=f32[7,3];acc=f32;math=strict;fn=sqrt;parameters=[]",
    "v1:eltwise;in=f32[7,3];out=f32[7,3];acc=f32;math=strict;fn=tanh;parameters=[]",
    "v1:binary;in=f32[4,5],f32[5];out=f32[4,5];acc=f32;math=strict;fn=pow",
    "v1:batch_norm;in=f32[1,3,4,4],f32[3]c,f32[3]c,f32[3]c,f32[3]c;out=f32[1,3,4,4];acc=f32;math=strict;epsilon=1e-05;mode=spatial",
    "v1:gather;in=f32[11,4]c,s64[2,3];out=f32[2,3,4];acc=f32;math=strict;axis=0;distribution=uniform",
]


def questions(folder):
    chance = random.Random(7)
    lists = [[], [3.0], [1.0, 1.0], [0.0] * 8] + [[chance.lognormvariate(-9, spread) for _ in range(n)]
                                                  for n in (2, 5, 6, 7, 30, 101, 2000) for spread in (0.001, 0.3)]
    plan = dict(warm_up_at_least=0.001, warm_up_at_most=0.2, budget=0.02, relative_half_width=0.005, samples_at_least=7, samples_at_most=2000,
                sample_at_least=20e-6, repetitions_at_most=1 << 20)
    samplers = [
        {"plan": plan | change, "durations": [scale * chance.lognormvariate(0, spread) for _ in range(977)]}
        for change in ({}, {"warm_up_at_most": 0.0}, {"samples_at_most": 5, "samples_at_least": 3}, {"budget": 0.5, "relative_half_width": 0.0},
                       {"repetitions_at_most": 2})
        for scale in (1e-7, 3e-5, 0.004, 0.3) for spread in (0.0005, 0.05)
    ]
    counters = []
    for index, (steal, pressure, load) in enumerate([(0, 0, "0.50"), (30, 0, "3.25"), (1, 900_000, "1.00"), (0, 40, "x"), (-5, -5, "0.1")]):
        for side, factor in (("begin", 0), ("end", 1)):
            place = folder / f"{index}-{side}"
            (place / "pressure").mkdir(parents=True)
            (place / "stat").write_text(f"cpu  {1000 + 90 * factor} 0 50 700 0 0 0 {10 + steal * factor} 0 0\nintr 5\n" if index != 3 else "cpu 1 2\n")
            (place / "pressure/cpu").write_text(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={100 + pressure * factor}\n")
            (place / "loadavg").write_text(f"{load} 0.1 0.1 1/100 5\n")
        counters += [{"begin": str(folder / f"{index}-begin"), "end": str(folder / f"{index}-end"), "switches": switches, "wall": wall}
                     for switches in (0, 3, 50) for wall in (0.001, 1.0)]
    return {
        "summaries": lists, "samplers": samplers, "disturbances": counters,
        "sections": [{"whole": 2.0, "of": [1.9 + 0.2 * chance.random() for _ in range(n)]} for n in (1, 2, 3, 4, 9, 32)],
        "operands": [{"key": key, "seed": seed} for key in KEYS for seed in (1, 12345678901234567890)],
    }


class AgainstCpp(unittest.TestCase):
    """The same samples, clocks, counters and seeds on both sides."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="plumb-")
        cls.addClassCleanup(folder.cleanup)
        cls.questions = questions(pathlib.Path(folder.name))
        done = subprocess.run([ORACLE], input=json.dumps(cls.questions), check=True, capture_output=True, text=True)
        cls.answers = json.loads(done.stdout)

    def each(self, name):
        pairs = list(zip(self.questions[name], self.answers[name], strict=True))
        self.assertTrue(pairs)
        return pairs

    def test_summaries_are_the_same(self):
        for samples, expected in self.each("summaries"):
            got = summary.summarize(samples)
            width = got.relative_half_width()
            for name in ("n", "low", "high", "min", "min_has_company"):
                self.assertEqual(getattr(got, name), expected[name], (name, len(samples)))
            for name in ("median", "p90", "mean"):
                self.assertAlmostEqual(getattr(got, name), expected[name], delta=1e-14 * max(expected[name], 1e-300))
            self.assertEqual(width is None, expected["width"] is None)
            self.assertAlmostEqual(width or 0.0, expected["width"] or 0.0, places=12)

    def test_intervals_by_sections_are_the_same(self):
        for question, expected in self.each("sections"):
            for got, wanted in zip(summary.section_interval(question["whole"], question["of"]), expected, strict=True):
                self.assertAlmostEqual(got, wanted, places=9)

    def test_the_sampler_takes_the_same_samples(self):
        ends = set()
        for question, expected in self.each("samplers"):
            clock, region = scripted(question["durations"])
            got = sampler.sample(region, sampler.Plan(**question["plan"]), clock)
            self.assertEqual((len(got.seconds), got.repetitions, got.converged),
                             (len(expected["seconds"]), expected["repetitions"], expected["converged"]), question["plan"])
            numpy.testing.assert_allclose(got.seconds, expected["seconds"], rtol=1e-9)
            ends.add(got.converged)
        self.assertEqual(ends, {True, False})

    def test_disturbance_is_judged_alike(self):
        judged = set()
        for question, expected in self.each("disturbances"):
            begin, end = disturbance.read(question["begin"]), disturbance.read(question["end"])
            begin.wall, end.wall = 0.0, question["wall"]
            begin.involuntary_switches, end.involuntary_switches = 0, question["switches"]
            got = disturbance.between(begin, end)
            for name, wanted in expected.items():
                value = getattr(got, name)
                self.assertEqual(value is None, wanted is None, (name, question))
                self.assertAlmostEqual(value or 0.0, wanted or 0.0, places=12)
            judged.add(got.disturbed)
        self.assertEqual(judged, {True, False})

    def test_operands_have_the_same_numbers(self):
        for question, expected in self.each("operands"):
            spec = parse_key(question["key"])
            for index, wanted in enumerate(expected):
                got = random_numbers.operand_of(spec, index, question["seed"])
                numpy.testing.assert_array_equal(got.astype(numpy.float32).reshape(-1), numpy.array(wanted, dtype=numpy.float32), question["key"])

    def test_weights_are_those_that_plumb_exports(self):
        for name in ("lenet", "squeezenet1.1", "shufflenet"):
            with tempfile.TemporaryDirectory(prefix="plumb-") as folder:
                bare, filled = (pathlib.Path(folder, end) for end in ("bare.onnx", "filled.onnx"))
                subprocess.run([BUILD / "bin/plumb", "model", "export", name, "-o", bare], check=True, capture_output=True)
                subprocess.run([BUILD / "bin/plumb", "model", "export", name, "-o", filled, "--weights", "--seed", "5"], check=True, capture_output=True)
                model, expected = onnx.load(bare), onnx.load(filled)
            weights.fill_weights(model.graph, 5)
            expected = weights.as_arrays(expected.graph)
            for tensor, array in weights.as_arrays(model.graph).items():
                numpy.testing.assert_array_equal(array, expected[tensor], f"{name}: {tensor}")


def scripted(durations):
    """Returns a clock, and a region whose executions take these times on it."""
    state = {"now": 0.0, "runs": 0}

    class Region(sampler.Region):
        def run(self, repetitions):
            state["now"] += durations[state["runs"] % len(durations)] * repetitions
            state["runs"] += 1

    return lambda: state["now"], Region()


class Reference(unittest.TestCase):
    """Convolutions and pools of the reference against onnx's own."""

    def compare(self, node, *shapes):
        chance = numpy.random.default_rng(3)
        arrays = [chance.standard_normal(shape).astype(numpy.float32) for shape in shapes]
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in zip(node.input, arrays)]
        graph = helper.make_graph([node], "one", inputs, [helper.make_empty_tensor_value_info("y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        feeds = dict(zip(node.input, arrays))
        [expected] = ReferenceEvaluator(model).run(None, feeds)
        [got] = reference.evaluate(model, {}, feeds)
        self.assertEqual(got.dtype, numpy.float64)
        numpy.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5, err_msg=str(node))

    def test_convolutions(self):
        for attributes in ({}, {"pads": [1, 2, 0, 1], "strides": [2, 1]}, {"dilations": [2, 2], "pads": [2, 2, 2, 2]},
                           {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}):
            self.compare(helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes), (2, 4, 9, 10), (6, 4, 3, 2), (6,))
        self.compare(helper.make_node("Conv", ["x", "w"], ["y"], group=2), (1, 4, 6, 6), (6, 2, 3, 3))
        self.compare(helper.make_node("Conv", ["x", "w"], ["y"], group=4, pads=[1, 1, 1, 1]), (1, 4, 6, 6), (4, 1, 3, 3))

    def test_pools(self):
        for op in ("MaxPool", "AveragePool"):
            for attributes in ({}, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, {"strides": [2, 2], "ceil_mode": 1}):
                self.compare(helper.make_node(op, ["x"], ["y"], kernel_shape=[3, 3], **attributes), (2, 3, 8, 9))
        self.compare(helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1), (1, 2, 7, 7))

    def test_unequal_padding_is_ones_own(self):
        # onnx.reference takes the pads in another order than the standard says.
        x = numpy.random.default_rng(1).standard_normal((1, 2, 6, 7))
        got = self.evaluate(helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], pads=[0, 1, 2, 0]), 13, x=x)
        padded = numpy.pad(x, [(0, 0), (0, 0), (0, 2), (1, 0)], constant_values=-numpy.inf)
        windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        numpy.testing.assert_array_equal(got, windows.max(axis=(-1, -2)))

    def test_batch_normalization_of_opset_9_is_that_of_inference(self):
        x, scale, bias, mean, var = (numpy.random.default_rng(i).uniform(0.5, 2.0, (2, 3, 4, 4) if i == 0 else 3) for i in range(5))
        node = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], momentum=0.9, epsilon=0.01)
        got = self.evaluate(node, 9, x=x, s=scale, b=bias, m=mean, v=var)
        across = lambda values: values.reshape(1, 3, 1, 1)  # noqa: E731
        numpy.testing.assert_allclose(got, (x - across(mean)) / numpy.sqrt(across(var) + 0.01) * across(scale) + across(bias))

    def test_lrn_is_over_channels(self):
        x = numpy.random.default_rng(2).standard_normal((2, 6, 3, 2))
        got = self.evaluate(helper.make_node("LRN", ["x"], ["y"], size=3, alpha=0.3, beta=0.5, bias=2.0), 13, x=x)
        for n, c, i, j in ((0, 0, 0, 0), (1, 3, 2, 1), (0, 5, 1, 0)):
            near = sum(x[n, k, i, j] ** 2 for k in range(max(0, c - 1), min(6, c + 2)))
            self.assertAlmostEqual(got[n, c, i, j], x[n, c, i, j] / (2.0 + 0.1 * near) ** 0.5)

    @staticmethod
    def evaluate(node, opset, **arrays):
        inputs = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, array.shape) for name, array in arrays.items()]
        graph = helper.make_graph([node], "one", inputs, [helper.make_empty_tensor_value_info("y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        return reference.evaluate(model, {}, arrays)[0]


class Keys(unittest.TestCase):
    def test_a_key_is_read_whole(self):
        spec = parse_key(CONV)
        self.assertEqual((spec.op, spec.attributes["group"], spec.attributes["pads"]), ("conv", 2, [1, 0, 1, 0]))
        self.assertEqual([step.fn for step in spec.epilogue], ["relu"])
        self.assertTrue(spec.inputs[1].constant)
        clip = parse_key(CONV.replace("epilogue=relu", "epilogue=add@3,clip(0.0,6.0)").replace(",f32[4]c;", ",-,f32[1,4,5,7];"))
        self.assertEqual([(step.fn, step.parameters, step.operand) for step in clip.epilogue], [("add", [], 3), ("clip", [0.0, 6.0], None)])
        self.assertIsNone(clip.inputs[2])

    def test_other_texts_are_refused(self):
        for text in ("", "v1:conv", CONV.replace("v1", "v2"), CONV.replace("f32[4]c", "f32[4"), CONV + ";group=1", CONV + "@9", "x" * 70_000,
                     CONV.replace("[1,6,9,8]", "[99999999,99999999]"), CONV.replace("out=", "aus=")):
            with self.assertRaises(UserError, msg=text[:90]):
                parse_key(text)

    def test_layers_are_models_of_their_nodes(self):
        for key in KEYS:
            spec = parse_key(key)
            operands = [random_numbers.operand_of(spec, i, 1) for i in range(len(spec.inputs))]
            for output, form in zip(layers.layer_reference(spec, operands), spec.outputs, strict=True):
                self.assertEqual(output.shape, form.dims, key)
        ops = [node.op_type for node in layers.layer_model(parse_key(CONV)).graph.node]
        self.assertEqual(ops, ["Conv", "Relu"])
        with self.assertRaisesRegex(Unsupported, "'rnn'"):
            layers.layer_model(parse_key(KEYS[1].replace("v1:eltwise", "v1:rnn")))

    def test_bf16_is_rounded_to_even(self):
        numpy.testing.assert_array_equal(layers.to_bf16(numpy.array([1.0, 1.00390625, 1.01171875, -2.5])), [1.0, 1.0, 1.015625, -2.5])


class Comparison(unittest.TestCase):
    def test_what_is_not_a_number_is_infinitely_wrong(self):
        self.assertEqual(layer_measurement.largest_difference([numpy.array([1.0, numpy.nan])], [numpy.array([1.0, 2.0])]), float("inf"))
        self.assertAlmostEqual(layer_measurement.largest_difference([numpy.array([1.0, 2.5])], [numpy.array([1.0, 2.0])]), 0.25)

    def test_long_texts_of_failures_become_one_short_line(self):
        reason = outcome_of(RuntimeError("ä\nb " * 5000))["reason"]
        self.assertNotIn("\n", reason)
        self.assertLessEqual(len(reason.encode()), 4000)


class SlowBackend(Backend):
    """One that compiles for long in one mode, and then refuses."""

    def longest_preparation(self, mode):
        return 700.0 if mode == "fusion" else None


class Announcements(unittest.TestCase):
    def test_a_mode_that_is_compiled_is_announced_before_it_is_prepared(self):
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
        execute = {"name": "relu", "dtype": "f32", "seed": "1", "code": None, "training": "", "verify": False, "modes": [{"mode": "plain"}, {"mode": "fusion"}]}
        setup = {"device": "", "threads": 1, "place": None}
        content = lambda value: protocol.Content(value=json.dumps(value).encode())  # noqa: E731
        hello = protocol.Request(hello=protocol.Hello(version=PROTOCOL_VERSION), kind=protocol.Request.HELLO, content=content(setup))
        asked = protocol.Request(kind=protocol.Request.EXECUTE, content=content(execute))
        asked.content.attachments.append(helper.make_model(graph).SerializeToString())
        ours, theirs = socket.socketpair()
        with ours, theirs:
            harness = Channel(theirs)
            for request in (hello, asked, protocol.Request(kind=protocol.Request.SHUTDOWN)):
                harness.send(request.SerializeToString())
            Server("slow", Channel(ours)).run(lambda setup: SlowBackend())
            ours.close()
            replies = []
            while (frame := harness.receive()) is not None:
                replies.append(protocol.Reply.FromString(frame))
        said = [protocol.Reply.Kind.Name(reply.kind) for reply in replies]
        self.assertEqual([each for each in said if each != "EXECUTE_PROGRESS"], ["HELLO", "LONG_STEP", "EXECUTION", "EXECUTION", "DONE"])
        self.assertEqual(json.loads(replies[said.index("LONG_STEP")].content.value), {"seconds_at_most": 700.0})


class Messages(unittest.TestCase):
    def test_a_harness_of_another_version_is_told_this_one(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            # As versions before 12 wrote it: the setup is inside the hello, and there is no kind.
            hello = protocol.Hello(version=11).SerializeToString() + b"\x1a\x02\x10\x01"
            Channel(theirs).send(b"\x0a" + bytes([len(hello)]) + hello)
            self.assertEqual(Server("any", Channel(ours)).run(None), 3)
            told = protocol.Reply.FromString(Channel(theirs).receive())
        self.assertEqual((told.hello.version, told.hello.backend), (PROTOCOL_VERSION, b"any"))

    def test_bytes_that_are_no_text_are_replaced_and_paths_keep_theirs(self):
        reply = protocol.Reply.FromString(message.write_reply("ENVIRONMENT", {"facts": {"path": "lib\udcff"}}))
        self.assertEqual(json.loads(reply.content.value), {"facts": {"path": "lib?"}})
        self.assertEqual(message.path_of("lib\uf7ff"), "lib\udcff")

    def test_a_row_has_times_beside_it_and_numbers_that_json_has(self):
        timed = row.new_row("k", samples_seconds=[0.25], turns_seconds=[0.5, 1 / 3])
        self.assertEqual(row.attached_times(timed), [struct.pack("<d", 0.25), struct.pack("<2d", 0.5, 1 / 3)])
        self.assertEqual(row.without_times(timed)["samples_seconds"], [])
        self.assertEqual(row.error_value(float("inf")), "inf")
        with self.assertRaises(ValueError):
            message.write_reply("ROW", row.new_row("k", wall_seconds=float("nan")))

    def test_what_is_no_request_is_refused(self):
        for frame in (b"\xff\xff\xff", protocol.Request(content=protocol.Content(value=b"{")).SerializeToString()):
            with self.assertRaisesRegex(ChannelError, "not a request"):
                message.read_request(frame)


class Frames(unittest.TestCase):
    def setUp(self):
        ours, self.theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.addCleanup(ours.close)
        self.addCleanup(self.theirs.close)

    def test_frames_pass_in_pieces(self):
        for piece in (b"\x05\x00", b"\x00\x00he", b"llo"):
            self.theirs.sendall(piece)
        self.assertEqual(self.channel.receive(), b"hello")
        self.channel.send(b"back")
        self.assertEqual(self.theirs.recv(100), b"\x04\x00\x00\x00back")

    def test_the_end_between_frames_is_no_error(self):
        self.theirs.close()
        self.assertIsNone(self.channel.receive())
        with self.assertRaises(ChannelClosed):
            for _ in range(3):
                self.channel.send(b"x" * 100_000)

    def test_hostile_frames_are_refused(self):
        self.theirs.sendall(struct.pack("<I", MAX_FRAME + 1))
        with self.assertRaisesRegex(ChannelError, "longer than"):
            self.channel.receive()
        self.theirs.sendall(struct.pack("<I", 10) + b"abc")
        self.theirs.close()
        with self.assertRaises(ChannelClosed):
            self.channel.receive()
        with self.assertRaises(ChannelError):
            self.channel.send(bytes(MAX_FRAME + 1))


if __name__ == "__main__":
    unittest.main()
