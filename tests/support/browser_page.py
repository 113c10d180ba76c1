# SPDX-License-Identifier: Apache-2.0
"""Opens pages in headless Chromium, without a network but this machine's, and reads what they drew."""

import html.parser
import os
import pathlib
import shutil
import subprocess

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(html.parser.HTMLParser):
    """Keeps the elements of a page, each with its attributes and the text inside it."""

    VOID = {"meta", "input", "br", "img", "link"}

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        within = [element["tag"] for element in self.open]
        element = {"tag": tag, "text": "", "within": within, **dict(attributes)}
        self.elements.append(element)
        if tag not in self.VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        while self.open and self.open.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag):
        return [element for element in self.elements if element["tag"] == tag]


def browse(page, *options, window="1300,900", folder=None):
    """Opens a file or an address as a reader would and returns what Chromium printed. Its profile lies in `folder`, or beside the file."""
    folder = folder or pathlib.Path(page).parent
    address = page if str(page).startswith("http://") else pathlib.Path(page).as_uri()
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={folder}/browser",
         "--virtual-time-budget=8000", f"--window-size={window}", *options, address],
        env={**os.environ, "HOME": str(folder)}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def drawn(page, folder=None):
    """The page as it is once its scripts ran."""
    text = browse(page, "--dump-dom", folder=folder)
    assert text, "Chromium drew nothing"
    return Page(text)


def screenshot(page, image, window):
    """Takes a picture of the upper part of a page."""
    browse(page, f"--screenshot={image}", "--hide-scrollbars", window=window)
