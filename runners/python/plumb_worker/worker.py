# SPDX-License-Identifier: Apache-2.0
"""The whole of a worker's main: answers requests over the channel that `plumb` left open until `plumb` closes it."""

import concurrent.futures
import os
import pathlib
import statistics
import sys
import time

import numpy

from . import layer_measurement, sampler, timing
from .backend import Program
from .channel import ChannelClosed, ChannelError, channel_from_environment
from .layer_key import LayerSpec, Operand, parse_key
from .message import path_of, read_request, write_hello, write_reply
from .model_code import ModelCode
from .outcome import EnvironmentLack, Unsupported, UserError, error_of, outcome_of
from .protocol_version import PROTOCOL_VERSION
from .row import attached_times, new_row, without_times

ASSUMED_CACHE = 64 << 20  # bytes, where the system does not say
CONTROL = "control:"
CONTROL_EXTENT, CONTROL_BYTES = 160, 32 << 20
PEAK_EXTENTS = (512, 1024, 2048)
PEAK_BUDGET = 0.4  # seconds, of each extent
UNTRACED_BUDGET, MOST_UNTRACED = 1.0, 101  # seconds and executions without the profiler


def run_worker(name, make_backend):
    """Runs a worker. `make_backend` takes the fields of a setup and loads the framework. Returns the exit status."""
    channel = channel_from_environment()
    try:
        if channel is None:
            return _run_by_hand(name, make_backend)
        return Server(name, channel).run(make_backend)
    except ChannelClosed:
        return 0
    except (UserError, EnvironmentLack) as problem:
        print(f"plumb-worker-{name}: {problem}", file=sys.stderr)
        return problem.status
    except ChannelError as problem:
        print(f"plumb-worker-{name}: {problem}", file=sys.stderr)
        return 70


def last_level_cache():
    """Returns the bytes of the highest level of cache that CPU 0 sees."""
    best = (0, ASSUMED_CACHE)
    for index in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, size, kind = (index.joinpath(name).read_text().strip() for name in ("level", "size", "type"))
            if kind != "Instruction":
                best = max(best, (int(level), int(size[:-1]) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size[-1]]))
        except (OSError, ValueError, KeyError):
            continue
    return min(best[1], 16 << 30)


class Server:
    """Server for the requests of one harness."""

    def __init__(self, name, channel):
        self._name = name
        self._channel = channel
        self._backend = None
        self._threads = 1
        self._timing = timing.Timing()
        self._cache = last_level_cache()

    def run(self, make_backend):
        """Serves until shutdown or the end of the channel. Returns the exit status."""
        first = self._next()
        if first is None:
            return 0
        if not self._greet(first, make_backend):
            return 3
        while (request := self._next()) is not None and request.kind != "SHUTDOWN":
            self._answer(request)
        return 0

    def _next(self):
        frame = self._channel.receive()
        if frame is None:
            return None
        return read_request(frame)

    def _reply(self, kind, value=None, attachments=()):
        self._channel.send(write_reply(kind, value, attachments))

    def _greet(self, request, make_backend):
        if request.version != PROTOCOL_VERSION:
            self._channel.send(write_hello(self._name))  # the harness reports both versions, and what to do about it
            return False
        setup = request.value
        try:
            if setup["device"]:
                raise UserError(f"device '{setup['device']}': the backend '{self._name}' measures on this machine's processor "
                                "and has no devices to choose from; leave out --device")
            self._threads = max(setup["threads"], 1)
            if setup["place"] is not None and self._threads == 1:
                usable = sorted(os.sched_getaffinity(0))
                os.sched_setaffinity(0, {usable[setup["place"] % len(usable)]})
            self._backend = make_backend(setup)
        except Exception as problem:  # pylint: disable=broad-except
            self._reply("ERROR", error_of(problem))
            return False
        self._channel.send(write_hello(self._name))
        return True

    def _answer(self, request):
        if request.kind == "MEASURE":
            self._measure(request.value)
            return
        if request.kind == "EXECUTE":
            self._execute(request)
            return
        try:
            if request.kind == "DESCRIBE":
                self._reply("ENVIRONMENT", self._describe())
            elif request.kind == "VARIANTS":
                self._reply("VARIANTS", self._variants(request.value["key"]))
            elif request.kind == "TRACE":
                self._reply("TRACE", self._trace(request))
            elif request.kind == "LOAD":
                raise UserError("workers in Python run no scenarios: use a stack of another backend")
            elif request.kind == "ALTERNATE":
                self._reply("ALTERNATION", self._alternate(request))
            elif request.kind == "CALIBRATE":
                self._reply("CALIBRATION", self._calibrate())
            elif request.kind == "EXPORT_MODEL":
                self._reply("EXPORTED", {"written": self._export(request.value)})
            else:
                raise UserError(f"the backend '{self._name}' does not answer the request '{request.kind.lower()}'")
        except ChannelError:
            raise
        except Exception as problem:  # pylint: disable=broad-except
            self._reply("ERROR", error_of(problem))

    def _describe(self):
        identity, facts = self._backend.describe()
        overhead = self._timing.overhead()
        facts = {**facts, "measure.floor_seconds": f"{overhead.at(1):.3g}", "measure.last_level_cache_bytes": str(self._cache),
                 "worker.python": sys.version.split()[0], "worker.interpreter": sys.executable}
        as_texts = lambda values: {name: str(value) for name, value in values.items()}  # noqa: E731
        return {"identity": as_texts({"backend": self._name, **identity}), "facts": as_texts(facts)}

    def _variants(self, key):
        try:
            offered = self._backend.variants(parse_key(key))
        except Unsupported:
            offered = []
        return {"variants": [{"text": each.text, "library_choice": each.library_choice, "reference_implementation": False,
                              "channels_last": each.channels_last} for each in offered]}

    def _export(self, request):
        return bool(self._backend.export_model(ModelCode(request["code"]), path_of(request["path"]), int(request["seed"])))

    def _measure(self, request):
        emit = lambda row: self._reply("ROW", without_times(row), attached_times(row))  # noqa: E731
        if request["key"].startswith(CONTROL):
            emit(self._control(request))
        else:
            from .layer_model import layer_reference  # needs onnx
            try:
                layer_measurement.measure_layer(
                    self._backend, self._timing, request, emit, self._await_turn, layer_reference, self._cache)
            except (UserError, EnvironmentLack) as problem:
                self._reply("ERROR", error_of(problem))
                return
        self._reply("DONE")

    def _execute(self, request):
        from .model_benchmark import ModelBenchmark  # needs onnx
        ModelBenchmark(
            self._backend, self._timing, request.value, request.attachments[0],
            lambda share, elapsed: self._reply("EXECUTE_PROGRESS", {"share": share, "elapsed_seconds": elapsed}),
            self._await_turn, self._announce,
        ).run(self._send_execution)
        self._reply("DONE")

    def _send_execution(self, execution):
        row = execution["row"]
        self._reply("EXECUTION", {**execution, "row": without_times(row)}, attached_times(row))

    def _announce(self, mode):
        """Announces how long preparing and first executing a model in a mode may take, where that is longer than usual."""
        seconds = self._backend.longest_preparation(mode)
        if seconds is not None:
            self._reply("LONG_STEP", {"seconds_at_most": seconds})

    def _trace(self, request):
        """Executes a model under the framework's profiler, whose files end up in the folder of the request."""
        from .onnx_model import RequestedModel  # needs onnx
        wanted = request.value["model"]
        mode = wanted["modes"][0]["mode"]
        model = RequestedModel(wanted, request.attachments[0])
        self._announce(mode)
        if wanted["code"]:
            program = self._backend.prepare_code(ModelCode(wanted["code"]), model, mode)
        else:
            program = self._backend.prepare_model(model, mode)
        program.run(1)
        times, end = [], time.perf_counter() + UNTRACED_BUDGET
        while not times or (time.perf_counter() < end and len(times) < MOST_UNTRACED):
            times.append(program.execute(time.perf_counter)[0])
        files = self._backend.trace(program, path_of(request.value["folder"]), request.value["executions"])
        return {"files": [{"format": form, "name": name} for form, name in files], "untraced_seconds": statistics.median(times)}

    def _alternate(self, request):
        from .model_alternation import alternate_shapes  # needs onnx
        self._announce(request.value["shapes"][0]["modes"][0]["mode"])
        return alternate_shapes(self._backend, request.value, request.attachments)

    def _await_turn(self):
        """Waits until the harness lets this worker go on with its request."""
        self._reply("AWAITS_TURN")
        request = self._next()
        if request is None:
            raise ChannelClosed("the harness closed its channel")
        if request.kind != "TAKE_TURN":
            raise ChannelError("a request came while a turn was awaited")

    def _control(self, request):
        """Measures work that depends on the machine alone: what a comparison subtracts as drift."""
        row = new_row(request["key"], variant="plumb", library_choice=True, purpose=request["purpose"])
        work = _control_work(request["key"][len(CONTROL):])
        if work is None:
            row.update(outcome_of(Unsupported("there is no such control")))
            return row
        plan = sampler.Plan(warm_up_at_most=0.02, budget=0.03, relative_half_width=0.0, samples_at_most=51)
        region = timing.ProgramRegion(Program(work))
        if request["in_turns"]:
            self._timing.time_in_turns(region, plan, self._await_turn, row)
        else:
            self._timing.time(region, plan, 3, row)
        return row

    def _calibrate(self):
        """Measures peaks by the framework's own products, and bandwidth by copies. Takes about two seconds."""
        rate = measure_bandwidth(self._threads, self._cache)
        f32, bf16 = self._peak("f32"), self._peak("bf16")
        return {
            "peak_f32_flops_per_second": f32, "peak_bf16_flops_per_second": bf16 if bf16 > f32 else 0.0,
            "memory_bandwidth_bytes_per_second": rate, "last_level_cache_bytes": self._cache, "floor_seconds": self._timing.overhead().at(1),
            "timer_tick_seconds": _timer_tick(), "parallel_efficiency": _parallel_efficiency(self._threads),
        }

    def _peak(self, dtype):
        best = 0.0
        for extent in PEAK_EXTENTS:
            square = Operand(dtype, (extent, extent))
            spec = LayerSpec("matmul", [square, Operand(dtype, (extent, extent), True)], [square], "strict", {}, [])
            try:
                for variant in self._backend.variants(spec):
                    ones = numpy.full((extent, extent), 0.5)
                    program = self._backend.prepare(spec, variant.text, [ones, ones])
                    best = max(best, 2.0 * extent**3 / _fastest(lambda: program.run(1), PEAK_BUDGET / len(PEAK_EXTENTS)))  # noqa: B023
            except Exception as problem:  # pylint: disable=broad-except
                print(f"no peak of {dtype}: {problem}", file=sys.stderr, flush=True)
                break
        return best


def measure_bandwidth(threads, cache):
    """Returns the bytes per second of the fastest copy of memory, over `threads` threads."""
    count = max(cache, 1 << 20) // 8
    source, target = numpy.ones(count), numpy.zeros(count)
    parts = [slice(count * i // threads, count * (i + 1) // threads) for i in range(threads)]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        copy = lambda part: numpy.copyto(target[part], source[part])  # noqa: E731
        if threads == 1:
            return 2.0 * source.nbytes / _fastest(lambda: copy(parts[0]), 0.3)
        return 2.0 * source.nbytes / _fastest(lambda: list(pool.map(copy, parts)), 0.3)


def _fastest(work, budget):
    work()
    best, end = float("inf"), time.perf_counter() + budget
    while True:
        begin = time.perf_counter()
        work()
        done = time.perf_counter()
        best = min(best, max(done - begin, 1e-9))
        if done >= end:
            return best


def _timer_tick():
    times = [time.perf_counter() for _ in range(2000)]
    return min((b - a for a, b in zip(times, times[1:]) if b > a), default=0.0)


def _parallel_efficiency(threads):
    """Returns how much of `threads` processors the threads get side by side. Threads of Python need native work to show it."""
    if threads == 1:
        return 1.0
    work = numpy.ones((512, 512))
    alone = _fastest(lambda: numpy.sort(work, axis=None), 0.05)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        together = _fastest(lambda: list(pool.map(lambda _: numpy.sort(work, axis=None), range(threads))), 0.1)
    return min(1.0, alone / together)


def _control_work(name):
    if name == "floor":
        return lambda: None
    if name == "product":
        # Without the framework, whose stack may be what is compared: numpy's einsum calls no BLAS here.
        left = numpy.full((CONTROL_EXTENT, CONTROL_EXTENT), 0.5, dtype=numpy.float32)
        right = numpy.full((CONTROL_EXTENT, CONTROL_EXTENT), 0.25, dtype=numpy.float32)
        return lambda: numpy.einsum("ij,jk->ik", left, right, optimize=False)
    if name == "copy":
        source = numpy.ones(CONTROL_BYTES // 8, dtype=numpy.uint64)
        target = numpy.zeros_like(source)
        return lambda: numpy.add(source, 1, out=target)
    return None


def _run_by_hand(name, make_backend):
    arguments = sys.argv[1:]
    if arguments[:1] == ["--describe"]:
        setup = {"threads": 1, "libraries": arguments[1:]}
        identity, facts = make_backend(setup).describe()
        for field, text in {"backend": name, **identity}.items():
            print(f"{field} = {text}")
        for field, text in facts.items():
            print(f"{field} = {text}  (recorded)")
        return 0
    asked = arguments == ["--help"]
    print(f"plumb-worker-{name}: measures for `plumb` through the {name} backend. `plumb` starts it. Options for use by hand:\n"
          "  --describe [LIBRARY…]   print what it would report of these libraries\n"
          "  --help                  print this", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2
