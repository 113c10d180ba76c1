# SPDX-License-Identifier: Apache-2.0
"""Modules as programs: how a mode lays out, types and compiles one."""

import functools
import os
import pathlib
import shutil
import sysconfig
import time

import torch
from plumb_worker.backend import Program
from plumb_worker.outcome import Unsupported
from torch.utils._pytree import tree_leaves

from .named_execution import NamedExecution

#: Why a mode's word has no meaning here.
REFUSED = {
    "best_variant": "PyTorch chooses kernels itself",
    "captured": "this backend executes on the CPU, where nothing is captured",
    "eager": "this backend executes on the CPU, where no launches are captured; the mode plain is PyTorch's eager execution",
    "f16": "most of PyTorch's CPU operators compute f16 through f32",
    "int8": "PyTorch quantises a model by procedures of its own, not by the harness's scales",
    "parallel_branches": "PyTorch executes operators one after the other",
    "streams": "this backend executes on the CPU, which has no streams",
    "tf32": "this backend executes on the CPU, whose products of f32 are not rounded to TF32",
}
TAKEN = ("bf16", "channels_last", "fusion")
#: For torch.compile: kernels that it makes for the CPU say in a profile that they run.
KERNELS_IN_TRACES = {"cpp.enable_kernel_profile": True}


def options_of(mode):
    """Returns the words of a mode as a set. Raises Unsupported for a word without a meaning here."""
    words = set(mode.split("+")) - {"plain"}
    for word in sorted(words):
        if word not in TAKEN:
            raise Unsupported(f"{REFUSED.get(word, 'this backend does not know it')}, so it has no mode {mode}")
    return words


def real_of(options):
    """Returns the type in which a mode computes reals."""
    return torch.bfloat16 if "bf16" in options else torch.float32


def check_compiler():
    """Raises Unsupported where torch.compile cannot make code for the CPU."""
    if not shutil.which(os.environ.get("CXX", "g++")):
        raise Unsupported("torch.compile needs a C++ compiler: install g++, or name one in the stack's variable CXX")
    header = pathlib.Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        raise Unsupported(f"torch.compile needs Python's headers: there is no '{header}'; install python3-dev")


class ModuleProgram(Program):
    """Program of a module. `make_traced` returns a call that executes it so that a trace says most of its layers."""

    make_traced = None


def make_program(convert, inputs, options, own=False):
    """Makes a program of a module.

    `convert` returns the module, `inputs` are its tensors. `options` has any of channels_last, and fusion for torch.compile. A user's `own`
    module may have hooks, and parts that torch.compile leaves to Python.
    """
    begin = time.perf_counter()
    [program] = make_programs(convert(), [inputs], options, own)
    program.creation_seconds = time.perf_counter() - begin
    return program


def make_programs(module, inputs, options, own=False):
    """Makes a program of one module for each list of inputs, which have their own shapes."""
    if "channels_last" in options:
        module = module.to(memory_format=torch.channels_last)
    call = module if own else module.forward
    compiled = functools.partial(torch.compile, module, fullgraph=not own)
    if "fusion" in options:
        check_compiler()
        torch._dynamo.reset()  # another module's guards are none of this one's
        call = compiled()

    def make_traced(tensors):
        if "fusion" in options:
            torch._dynamo.reset()
            return functools.partial(compiled(options=KERNELS_IN_TRACES), *tensors)
        return functools.partial(call if own else NamedExecution(module).run, *tensors)

    return [_program_of(module, call, _laid_out(tensors, options), make_traced) for tensors in inputs]


def _laid_out(tensors, options):
    if "channels_last" not in options:
        return tensors
    return [tensor.to(memory_format=torch.channels_last) if tensor.ndim == 4 else tensor for tensor in tensors]


def _program_of(module, call, inputs, make_traced):
    saved = [tensor.clone(memory_format=torch.preserve_format) for tensor in inputs]

    def refresh():
        for tensor, value in zip(inputs, saved):
            tensor.copy_(value)

    weights = sum(tensor.nbytes for tensor in (*module.buffers(), *module.parameters()))
    program = ModuleProgram(functools.partial(call, *inputs), read_outputs, refresh,
                            memory_bytes=weights + 3 * sum(tensor.nbytes for tensor in inputs))
    program.make_traced = functools.partial(make_traced, inputs)
    return program


def read_outputs(outputs):
    """Returns the tensors among outputs as arrays. bf16 becomes float32, which holds it exactly."""
    tensors = [leaf.detach() for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
    return [(tensor.float() if tensor.dtype == torch.bfloat16 else tensor).contiguous().numpy() for tensor in tensors]
