# SPDX-License-Identifier: Apache-2.0
"""Reads a page's blocks of commands (```sh) and of their output (```text), and makes a script of the commands.

A command that may end with another status than 0 says so at its end: `# exit status 1`, or `# exit status 0, or 75 if …`.
"""

import dataclasses
import re
import shlex
import shutil

MARK = "-- line"
ENDED = "-- ended"
EXIT_STATUS = re.compile(r"(?m)^(.*?\S) +# exit status (.*)$")
NEEDS = re.compile(r"(?m)^# needs (\S+)$")


@dataclasses.dataclass
class Block:
    """One block of commands. `printed` and `ended` are there once it was run."""

    line: int
    commands: str
    shown: list = dataclasses.field(default_factory=list)  #: lines of its output on the page
    printed: str = ""
    ended: list = dataclasses.field(default_factory=list)  #: statuses of the commands that say theirs

    @property
    def statuses(self):
        """The statuses that the page says of each command that says any. The first is the one of the output on the page."""
        return [[int(number) for number in re.findall(r"\d+", said)] for _, said in EXIT_STATUS.findall(self.commands)]

    @property
    def ended_as_said(self):
        return len(self.ended) == len(self.statuses) and all(map(lambda status, said: status in said, self.ended, self.statuses))

    @property
    def ended_as_shown(self):
        return self.ended == [said[0] for said in self.statuses]


def read_page(text):
    """Returns the blocks of a page, without those that need a program which is not here (`# needs PROGRAM`)."""
    blocks, fence, content, start = [], None, [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.startswith("```"):
            if fence is not None:
                content.append(line)
        elif fence is None:
            fence, content, start = line[3:], [], number
        else:
            if fence == "sh":
                blocks.append(Block(start, "\n".join(content)))
            elif fence == "text":
                blocks[-1].shown += content
            fence = None
    return [block for block in blocks if all(shutil.which(name) for name in NEEDS.findall(block.commands))]


def shell_script(blocks):
    """Returns a script for bash. It ends at the first command that fails, unless the page says that it does."""
    lines = ["set -eu", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]
    for block in blocks:
        said = EXIT_STATUS.sub(lambda found: f"{found[1]} || status=$?\necho '{ENDED}' $status; status=0", block.commands)
        lines += [f"echo {shlex.quote(f'{MARK} {block.line}')}", "status=0", said]
    return "\n".join(lines) + "\n"


def walked_blocks(blocks, printed):
    """Returns the blocks that were begun, with what each of them printed."""
    by_line = {block.line: block for block in blocks}
    walked = []
    for part in re.split(rf"(?m)^{MARK} ", printed)[1:]:
        line, _, text = part.partition("\n")
        ended = [int(status) for status in re.findall(rf"(?m)^{ENDED} (\d+)$", text)]
        walked.append(dataclasses.replace(by_line[int(line)], printed=re.sub(rf"(?m)^{ENDED} \d+\n", "", text), ended=ended))
    return walked


#: Identifiers of runs, digests of environments, implementations for an instruction set, and numbers.
VARYING = re.compile(r"(?i:\S*avx\S*)|\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{16}\b|[-+]?\d[\d.,:]*(?:e[-+]?\d+)?")
#: Units, and which mode is the fastest.
UNIT = re.compile(r"[±–%×→()-]+|(?:ns|µs|ms|s|[KMG]iB)[;,.]?|[a-z]+(?:[_+][a-z]+)*;")


def words_of(line):
    """Returns the words of a line that are the same on every machine: neither numbers nor their units."""
    words = [VARYING.sub("", word) for word in line.split()]
    return [word for word in words if word and not UNIT.fullmatch(word)]


def output_faults(block):
    """Returns the lines of output on the page that have no counterpart in what was printed. A '…' stands for any words."""
    printed = [" ".join(words_of(line)) for line in block.printed.split("\n")]
    faults = []
    for line in block.shown:
        pieces = [re.escape(" ".join(words_of(piece))) for piece in line.split("…")]
        pattern = re.compile(r"[ ]?.*".join(pieces) if len(pieces) > 1 else pieces[0])
        if any(pieces) and not any(pattern.fullmatch(text) for text in printed):
            faults.append(line)
    return faults
