# SPDX-License-Identifier: Apache-2.0
"""Uses pages in headless Chromium as a person would: opens them, runs scripts in them, and keeps what the console says."""

import json
import os
import select
import subprocess
import time

from browser_page import CHROMIUM

TIMEOUT = 180.0


class BrowserSession:
    """One page of one Chromium, driven by its debugging protocol over a pair of pipes. `console` has errors and warnings, oldest first."""

    def __init__(self, folder):
        self.console, self.calls, self.buffer, self.session = [], 0, b"", None
        child_in, self.out = os.pipe()
        self.inward, child_out = os.pipe()

        def become_three_and_four():
            # These two numbers are the protocol's. The pipes of this process are open, so nothing else of Popen's has them.
            os.dup2(child_in, 3)
            os.dup2(child_out, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             f"--user-data-dir={folder}/browser-session", "--remote-debugging-pipe", "about:blank"],
            env={**os.environ, "HOME": str(folder)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4), preexec_fn=become_three_and_four)
        os.close(child_in)
        os.close(child_out)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inward)

    def call(self, method, **parameters):
        """Sends a command and returns its result."""
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.calls:
                assert "error" not in answer, answer
                return answer["result"]
            self.note(answer)

    def next_message(self):
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inward], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            data = os.read(self.inward, 1 << 16)
            assert data, "Chromium ended"
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)

    def note(self, event):
        """Keeps what goes to the console: errors, exceptions, and what a policy refused."""
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.console.append(json.dumps(parameters["exceptionDetails"]))
        elif event.get("method") == "Runtime.consoleAPICalled":
            self.console.append(json.dumps(parameters["args"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.console.append(json.dumps(parameters["entry"]))

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression):
        """Waits until an expression is true. The page may load another one meanwhile."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            try:
                if self.evaluate(expression):
                    return
            except AssertionError:  # the page is being replaced
                pass
            time.sleep(0.05)
        raise AssertionError(f"never true: {expression}\n{self.console}")

    def open(self, address):
        """Opens an address, or a file by its `file:` address, and waits until it is loaded."""
        self.call("Page.navigate", url=address)
        self.wait(f"document.readyState === 'complete' && location.href.startsWith({json.dumps(address)})")
