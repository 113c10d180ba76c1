# SPDX-License-Identifier: Apache-2.0
"""Stacks of the small worker in Python (reference_worker.py) in the data folder of a test."""

import pathlib
import sys

SUPPORT = pathlib.Path(__file__).resolve().parent


def write_reference_worker(command, name="reference"):
    """Writes the worker's program and a stack of it. `command` is a plumb_command.Command."""
    workers = command.folder / "workers"
    workers.mkdir()
    # Six lines start a worker in Python: where its packages lie, and its module.
    program = workers / "plumb-worker-reference"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{command.build}/libexec/plumb/python:{SUPPORT}"\nexport PYTHONPATH\n'
                       f'exec "{sys.executable}" -m reference_worker "$@"\n')
    program.chmod(0o755)
    command.environment["PLUMB_WORKER_PATH"] = f"{workers}:{command.environment['PLUMB_WORKER_PATH']}"
    write_reference_stack(command, name)


def write_reference_stack(command, name, **variables):
    """Writes a stack of the worker with variables of its own. Returns its name."""
    folder = command.folder / "plumb/stacks" / name
    folder.mkdir(parents=True)
    lines = [f'{variable} = "{value}"' for variable, value in variables.items()]
    (folder / "stack.toml").write_text("\n".join(['backend = "reference"', "[variables]", *lines, ""]))
    return name
