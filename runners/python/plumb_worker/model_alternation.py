# SPDX-License-Identifier: Apache-2.0
"""Executions of one model in several shapes, each timed: what runners/engine/profile/model_requests.cpp does for C++."""

import dataclasses
import time

from . import disturbance
from .layer_measurement import largest_difference
from .model_benchmark import TOLERANCES
from .onnx_model import RequestedModel
from .outcome import EnvironmentLack


def alternate_shapes(backend, request, contents, clock=time.perf_counter, read=disturbance.read):
    """Executes the shapes, of which `contents` has the bytes, in the order of the request. Raises EnvironmentLack for wrong outputs."""
    mode = request["shapes"][0]["modes"][0]["mode"]
    models = [RequestedModel(shape, content) for shape, content in zip(request["shapes"], contents)]
    begin = clock()
    prepared, one_program = backend.prepare_shapes(models, mode)
    preparation = clock() - begin if one_program else 0.0
    programs = dict(enumerate(prepared))
    seconds = []
    before = read()
    for shape in request["order"]:
        begin = clock()
        if shape not in programs:
            programs[shape] = backend.prepare_model(models[shape], mode)
        programs[shape].run(1)
        seconds.append(clock() - begin)
    seen = disturbance.between(before, read())
    _compare({shape: program.execute(clock)[1] for shape, program in programs.items()}, backend, models, mode)
    return {"one_program": one_program, "preparation_seconds": preparation, "seconds": seconds, "disturbance": dataclasses.asdict(seen)}


def _compare(outputs, backend, models, mode):
    """Compares the outputs of each shape with those of the shape alone, which is not compiled."""
    words = mode.split("+")
    alone = "+".join(word for word in words if word != "fusion") or "plain"
    most = TOLERANCES["bf16" if "bf16" in words or models[0].dtype == "bf16" else "f32"][1]
    for shape, found in outputs.items():
        difference = largest_difference(found, backend.prepare_model(models[shape], alone).execute(time.perf_counter)[1])
        if not difference <= most:
            raise EnvironmentLack(f"wrong result: an output of shape {shape} differs by {difference:.3g} of its largest magnitude from that of "
                                  f"the shape alone, and {most:g} is allowed")
