# SPDX-License-Identifier: Apache-2.0
"""plumb's side of a comparison: exports a model, and executes it in a process of model_latency that answers with times."""

import os
import pathlib
import subprocess

NUMPY_TYPES = {"f32": "float32", "f16": "float16", "f64": "float64", "s64": "int64", "s32": "int32", "bool": "bool", "u8": "uint8", "s8": "int8"}


def export(plumb, model, file, batch=None):
    """Writes a model with seeded weights as ONNX."""
    subprocess.run([plumb, "model", "export", model, "--weights", "-o", file, *(["--batch", str(batch)] if batch else [])], check=True, capture_output=True, text=True)


class Operand:
    """One tensor that model_latency wrote."""

    def __init__(self, folder, line):
        name, self.dtype, extents = line.split()
        self.shape = [] if extents == "scalar" else [int(extent) for extent in extents.split("x")]
        self.bytes = (pathlib.Path(folder) / name).read_bytes()

    def array(self):
        """As numpy has it; bf16, which it has not, as f32."""
        import numpy

        if self.dtype == "bf16":
            return (numpy.frombuffer(self.bytes, "uint16").astype("uint32") << 16).view("float32").reshape(self.shape)
        return numpy.frombuffer(self.bytes, NUMPY_TYPES[self.dtype]).reshape(self.shape)


class Plumb:
    """A model in several modes, made ready in one process; its inputs and the first mode's outputs lie in the folder."""

    def __init__(self, latency, backend, library, file, folder, modes, dtype="f32", threads=1):
        command = [latency, backend, library, file, dtype, folder, *modes]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        line = self.process.stdout.readline()
        if line != "ready\n":
            self.process.wait()
            raise RuntimeError(f"{file}: model_latency did not become ready (exit status {self.process.returncode})")
        lines = (pathlib.Path(folder) / "operands").read_text().splitlines()
        self.inputs = [Operand(folder, line) for line in lines if line.startswith("input_")]
        self.outputs = [Operand(folder, line) for line in lines if line.startswith("output_")]

    def times(self, mode, count):
        self.process.stdin.write(f"{mode} {count}\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
