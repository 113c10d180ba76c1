# SPDX-License-Identifier: Apache-2.0
"""Finds NVIDIA's libraries on a machine where nothing can be installed."""

import os
import pathlib
import site
import sys

#: What is looked for: name, pattern of the file, and whether nothing works without it.
LIBRARIES = (
    ("cuDNN 9", "libcudnn.so.9", True),
    ("cuBLASLt", "libcublasLt.so.1[23]", True),
    ("NVRTC", "libnvrtc.so.1[23]", False),
    ("CUPTI", "libcupti.so.1[23]", False),
)
WITHOUT = {"NVRTC": "layers of built-in kernels are unsupported", "CUPTI": "no times by the profiler, no counters"}


def places(environment=os.environ):
    """Folders in the order in which they are searched: named, Python's, CUDA's, the system's."""
    folders = [folder for folder in environment.get("PLUMB_GPU_LIBRARIES", "").split(":") if folder]
    sites = dict.fromkeys([*site.getsitepackages(), site.getusersitepackages(), *(p for p in sys.path if p.endswith("-packages"))])
    for packages in map(pathlib.Path, sites):
        folders += sorted(map(str, packages.glob("nvidia/*/lib"))) + [str(packages / "torch/lib")]
    cuda = environment.get("CUDA_HOME", "/usr/local/cuda")
    folders += [f"{cuda}/{part}" for part in ("lib64", "lib", "extras/CUPTI/lib64")]
    return [*folders, "/usr/lib/x86_64-linux-gnu", "/usr/lib64"]


def find(folders):
    """Returns the first file of each library that is there, by name."""
    found = {}
    for name, pattern, _ in LIBRARIES:
        for folder in folders:
            files = sorted(pathlib.Path(folder).glob(pattern))
            if files:
                found[name] = files[-1]
                break
    return found


def missing(found):
    """Returns the libraries without which nothing works."""
    return [f"{name} ({pattern})" for name, pattern, needed in LIBRARIES if needed and name not in found]


def notes(found):
    return [f"{name} is not found: {WITHOUT[name]}" for name in WITHOUT if name not in found]


def environment(found, bundle, base=os.environ):
    """Extends the loader's path; what it held before stays, behind."""
    folders = [*dict.fromkeys(str(file.parent) for file in found.values()), str(bundle / "lib/plumb"), *filter(None, [base.get("LD_LIBRARY_PATH")])]
    nodes = bundle / "tests/onnx_node_tests"
    operators = {"PLUMB_ONNX_NODE_TESTS": str(nodes)} if nodes.is_dir() else {}
    return {**base, **operators, "LD_LIBRARY_PATH": ":".join(folders), "PLUMB_TEST_CUDNN": str(found["cuDNN 9"])}


def write_stack(found, data):
    """Describes the libraries that were found as the stack gpu."""
    folders = ", ".join(f'"{folder}"' for folder in dict.fromkeys(file.parent for file in found.values()))
    folder = data / "plumb/stacks/gpu"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stack.toml").write_text(f'backend = "cuda"\nlibraries = ["{found["cuDNN 9"]}"]\nfolders = [{folders}]\n')


def read_once(found):
    """Reads the libraries and their neighbours, so that no step waits for a cold disk. Returns the bytes."""
    count = 0
    for folder in dict.fromkeys(file.parent for file in found.values()):
        for file in sorted(folder.glob("lib*.so*")):
            if any(word in file.name for word in ("cudnn", "cublas", "nvrtc", "cupti")) and file.is_file() and not file.is_symlink():
                with open(file, "rb") as stream:
                    while block := stream.read(1 << 24):
                        count += len(block)
    return count
