# SPDX-License-Identifier: Apache-2.0
"""Debian's Prometheus, Alertmanager and Pushgateway beside `plumb serve`, with the files of dashboards/ at the pace of a test."""

import http.server
import json
import pathlib
import shutil
import sys
import threading
import time

from dashboard_files import ROOT
from local_server import LocalServer, Prometheus, free_address, wait_until
from run_history import FAKETIME, RunHistory

#: How long nothing must happen to count as quiet: several scrapes and evaluations.
QUIET_SECONDS = 2


def leave_if_missing():
    """Exits with 77 (skipped) where a server is missing."""
    programs = ("prometheus", "promtool", "prometheus-alertmanager", "prometheus-pushgateway")
    missing = [name for name in programs if shutil.which(name) is None] + ([] if FAKETIME else ["libfaketime"])
    if missing:
        print(f"skipped: {' and '.join(missing)} missing; install them, or run ci/setup test")
        sys.exit(77)


class Receiver:
    """Takes Alertmanager's messages, by the path they are sent to."""

    def __init__(self, test):
        self.messages = []
        messages = self.messages

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                messages.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)

    def named(self, path):
        """The names of alerts that one receiver was told of."""
        return {alert["labels"]["alertname"] for message in self.told(path, "firing") for alert in message["alerts"]}

    def told(self, path, status):
        """The messages to one receiver that say that something fires, or is resolved."""
        return [message for at, message in self.messages if at == path and message["status"] == status]


class AlertServers(RunHistory):
    """Tests of what runs of the fake worker raise."""

    #: Where the exporter listens; None: wherever there is room.
    address = None
    #: What differs in the alerts' rules.
    patience = ()

    def shipped(self, name, *changes):
        """A file of dashboards/ with what differs here: addresses, and the pace of a test."""
        text = (ROOT / "dashboards" / name).read_text()
        for old, new in changes:
            self.assertIn(old, text, f"{name} is not as this test expects")
            text = text.replace(old, new)
        path = self.folder / pathlib.Path(name).name
        path.write_text(text)
        return path

    def serve(self, *options):
        """Starts the exporter."""
        return LocalServer(self, "plumb", [self.program(), *options, "serve", "--listen", self.address, "--refresh", "0.1"], self.address, "/healthz",
                           self.environment)

    def servers(self):
        """Starts all servers; what Prometheus knows already lies in the folder `data`."""
        self.receiver = Receiver(self)
        self.address, gateway, manager = self.address or free_address(), free_address(), free_address()
        self.exporter = self.serve()
        self.gateway = LocalServer(self, "pushgateway", [
            "prometheus-pushgateway", f"--web.listen-address={gateway}", f"--persistence.file={self.folder}/gateway"], gateway, "/-/ready")
        configuration = self.shipped("alertmanager/alertmanager.yml", ("127.0.0.1:9095", self.receiver.address),
                                     ("group_wait: 5m", "group_wait: 1s"), ("group_interval: 30m", "group_interval: 1s"))
        self.manager = LocalServer(self, "alertmanager", [
            "prometheus-alertmanager", f"--config.file={configuration}", f"--storage.path={self.folder}/alertmanager",
            f"--web.listen-address={manager}", "--cluster.listen-address="], manager, "/-/ready")
        self.shipped("prometheus/alerts.yml", ("interval: 2m", "interval: 300ms"), *self.patience)
        self.shipped("prometheus/records.yml", ("interval: 1m", "interval: 300ms"))
        configuration = self.shipped("prometheus/prometheus.yml", ("_interval: 1m", "_interval: 300ms"), ("127.0.0.1:9093", manager),
                                     ("127.0.0.1:9779", self.address), ("127.0.0.1:9091", gateway))
        self.prometheus = Prometheus(self, configuration, self.folder / "data")

    def now(self, query):
        return self.prometheus.instant(query, time.time())

    def raised(self):
        """The names of all alerts that fire or are about to."""
        return {alert["labels"]["alertname"] for alert in self.prometheus.alerts()}

    def night(self, *rules, facts=""):
        """One more run, now, of what the fake worker does by these rules."""
        self.stack("current", self.script(rules=facts + "".join(rules)))
        return self.run_ago(0, "current")

    def nights_before(self):
        for days in (4, 3, 2, 1):
            self.stack("current", self.script())
            self.run_ago(days, "current")

    def lost_a_scrape(self):
        """Whether Prometheus missed an answer, because the machine was busy for a moment. Alerts go and come back then."""
        return bool(self.now('min_over_time(up{job="plumb"}[1h]) == 0'))

    def assert_raises(self, *names):
        """Waits until just these alerts are raised, and that it stays so. After a lost scrape it has to stay so anew."""

        def stays():
            end = time.monotonic() + QUIET_SECONDS
            while self.raised() == set(names):
                if time.monotonic() >= end:
                    return True
                time.sleep(0.2)
            return False

        wait_until(stays, lambda: f"raised: {names or 'nothing'}; now {self.prometheus.alerts()}")
