# SPDX-License-Identifier: Apache-2.0
"""Executions of a program under torch.profiler, and the log of the oneDNN inside PyTorch."""

import contextlib
import os
import sys

import torch

TRACE, LOG = "kineto.json", "onednn.log"


def trace_program(program, folder, executions):
    """Traces a program of a module. Returns the files with their formats: PyTorch's operators, and oneDNN's calls of the same executions."""
    run = program.make_traced()
    run()  # compiles, where the module is compiled
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=executions, repeat=1),
        on_trace_ready=lambda ready: ready.export_chrome_trace(str(folder / TRACE)))
    with profiler, _standard_output_in(folder / LOG):
        run()
        profiler.step()
        for _ in range(executions):
            # Only what is in the trace as well: the log is joined with it by order.
            with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
                run()
            profiler.step()
    files = [("kineto", TRACE)]
    if (folder / LOG).stat().st_size > 0:
        with open(folder / LOG, "a", encoding="utf-8") as log:
            log.write(f"plumb_threads,{torch.get_num_threads()},{len(os.sched_getaffinity(0))}\n")
        files.append(("onednn", LOG))
    return files


@contextlib.contextmanager
def _standard_output_in(file):
    """Leads standard output into a file, which oneDNN writes to from below Python."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(file, "wb") as target:
        os.dup2(target.fileno(), 1)
    try:
        yield
    finally:
        _flush_library_output()
        os.dup2(kept, 1)
        os.close(kept)


def _flush_library_output():
    import ctypes  # its libc is the one whose buffers oneDNN fills
    ctypes.CDLL(None).fflush(None)
