# SPDX-License-Identifier: Apache-2.0
"""Keeps what steps left, and packs it after each one: at most eight files of at most 16 MiB."""

import json
import os
import pathlib
import tarfile

MOST_BYTES = (16 << 20) - (64 << 10)  # of a file: 16 MiB with what an archive adds
MOST_ARCHIVES = 6  # beside summary.md and results.json
LONGEST_TEXT = 2 << 20  # of a log; the middle of a longer one is left out
STATES = ("passed", "failed", "unknown", "skipped")


def write(path, content):
    """Writes a file at once or not at all."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.replace(beside, path)


def shorten(path):
    """Keeps a text's beginning and end. What a program wrote without end must not fill the disk."""
    size = path.stat().st_size
    if size <= LONGEST_TEXT:
        return
    with open(path, "rb") as stream:
        begin = stream.read(LONGEST_TEXT // 2)
        stream.seek(size - LONGEST_TEXT // 2)
        end = stream.read()
    write(path, begin + f"\n[… {size - LONGEST_TEXT} bytes are left out …]\n".encode() + end)


def pack(folder, archive):
    """Packs a folder. Leaves the largest files out until the archive fits, and returns their names."""
    files = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    left_out = []
    beside = archive.with_name(f".{archive.name}.part")
    while True:
        with tarfile.open(beside, "w:xz", preset=3) as tar:
            for path in sorted(files):
                tar.add(path, f"{folder.name}/{path.relative_to(folder)}")
        if beside.stat().st_size <= MOST_BYTES or not files:
            break
        left_out.append(str(files.pop().relative_to(folder)))
    os.replace(beside, archive)
    return left_out


def groups(sizes):
    """Parts (name, bytes) into groups that an archive holds, in order. What is beyond the last archive has no place."""
    parted, left_out, used = [[]], [], 0
    for name, size in sizes:
        padded = -(-size // 512) * 512 + 1024  # as tar stores it
        if used + padded > MOST_BYTES:
            if len(parted) == MOST_ARCHIVES or padded > MOST_BYTES:
                left_out.append(name)
                continue
            parted.append([])
            used = 0
        parted[-1].append(name)
        used += padded
    return parted, left_out


class Evidence:
    """The results of all steps, in a folder of work that outlives a call, and in OUT."""

    def __init__(self, work, out):
        self.work, self.out = pathlib.Path(work), pathlib.Path(out)
        self.packed = self.work / "packed"
        for folder in (self.packed, self.work / "steps", self.out):
            folder.mkdir(parents=True, exist_ok=True)
        self.results = self.read(self.work / "results.json") or self.fetch_back()

    @staticmethod
    def read(path):
        try:
            return {one["step"]: one for one in json.loads(path.read_text())["steps"] if one["state"] in STATES}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def fetch_back(self):
        """Takes up what an earlier call left in OUT, where its folder of work is gone."""
        results = self.read(self.out / "results.json")
        for archive in self.out.glob("evidence-*.tar"):
            try:
                with tarfile.open(archive) as tar:
                    for member in tar.getmembers():
                        name = pathlib.PurePosixPath(member.name).name
                        if member.isfile() and name.removesuffix(".tar.xz") in results:
                            (self.packed / name).write_bytes(tar.extractfile(member).read())
            except (OSError, tarfile.TarError):
                continue  # the results are there all the same
        return results

    def folder(self, step):
        folder = self.work / "steps" / step
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def keep(self, result, summary):
        """Notes a step's result, packs its folder, and writes OUT anew. `summary` makes the text of all results."""
        folder = self.folder(result["step"])
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix in (".log", ".txt", ".out"):
                shorten(path)
        write(folder / "result.json", json.dumps(result, indent=1))
        left_out = pack(folder, self.packed / f"{result['step']}.tar.xz")
        if left_out:
            result["reasons"].append(f"evidence left out, too large: {', '.join(left_out[:5])}")
        self.results[result["step"]] = result
        self.publish(summary)

    def publish(self, summary):
        archives = sorted(self.packed.glob("[!.]*.tar.xz"), key=lambda path: path.stat().st_mtime_ns)
        parted, left_out = groups([(path.name, path.stat().st_size) for path in archives])
        document = {"schema_version": 1, "steps": list(self.results.values()), "evidence_left_out": left_out}
        for number, names in enumerate(parted, 1):
            if names:
                beside = self.work / ".evidence.part"
                with tarfile.open(beside, "w") as tar:
                    for name in names:
                        tar.add(self.packed / name, f"evidence/{name}")
                write(self.out / f"evidence-{number}.tar", beside.read_bytes())
        for old in self.out.glob("evidence-*.tar"):
            if int(old.stem.rpartition("-")[2]) > len(parted):
                old.unlink()
        text = json.dumps(document, indent=1)
        write(self.work / "results.json", text)
        write(self.out / "results.json", text)
        write(self.out / "summary.md", summary(self.results))
