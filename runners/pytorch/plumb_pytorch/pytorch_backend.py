# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a backend."""

import collections
import hashlib
import pathlib

import plumb_worker
from plumb_worker.backend import Backend, Variant
from plumb_worker.layer_model import layer_model
from plumb_worker.outcome import EnvironmentLack, Unsupported

try:
    import torch
except ImportError as problem:
    raise EnvironmentLack(f"this Python cannot import PyTorch ({problem}): get a stack of it with "
                          "`plumb stacks fetch pytorch==2.15.0`, and name that with --stack") from None

from .converter import convert
from .own_module import build_module, write_onnx
from .programs import make_program, make_programs, options_of, real_of
from .program_trace import trace_program
from .torch_libraries import check_mapped, identity_and_facts

_TYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "s64": torch.int64, "s32": torch.int32, "bool": torch.bool,
          "u8": torch.uint8, "s8": torch.int8}
_WITH_LAYOUTS = ("conv", "max_pool", "average_pool", "batch_norm", "lrn", "prelu")
LONGEST_COMPILATION = 900.0  # seconds
CONTIGUOUS, CHANNELS_LAST, COMPILED = "layout=contiguous", "layout=channels_last", "layout=contiguous;compiled=1"


class PyTorchBackend(Backend):
    """PyTorch on this machine's processor."""

    def __init__(self, libraries, threads):
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        check_mapped(libraries)
        self._no_gradients = torch.inference_mode()
        self._no_gradients.__enter__()  # for as long as the process lives

    def describe(self):
        identity, facts = identity_and_facts()
        facts["backend.sha256"] = _sources_digest()
        facts["library.threads"] = str(torch.get_num_threads())
        return identity, facts

    def variants(self, spec):
        model = _model_of(spec)
        convert(model.graph, _opset(model), {t.name: _array(t) for t in model.graph.initializer}, _operands(spec, None, "meta"), _real(spec))
        variants = [Variant(CONTIGUOUS, library_choice=True)]
        if spec.op in _WITH_LAYOUTS and len(spec.inputs[0].dims) == 4:
            variants.append(Variant(CHANNELS_LAST, channels_last=True))
        if spec.epilogue:
            variants.append(Variant(COMPILED))  # eager execution fuses nothing
        return variants

    def prepare(self, spec, variant, operands):
        model = _model_of(spec)
        tensors = _operands(spec, operands, "cpu")
        constants = {f"x{i}" for i, form in enumerate(spec.inputs) if form and form.constant}
        weights = {t.name: _array(t) for t in model.graph.initializer}
        for name in constants:
            if tensors[name].is_floating_point():
                weights[name] = (tensors[name].float() if tensors[name].dtype == torch.bfloat16 else tensors[name]).numpy()
        inputs = {name: tensor for name, tensor in tensors.items() if name not in weights}
        options = {CHANNELS_LAST: {"channels_last"}, COMPILED: {"fusion"}}.get(variant, set())
        program = make_program(lambda: convert(model.graph, _opset(model), weights, inputs, _real(spec)), list(inputs.values()), options)
        program.attributes["operators"] = "torch.compile" if options == {"fusion"} else "eager"
        return program

    def longest_preparation(self, mode):
        return LONGEST_COMPILATION if "fusion" in mode.split("+") else None

    def prepare_model(self, model, mode):
        options = _options(model, mode)
        inputs = _inputs(model, options)
        modules = []

        def convert_model():
            modules.append(_convert(model, inputs, options))
            return modules[-1]

        program = make_program(convert_model, list(inputs.values()), options)
        calls = collections.Counter(node.target.__name__ for node in modules[0].graph.nodes if node.op == "call_function")
        program.attributes["nodes"] = str(sum(calls.values()))
        program.attributes["operators"] = ",".join(f"{name}:{count}" for name, count in sorted(calls.items()))
        program.attributes["execution"] = "torch.compile" if "fusion" in options else "eager"
        return program

    def prepare_shapes(self, models, mode):
        options = _options(models[0], mode)
        inputs = [_inputs(model, options) for model in models]
        modules = [_convert(model, tensors, options) for model, tensors in zip(models, inputs)]
        if not all(_is_same(module, modules[0]) for module in modules):
            if "fusion" in options:
                raise Unsupported("this model becomes another module in each shape, as an exporter may write extents into a graph: such modules "
                                  "are not compiled side by side; leave out the mode fusion")
            programs = [make_program(lambda module=module: module, list(tensors.values()), options) for module, tensors in zip(modules, inputs)]
            return programs, False
        return make_programs(modules[0], [list(tensors.values()) for tensors in inputs], options), True

    def trace(self, program, folder, executions):
        return trace_program(program, pathlib.Path(folder), executions)

    def export_model(self, code, path, seed):
        with torch.inference_mode(False), torch.no_grad():
            write_onnx(code, path, seed)
        return True

    def prepare_code(self, code, model, mode):
        options = _options(model, mode)
        with torch.inference_mode(False):
            module, inputs = build_module(code, model.seed)
        model.take_inputs([tensor.numpy() for tensor in inputs])
        if "bf16" in options:
            module = module.to(torch.bfloat16)
            inputs = [tensor.to(torch.bfloat16) if tensor.is_floating_point() else tensor for tensor in inputs]
        program = make_program(lambda: module, inputs, options, own=True)
        program.attributes["code"] = code.name
        program.attributes["execution"] = "torch.compile" if "fusion" in options else "eager"
        return program


def _options(model, mode):
    """Returns the words of a mode in which a model is executed, with its type."""
    options = options_of(mode)
    if model.dtype not in ("f32", "bf16"):
        raise Unsupported(f"models in {model.dtype} are not executed by this backend")
    return options | {"bf16"} if model.dtype == "bf16" else options


def _inputs(model, options):
    """Returns a model's inputs as tensors by name."""
    tensors = {name: torch.from_numpy(array.copy()) for name, array in model.inputs.items()}
    real = real_of(options)
    return {name: tensor.to(real) if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}


def _convert(model, inputs, options):
    return convert(model.graph, model.opset(), model.weights, inputs, real_of(options))


def _is_same(module, other):
    """Returns whether two converted modules are the same code over the same weights."""
    buffers, others = dict(module.named_buffers()), dict(other.named_buffers())
    return module.code == other.code and buffers.keys() == others.keys() and all(
        torch.equal(tensor, others[name]) for name, tensor in buffers.items())


def _model_of(spec):
    for operand in (*spec.inputs, *spec.outputs):
        if operand and operand.dtype not in _TYPES:
            raise Unsupported(f"layers with operands of type {operand.dtype} are not executed by this backend")
    return layer_model(spec)


def _opset(model):
    return model.opset_import[0].version


def _array(tensor):
    from onnx.numpy_helper import to_array
    return to_array(tensor)


def _real(spec):
    """Returns the type in which a layer computes reals."""
    types = [form.dtype for form in (*spec.inputs, *spec.outputs) if form and form.dtype in ("f64", "f32", "bf16")]
    return _TYPES[types[0]] if types and spec.op != "cast" else torch.float32


def _operands(spec, operands, device):
    """Returns a layer's operands as tensors, or on the device 'meta' only their forms."""
    tensors = {}
    for i, form in enumerate(spec.inputs):
        if form is None:
            continue
        if device == "meta":
            tensors[f"x{i}"] = torch.empty(form.dims, dtype=_TYPES[form.dtype], device="meta")
        else:
            tensors[f"x{i}"] = torch.from_numpy(operands[i].copy()).to(_TYPES[form.dtype])
    return tensors


def _sources_digest():
    digest = hashlib.sha256()
    for package in (pathlib.Path(plumb_worker.__file__).parent, pathlib.Path(__file__).parent):
        for file in sorted(package.glob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
