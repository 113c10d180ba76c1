# SPDX-License-Identifier: Apache-2.0
"""A server on loopback that answers as GitHub's and GitLab's documents say of comments on pull and merge requests, and records what it was asked."""

import dataclasses
import http.server
import json
import re
import threading
import urllib.parse

TOKEN = "test-token-that-nobody-may-see"


@dataclasses.dataclass
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict
    body: str


class ReviewServer:
    """Has the comments of one review. `next` are answers (status, headers) that come first, by method; None in the place of an answer
    does what was asked and then fails with 502."""

    OWNER = {"id": 7, "login": "plumb", "username": "plumb", "type": "User"}
    BOT = {"id": 8, "login": "github-actions[bot]", "type": "Bot"}
    OTHER = {"id": 9, "login": "mallory", "username": "mallory", "type": "User"}

    def __init__(self, test, gitlab=False, of_a_job=False):
        self.gitlab, self.of_a_job = gitlab, of_a_job
        self.asked, self.comments, self.next, self.user = [], [], {}, self.BOT if of_a_job else self.OWNER
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                asked = Asked(self.command, self.path, dict(self.headers), self.rfile.read(length).decode())
                server.asked.append(asked)
                status, headers, document = server.reply(asked)
                body = json.dumps(document).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = answer

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        test.addCleanup(self.http.server_close)
        test.addCleanup(self.http.shutdown)
        self.url = "http://127.0.0.1:%d" % self.http.server_address[1] + ("/api/v4" if gitlab else "")

    @property
    def target(self):
        """The options that name the review."""
        return ["--api", self.url, *(["--gitlab", "group/sub/project", "--mr", "5"] if self.gitlab else ["--github", "team/repo", "--pr", "5"])]

    def add(self, body, user):
        self.comments.append({"id": 1000 + len(self.comments), "body": body, "author" if self.gitlab else "user": user,
                              "html_url": f"https://example.org/comment/{1000 + len(self.comments)}", "system": False})
        return self.comments[-1]

    def methods(self):
        return [each.method for each in self.asked if "/user" not in each.path]

    def reply(self, asked):
        given = asked.headers.get("PRIVATE-TOKEN") if self.gitlab else asked.headers.get("Authorization", "").removeprefix("Bearer ")
        if given != TOKEN:
            return 401, {}, {"message": "401 Unauthorized" if self.gitlab else "Bad credentials"}
        planned = self.next.get(asked.method, [])
        answer = planned.pop(0) if planned and not asked.path.endswith("/user") else ()
        if answer:
            status, headers = answer
            return status, headers, {"message": f"as planned, {TOKEN}"}
        done = self.serve(asked)
        return (502, {}, {"message": "Bad Gateway"}) if answer is None else done

    def serve(self, asked):
        path, _, query = asked.path.partition("?")
        path = path.removeprefix("/api/v4")
        if path == "/user":
            return (403, {}, {"message": "Resource not accessible by integration"}) if self.of_a_job else (200, {}, self.user)
        place = r"/projects/group%2Fsub%2Fproject/merge_requests/5/notes" if self.gitlab else r"/repos/team/repo/issues/5/comments"
        one = r"/projects/group%2Fsub%2Fproject/merge_requests/5/notes/(\d+)" if self.gitlab else r"/repos/team/repo/issues/comments/(\d+)"
        if path == place and asked.method == "GET":
            return self.page(urllib.parse.parse_qs(query))
        if path == place and asked.method == "POST":
            return 201, {}, self.add(json.loads(asked.body)["body"], self.user)
        if (found := re.fullmatch(one, path)) and asked.method == ("PUT" if self.gitlab else "PATCH"):
            for comment in self.comments:
                if comment["id"] == int(found[1]):
                    comment["body"] = json.loads(asked.body)["body"]
                    return 200, {}, comment
        return 404, {}, {"message": "404 Not found" if self.gitlab else "Not Found"}

    def page(self, query):
        size, number = min(int(query.get("per_page", ["30"])[0]), 100), int(query.get("page", ["1"])[0])
        comments = self.comments
        if self.gitlab and query.get("sort", ["desc"])[0] == "desc":
            comments = comments[::-1]
        shown = comments[(number - 1) * size:number * size]
        more = number * size < len(comments)
        # The address is not to be followed: a token must not go where an answer says.
        return 200, {"Link": '<http://127.0.0.1:1/elsewhere>; rel="next", <http://127.0.0.1:1/>; rel="first"'} if more else {}, shown
