# SPDX-License-Identifier: Apache-2.0
"""A small git repository whose commits build stacks of the fake worker."""

import os
import shutil
import subprocess


class CommitLine:
    """Has one commit for each script. None is a commit that does not build. The first has the tag `first`."""

    BUILD = ('[ -e script.toml ] || { echo no such header; exit 2; }\n'
             'mkdir -p build && cp script.toml build/\n'
             'printf \'backend = "fake"\\nvariables = { PLUMB_FAKE_SCRIPT = "%s" }\\n\' "$PWD/build/script.toml" > build/stack.toml\n')

    def __init__(self, folder, scripts, build=BUILD):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")
        (folder / "build.sh").write_text("#!/bin/sh\nset -e\n" + build)
        (folder / "build.sh").chmod(0o755)
        (folder / ".gitignore").write_text("build\n")
        self.hashes = []
        for number, script in enumerate(scripts):
            path = folder / "script.toml"
            if script is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(script)
            self.git("add", "--all")
            self.git("commit", "--quiet", "--allow-empty", "--message", f"commit {number}")
            self.hashes.append(self.git("rev-parse", "HEAD"))
            if number == 0:
                self.git("tag", "first")

    def git(self, *arguments):
        identity = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.com"}
        return subprocess.run(["git", "-C", self.folder, *arguments], check=True, capture_output=True, text=True,
                              env={**os.environ, **identity}).stdout.strip()
