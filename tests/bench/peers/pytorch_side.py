# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side: the exported model by onnx2torch, executed eagerly, compiled, and as a CUDA graph."""

import time

WAYS = ("eager", "compile", "cuda-graph")


def missing(way, device):
    """Says why a way is not there; None: it can be tried."""
    try:
        import torch
    except ImportError as problem:
        return f"PyTorch is not installed ({problem}): pip install torch"
    try:
        import onnx2torch  # noqa: F401
    except ImportError as problem:
        return f"what turns ONNX into a PyTorch module is not installed ({problem}): pip install onnx2torch"
    if device == "cuda" and not torch.cuda.is_available():
        return "this PyTorch finds no GPU: torch.cuda.is_available() is false"
    return "CUDA graphs need a GPU" if way == "cuda-graph" and device != "cuda" else None


class PyTorch:
    def __init__(self, file, inputs, dtype="f32", device="cpu", way="eager", threads=1):
        import onnx
        import onnx.version_converter
        import onnx2torch
        import torch

        self.torch = torch
        self.device = device
        types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "s64": torch.int64, "s32": torch.int32, "bool": torch.bool, "u8": torch.uint8, "s8": torch.int8}
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)  # as plumb's side does
        torch.backends.cuda.matmul.allow_tf32 = False  # another promise than plumb's f32
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True  # its fastest algorithm, as plumb's best variant
        # onnx2torch knows the operators of later versions than the zoo's.
        module = onnx2torch.convert(onnx.version_converter.convert_version(onnx.load(str(file)), 13)).eval().to(device)
        if dtype != "f32":
            module = module.to(types[dtype])
        self.type = types[dtype]
        self.inputs = [torch.frombuffer(bytearray(one.bytes), dtype=types[one.dtype]).reshape(one.shape).to(device) for one in inputs]
        with torch.inference_mode():
            if way == "compile":
                module = torch.compile(module)
            self.result = None
            self.run = self.captured(module) if way == "cuda-graph" else lambda: self.forward(module)
            for _ in range(3):
                self.run()
            self.wait()

    def forward(self, module):
        with self.torch.inference_mode():
            # As plumb does it: inputs in the model's own type are converted in each execution.
            self.result = module(*(one.to(self.type) if one.is_floating_point() else one for one in self.inputs))

    def captured(self, module):
        aside = self.torch.cuda.Stream()
        aside.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(aside):
            for _ in range(3):
                self.forward(module)
        self.torch.cuda.current_stream().wait_stream(aside)
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            self.forward(module)
        return graph.replay

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def outputs(self):
        results = self.result if isinstance(self.result, (list, tuple)) else [self.result]
        return [result.detach().float().cpu().numpy() if result.is_floating_point() else result.cpu().numpy() for result in results]

    def times(self, count):
        seconds = []
        for _ in range(count):
            begin = time.perf_counter()
            self.run()
            self.wait()
            seconds.append(time.perf_counter() - begin)
        return seconds


def version():
    import torch

    return f"torch {torch.__version__}"
