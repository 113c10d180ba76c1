# SPDX-License-Identifier: Apache-2.0
"""Rows: dictionaries with the fields of results::Measurement (harness/results/measurement_fields.hpp)."""

import dataclasses
import datetime
import math
import struct

from .disturbance import Disturbance
from .summary import Summary


def new_row(key, **known):
    """Returns a row that has no time yet."""
    return {
        "key": key, "variant": "", "library_choice": False, "reference_implementation": False, "cache": "none", "purpose": "full",
        "outcome": "ok", "reason": "", "samples_seconds": [], "turns_seconds": [], "repetitions": 1, "summary": summary_fields(Summary()),
        "floor_seconds": 0.0, "creation_seconds": None, "first_call_seconds": None, "reorder_seconds": None, "workspace_bytes": 0,
        "maximum_error": None, "output_hash": "", "disturbance": dataclasses.asdict(Disturbance()), "attempt": 1, "process": 0,
        "started": now(), "wall_seconds": 0.0, "attributes": {}, **known,
    }


def new_execution(mode, row):
    """Returns an execution of a model with its row (results::Execution)."""
    return {"mode": mode, "scenario": "single_stream", "memory_bytes": 0, "reorders": 0, "layers": [], "row": row}


def summary_fields(result):
    """Returns the fields of a summary."""
    return {"n": result.n, "median_seconds": result.median, "low_seconds": result.low, "high_seconds": result.high, "min_seconds": result.min,
            "p90_seconds": result.p90, "mean_seconds": result.mean, "min_has_company": result.min_has_company}


def error_value(error):
    """Returns the value of a row's largest error. An infinite one is a word, because JSON has no such number."""
    return error if math.isfinite(error) else "inf"


def is_timed(row):
    """Returns whether a row has a time to use."""
    return row["outcome"] in ("ok", "unstable")


def attached_times(row):
    """Returns the attachments of a row, as doubles: its samples, and the medians of its turns."""
    return [struct.pack(f"<{len(times)}d", *times) for times in (row["samples_seconds"], row["turns_seconds"])]


def without_times(row):
    """Returns the value of a row beside its attachments."""
    return {**row, "samples_seconds": []}


def now():
    """Returns this moment as a row has it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
