#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of training: what `plumb model show --training` says of them, and what executing one gives.

Usage: training_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import HAS_BF16, Command

try:
    from mlperf_logging.compliance_checker import mlp_compliance
except ImportError:
    mlp_compliance = None

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Training(Command):
    calibrated = True

    def test_phases_add_up_to_the_layers_of_the_step(self):
        step = self.json("model", "show", "resnet18-v1", "--batch", "4", "--training")
        forward, loss, backward = step["phases"]
        self.assertEqual(sum(phase["layers"] for phase in step["phases"]), len(step["layer_list"]))
        inference = self.json("model", "show", "resnet18-v1", "--batch", "4")
        self.assertEqual(forward["macs"], inference["macs"])
        self.assertEqual(loss["macs"], 0)
        # Two gradients a product, but for the first convolution, whose image has none.
        self.assertTrue(1.8 * forward["macs"] < backward["macs"] < 2.0 * forward["macs"], (forward, backward))
        self.assertEqual((step["missing"], step["incomplete"], step["unreached"]), ([], [], []))
        self.assertEqual(step["outputs"][0]["name"].split()[0], "cross_entropy")
        self.assertEqual(len(step["outputs"]), 1 + len(step["gradients"]))

    def test_every_key_of_a_step_is_one_that_a_layer_can_have(self):
        step = self.json("model", "show", "lenet", "--training", "--loss", "mean_squared_error")
        keys = {layer["key"] for layer in step["layer_list"] if layer["key"]}
        for key in sorted(key for key in keys if "_backward" in key):
            rows = self.json("layer", key, "--stack", "fake")["rows"]
            self.assertTrue(rows, key)

    def test_frozen_weights_have_no_gradient(self):
        whole = self.json("model", "show", "resnet18-v1", "--training", "--optimizer", "sgd")
        frozen = self.json("model", "show", "resnet18-v1", "--training", "--optimizer", "sgd", "--freeze", "batch_norm")
        self.assertEqual(len(whole["gradients"]) - len(frozen["gradients"]), 2 * 20)
        self.assertEqual(frozen["phases"][-1]["layers"], len(frozen["gradients"]))
        self.assertIn("is to be frozen", self.plumb("model", "show", "lenet", "--training", "--freeze", "none*such", expect=2).stderr)
        self.assertIn("--training", self.plumb("run", "--model", "lenet", "--freeze", "batch_norm", expect=2).stderr)
        self.assertIn("unknown loss 'hinge'", self.plumb("run", "--model", "lenet", "--training", "sgd", "--loss", "hinge", expect=2).stderr)

    def test_an_embedding_has_a_gradient_and_a_model_of_text_is_complete(self):
        step = self.json("model", "show", "bert-base", "--dim", "sequence=8", "--training")
        self.assertIn("gather_backward", {layer["key"].split(";")[0].removeprefix("v1:") for layer in step["layer_list"] if layer["key"]})
        self.assertEqual((step["missing"], step["incomplete"]), ([], []))

    def test_an_update_moves_what_its_optimiser_keeps(self):
        step = self.json("model", "show", "lenet", "--training", "--optimizer", "sgd")
        forward, loss, backward, update = step["phases"]
        self.assertEqual(update["layers"], len(step["gradients"]))
        self.assertEqual(update["bytes"], 5 * step["weight_bytes"])  # weights, gradient, momentum; weights and momentum again
        self.assertEqual(self.json("model", "show", "lenet", "--training", "--optimizer", "adamw")["optimizer"], "adamw")
        refused = self.plumb("model", "show", "lenet", "--training", "--optimizer", "lion", expect=2).stderr
        self.assertIn("adamw", refused)

    def test_a_step_is_executed_verified_and_bounded(self):
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd,adamw", "--mode", "plain", "--mode", "fusion", "--cache", "none",
                   "--processes", "1")
        models = self.json("bound")["models"]
        self.assertEqual([model["training"] for model in models], ["sgd", "adamw"])
        for model in models:
            self.assertEqual(model["measured_layers"], model["total_layers"], model["unsupported"])
            bounds = {(bound["kind"], bound["mode"]): bound for bound in model["bounds"]}
            executions = {each["mode"]: each for each in model["executions"]}
            self.assertEqual(set(executions), {"plain", "fusion"})
            for mode, execution in executions.items():
                self.assertGreater(execution["samples"], 0, execution)
                self.assertTrue(bounds["library", mode]["complete"], mode)
                self.assertLessEqual(bounds["library_parallel", mode]["seconds"], bounds["library", mode]["seconds"])
                # Layers and steps are of different moments, and the machine may have been slower in one: only a wrong unit is beyond it.
                self.assertGreater(execution["median_seconds"], 0.1 * bounds["library", mode]["seconds"])
            self.assertTrue(bounds["predicted", "plain"]["complete"])
        self.assertIn("| lenet, batch 4, f32, training by sgd |", self.report("r.md"))

    def test_a_step_whose_loss_is_scaled_is_executed_and_bounded(self):
        modes = ["plain", "fusion", *(["bf16"] if HAS_BF16 else [])]
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd+loss_scaling", *(word for mode in modes for word in ("--mode", mode)),
                   "--cache", "none", "--processes", "1")
        (model,) = self.json("bound")["models"]
        self.assertEqual(model["training"], "sgd+loss_scaling")
        self.assertEqual(model["measured_layers"], model["total_layers"], model["unsupported"])
        self.assertEqual({each["mode"] for each in model["executions"]}, set(modes))

    def test_checkpointing_keeps_to_a_cap_or_says_what_it_needs(self):
        def executions(cap):
            self.plumb("run", "--model", "lenet", "--batch", "16", "--training", f"sgd+memory_cap={cap}", "--only", "models", "--mode", "plain",
                       "--mode", "checkpointing", "--processes", "1")
            (model,) = self.json("bound")["models"]
            self.assertEqual(model["training"], f"sgd+memory_cap={cap}")
            return {each["mode"] for each in model["executions"] if each["samples"]}, model["findings"]

        self.assertEqual(executions("1GiB")[0], {"plain", "checkpointing"})
        executed, findings = executions("1KiB")
        self.assertEqual(executed, {"plain"})
        self.assertTrue([each for each in findings if "bytes at least, and its cap is 1024" in each], findings)

    def test_a_note_of_the_suite_is_in_what_is_reported(self):
        note = "surrogate loss: without boxes"
        suite = self.suite(f'[suite]\nname = "noted"\n[[model]]\nname = "lenet"\ntraining = "sgd"\nnote = "{note}"\n[[model]]\nname = "lenet"\n')
        self.assertIn(f"Note: {note}\n", self.plumb("run", suite, "--stack", "fake", "--mode", "plain").stdout)
        self.assertEqual([model.get("note") for model in self.json("bound")["models"]], [note, None])
        for name in ("r.md", "r.html"):
            self.assertEqual(self.report(name).count(note), 1, name)

    def test_the_last_layer_asks_for_a_loss(self):
        step = self.json("model", "show", "dlrm-dcnv2", "--batch", "4", "--dim", "rows=8", "--training")
        self.assertEqual((step["loss"], step["missing"], step["unreached"]), ("binary_cross_entropy", [], []))
        refused = self.plumb("model", "show", "dlrm-dcnv2", "--batch", "4", "--dim", "rows=8", "--training", "--loss", "cross_entropy", expect=2).stderr
        self.assertIn("one class", refused)

    def test_steps_by_losses_of_detectors_and_segmenters_are_executed_and_bounded(self):
        shown = self.json("model", "show", "lenet", "--training", "--loss", "focal")
        self.assertEqual((shown["loss"], shown["missing"]), ("focal", []))
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd+focal,sgd+dice_cross_entropy", "--mode", "plain", "--mode", "fusion",
                   "--cache", "none", "--processes", "1")
        models = self.json("bound")["models"]
        self.assertEqual([model["training"] for model in models], ["sgd+focal", "sgd+dice_cross_entropy"])
        for model in models:
            self.assertEqual(model["measured_layers"], model["total_layers"], model["unsupported"])
            for execution in model["executions"]:
                self.assertGreater(execution["samples"], 0, execution)

    def test_what_cannot_be_trained_says_why(self):
        self.assertIn("in f32", self.plumb("run", "--model", "lenet", "--training", "sgd", "--dtype", "f64", expect=2).stderr)
        done = self.plumb("run", "--model", "lenet", "--training", "sgd", "--stack", "fake", "--mode", "plain")
        self.assertIn("training by sgd", done.stdout)

    def report(self, name):
        self.plumb("report", "@latest", "-o", self.folder / name)
        return (self.folder / name).read_text()

    def test_logs_of_mlperf_training_lack_only_what_needs_a_data_set(self):
        logs = self.folder / "logs"
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd", "--only", "models", "--mode", "plain", "--mode", "fusion",
                   "--processes", "1", "--mlperf-logs", logs)
        files = sorted(logs.rglob("result_0.txt"))
        self.assertEqual(len(files), 2, files)
        for file in files:
            lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in file.read_text().splitlines()]
            keys = [line["key"] for line in lines]
            self.assertEqual(len(keys), len(set(keys)))
            self.assertNotIn("eval_accuracy", keys)
            of = {line["key"]: line for line in lines}
            self.assertLess(of["run_start"]["time_ms"], of["run_stop"]["time_ms"])
            self.assertEqual(of["run_stop"]["metadata"]["status"], "aborted")
            self.assertEqual(of["train_samples"]["value"] % 4, 0)
            self.assertEqual(sorted(line["time_ms"] for line in lines), [line["time_ms"] for line in lines])
        refused = self.plumb("run", "--model", "lenet", "--mlperf-logs", logs, expect=2).stderr
        self.assertIn("--training", refused)

    @unittest.skipUnless(mlp_compliance, "needs PyPI's mlperf-logging")
    def test_mlperfs_checker_misses_nothing_but_the_accuracy(self):
        logs = self.folder / "logs"
        models = ("resnet50-v1.5", "bert-large", "retinanet-resnext50", "3d-unet", "dlrm-dcnv2")
        self.plumb("run", *(word for model in models for word in ("--model", model)), "--batch", "1", "--training", "sgd", "--stack", "fake", "--only",
                   "models", "--mode", "plain", "--mlperf-logs", logs)
        files = list(logs.rglob("result_0.txt"))
        self.assertEqual(len(files), len(models))
        for file in files:
            checker = mlp_compliance.make_checker("training", "4.0.0", True, False)
            self.assertFalse(mlp_compliance.main(str(file), "training_4.0.0/common.yaml", checker)[0])
            faults = [*checker.not_overwritable, *checker.overwritable.values()]
            self.assertEqual(len(faults), 1, (file, faults))
            self.assertIn("eval_accuracy", faults[0])

    def test_arithmetic_of_given_numbers(self):
        last = self.json("training", "last-batch", "--samples", "1281167", "--batch", "67456", "--from", "64000", "--to", "72000", "--multiple", "128")
        self.assertEqual([last["batches"][0][name] for name in ("steps", "wasted")], [19, 497])
        self.assertEqual(last["batches"][1]["batch"], 67456)  # the least wasteful of that range
        lengths = self.folder / "lengths.txt"
        lengths.write_text("# tokens, sequences\n512 10\n256 20\n128 40\n")
        packing = self.json("training", "packing", lengths, "--batch", "3")
        by_packer = {each["packer"]: each for each in packing["packers"]}
        self.assertEqual([by_packer[name]["samples"] for name in ("none", "best_fit")], [70, 34])
        self.assertEqual((packing["graphs"]["fewest_sequences"], packing["graphs"]["most_sequences"], packing["graphs"]["packed"]), (3, 9, 7))
        lengths.write_text("512\n")
        self.assertIn("lengths.txt:1: '512'", self.plumb("training", "packing", lengths, expect=2).stderr)
        self.assertIn("--batch", self.plumb("training", "last-batch", "--samples", "10", expect=2).stderr)

    def test_largest_batch_is_the_last_that_fits(self):
        found = self.json("training", "largest-batch", "lenet", "--memory", "64MiB")
        plain = {each["batch"]: each["plain"]["total_bytes"] for each in found["batches"]}
        self.assertLessEqual(plain[found["largest_batch"]], 64 << 20)
        self.assertGreaterEqual(found["largest_batch_checkpointing"], found["largest_batch"])
        one_more = self.json("training", "largest-batch", "lenet", "--memory", plain[found["largest_batch"]])
        self.assertEqual(one_more["largest_batch"], found["largest_batch"])
        self.assertIsNone(self.json("training", "largest-batch", "lenet", "--memory", "1KiB")["largest_batch"])

    def test_arithmetic_of_a_measured_step(self):
        self.plumb("run", "--model", "lenet", "--batch", "8", "--training", "sgd", "--stack", "fake", "--mode", "plain", "--mode", "fusion")
        front = self.json("training", "checkpoints")["models"][0]
        self.assertEqual(front["plans"][-1]["repeated_layers"], 0)
        self.assertAlmostEqual(front["plans"][-1]["predicted_seconds"], front["step_seconds"])
        memory = [plan["memory"]["results_bytes"] for plan in front["plans"]]
        self.assertEqual(memory, sorted(memory))
        step = self.json("training", "exchange", "--rate", "1e6", "--latency", "1e-6", "--bucket", "1KiB")["models"][0]
        self.assertEqual(sum(each["bytes"] for each in step["exchanges"]), self.json("model", "show", "lenet")["weight_bytes"])
        self.assertLess(step["overlapped_seconds"], step["after_each_other_seconds"])
        self.assertGreater(step["overlapped_seconds"], step["communication_seconds"])
        time = self.json("training", "time", "--samples", "1000", "--epochs", "3", "--evaluation", "2")["models"][0]
        self.assertEqual(time["steps_per_epoch"], 125)
        self.assertAlmostEqual(time["estimated_seconds"], 3 * (125 * time["step_seconds"] + 2))
        self.plumb("run", "--model", "lenet", "--stack", "fake", "--mode", "plain")
        self.assertIn("--training", self.plumb("training", "checkpoints", expect=2).stderr)

    @unittest.skipUnless(HAS_BF16, "oneDNN has no bf16 on this processor")
    def test_a_step_in_bf16_keeps_weights_in_f32(self):
        self.plumb("run", "--model", "lenet", "--batch", "64", "--training", "sgd", "--mode", "plain", "--mode", "bf16", "--mode", "int8", "--cache",
                   "none", "--processes", "1")
        model = self.json("bound")["models"][0]
        executions = {each["mode"]: each for each in model["executions"]}
        self.assertGreater(executions["bf16"]["samples"], 0, executions["bf16"])
        self.assertLess(executions["bf16"]["memory_bytes"], 0.7 * executions["plain"]["memory_bytes"])
        self.assertIn("not in int8", executions["int8"]["reason"])
        row = {each["name"]: each for each in self.json("whatif")["models"][0]["whatifs"]}["bf16"]
        self.assertIsNotNone(row["realised_seconds"], row)
        self.plumb("run", "--model", "lenet", "--batch", "8", "--training", "sgd", "--dtype", "bf16", "--mode", "fusion", "--cache", "none", "--processes",
                   "1")
        bound = self.json("bound")["models"][0]
        self.assertEqual(bound["measured_layers"], bound["total_layers"], bound["unsupported"])

    def test_a_step_is_not_trained_in_int8(self):
        self.assertIn("bf16 or f16", self.plumb("run", "--model", "lenet", "--training", "sgd", "--dtype", "int8", expect=2).stderr)

    def test_resident_memory_is_what_was_planned(self):
        # Beside the plan lie the library's descriptors and generated code, which are there before the step is executed. With AVX2 oneDNN generates
        # the code of products when the first one of a process is executed: 16 mappings of 320 KiB, of which 1.6 MB lie in memory.
        late_code = 2 << 20
        self.plumb("run", "--model", "lenet", "--model", "squeezenet1.1", "--batch", "16", "--training", "sgd", "--only", "models", "--mode", "plain", "--processes", "1")
        for model in self.json("bound")["models"]:
            execution, = model["executions"]
            self.assertGreater(execution["samples"], 0, execution)
            planned = execution["memory_bytes"] + execution["preparation_bytes"]
            self.assertLess(abs(execution["resident_bytes"] - planned), 0.05 * execution["resident_bytes"] + late_code, (model["model"], execution))
            self.assertLess(execution["preparation_bytes"], 16 << 20, (model["model"], execution))

    def test_a_step_of_micro_batches_is_executed_and_bounded(self):
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd:4", "--mode", "plain", "--mode", "fusion",
                   *(["--mode", "bf16"] if HAS_BF16 else []), "--cache", "none", "--processes", "1")
        model, = self.json("bound")["models"]
        self.assertEqual((model["training"], model["batch"]), ("sgd:4", 4))
        self.assertEqual(model["measured_layers"], model["total_layers"], model["unsupported"])
        for execution in model["executions"]:
            self.assertGreater(execution["samples"], 0, execution)
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd:4", "--stack", "fake", "--mode", "plain")
        time = self.json("training", "time", "--samples", "1600", "--epochs", "1")["models"][0]
        self.assertEqual(time["steps_per_epoch"], 100)
        refused = self.plumb("run", "--model", "lenet", "--training", "sgd:1", expect=2).stderr
        self.assertIn("':K'", refused)

    def test_each_family_of_fusions_is_a_what_if_and_a_mode_of_its_own(self):
        families = ("fused_optimizer", "gemm_bias", "gemm_gelu", "gemm_relu", "conv_relu_backward")
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd", *(word for mode in ("plain", *families) for word in ("--mode", mode)),
                   "--cache", "none", "--processes", "1")
        rows = {row["name"]: row for row in self.json("whatif")["models"][0]["whatifs"]}
        for name in ("fused_optimizer", "gemm_bias"):
            self.assertIsNone(rows[name].get("why_not"), name)
            self.assertTrue(rows[name]["predicted_seconds"] and rows[name]["realised_seconds"], rows[name])
            self.assertLess(rows[name]["realised_difference"], 1e-3, name)
        for name in ("gemm_gelu", "gemm_relu", "conv_relu_backward"):  # a pool stands behind each of its ReLUs
            self.assertFalse(rows[name]["applies"], name)
            self.assertIn("has no layers that the mode " + name, rows[name]["why_not"])
            self.assertIsNone(rows[name]["predicted_seconds"], name)
        self.plumb("run", "--model", "lenet", "--batch", "4", "--stack", "fake", "--mode", "plain")
        names = {row["name"] for row in self.json("whatif")["models"][0]["whatifs"]}
        self.assertFalse(names & set(families), "rows of steps alone")

    def test_the_largest_batch_that_fits_is_a_what_if(self):
        suite = self.suite('[suite]\nname = "batches"\nversion = 1\n[[model]]\nname = "lenet"\nbatch = [2, 8]\ntraining = "sgd+memory_cap=1GiB"\n')
        self.plumb("run", suite, "--stack", "fake", "--processes", "1", "--mode", "plain")
        models = {each["batch"]: each for each in self.json("whatif")["models"]}
        rows = {batch: {row["name"]: row for row in each["whatifs"]}["largest_batch"] for batch, each in models.items()}
        self.assertIn("batch 8 in place of 2: ", rows[2]["mode"])
        self.assertAlmostEqual(rows[2]["predicted_samples_per_second"] * rows[2]["predicted_seconds"], 2.0)
        self.assertIn("no larger batch", rows[8]["why_not"])
        self.assertIn("samples a second", self.plumb("whatif", "--all").stdout)

    def test_a_loss_belongs_to_training(self):
        self.assertIn("--training", self.plumb("model", "show", "lenet", "--loss", "cross_entropy", expect=2).stderr)
        self.assertIn("mean_squared_error", self.plumb("model", "show", "lenet", "--training", "--loss", "dice", expect=2).stderr)


class Checkpointing(Command):
    """What takes long: a step of mobilenet-v2 is verified in float64, 70 s of a slow processor."""

    calibrated = True

    def test_values_are_computed_again_in_the_mode_checkpointing(self):
        self.plumb("run", "--model", "mobilenet-v2", "--batch", "4", "--dim", "image=32", "--training", "sgd", "--mode", "plain", "--mode",
                   "checkpointing", "--cache", "none", "--processes", "1")
        row = {each["name"]: each for each in self.json("whatif")["models"][0]["whatifs"]}["checkpointing"]
        self.assertLess(row["realised_memory_bytes"], row["realised_baseline_memory_bytes"])
        self.assertEqual(row["realised_difference"], 0.0)
        self.plumb("run", "--model", "lenet", "--mode", "checkpointing", "--only", "models", "--processes", "1")
        self.assertIn("no step of training", self.json("bound")["models"][0]["executions"][0]["reason"])

    def test_frozen_batch_normalisations_are_folded_in_the_mode_folded_norms(self):
        self.plumb("run", "--model", "resnet18-v1", "--batch", "4", "--dim", "image=32", "--training", "sgd", "--freeze", "batch_norm",
                   "--mode", "plain", "--mode", "folded_norms", "--cache", "none", "--processes", "1")
        model = self.json("whatif")["models"][0]
        self.assertEqual(model["training"], "sgd+freeze=batch_norm")
        row = {each["name"]: each for each in model["whatifs"]}["folded_norms"]
        self.assertIsNone(row.get("why_not"))
        self.assertTrue(row["predicted_seconds"] and row["realised_seconds"], row)
        self.assertLess(row["realised_difference"], 0.1)
        self.assertIn("Frozen, without gradients and updates: batch_norm.", self.plumb("bound").stdout)
        self.plumb("run", "--model", "lenet", "--training", "sgd", "--mode", "folded_norms", "--only", "models", "--processes", "1")
        self.assertIn("--freeze batch_norm", self.json("bound")["models"][0]["executions"][0]["reason"])


if __name__ == "__main__":
    unittest.main()
