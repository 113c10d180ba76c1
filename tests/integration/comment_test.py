#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts results on pull requests, as a pipeline would, against a server that records what it is asked.

Usage: comment_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command
from review_server import TOKEN, ReviewServer
from run_history import rule

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

MARKER = "<!-- plumbline comment: plumbline -->"
SLOW = rule("v1:matmul;*", seconds=0.001) + rule("model:*", seconds=0.002)


class Comments(Command):
    result = None  #: the text of a qualification's JSON, measured once

    def setUp(self):
        super().setUp()
        self.environment |= {"GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN}
        for name in ("GITHUB_API_URL", "CI_API_V4_URL", "http_proxy", "https_proxy", "PLUMB_COMMIT_URL"):
            self.environment.pop(name, None)
        self.file = self.folder / "qualification.json"
        if Comments.result is None:
            self.stack("slower", SLOW)
            self.plumb("qualify", self.tiny("never"), "--baseline", "fake", "--candidate", "slower", "--pairs", 6, "-o", self.file)
            Comments.result = self.file.read_text()
        self.file.write_text(Comments.result)

    def both(self):
        """A server of each kind, in turn."""
        for gitlab in (False, True):
            with self.subTest(gitlab=gitlab):
                yield ReviewServer(self, gitlab=gitlab)

    def comment(self, server, *arguments, expect=0):
        done = self.plumb("comment", *(arguments or [self.file]), *server.target, expect=expect)
        self.assertNotIn(TOKEN, done.stdout + done.stderr)
        return done.stderr

    def test_one_comment_is_made_and_then_changed_in_place(self):
        for server in self.both():
            server.add("first!", server.OTHER)
            self.assertIn("made the comment https://example.org/comment/1001", self.comment(server))
            self.assertEqual(server.methods(), ["GET", "POST"])
            made = server.comments[1]["body"]
            self.assertTrue(made.startswith(MARKER + "\n## Plumbline: "))
            self.assertIn("regressed", made)
            self.assertIn("changed the comment", self.comment(server, "--no-verdict"))
            self.assertEqual(server.methods()[2:], ["GET", "PUT" if server.gitlab else "PATCH"])
            self.assertEqual(len(server.comments), 2)
            self.assertIn("no verdict", server.comments[1]["body"])
            self.comment(server, self.file, "--name", "other-suite")
            self.assertEqual(len(server.comments), 3, "another name is another comment")
            headers = server.asked[-1].headers
            self.assertEqual(headers["Content-Type"], "application/json")
            if not server.gitlab:
                self.assertEqual((headers["Accept"], headers["X-GitHub-Api-Version"]), ("application/vnd.github+json", "2022-11-28"))
                self.assertIn("User-Agent", headers)

    def test_the_comment_is_found_behind_a_hundred_others(self):
        for server in self.both():
            for number in range(230):
                server.add(f"comment {number}", server.OTHER)
            ours = server.add(MARKER + "\nold", server.OWNER)
            self.comment(server)
            self.assertEqual(server.methods()[:3], ["GET"] * 3)
            self.assertEqual(len(server.comments), 231)
            self.assertIn("## Plumbline", ours["body"])

    def test_a_comment_of_somebody_else_is_left_alone(self):
        for server in self.both():
            planted = server.add(MARKER + "\n## Plumbline: approve", server.OTHER)
            server.add("I quote: " + MARKER, server.OWNER)
            self.comment(server)
            self.assertEqual((len(server.comments), planted["body"]), (3, MARKER + "\n## Plumbline: approve"))

    def test_a_job_of_github_has_no_user(self):
        server = ReviewServer(self, of_a_job=True)
        server.add(MARKER, server.OTHER)
        self.comment(server)
        self.comment(server)
        self.assertEqual([each["user"]["type"] for each in server.comments], ["User", "Bot"])

    def test_what_is_refused_says_what_to_do(self):
        for server in self.both():
            for status, advice in ((401, "wrong or has expired"), (403, "needs the"), (404, "check '"), (422, "check --api"), (301, "check --api")):
                server.next = {"POST": [(status, {"Location": "http://127.0.0.1:1/"} if status == 301 else {})]}
                self.assertIn(advice, self.comment(server, expect=3))
            self.environment |= {"GITHUB_TOKEN": "another", "GITLAB_TOKEN": "another"}
            self.assertIn("status 401", self.comment(server, expect=3))
            self.environment |= {"GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN}
            self.assertEqual(server.comments, [])

    def test_it_waits_as_it_is_told_and_not_for_ever(self):
        for server in self.both():
            server.next = {"GET": [(429, {"Retry-After": "1"})], "POST": [(503, {})]}
            self.comment(server)
            self.assertEqual(len(server.comments), 1)
            server.next = {"GET": [(429, {"Retry-After": "3600"})]}
            self.assertIn("asks to wait 3600 s", self.comment(server, expect=75))
            server.next = {"GET": [(429, {"Retry-After": "99999999999999999999"})]}
            self.comment(server, expect=75)
        server = ReviewServer(self)
        server.next = {"POST": [(403, {"X-RateLimit-Remaining": "0"})]}
        self.comment(server, expect=75)
        server.next = {"GET": [(500, {})] * 9}
        self.assertIn("try again later", self.comment(server, expect=75))

    def test_an_answer_that_is_lost_makes_no_second_comment(self):
        for server in self.both():
            server.next = {"POST": [None]}
            self.comment(server)
            self.assertEqual((len(server.comments), server.methods().count("POST")), (1, 1))

    def test_a_token_goes_nowhere_else(self):
        server = ReviewServer(self)
        for api in ("http://example.org/api", "http://127.0.0.1.example.org/", "ftp://127.0.0.1/", "http://user@127.0.0.1/", "https://a.b/?x=",
                    "nonsense"):
            self.assertIn("no address that a token may be sent to",
                          self.plumb("comment", self.file, "--api", api, "--github", "a/b", "--pr", 1, expect=2).stderr)
        for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
            self.environment.pop(name)
        self.assertIn("GITHUB_TOKEN has no token", self.comment(server, expect=3))
        self.environment["MINE"] = "two\nlines"
        self.assertIn("characters that no token has", self.comment(server, self.file, "--token-variable", "MINE", expect=2))
        self.environment["MINE"] = TOKEN
        self.environment["http_proxy"] = "http://127.0.0.1:1"
        self.comment(server, self.file, "--token-variable", "MINE")
        self.assertEqual(len(server.comments), 1)

    def test_what_is_wrong_is_refused(self):
        server = ReviewServer(self)
        broken = self.folder / "broken.json"
        broken.write_text("{}")
        for arguments in ([broken], ["nothing.json"], ["one-run"], [self.file, "--name", "A b"], [self.file, "--name", "a--b"],
                          [self.file, "--report", "javascript:x"], [self.file, "--no-verdict"], ["a..b"]):
            self.comment(server, *arguments, expect=2)
        for project, number in (("team", 5), ("a/b/c", 5), ("../repo", 5), ("team/..", 5), ("team/a b", 5), ("team/repo", 0)):
            self.plumb("comment", self.file, "--api", server.url, "--github", project, "--pr", number, expect=2)
        self.plumb("comment", self.file, expect=2)
        self.assertEqual(server.asked, [])

    def test_names_of_others_are_text(self):
        evil = "@everyone <img src=x> [a](javascript:x) | `code` \u202e --> #1"
        document = json.loads(Comments.result)
        document["suite"] = document["reason"] = evil
        document["notes"] = [evil] * 200
        document["command"] = ["rm", "-rf", "x"]
        for metric in document["models"] + document["layers"]:
            metric["place"] = evil
        self.file.write_text(json.dumps(document))
        text = self.plumb("comment", self.file, "--dry-run", "--label", f"branch={evil.replace(chr(0x202e), '')}").stdout
        for part in ("@everyone", "<img", "[a](", "\u202e"):
            self.assertNotIn(part, text)
        self.assertEqual(text.count("-->"), 1)
        self.assertLess(len(text), 60000)
        self.assertNotIn("rm -rf", text)

    def test_a_stored_comparison_names_commits_and_commands(self):
        base = self.run_tiny("--label", "commit=91bc07aa51e2c1d6", reuse="never")["run"]
        self.stack("fake", SLOW)
        slow = self.run_tiny("--label", "commit=4f2a9c01d3b7e8f0", reuse="never")["run"]
        text = self.plumb("--commit-url", "https://example.org/commit/{commit}", "comment", f"{base}..{slow}", "--dry-run",
                          "--report", "https://example.org/job/1").stdout
        self.assertIn("## Plumbline: regressed", text)
        self.assertIn("| commit | [4f2a9c01d3b7](https://example.org/commit/4f2a9c01d3b7e8f0) |", text)
        self.assertIn("| everything | [report](https://example.org/job/1) |", text)
        self.assertRegex(text, r"\| regressed \| lenet\\?\|1\\?\|f32 end\\_to\\_end plain single\\_stream \|")
        self.assertRegex(text, r"``plumb layer 'v1:matmul;[^`]*' --stack fake``")
        self.assertRegex(text, r"``plumb run \S*mine.toml --model lenet --stack fake --mode plain``")
        self.assertIn("### Not measured, or not decided", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
