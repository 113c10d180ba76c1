# SPDX-License-Identifier: Apache-2.0
"""Starts servers on loopback for a test, and asks Prometheus questions."""

import json
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

#: Only a guard against what never comes: a busy machine may need a minute.
WAIT_SECONDS = 180


def free_address():
    """An address on loopback that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % probe.getsockname()[1]


def fetch(url, form=None):
    """What a page says, as text; `form` is sent along, if given."""
    data = None if form is None else urllib.parse.urlencode(form, doseq=True).encode()
    with urllib.request.urlopen(url, data, timeout=120) as answer:
        return answer.read().decode()


def wait_until(question, what, seconds=WAIT_SECONDS):
    """Asks until the answer is true, and returns it. Fails after a while with `what` was waited for, a text or a call that gives it."""
    deadline, answer = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        answer = question()
        if answer:
            return answer
        time.sleep(0.2)
    raise AssertionError(f"after {seconds} s still not: {what() if callable(what) else what}; last: {answer!r}")


class LocalServer:
    """A process that listens on loopback until the test ends. `ready` is the path of a page that answers once it does."""

    def __init__(self, test, name, command, address, ready, environment=None):
        self.url = f"http://{address}"
        self.log = pathlib.Path(test.folder) / f"{name}.log"
        self.name = name
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*map(str, command)], stdout=log, stderr=log, env=environment, cwd=test.folder)
        test.addCleanup(self.stop)
        try:
            wait_until(lambda: self.answers(ready), f"{name} answers at {self.url}{ready}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.words()}") from error

    def answers(self, path):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.words()}")
        try:
            fetch(self.url + path)
            return True
        except OSError:
            return False

    def words(self):
        """The end of what it wrote."""
        return self.log.read_text(errors="replace")[-4000:]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Prometheus(LocalServer):
    """Debian's Prometheus with a configuration; what it knows already lies in `data`."""

    def __init__(self, test, configuration, data):
        address = free_address()
        command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=180d",
                   f"--web.listen-address={address}"]
        super().__init__(test, "prometheus", command, address, "/-/ready")

    def ask(self, path, **form):
        """The answer's data; a question that Prometheus does not understand is an error with its words."""
        try:
            return json.loads(fetch(f"{self.url}/api/v1/{path}", form))["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{form}: {error.read().decode()}") from error

    def get(self, path, **form):
        return json.loads(fetch(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(form, doseq=True)}"))["data"]

    def instant(self, query, at):
        return self.ask("query", query=query, time=at)["result"]

    def range(self, query, start, end, step):
        return self.ask("query_range", query=query, start=start, end=end, step=step)["result"]

    def alerts(self):
        """The alerts that fire or are about to, as their names with their labels."""
        return self.get("alerts")["alerts"]
