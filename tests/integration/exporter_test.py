#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scrapes `plumb serve` over stores made by the fake worker, as Prometheus and as those who mean it harm would.

Usage: exporter_test.py BUILD_FOLDER [unittest arguments]. What needs Debian's promtool is skipped without it.
"""

import concurrent.futures
import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from plumb_command import Command
from run_history import observed, rule

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
PROMTOOL = shutil.which("promtool")
SLOW = '[[rule]]\nmatch = "v1:conv;*"\nseconds = 0.01\n[[rule]]\nmatch = "model:*"\nseconds = 0.5\n'


class Exporter(Command):
    def serve(self, *arguments, store=None):
        """Starts a server that looks at the store ten times a second; returns its port."""
        where = ["--store", f"sqlite:{store}"] if store else []
        server = subprocess.Popen([self.program(), *where, "serve", "--listen", "127.0.0.1:0", "--refresh", "0.1", *arguments],
                                  env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait, 120)
        self.addCleanup(server.send_signal, signal.SIGTERM)
        self.server = server
        for line in server.stderr:
            if found := re.fullmatch(r"serving http://127\.0\.0\.1:(\d+)/ .*\n", line):
                self.port = int(found[1])
                return self.port
        self.fail("the server did not start")

    def get(self, path="/metrics", headers={}, method="GET", timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.read(), reply.headers
        finally:
            connection.close()

    def metrics(self):
        """Returns {name: [(labels, value)]} of a scrape."""
        status, body, _ = self.get()
        self.assertEqual(status, 200)
        found = {}
        for line in body.decode().splitlines():
            if line and not line.startswith("#"):
                name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
                pairs = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
                found.setdefault(name, []).append((pairs, float(value)))
        return found

    def value(self, name, **labels):
        values = [value for pairs, value in self.metrics().get(name, []) if labels.items() <= pairs.items()]
        return values[0] if len(values) == 1 else values

    def wait_for(self, check, seconds=180):
        end = time.monotonic() + seconds
        while not check():
            self.assertLess(time.monotonic(), end, "did not come about")
            time.sleep(0.05)

    def states(self, metric):
        return {pairs["state"] for pairs, value in self.metrics().get("plumb_regression_state", [])
                if pairs["metric"] == metric and value == 1}

    def raw(self, data, wait=60.0):
        """Sends bytes, waits for an answer, and reads what follows it within a second."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as connection:
            connection.sendall(data)
            connection.settimeout(wait)
            answer = b""
            try:
                while piece := connection.recv(65536):
                    answer += piece
                    connection.settimeout(1.0)
            except (TimeoutError, ConnectionResetError):
                pass
            return answer

    def test_metrics_are_what_promtool_and_the_documentation_expect(self):
        self.stack("fake", observed())
        loaded = self.suite(self.tiny("never").read_text() + 'scenario = ["single_stream", "server"]\n[model.single_stream]\nduration = "1s"\n'
                            '[model.server]\nlatency = "50ms"\ntarget_rate = 100\nduration = "10s"\n', "loaded")
        for _ in range(2):
            self.json("run", loaded, "--stack", "fake")
        self.serve()
        status, body, headers = self.get()
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        _, packed, headers = self.get(headers={"Accept-Encoding": "deflate, gzip;q=0.5"})
        self.assertEqual(headers["Content-Encoding"], "gzip")
        strip = re.compile(rb"(?m)^plumb_store_last_success.*$")
        self.assertEqual(strip.sub(b"", gzip.decompress(packed)), strip.sub(b"", body))
        self.assertLess(len(packed), len(body) / 4)
        self.assertEqual(self.get(headers={"Accept-Encoding": "gzip;q=0"})[2]["Content-Encoding"], None)
        _, nothing, headers = self.get(method="HEAD")
        self.assertEqual((nothing, int(headers["Content-Length"])), (b"", len(body)))
        documented = set(re.findall(r"`(plumb_[a-z_]+)", (ROOT / "docs/reference/metrics.md").read_text()))
        served = set(self.metrics())
        self.assertEqual(served - documented, set())
        # Only with a later run, a clock that the system tells, an imported run, a suite with exclusions, four runs, or a real worker.
        self.assertLessEqual(documented - served, {"plumb_run_unfinished_timestamp_seconds", "plumb_run_clock_hertz",
                                                   "plumb_benchmark_seconds", "plumb_run_benchmarks", "plumb_run_exclusion_info",
                                                   "plumb_run_commit_info", "plumb_host_control_ratio", "plumb_host_noise_ratio",
                                                   "plumb_host_drifted", "plumb_model_resident_bytes",
                                                   "plumb_model_alternation_seconds"})  # the scripted worker alternates no shapes
        self.assertEqual(self.value("plumb_store_runs"), 2)
        self.assertEqual(self.value("plumb_environment_changed"), 0)
        self.assertEqual(self.states("latency"), {"equivalent"})
        self.assertEqual(self.value("plumb_run_throttled"), 0)
        self.assertEqual(self.value("plumb_run_temperature_celsius", stat="high"), 64)
        self.assertEqual(self.value("plumb_model_energy_joules", mode="plain", stat="median"), 0.5)
        self.assertEqual(self.value("plumb_load_state", scenario="server", state="valid"), 1)
        if PROMTOOL is None:
            self.skipTest("promtool is not here: install the package prometheus, or run ci/setup test")
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=body, capture_output=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_regression_is_suspected_then_confirmed_then_over(self):
        self.run_tiny(reuse="never")
        self.serve()
        self.assertEqual(self.states("latency"), {"no_baseline"})
        self.stack("fake", SLOW)
        for state in ("suspected", "regressed", "regressed"):
            runs = self.value("plumb_store_runs")
            self.run_tiny(reuse="never")
            self.wait_for(lambda: self.value("plumb_store_runs") == runs + 1 and not self.metrics().get("plumb_run_unfinished_timestamp_seconds"))
            self.wait_for(lambda: self.states("latency") == {state})
            self.assertEqual(self.states("bound_library"), {state})
        self.assertGreater(self.value("plumb_regression_ratio", metric="latency", mode="plain"), 1.5)
        self.stack("fake", '[[rule]]\nmatch = "v1:max_pool;*"\noutcome = "crashed"\nreason = "signal 11"\n')
        self.run_tiny(reuse="never")
        self.wait_for(lambda: self.states("bound_library") == {"broken"})
        self.assertEqual(self.states("latency"), {"improved"})
        self.assertGreater(self.value("plumb_run_rows", outcome="crashed"), 0)
        self.assertEqual(self.value("plumb_run_models", state="incomplete"), 1)

    def test_a_qualification_takes_the_place_of_no_run(self):
        self.run_tiny(reuse="never")
        self.run_tiny(reuse="never")
        self.serve()
        served = self.value("plumb_model_latency_seconds", mode="plain", stat="median")
        self.assertGreater(served, 0)
        verdict = self.json("qualify", self.tiny("never"), "--baseline", "fake", "--candidate", "fake", "--pairs", 6)
        self.wait_for(lambda: self.value("plumb_store_runs") == 4)
        self.wait_for(lambda: not self.metrics().get("plumb_run_unfinished_timestamp_seconds"))
        self.assertEqual(self.value("plumb_model_latency_seconds", mode="plain", stat="median"), served)
        self.assertEqual(self.states("latency"), {"equivalent"})
        side = verdict["baseline"]["run"]
        self.assertIn("one side", self.plumb("push", side, "--textfile", self.folder / "side.prom", expect=2).stderr)

    def test_baseline_tag_decides(self):
        first = self.run_tiny(reuse="never")["run"]
        self.stack("fake", SLOW)
        self.run_tiny(reuse="never")
        self.run_tiny(reuse="never")
        self.plumb("baseline", "set", first)
        self.serve()
        self.assertEqual(self.states("latency"), {"regressed"})
        self.plumb("baseline", "set", "@latest")
        self.wait_for(lambda: self.states("latency") <= {"improved", "equivalent", "no_baseline"})

    def test_fifty_scrapers_among_slow_and_broken_clients(self):
        self.run_tiny()
        self.serve()
        body = self.get()[1]
        idle = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(150)]
        self.addCleanup(lambda: [each.close() for each in idle])
        for i, each in enumerate(idle):
            each.sendall([b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"GET /metrics HTTP/1.1\r\n\r\n"][i % 4])
        def scrape(_):
            start = time.monotonic()
            status, text, _ = self.get()
            return status, len(text) > len(body) / 2, time.monotonic() - start
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            results = list(pool.map(scrape, range(500)))
        self.assertEqual({(status, whole) for status, whole, _ in results}, {(200, True)})
        # A server that waited for the clients that say nothing would lose 10 s with each.
        self.assertLess(max(seconds for *_, seconds in results), 60)

    def test_bad_requests_get_a_status_and_nothing_else(self):
        self.run_tiny()
        self.serve()
        for data, status in ((b"GARBAGE\r\n\r\n", b"400"), (b"GET / HTTP/9.9\r\n\r\n", b"400"),
                             (b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 20000 + b"\r\n\r\n", b"431"),
                             (b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n", b"431"),
                             (b"GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"413"),
                             (b"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"405"),
                             (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400")):
            answer = self.raw(data)
            self.assertRegex(answer[:12], rb"^HTTP/1\.1 " + status, data[:40])
        for path in ("/etc/passwd", "/../../etc/passwd", "/metrics/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                     "/metrics%00", "/store.db", "/metrics/", "/METRICS", "*", "http://other/metrics"):
            answer = self.raw(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertRegex(answer[:12], rb"^HTTP/1\.1 (404|400)", path)
            self.assertNotIn(b"root:", answer)
            self.assertNotIn(b"SQLite", answer)
        for path, status in (("/", 200), ("/runs/nonsense", 404), ("/runs/@latest", 200), ("/models/nonsense", 404), ("/models/lenet", 200),
                             ("/compare", 400), ("/compare?base=x&cand=y", 404), ("/runs/..%2F..%2Fetc%2Fpasswd", 404), ("/runs/%zz", 400)):
            answer, body, headers = self.get(path)
            self.assertEqual(answer, status, path)
            self.assertNotIn(b"root:", body)
            self.assertNotIn(str(self.folder).encode(), body)
            self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'"), path)
        self.raw(b"GET /metr", wait=0.1)
        self.raw(b"", wait=0.1)
        status, _, headers = self.get()
        self.assertEqual(status, 200)
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'"))

    def decide(self, token, body, path="/triage", method="POST"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body if isinstance(body, (bytes, str)) else json.dumps(body),
                               headers={} if token is None else {"Authorization": token})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()

    def open_change(self):
        """Twelve runs, then eight slower ones; returns the name of the change."""
        for day in range(20):
            self.import_day(day, {"<b>x": 1.0 if day < 12 else 1.2})
        return self.json("triage")["groups"][0]["changes"][0]["change"]

    def test_changes_are_only_shown_without_a_token(self):
        change = self.open_change()
        self.serve()
        status, page, headers = self.get("/triage")
        self.assertEqual(status, 200)
        self.assertIn(b"&lt;b&gt;x", page)
        self.assertNotIn(b"<b>x", page)
        for part in (b"<form", b"<script", b"checkbox"):
            self.assertNotIn(part, page)
        self.assertIn(b"/triage", self.get("/")[1])
        body = {"action": "accept", "changes": [change], "text": "why", "who": "ann"}
        for token in (None, "Bearer ", "Bearer x", "Bearer " + "0" * 16):
            self.assertIn(self.decide(token, body)[0], (405, 413))
        self.assertEqual(self.decide("Bearer ", "")[0], 405)
        self.assertEqual(self.json("triage")["open"], 1)
        self.assertEqual(self.store_rows("select count(*) from derived where kind = 'change'"), [(0,)])

    def test_whoever_has_the_token_decides(self):
        change = self.open_change()
        token = "a-token-of-enough-letters"
        self.environment["DESK"] = "short"
        self.assertIn("at least", self.plumb("serve", "--token-variable", "DESK", expect=3).stderr)
        self.plumb("serve", "--token-variable", "NOT_SET_ANYWHERE", expect=3)
        self.environment["DESK"] = token
        self.serve("--token-variable", "DESK")
        _, page, headers = self.get("/triage")
        self.assertIn(b'<form id="decide">', page)
        self.assertNotIn(token.encode(), page)
        self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe-inline'; connect", headers["Content-Security-Policy"].split("style-src")[0])
        status, script, headers = self.get("/triage.js")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/javascript; charset=utf-8"))
        self.assertIn(b"Authorization", script)
        body = {"action": "note", "changes": [change], "text": "looks <b>real", "who": "ann"}
        for wrong in (None, "", token, "Bearer", "Bearer ", f"Bearer {token[:-1]}", f"Bearer {token}x", f"bearer {token}", "Basic " + token):
            self.assertEqual(self.decide(wrong, body)[0], 401, wrong)
        right = f"Bearer {token}"
        self.assertEqual(self.decide(right, body), (200, "entered for 1 changes\n"))
        self.assertIn(b"ann: looks &lt;b&gt;real", self.get("/triage")[1])
        for bad in ("", "{", "[]", {**body, "action": "drop"}, {**body, "text": ""}, {**body, "changes": []}, {**body, "changes": ["x@y"]},
                    {**body, "changes": ["x"] * 201}, {**body, "text": "two\nlines"}, {"action": "accept"}, "[" * 10000):
            self.assertEqual(self.decide(right, bad)[0], 400, bad)
        self.assertEqual(self.decide(right, {**body, "text": "x" * 20000})[0], 413)
        self.assertEqual(self.decide(right, body, path="/metrics")[0], 405)
        for method in ("PUT", "DELETE", "OPTIONS"):
            self.assertEqual(self.decide(right, "", method=method)[0], 405)
        self.assertEqual(self.decide(None, "body", path="/triage", method="GET")[0], 413)
        self.assertEqual(self.decide(right, {**body, "action": "assign", "text": "ben"})[0], 200)
        self.assertEqual(self.json("triage")["groups"][0]["changes"][0]["assignee"], "ben")
        self.assertEqual(self.decide(right, {**body, "action": "invalid", "text": "noise"})[0], 200)
        self.assertIn(b"no open changes", self.get("/triage")[1])
        (point,) = [point for row in self.json("detect")["series"] for point in row["change_points"]]
        self.assertEqual((point["state"], point["reason"]), ("invalid", "noise"))

    def test_store_that_appears_goes_and_is_replaced(self):
        place = self.folder / "elsewhere/store.db"
        self.serve(store=place)
        self.assertEqual(self.value("plumb_store_up"), 0)
        self.assertFalse(place.parent.exists(), "a reader makes no store")
        self.run_tiny()
        place.parent.mkdir()
        shutil.copy(self.folder / "plumb/store.db", place)
        self.wait_for(lambda: self.value("plumb_store_up") == 1)
        models = self.metrics()["plumb_model_latency_seconds"]
        place.unlink()
        self.wait_for(lambda: self.value("plumb_store_up") == 0)
        self.assertEqual(self.metrics()["plumb_model_latency_seconds"], models, "the last good values stay")
        self.run_tiny(reuse="never")
        shutil.copy(self.folder / "plumb/store.db", place.with_suffix(".new"))
        os.rename(place.with_suffix(".new"), place)
        self.wait_for(lambda: self.value("plumb_store_up") == 1 and self.value("plumb_store_runs") == 2)
        place.write_bytes(b"this is no database" * 1000)
        self.wait_for(lambda: self.value("plumb_store_up") == 0)
        self.assertIn("plumb_model_latency_seconds", self.metrics())

    def test_store_of_another_version_and_a_locked_one(self):
        self.run_tiny()
        path = self.folder / "plumb/store.db"
        with sqlite3.connect(path) as store:
            store.execute("insert into migrations select max(number) + 1, 'later' from migrations")
        store.close()
        self.serve()
        self.assertEqual(self.value("plumb_store_up"), 0)
        with sqlite3.connect(path) as store:
            store.execute("delete from migrations where name = 'later'")
        store.close()
        self.wait_for(lambda: self.value("plumb_store_up") == 1)
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("begin immediate")
        time.sleep(0.5)
        self.assertEqual(self.value("plumb_store_up"), 1, "a writer at work is no trouble")
        lock.execute("rollback")
        lock.close()

    def test_running_and_hostile_runs(self):
        name = 'a "quoted" \\ name\nü ' + "x" * 10000
        model = self.folder / "m.onnx"
        self.plumb("model", "export", "lenet", "-o", model)
        path = self.folder / "evil.onnx"
        shutil.copy(model, path)
        suite = self.suite(f'[suite]\nname = {json.dumps(name)}\nversion = 1\n[[model]]\npath = "{path.name}"\n')
        self.plumb("run", suite, "--stack", "fake")
        self.stack("fake", rule("v1:max_pool;*", action="hang"))
        command = [self.program(), "run", self.tiny("never"), "--stack", "fake"]
        with subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL) as running:
            self.wait_for(lambda: len(self.json("runs")["runs"]) == 2)
            running.kill()
        path.unlink()  # the first run cannot be analysed any more
        self.serve()
        metrics = self.metrics()
        self.assertEqual(self.value("plumb_store_up"), 1)
        self.assertEqual(self.value("plumb_store_unreadable_runs"), 1)
        self.assertEqual(len(metrics["plumb_run_unfinished_timestamp_seconds"]), 1)
        self.assertLess(max(len(pairs["suite"]) for pairs, _ in metrics["plumb_run_info"]), 200)
        if PROMTOOL:
            done = subprocess.run([PROMTOOL, "check", "metrics"], input=self.get()[1], capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_history_is_read_by_promtool(self):
        for _ in range(3):
            self.run_tiny(reuse="never")
        path = self.folder / "history.txt"
        self.plumb("export", "--openmetrics", "-o", path)
        self.assertEqual(self.plumb("export", "--openmetrics", "--layers", "0").stdout.count("plumb_layer_seconds"), 0)
        text = path.read_text()
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.serve()
        served = {name for name in self.metrics() if not name.startswith(("plumb_store", "plumb_build"))}
        self.assertEqual(set(re.findall(r"(?m)^(plumb_[a-z_]+)", text)), served, "history has what is served")
        starts = [line for line in text.splitlines() if line.startswith("plumb_run_timestamp_seconds") and 'event="started"' in line]
        times = [float(line.split()[-1]) for line in starts]
        self.assertEqual((len(times), times), (3, sorted(times)))
        for label in ("job", "=x", "9job=x", "a b=x", "__name__=x", "stack=mine"):
            self.plumb("export", "--openmetrics", "--label", label, expect=2)
        self.plumb("export", "--openmetrics", "--label", "job=a", "--label", "job=b", expect=2)
        stepped = self.plumb("export", "--openmetrics", "--step", "1").stdout
        self.assertGreaterEqual(len(stepped), len(text) - 1000)
        self.plumb("export", expect=2)
        self.plumb("export", "--openmetrics", "-o", self.folder / "no/such/folder.txt", expect=3)
        if PROMTOOL is None:
            self.skipTest("promtool is not here: install the package prometheus, or run ci/setup test")
        done = subprocess.run([PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", path, self.folder / "tsdb"], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_push_to_a_file_and_a_gateway(self):
        for arguments in ((), ("--gateway", "ftp://x"), ("--gateway", "http://127.0.0.1:1", "--grouping", "a-b=c")):
            self.run_tiny()
            self.plumb("push", *arguments, expect=2)
        path = self.folder / "plumb.prom"
        path.write_text("old")
        self.plumb("push", "--textfile", path)
        text = path.read_text()
        self.assertIn("plumb_run_info{", text)
        self.assertNotIn("plumb_store_up", text, "a file says nothing of a store later")
        self.assertEqual([each.name for each in self.folder.glob("plumb.prom*")], ["plumb.prom"])
        self.plumb("push", "--textfile", self.folder / "no/such/plumb.prom", expect=3)
        self.plumb("push", "--gateway", "http://127.0.0.1:1", expect=3)
        if PROMTOOL:
            done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        gateway = shutil.which("prometheus-pushgateway")
        if gateway is None:
            self.skipTest("no Pushgateway: install the package prometheus-pushgateway, or run ci/setup test")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        process = subprocess.Popen([gateway, f"--web.listen-address=127.0.0.1:{self.port}", f"--persistence.file={self.folder}/gateway"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # Debian's keeps its groups by default
        self.addCleanup(process.wait, 120)
        self.addCleanup(process.terminate)
        def ready():
            try:
                return self.get("/-/ready")[0] == 200
            except OSError:
                return False
        self.wait_for(ready)
        url = f"http://127.0.0.1:{self.port}/"
        for _ in range(2):  # the second one replaces the first
            self.plumb("push", "--gateway", url, "--grouping", "team=a/b", "--grouping", "branch=main")
        groups = {(pairs["job"], pairs["team"], pairs["branch"], pairs["suite"], pairs["stack"])
                  for pairs, _ in self.metrics()["plumb_model_latency_seconds"]}
        self.assertEqual(groups, {("plumb", "a/b", "main", "tiny", "fake")})
        self.assertEqual(len(self.metrics()["push_time_seconds"]), 1)
        self.plumb("push", "--gateway", url, "--grouping", "team=")
        self.assertEqual(len(self.metrics()["push_time_seconds"]), 2)
        self.assertIn("404", self.plumb("push", "--gateway", url + "nothing", expect=3).stderr)

    def test_address_in_use_and_bad_addresses(self):
        self.serve()
        done = self.plumb("serve", "--listen", f"127.0.0.1:{self.port}", expect=3)
        self.assertIn("--listen", done.stderr)
        for address in ("nonsense", "127.0.0.1:99999", ":80", "a:b:80", "127.0.0.1:"):
            self.plumb("serve", "--listen", address, expect=2)
        self.plumb("--store", "mysql://x", "serve", "--listen", "127.0.0.1:0", expect=2)
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.server.wait(120), 130)


if __name__ == "__main__":
    unittest.main(verbosity=2)
