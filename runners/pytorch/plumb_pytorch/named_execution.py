# SPDX-License-Identifier: Apache-2.0
"""Execution of a converted module that says which layer each call is of."""

import torch
import torch.fx

from .converter import output_of


class NamedExecution(torch.fx.Interpreter):
    """Execution of a converted module, each call in a range of the profiler that names its layer.

    harness/importers/traces reads the ranges.
    """

    def run_node(self, n):
        output = output_of(n)
        if output is None:
            return super().run_node(n)
        with torch.profiler.record_function(f"plumb_layer,{output}"):
            return super().run_node(n)
