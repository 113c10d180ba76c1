# SPDX-License-Identifier: Apache-2.0
"""The C++ types that a source defines, found without a compiler.

Directives are dropped and all branches of a condition are kept. So each branch must close the
braces that it opens.
"""

import re

# Comments, literals and numbers (1'000 holds a quote), in the order of a lexer.
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bR"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\b\d[\w'.]*"""
    r"""|'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\.|[^\\\n])*", re.MULTILINE | re.DOTALL)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*(?:\[\[.*?\]\]\s*)?([\w:\s]*)")
ANGLES = r"<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>"
TEMPLATES = re.compile(
    rf"\A(?:template\s*{ANGLES}\s*(?:requires\s+[\w:]+\s*(?:{ANGLES})?\s*)?)+"
)
# A call of a macro may stand before a type without a semicolon.
SPECIFIERS = re.compile(
    r"(?:(?:typedef|static|inline|constexpr|const|[A-Z][A-Z0-9_]+(?:\s*\([^()]*\))?)\s+)*"
)
TYPE = re.compile(
    r"(?:class|struct|enum(?:\s+(?:class|struct))?)\s+"
    r"(?:\[\[.*?\]\]\s*|alignas\s*\([^)]*\)\s*|__\w+__\s*\([^)]*\)\s*|[A-Z_]+\s+)*"
    rf"(\w[\w:]*)\s*(?:{ANGLES})?\s*(?:final\s*)?(?::(?!:).*)?",
    re.DOTALL,
)


def type_name(head: str):
    """Returns the name of the type that a declaration's text before its brace names, or None."""
    head = head.strip()
    head = head[SPECIFIERS.match(head).end():]
    plain = TEMPLATES.sub("", head)
    templates = plain != head
    match = TYPE.fullmatch(plain[SPECIFIERS.match(plain).end():])
    # `class Outer::Inner {` defines a nested type, `struct std::hash<X> {` a specialization.
    return match[1] if match and ("::" not in match[1] or templates) else None


def types_of(text: str):
    """Yields (namespace, name) of each type at namespace scope, with None for an open namespace."""
    code = NOISE.sub(lambda noise: '""' if noise[0][0] in '"R' else " ", text)
    scopes = []  # The name of a namespace, "" for one that adds no name, None for any other brace.
    head = ""
    for token in re.split(r"([{};])", DIRECTIVE.sub("", code)):
        if token == "{":
            scope = None
            if match := NAMESPACE.fullmatch(head.strip()):
                scope = re.sub(r"\s|\binline\b", "", match[1]) or None
            elif re.fullmatch(r'extern\s*""', head.strip()):
                scope = ""
            if None not in scopes:
                namespace = "::".join(name for name in scopes + [scope] if name)
                if scope:
                    yield namespace, None
                elif name := type_name(head):
                    yield namespace, name
            scopes.append(scope)
        elif token == "}" and scopes:
            scopes.pop()
        head = "" if token in ("{", "}", ";") else token


def describes_type(lines: list) -> bool:
    """Returns whether a type is declared below the comment that the lines begin with."""
    code = DIRECTIVE.sub("", NOISE.sub(" ", "\n".join(lines)))
    return type_name(re.split(r"[{;]", code, maxsplit=1)[0]) is not None
