# SPDX-License-Identifier: Apache-2.0
"""Which libraries PyTorch has really mapped, and what it says of those inside it."""

import hashlib
import os
import re

import torch
from plumb_worker.outcome import EnvironmentLack

#: What PyTorch computes with, as far as it comes in libraries of its own.
NAMES = ("libtorch_cpu", "libmkl", "libgomp", "libiomp", "libopenblas", "libcudnn", "libcublas", "libtorch_cuda", "libdnnl")


def mapped_files():
    """Returns the shared libraries of this process, in order of their paths."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        return sorted({line[line.index("/"):].strip() for line in maps if "/" in line and ".so" in line})


def check_mapped(libraries):
    """Checks that the files that the stack names are those that were mapped."""
    mapped = mapped_files()
    for library in libraries:
        if os.path.realpath(library) not in mapped:
            other = next((path for path in mapped if os.path.basename(path) == os.path.basename(library)), "no such library")
            raise EnvironmentLack(f"the stack names '{library}', but PyTorch mapped {other}: check PYTHONPATH in the stack's variables")


def identity_and_facts():
    """Returns what identifies this PyTorch, and what is recorded."""
    path = next((path for path in mapped_files() if os.path.basename(path).startswith("libtorch_cpu.so")), None)
    digest = sha256(path) if path else "unknown"
    configuration = torch.__config__.show()
    facts = {
        "library.version": torch.__version__,
        "library.path": path or "",
        "library.sha256": digest,
        "library.configuration": _line(configuration),
        "library.parallel": _line(torch.__config__.parallel_info()),
        "library.instructions": torch.backends.cpu.get_cpu_capability(),
    }
    if found := re.search(r"oneAPI Deep Neural Network Library.*? v([0-9.]+)|MKL-DNN v([0-9.]+)", configuration):
        facts.update({"onednn.version": found[1] or found[2], "onednn.path": path or ""})
    for file in mapped_files():
        name, _, version = os.path.basename(file).partition(".so")
        if name.startswith(NAMES) and file != path:
            name = name.split("-")[0]
            facts.setdefault(f"{name}.path", file)
            facts.setdefault(f"{name}.version", _version(name) or version.strip(".") or "unknown")
            facts.setdefault(f"{name}.sha256", sha256(file))
    identity = {"library": f"pytorch-{torch.__version__}-{digest[:16]}"}
    return identity, facts


def _version(name):
    """Returns the version that a library says of itself. Empty: only the file's name has one."""
    if name == "libcudnn" and (number := torch.backends.cudnn.version()):
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return torch.__version__ if name.startswith("libtorch") else ""


def sha256(path):
    """Returns the digest of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _line(text):
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())[:4000]
