# SPDX-License-Identifier: Apache-2.0
"""plumb-worker-pytorch."""

import os
import pathlib
import sys

try:
    from plumb_worker.message import path_of
    from plumb_worker.worker import run_worker
except ImportError as missing:
    print(f"plumb-worker-pytorch: {missing}: this Python lacks what a worker needs; get a stack with `plumb stacks fetch pytorch==2.15.0`",
          file=sys.stderr)
    sys.exit(3)


def make_backend(setup):
    """Imports PyTorch, which takes seconds, and returns the backend."""
    # Processes that compile beside this one would disturb what it measures.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(caches / "plumb" / "torchinductor"))
    from .pytorch_backend import PyTorchBackend
    return PyTorchBackend([path_of(path) for path in setup["libraries"]], setup["threads"])


if __name__ == "__main__":
    sys.exit(run_worker("pytorch", make_backend))
