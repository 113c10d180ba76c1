# SPDX-License-Identifier: Apache-2.0
"""Function of a user's file that builds a model. Whatever it does is done in this process, and only here."""

import hashlib
import pathlib
import random
import sys
import traceback
import types

import numpy

from .message import path_of
from .outcome import UserError

MAX_FILE = 16 << 20  # bytes
MAX_MESSAGE, MAX_LINE, MAX_FRAMES = 1000, 200, 3  # of what an error says


class ModelCode:
    """Function of one request. Its file is executed once, and the function at every build()."""

    def __init__(self, fields):
        self.file = pathlib.Path(path_of(fields["file"]))
        self.function = fields["function"]
        self.sha256 = fields["sha256"]
        self._function = None

    @property
    def name(self):
        return f"{self.file.name}:{self.function}"

    def build(self, seed):
        """Returns what the function returns: a module and a list of its example inputs. Raises UserError for code that fails.

        Every call begins with the same random numbers. A framework seeds its own before.
        """
        random.seed(seed)
        numpy.random.seed(seed % 2**32)
        try:
            if self._function is None:
                self._function = self._load()
            built = self._function()
        except UserError:
            raise
        except (Exception, SystemExit) as problem:
            traceback.print_exc()  # into the worker's log
            raise UserError(f"{self.name} failed: {describe(problem, self.file.parent)}") from None
        if not isinstance(built, (tuple, list)) or len(built) != 2:
            raise UserError(f"{self.name} returned {_kind(built)}: return a module and its example inputs, as in `return module, (tensor,)`")
        module, inputs = built
        return module, list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]

    def _load(self):
        source = self._read()
        module = types.ModuleType(self.file.stem)
        module.__file__ = str(self.file)
        sys.modules[module.__name__] = module  # for classes that look for their module
        sys.path.insert(0, str(self.file.parent))
        exec(compile(source, str(self.file), "exec"), module.__dict__)  # pylint: disable=exec-used
        function = getattr(module, self.function, None)
        if not callable(function):
            raise UserError(f"'{self.file}' has no function '{self.function}'")
        return function

    def _read(self):
        try:
            with open(self.file, "rb") as file:
                source = file.read(MAX_FILE + 1)
        except OSError as problem:
            raise UserError(f"cannot read '{self.file}': {problem.strerror}") from None
        if len(source) > MAX_FILE:
            raise UserError(f"'{self.file}' is larger than {MAX_FILE} bytes")
        if hashlib.sha256(source).hexdigest() != self.sha256:
            raise UserError(f"'{self.file}' has changed since it was exported: run the command again")
        return source


def describe(problem, folder):
    """Returns what an exception says and the last of its lines in a folder: "ValueError: no; at mine.py:7 in build: raise ValueError"."""
    text = f"{type(problem).__name__}: {problem}"[:MAX_MESSAGE]
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if pathlib.Path(frame.filename).is_relative_to(folder)]
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{text}; at {pathlib.Path(problem.filename).name}:{problem.lineno}"
    places = [f"{pathlib.Path(frame.filename).name}:{frame.lineno} in {frame.name}: {(frame.line or '')[:MAX_LINE]}" for frame in frames[-MAX_FRAMES:]]
    return "; at ".join([text, *reversed(places)])


def _kind(value):
    if isinstance(value, (tuple, list)):
        return f"{len(value)} values"
    return "nothing" if value is None else f"one {type(value).__name__}"
