# SPDX-License-Identifier: Apache-2.0
"""The graph of includes between the files of a tree, its components and its cycles."""

import collections
import posixpath
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def component_of(path: str) -> str:
    return posixpath.splitext(path)[0]


def includes_of(files: dict) -> list:
    """Returns (file, included file) for each include of one of `files`."""
    found = []
    for path, text in files.items():
        for include in dict.fromkeys(INCLUDE.findall(text)):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), include))
            target = beside if beside in files else include
            if target in files and target != path:
                found.append((path, target))
    return found


def compute_cycles(edges) -> list:
    """Returns the strongly connected sets of two or more nodes, the largest first."""
    graph = collections.defaultdict(set)
    for source, target in edges:
        if source != target:
            graph[source].add(target)
    reached = {node: reachable(graph, node) for node in list(graph)}
    cycles = {
        tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
        for node in reached
        if node in reached[node]
    }
    return [list(cycle) for cycle in sorted(cycles, key=lambda cycle: (-len(cycle), cycle))]


def reachable(graph: dict, start: str) -> set:
    seen, open_nodes = set(), [start]
    while open_nodes:
        for node in graph.get(open_nodes.pop(), ()):
            if node not in seen:
                seen.add(node)
                open_nodes.append(node)
    return seen
