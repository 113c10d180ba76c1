#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a PostgreSQL server of its own: postgresql_server.py COMMAND ARGUMENT…

The server keeps its data in a temporary folder and listens on a socket in it alone. Its URL is in
PLUMB_TEST_POSTGRESQL."""
import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile


def program(name):
    """Returns the path of a program of the newest installed server."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda path: int(path.split("/")[4]))
    path = found[-1] if found else shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} is not installed: apt-get install postgresql")
    return path


class PostgresqlServer:
    """A server in a temporary folder, with trusted local connections unless an `hba` file says else. With a `port` it listens on loopback
    too, and takes encrypted connections by the key and the certificate of the folder `tls`."""

    def __init__(self, hba=None, settings=(), port=None, tls=None):
        self.port = port
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-pg-"))
        # A server refuses to run as root.
        self.user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:
            shutil.chown(self.folder, self.user)
        self.data = self.folder / "data"
        self.run("initdb", "-D", self.data, "-U", "owner", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n")
            if port:
                file.write(f"listen_addresses = '127.0.0.1'\nport = {port}\nssl = on\n")
                for name in ("key", "cert"):
                    shutil.copy(tls / f"{name}.pem", self.data / f"{name}.pem")
                    os.chmod(self.data / f"{name}.pem", 0o600)
                    if os.geteuid() == 0:
                        shutil.chown(self.data / f"{name}.pem", self.user)
                    file.write(f"ssl_{name}_file = '{name}.pem'\n")
            file.writelines(line + "\n" for line in settings)
        if hba:
            (self.data / "pg_hba.conf").write_text(hba)
        self.start()

    def run(self, name, *arguments):
        """Runs a program of the server as the server's user."""
        become = ["setpriv", f"--reuid={self.user}", "--clear-groups", "--"] if os.geteuid() == 0 else []
        command = [*become, program(name), *map(str, arguments)]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
        if result.returncode != 0:
            raise RuntimeError(f"{name}: {result.stdout}")

    def start(self):
        """Starts the server, and waits until it answers."""
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", self.folder / "log", "start")

    def stop(self, how="fast"):
        """Stops the server. `how` = immediate: as a crash would."""
        self.run("pg_ctl", "-D", self.data, "-w", "-m", how, "stop")

    def process(self):
        """Returns the number of the server's first process."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def url(self, user="owner", database="postgres", more=""):
        """Returns the URL of a database on the server."""
        port = f"&port={self.port}" if self.port else ""
        return f"postgresql://{user}@/{database}?host={self.folder}{port}{more}"

    def psql(self, sql, **names):
        """Runs SQL with psql and returns what it prints."""
        command = [program("psql"), self.url(**names), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop("immediate")
        except RuntimeError:
            pass  # It was stopped already.
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    with PostgresqlServer() as server:
        environment = {**os.environ, "PLUMB_TEST_POSTGRESQL": server.url()}
        return subprocess.run(sys.argv[1:], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
