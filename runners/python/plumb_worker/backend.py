# SPDX-License-Identifier: Apache-2.0
"""What a framework implements to be measured: Backend and Program."""

import dataclasses
import itertools

from .outcome import Unsupported


@dataclasses.dataclass
class Variant:
    """One way to execute a layer key."""

    text: str  # canonical "name=value;…", unique for the key
    library_choice: bool = False  # what the framework does when it is asked for nothing
    channels_last: bool = False


class Program:
    """Layer or model that is ready to be timed. `call` makes one execution and returns when it is complete."""

    def __init__(self, call, read=None, refresh=None, attributes=None, creation_seconds=None, memory_bytes=0):
        self._call = call
        self._read = read
        self._refresh = refresh
        self.attributes = attributes or {}
        self.creation_seconds = creation_seconds
        self.memory_bytes = memory_bytes

    def run(self, repetitions):
        """Makes executions, and nothing else."""
        call = self._call
        for _ in itertools.repeat(None, repetitions):
            call()

    def execute(self, clock):
        """Executes once. Returns the seconds, and the outputs as numpy arrays of a type that holds every value exactly."""
        begin = clock()
        result = self._call()
        seconds = clock() - begin
        return seconds, self._read(result) if self._read else result

    def refresh_activations(self):
        """Rewrites what is not a weight, as the layers before would. Called after the caches were emptied."""
        if self._refresh:
            self._refresh()


class Backend:
    """One framework in this process. Refusals are raised as Unsupported; what else is raised becomes a row too."""

    def describe(self):
        """Returns two dictionaries of texts: the identity (what a series must not mix), and facts."""
        raise NotImplementedError

    def variants(self, spec):
        """Lists the ways to execute a layer (layer_key.LayerSpec), the framework's choice first. Raises Unsupported."""
        raise Unsupported("this backend does not execute single layers")

    def prepare(self, spec, variant, operands):
        """Returns a Program of a layer. Operands are numpy arrays; None is an operand left out."""
        raise NotImplementedError

    def executes_now(self, mode):
        """Returns whether a mode is what a model takes when its user asks for nothing."""
        return mode == "plain"

    def longest_preparation(self, mode):
        """Returns the seconds that a compiler may take before a model's first execution ends in a mode; None: no longer than others.

        `plumb` ends a worker that says nothing for a minute, unless it announced this.
        """
        return None

    def prepare_model(self, model, mode):
        """Returns a Program of a whole model (onnx_model.RequestedModel) in a mode, such as "bf16+fusion"."""
        raise Unsupported("this backend does not execute whole models")

    def export_model(self, code, path, seed):
        """Runs code of the user (model_code.ModelCode) and writes its model as ONNX. Returns False where a backend runs no such code."""
        return False

    def prepare_code(self, code, model, mode):
        """Returns a Program of what code of the user builds, as it is. `model` was exported from it, and takes its example inputs.

        A backend that runs no such code executes the exported model.
        """
        return self.prepare_model(model, mode)

    def prepare_shapes(self, models, mode):
        """Returns Programs of one model in several shapes, and whether they are one program underneath.

        An empty list: each shape is prepared by itself when it first comes.
        """
        return [], False

    def trace(self, program, folder, executions):
        """Executes a model's Program under the framework's profiler, which writes into a folder.

        Returns a pair for each file: its format ("kineto", "onnxruntime" or "onednn"), and its name in the folder.
        """
        raise Unsupported("this backend has no profiler of whole models")
