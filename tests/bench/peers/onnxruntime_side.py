# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's side: a session with everything bound once, so that the timed part copies nothing to or from Python."""

import time

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def missing(device, dtype):
    """Says why there is no such session here; None: there can be."""
    try:
        import onnxruntime
    except ImportError as problem:
        return f"ONNX Runtime is not installed ({problem}): pip install onnxruntime{'-gpu' if device == 'cuda' else ''}"
    if PROVIDERS[device] not in onnxruntime.get_available_providers():
        return f"this ONNX Runtime has no {PROVIDERS[device]}: pip install onnxruntime-gpu"
    return None if dtype == "f32" else f"the exported model is in f32, and {dtype} was asked for"


class OnnxRuntime:
    def __init__(self, file, inputs, device="cpu", threads=1):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.add_session_config_entry("session.set_denormal_as_zero", "1")  # as plumb's side does
        # TF32 would be another promise than plumb's f32.
        provider = PROVIDERS[device] if device == "cpu" else (PROVIDERS[device], {"use_tf32": "0"})
        self.session = onnxruntime.InferenceSession(str(file), options, providers=[provider])
        if self.session.get_providers()[0] != PROVIDERS[device]:
            raise RuntimeError(f"ONNX Runtime fell back to {self.session.get_providers()[0]}: its CUDA libraries are not found")
        self.binding = self.session.io_binding()
        for value, operand in zip(self.session.get_inputs(), inputs):
            self.binding.bind_ortvalue_input(value.name, onnxruntime.OrtValue.ortvalue_from_numpy(operand.array(), device, 0))
        for value in self.session.get_outputs():
            self.binding.bind_output(value.name, device)
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()

    def times(self, count):
        seconds = []
        for _ in range(count):
            begin = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            self.binding.synchronize_outputs()
            seconds.append(time.perf_counter() - begin)
        return seconds


def version():
    import onnxruntime

    return f"onnxruntime {onnxruntime.__version__}"
