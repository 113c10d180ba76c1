# SPDX-License-Identifier: Apache-2.0
"""The sentences of a Markdown document, without code, tables, headings, images and links."""

import re

HTML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"\s*(?:>\s*)?(```|~~~)")
NOT_PROSE = re.compile(r"\s{0,3}#{1,6}\s|\s*\||\s*\[[^\]]+\]:\s|\s*$")
RULE = re.compile(r"\s{0,3}([-=*_])(?:\s*\1){2,}\s*$")
LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?=\S)")
SENTENCE_END = re.compile(r"[.!?][)\"'”’\]]*(?=\s|$)")
ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|al|approx|Fig|Eq|Sec)$")


def paragraphs_of(text: str):
    """Yields (line, text) of each paragraph and list item."""
    fence, start, pending = None, 0, []
    text = HTML_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for number, line in enumerate(text.split("\n") + [""], 1):
        mark = FENCE.match(line)
        if fence:
            fence = None if mark and mark[1] == fence else fence
            continue
        underline = RULE.match(line)
        item = LIST_ITEM.match(line)
        if mark or underline or item or NOT_PROSE.match(line):
            # A rule right below a paragraph makes that a heading.
            if pending and not underline:
                yield start, " ".join(pending)
            pending = []
        if mark:
            fence = mark[1]
        elif not underline and not NOT_PROSE.match(line):
            start = start if pending else number
            pending.append(re.sub(r"^[\s>]+", "", line[item.end():] if item else line))


def sentences_of(paragraph: str):
    text = re.sub(r"(`+)(.+?)\1", "Code", paragraph)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>|\*+", "", text)
    start = 0
    for end in SENTENCE_END.finditer(text):
        if not ABBREVIATION.search(text[start:end.start()]):
            yield text[start:end.end()].strip()
            start = end.end()
    if text[start:].strip():
        yield text[start:].strip()


def count_words(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())
