#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at the page /triage of `plumb serve` in headless Chromium, and decides about a change on it.

Usage: triage_test.py BUILD_FOLDER [unittest arguments]. Times are imported. Exits with 77 (skipped) where there is no Chromium.
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser_page import CHROMIUM, drawn
from browser_session import BrowserSession
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
HOSTILE = "<u>evil & co --><s>\"'"
TOKEN = "a-token-of-enough-letters"


class Triage(Command):
    def setUp(self):
        super().setUp()
        for day in range(24):
            self.import_day(day, {HOSTILE: 1.0 if day < 12 else 1.2, "quiet": 1.0, "slow": 2.0 if day < 12 else 3.0})
        self.assertEqual(self.json("triage")["open"], 2)

    def serve(self, *options):
        server = subprocess.Popen([self.program(), "serve", "--listen", "127.0.0.1:0", "--refresh", "0.2", *options],
                                  env={**self.environment, "DESK": TOKEN}, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait, 120)
        self.addCleanup(server.send_signal, signal.SIGTERM)
        return re.search(r"http://127\.0\.0\.1:\d+", next(line for line in server.stderr if line.startswith("serving")))[0]

    def session(self):
        browser = BrowserSession(self.folder)
        self.addCleanup(browser.close)
        return browser

    def changes(self):
        return {each["series"].rpartition(":")[2]: each for group in self.json("triage")["groups"] for each in group["changes"]}

    def decide(self, browser, series, decision, text, token=TOKEN):
        """Fills in the form as a person does, and presses its button."""
        browser.evaluate(f"""(() => {{
            for (const row of document.querySelectorAll('tr')) {{
              const box = row.querySelector('input[name="change"]');
              if (box) box.checked = row.querySelector('code').textContent.endsWith({json.dumps(series)});
            }}
            const fields = document.getElementById('decide').elements;
            fields.decision.value = {json.dumps(decision)};
            fields.text.value = {json.dumps(text)};
            fields.who.value = 'ann';
            fields.token.value = {json.dumps(token)};
            window.before = true;
            document.querySelector('#decide button').click();
        }})()""")

    def test_without_a_token_it_only_shows(self):
        base = self.serve()
        page = drawn(f"{base}/triage", self.folder)
        series = [element["text"] for element in page.all("code")]
        self.assertTrue(series.pop().startswith("plumb triage accept @"), series)
        self.assertEqual(len(series), 2)
        self.assertTrue(any(name.endswith(HOSTILE) for name in series), series)
        for tag in ("u", "s", "form", "input", "button", "script"):
            self.assertEqual(page.all(tag), [], f"an element <{tag}>")
        self.assertIn("This page only shows.", page.all("body")[0]["text"])
        links = [element["href"] for element in page.all("a")]
        self.assertTrue(any(link.startswith("/runs/") for link in links), links)
        browser = self.session()
        browser.open(f"{base}/triage")
        status = browser.evaluate("fetch('/triage', {method: 'POST', body: '{}'}).then((answer) => answer.status, (error) => String(error))")
        self.assertIn("TypeError", str(status), "its policy lets no script connect")
        self.assertEqual(self.json("triage")["open"], 2)

    def test_with_the_token_a_decision_is_entered(self):
        browser = self.session()
        browser.open(self.serve("--token-variable", "DESK") + "/triage")
        self.assertEqual(browser.evaluate("document.querySelectorAll('input[name=\"change\"]').length"), 2)
        self.assertEqual(browser.evaluate("document.querySelectorAll('u, s').length"), 0)
        self.assertEqual(browser.console, [])
        # A wrong token enters nothing, and says so. Chromium notes the status 401 on its console.
        self.decide(browser, "slow", "accept", "the upgrade", token="wrong-token-of-enough-letters")
        browser.wait("document.getElementById('said').textContent !== ''")
        self.assertIn("token", browser.evaluate("document.getElementById('said').textContent"))
        self.assertTrue(browser.evaluate("window.before"), "the page stays")
        self.assertEqual(len(self.changes()), 2)
        browser.console.clear()
        # A note about a change of a hostile name, with hostile text.
        self.decide(browser, HOSTILE, "note", "<img src=x onerror=alert(1)>")
        browser.wait("!window.before && document.readyState === 'complete' && document.body.textContent.includes('ann: <img')")
        self.assertEqual(browser.evaluate("document.images.length"), 0)
        changes = self.changes()
        self.assertEqual([note["text"] for note in changes[HOSTILE]["notes"]], ["<img src=x onerror=alert(1)>"])
        self.assertEqual(changes["slow"]["notes"], [])
        # An accepted change is open no more, and leaves the page.
        self.decide(browser, "slow", "accept", "the upgrade, agreed in #812")
        browser.wait("!window.before && document.querySelectorAll('input[name=\"change\"]').length === 1")
        self.assertEqual(list(self.changes()), [HOSTILE])
        (point,) = [point for row in self.json("detect")["series"] if row["id"].endswith("slow") for point in row["change_points"]]
        self.assertEqual((point["state"], point["reason"]), ("accepted", "the upgrade, agreed in #812"))
        self.assertEqual(browser.console, [])

    def test_nothing_chosen_and_nothing_written_enter_nothing(self):
        browser = self.session()
        browser.open(self.serve("--token-variable", "DESK") + "/triage")
        self.decide(browser, "no series of this name", "accept", "why")
        browser.wait("document.getElementById('said').textContent.includes('choose changes')")
        self.decide(browser, "slow", "accept", "")  # the field is required, so the form is not sent
        self.assertFalse(browser.evaluate("document.getElementById('decide').checkValidity()"))
        self.assertEqual(len(self.changes()), 2)


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no Chromium here; install the package chromium, or run ci/setup")
        sys.exit(77)
    unittest.main(verbosity=2)
