# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of one node in a temporary folder: slurmctld, slurmd and munged of Debian's packages, all as one ordinary user."""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import time

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def is_installed():
    """Returns whether all programs of a cluster are there."""
    path = os.environ["PATH"] + ":/usr/sbin"
    return all(shutil.which(name, path=path) for name in ("slurmctld", "slurmd", "munged", "sbatch"))


def free_ports(count):
    """Returns ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class SlurmCluster:
    """A running cluster. Its commands work with `environment`."""

    def __init__(self, cpus=4):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-slurm-"))
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.processes = []
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool", "munge"):
            (self.folder / name).mkdir(mode=0o700)
        (self.folder / "munge/key").write_bytes(os.urandom(128))
        (self.folder / "munge/key").chmod(0o400)
        (self.folder / "slurm.conf").write_text(
            CONF.format(folder=self.folder, user=self.user, host=host, ports=free_ports(2), cpus=cpus))
        self.folder.chmod(0o755)
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        try:
            munge = self.folder / "munge"
            self.begin("munged", "--foreground", "--force", f"--key-file={munge}/key", f"--socket={self.folder}/munge.socket",
                       f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
            self.wait("munge", lambda: (self.folder / "munge.socket").exists())
            self.begin("slurmctld", "-D")
            self.begin("slurmd", "-D", "-N", host)
            self.wait("the node", lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T", check=False))
        except BaseException:
            self.stop()
            raise

    def begin(self, *command):
        with open(self.folder / f"{command[0]}.out", "w") as log:
            self.processes.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd="/"))

    def run(self, *command, check=True, **options):
        """Runs a command as the cluster's user, and returns what it prints."""
        done = subprocess.run([*map(str, command)], env=self.environment, capture_output=True, text=True, cwd="/", **options)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stdout}{done.stderr}{self.logs()}")
        return done.stdout

    def wait(self, what, is_there, seconds=180):
        deadline = time.monotonic() + seconds
        while not is_there():
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes):
                raise RuntimeError(f"{what} did not come: {self.logs()}")
            time.sleep(0.1)

    def logs(self):
        """Returns the ends of all logs."""
        text = ""
        for path in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out")) + [self.folder / "munge/log"]:
            if path.exists():
                text += f"\n--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:])
        return text

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
