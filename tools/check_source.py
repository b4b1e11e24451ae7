#!/usr/bin/env python3
"""Checks the rules of the house that no compiler knows.

Usage: tools/check_source.py [ROOT]      ROOT is the project, by default the one this file lies in

Prints `file:line: rule: message` for each finding. Exits with 0 when there is none, 1 when there
is one, 2 when ROOT is not the project. Standard library only.

A rule is one function: it takes a SourceFile (or the Project) and yields findings. Rules read C++
with comments and literals blanked out, not parsed: the heuristics are said where they are made,
and each is proved on bad and good snippets by tests/check/test_check_source.py.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import pathlib
import re
import sys
from collections.abc import Callable, Iterator

# The include rule: a file whose path begins with the key may include what begins with one of the
# values. The longest key wins. A path that begins with no key may include everything.
ABOVE_DISPATCHER = ("base/", "storage/", "propagation/", "oltp/", "olap/", "dispatcher/")
MAY_INCLUDE = {
    "base/": ("base/",),
    "storage/": ("base/", "storage/"),
    "propagation/": ("base/", "storage/", "propagation/"),
    # oltp includes these headers, and must not get storage through them.
    "propagation/export/": ("base/", "propagation/export/"),
    "oltp/": ("base/", "propagation/export/", "oltp/"),
    "olap/": ("base/", "storage/", "olap/"),
    "dispatcher/": ABOVE_DISPATCHER,
    "workloads/": ("base/", "dispatcher/", "workloads/"),
    # It measures how columns are read, beneath SQL.
    "workloads/scan/": ("base/", "storage/", "olap/execution/scan/", "dispatcher/", "workloads/"),
    "cli/": ("base/", "dispatcher/", "workloads/", "cli/"),
    "examples/": ("base/", "dispatcher/", "examples/"),
}
# Layers, the lowest first: a file may include what lies in its own layer and in those below. The
# longest prefix wins.
LAYERS = tuple("olap/execution/" + folder for folder in (
    "limits/", "threads/", "vector/", "pattern/", "expression/", "key/", "pipeline/", "join/",
    "scan/", "sort/", "group/", "window/", "star/", "")) + ("olap/sql/",)
CODE_FOLDERS = ("base", "storage", "propagation", "oltp", "olap", "dispatcher", "workloads", "cli",
                "examples", "tests")
FOLDERS_WITH_README = CODE_FOLDERS + ("tools",)
FOLDERS_READ = FOLDERS_WITH_README + ("docs", "cmake", ".ci")
DATA_PATH_FOLDERS = ("base/", "storage/", "propagation/", "oltp/", "olap/", "dispatcher/")
LABELLED_FOLDERS = DATA_PATH_FOLDERS  # whose labels are checked

HEADER_LINES_MAX = 300
SOURCE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
CMAKE_COLUMNS_MAX = 120

BANNED_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "manager2"}
# Terms of the field, in which a banned word is the right one.
FIELD_TERMS = re.compile(r"Common(?=TableExpression|SubExpression|Subexpression|Super[Tt]ype)")

TEXT_SUFFIXES = {".h", ".cpp", ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".sql", ".toml"}
CODE_SUFFIXES = {".h", ".cpp", ".py", ".sh", ""}


@dataclasses.dataclass(frozen=True)
class Finding:
    line: int
    message: str
    path: str = ""
    rule: str = ""


@dataclasses.dataclass(frozen=True)
class Include:
    line: int
    path: str
    quoted: bool


TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>\b(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)")
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<char>'(?:\\.|[^'\\\n])+')
  | (?P<number>\b\d(?:'?[\w.])*)      # before char: 1'000 has a separator, not a literal
    """,
    re.X | re.S,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


class SourceFile:
    """One file and the views of it that rules need; each is computed once, when first asked for."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        name = path.rsplit("/", 1)[-1]
        self.suffix = "." + name.rsplit(".", 1)[1] if "." in name[1:] else ""
        self.is_header = self.suffix == ".h"
        self.is_cpp = self.suffix in (".h", ".cpp")

    @functools.cached_property
    def _blanked(self) -> tuple[str, dict[int, str]]:
        comments: dict[int, str] = {}
        if not any(mark in self.text for mark in ("//", "/*", '"', "'")):
            return self.text, comments

        def replace(match: re.Match) -> str:
            kind, token = match.lastgroup, match.group()
            if match.group("number"):
                return token
            if match.group("comment"):
                first = self.line_of(match.start())
                for offset, line in enumerate(token.split("\n")):
                    comments[first + offset] = comments.get(first + offset, "") + line
                return blank(token)
            return token[0] + blank(token[1:-1]) + token[-1] if kind else token

        return TOKEN.sub(replace, self.text), comments

    @property
    def code(self) -> str:
        """The text with comments and the insides of literals blanked: same lines, same columns."""
        return self._blanked[0]

    @property
    def comments(self) -> dict[int, str]:
        """Line number to the comment text on that line."""
        return self._blanked[1]

    @functools.cached_property
    def plain_code(self) -> str:
        """`code` with preprocessor directives blanked, too."""
        return DIRECTIVE.sub(lambda match: blank(match.group()), self.code)

    @functools.cached_property
    def code_lines(self) -> list[str]:
        return self.code.split("\n")

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return [0] + [match.end() for match in re.finditer(r"\n", self.text)]

    def line_of(self, offset: int) -> int:
        return bisect.bisect_right(self._line_starts, offset)

    @functools.cached_property
    def includes(self) -> list[Include]:
        found = []
        for match in INCLUDE.finditer(self.text):
            line = self.line_of(match.start(1))
            if self.code_lines[line - 1].lstrip().startswith("#"):  # else it is in a comment
                found.append(Include(line, match.group(2), match.group(1) == '"'))
        return found


class Project:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.files: dict[str, SourceFile] = {}
        for path in sorted(self._paths()):
            relative = path.relative_to(root).as_posix()
            self.files[relative] = SourceFile(relative, path.read_text(errors="replace"))

    def _paths(self) -> Iterator[pathlib.Path]:
        for path in self.root.iterdir():
            if path.is_file() and (path.suffix in TEXT_SUFFIXES):
                yield path
        for folder in FOLDERS_READ:
            for path in (self.root / folder).rglob("*"):
                bare = path.suffix == "" and folder in ("tools", ".ci")
                if (path.suffix in TEXT_SUFFIXES or bare) and path.is_file():
                    yield path

    def includes_of(self, file: SourceFile) -> Iterator[tuple[Include, SourceFile]]:
        for include in file.includes:
            if include.path in self.files:
                yield include, self.files[include.path]


RULES: list[tuple[str, Callable]] = []


def rule(name: str, of: str = "cpp") -> Callable:
    """Registers a rule. `of` says what it takes: a C++ file, a header, a text file, the project."""

    def register(function: Callable) -> Callable:
        RULES.append((name, function))
        function.rule_of = of
        return function

    return register


# Includes.


@rule("include")
def check_include_rule(file: SourceFile, project: Project) -> Iterator[Finding]:
    keys = [key for key in MAY_INCLUDE if file.path.startswith(key)]
    allowed = MAY_INCLUDE[max(keys, key=len)] if keys else None
    for include in file.includes:
        top = include.path.split("/", 1)[0]
        if top in CODE_FOLDERS and "/" in include.path:
            if not include.quoted and include.path not in project.files:
                continue  # a library's folder that is called like one of ours
            if not include.quoted:
                yield Finding(include.line, f'"{include.path}" is ours: include it with quotes')
            if allowed is not None and not include.path.startswith(allowed):
                yield Finding(include.line, f"{file.path} must not include {include.path}; "
                              f"it may include {', '.join(allowed)}")
        elif include.quoted:
            yield Finding(include.line, f'"{include.path}": write the path from the root for a '
                          "header of ours, angle brackets for a library's")


def layer_of(path: str) -> int | None:
    layers = [layer for layer, folder in enumerate(LAYERS) if path.startswith(folder)]
    return max(layers, key=lambda layer: len(LAYERS[layer])) if layers else None


@rule("layer")
def check_layers(file: SourceFile, project: Project) -> Iterator[Finding]:
    layer = layer_of(file.path)
    if layer is None:
        return
    for include in file.includes:
        included = layer_of(include.path)
        if included is not None and included > layer:
            yield Finding(include.line, f"{LAYERS[layer]} lies below {LAYERS[included]}: it must "
                          f"not include {include.path}")


@rule("private")
def check_private_folders(file: SourceFile, project: Project) -> Iterator[Finding]:
    if file.path.startswith("tests/"):
        return
    for include in file.includes:
        match = re.match(r"(.*?/)(?:detail|internal)/", include.path)
        if match and include.quoted and not file.path.startswith(match.group(1)):
            yield Finding(include.line, f"{include.path} is private to {match.group(1)}")


@rule("cycle", of="project")
def check_include_cycles(project: Project) -> Iterator[Finding]:
    """Depth first; an include that leads to a file on the present path closes a cycle."""
    done: set[str] = set()
    for start in project.files.values():
        if not start.is_cpp or start.path in done:
            continue
        path = [start.path]
        stack = [project.includes_of(start)]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                done.add(path.pop())
                continue
            include, target = step
            if target.path in path:
                ring = path[path.index(target.path):] + [target.path]
                yield Finding(include.line, "includes go round: " + " -> ".join(ring), path[-1])
            elif target.path not in done:
                path.append(target.path)
                stack.append(project.includes_of(target))


# Size.


@rule("columns", of="text")
def check_columns(file: SourceFile, _: Project) -> Iterator[Finding]:
    is_cmake = file.suffix == ".cmake" or file.path.rsplit("/", 1)[-1] == "CMakeLists.txt"
    if not is_cmake and file.suffix not in CODE_SUFFIXES:
        return
    most = CMAKE_COLUMNS_MAX if is_cmake else COLUMNS_MAX
    for number, line in enumerate(file.lines, 1):
        if len(line) > most:
            yield Finding(number, f"{len(line)} columns; at most {most}")


@rule("file-length")
def check_file_length(file: SourceFile, _: Project) -> Iterator[Finding]:
    lines = file.text.count("\n")
    most = HEADER_LINES_MAX if file.is_header else SOURCE_LINES_MAX
    if lines > most:
        yield Finding(most + 1, f"{lines} lines; at most {most}: one concept a file")


@rule("function-length")
def check_function_length(file: SourceFile, _: Project) -> Iterator[Finding]:
    for first, last in functions(file):
        if last - first + 1 > FUNCTION_LINES_MAX:
            yield Finding(first, f"a function of {last - first + 1} lines; at most "
                          f"{FUNCTION_LINES_MAX}")


LAMBDA = re.compile(r"\](?:\s*<[^<>]*>)?\s*(?:\([^{}]*\))?\s*(?:mutable\s*)?(?:noexcept\s*)?"
                    r"(?:->[^{};]*)?$")
FUNCTION_TAIL = re.compile(r"\)\s*(?:(?:const|volatile|noexcept(?:\s*\(\))?|override|final|try|&&?"
                           r"|->[^;{}]*|requires\b[^;{}]*|[A-Z][A-Z0-9_]+(?:\(\))?)\s*)*$")
TYPE_HEAD = re.compile(r"^(?:(?:typedef|static|inline|constexpr|friend|export)\s+)*"
                       r"(?:class|struct|union|enum)\b[^()=]*$")


@dataclasses.dataclass
class Brace:
    kind: str  # scope (namespace, type), function, block (inside a function), data
    first_line: int
    head: int
    parentheses: int


def functions(file: SourceFile) -> Iterator[tuple[int, int]]:
    """First and last line of each function: from its signature to its closing brace. What a `{`
    opens is told from the text since the last `;`, `{` or `}` (its head). A lambda counts with the
    function around it; one in a table at namespace scope counts as a function, the table not."""
    code = file.plain_code
    stack: list[Brace] = []
    head, parentheses = 0, 0
    for match in re.finditer(r"[{}();]", code):
        at, mark = match.start(), match.group()
        if mark == "(":
            parentheses += 1
        elif mark == ")":
            parentheses -= 1
        elif mark == ";" and parentheses == 0:
            head = match.end()
        elif mark == "{":
            inside = stack[-1].kind if stack else "scope"
            kind = brace_kind(code, head, at, inside, parentheses)
            begin = head + len(code[head:at]) - len(code[head:at].lstrip())
            stack.append(Brace(kind, file.line_of(begin), head, parentheses))
            head, parentheses = match.end(), 0
        elif mark == "}" and stack:
            brace = stack.pop()
            parentheses = brace.parentheses
            head = brace.head if brace.kind == "data" else match.end()
            in_function = any(outer.kind == "function" for outer in stack)
            if brace.kind == "function" and not in_function:
                yield brace.first_line, file.line_of(at)


def brace_kind(code: str, head_start: int, at: int, inside: str, parentheses: int) -> str:
    if inside in ("function", "block"):
        return "block"
    if inside == "data" or parentheses > 0:
        return "function" if LAMBDA.search(code[max(head_start, at - 300):at]) else "data"
    head = normalized_head(code[head_start:at])
    if re.search(r"\bnamespace\b", head) or re.match(r'extern\s*"', head) or head == "":
        return "scope"
    if TYPE_HEAD.match(head):
        return "scope"
    if re.search(r"(?<![=!<>])=(?!=)", head):
        return "function" if LAMBDA.search(code[max(head_start, at - 300):at]) else "data"
    if re.search(r"\)\s*(?:noexcept\s*(?:\(\))?\s*)?:(?!:)", head):  # a constructor's initialisers
        return "function" if head.endswith((")", "}", "...")) else "data"
    return "function" if FUNCTION_TAIL.search(head) else "data"


def normalized_head(head: str) -> str:
    """Without access labels, attributes, template parameters and what is inside parentheses."""
    head = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", head)
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^()]*\)", " ", head, flags=re.S).strip()
    while head.startswith("template"):
        depth, end = 0, len(head)
        for match in re.finditer(r"[<>]", head):
            depth += 1 if match.group() == "<" else -1
            if depth == 0:
                end = match.end()
                break
        head = head[end:].strip()
    kept, depth = [], 0
    for part in re.split(r"([()])", head):
        depth -= part == ")"
        if depth == 0:
            kept.append(part)
        depth += part == "("
    return re.sub(r"operator\s*(?:\(\)|\[\]|[^\s\w(]+)", "operator_", "".join(kept)).strip()


# Names.


def words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", FIELD_TERMS.sub("", name))
    return [word.lower() for word in re.split(r"[_\-.]", spaced)]


@rule("name")
def check_names(file: SourceFile, _: Project) -> Iterator[Finding]:
    for part in file.path.split("/"):
        for word in BANNED_WORDS.intersection(words(part)):
            yield Finding(1, f"'{part}': '{word}' does not say what is in it")
    declared = (r"\b(?:class|struct|union|enum(?:\s+class)?|concept|namespace|using(?=[^;=]*=))\s+"
                r"(?:\[\[.*?\]\]\s*)?(?!std::)([A-Za-z_][\w:]*)")
    for match in re.finditer(declared, file.plain_code):
        for name in match.group(1).split("::"):
            for word in BANNED_WORDS.intersection(words(name)):
                yield Finding(file.line_of(match.start()),
                              f"'{name}': '{word}' does not say what it is")


# Atomics. A call is an atomic operation when its receiver is declared atomic in this file, in its
# header or source of the same name, or in a header that it includes; or when the call spells a
# memory order; or when it has a name that only atomics have. Other .load( and .store( are not.

ATOMIC_CALL = re.compile(r"(?:\.|->)\s*(load|store|exchange|fetch_(?:add|sub|and|or|xor)"
                         r"|compare_exchange_(?:weak|strong)|test_and_set|wait)\s*\(")
ONLY_ATOMIC = re.compile(r"fetch_|compare_exchange_")
ATOMIC_TYPE = re.compile(r"\b(?:[Aa]tomic|atomic_ref)\s*<")
ATOMIC_PLAIN = re.compile(r"\batomic_(?:bool|flag|u?int\w*|s?size_t|ptrdiff_t)\s+(\w+)")
AFTER_ATOMIC_TYPE = re.compile(r"(?:[\s&*>\[\]]|,\s*[\w:]+(?=\s*>)|\bconst\b)*([A-Za-z_]\w*)")
ORDER = re.compile(r"\bmemory_order(?:_|::)?(\w*)|\b\w*(?:Order|Orders::\w+)\b")
ORDER_WORD = re.compile(r"\b(relaxed|acquire|release|acq_rel|seq_cst|consume)\b")


def closing(code: str, opening: int) -> int:
    """The offset behind the bracket that closes the one at `opening`."""
    left = code[opening]
    right = {"(": ")", "<": ">"}[left]
    depth = 0
    for match in re.compile("[" + left + right + "]").finditer(code, opening):
        depth += 1 if match.group() == left else -1
        if depth == 0:
            return match.end()
    return len(code)


def atomics_declared(file: SourceFile) -> set[str]:
    if "tomic" not in file.code:
        return set()
    code, names = file.plain_code, set(ATOMIC_PLAIN.findall(file.plain_code))
    for match in ATOMIC_TYPE.finditer(code):
        alias = re.search(r"\busing\s+(\w+)\s*=\s*(?:std::)?$", code[:match.start()][-100:])
        if alias:
            names.update(re.findall(r"\b%s\s+(\w+)" % alias.group(1), code))
        name = AFTER_ATOMIC_TYPE.match(code, closing(code, match.end() - 1))
        if name:
            names.add(name.group(1))
    return names


def atomics_visible(file: SourceFile, project: Project) -> set[str]:
    pair = file.path.rsplit(".", 1)[0] + (".cpp" if file.is_header else ".h")
    near = [file] + ([project.files[pair]] if pair in project.files else [])
    near += [target for _, target in project.includes_of(file)]
    return set().union(*(atomics_declared(other) for other in near))


def receiver(code: str, at: int) -> str:
    """The last name before the `.` or `->` at `at`, without subscripts: `a.slots_[i]` -> slots_."""
    text = code[max(0, at - 200):at].rstrip()
    while text.endswith(("]", ")")):
        depth = 0
        for index in range(len(text) - 1, -1, -1):
            depth += (text[index] in "])") - (text[index] in "[(")
            if depth == 0:
                break
        text = text[:index].rstrip()
    name = re.search(r"\w+$", text)
    return name.group() if name else ""


@dataclasses.dataclass(frozen=True)
class AtomicCall:
    name: str
    orders: list[str]  # relaxed, acquire...; "" for one that a constant names
    first_line: int  # of the statement
    last_line: int  # of the call


def atomic_calls(file: SourceFile, project: Project) -> Iterator[AtomicCall]:
    code, visible = file.plain_code, None
    for match in ATOMIC_CALL.finditer(code):
        end = closing(code, match.end() - 1)
        orders = [order.group(1) or "" for order in ORDER.finditer(code, match.end(), end)]
        if not orders and not ONLY_ATOMIC.match(match.group(1)):
            visible = atomics_visible(file, project) if visible is None else visible
            if receiver(code, match.start()) not in visible:
                continue
        before = max(code.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        begin = before + len(code[before:]) - len(code[before:].lstrip())
        yield AtomicCall(match.group(1), orders, file.line_of(begin), file.line_of(end - 1))


def reason(file: SourceFile, first_line: int, last_line: int) -> str:
    """The comments in the statement and directly above it. A run of statements that all name
    memory orders, with no blank line between, shares the comment above its first."""
    parts = [file.comments.get(line, "") for line in range(first_line, last_line + 1)]
    line = first_line - 1
    while line >= 1 and "memory_order" in file.code_lines[line - 1]:
        parts.append(file.comments.get(line, ""))
        line -= 1
    while line >= 1 and line in file.comments and not file.code_lines[line - 1].strip():
        parts.append(file.comments[line])
        line -= 1
    return "\n".join(parts)


@rule("memory-order")
def check_memory_orders(file: SourceFile, project: Project) -> Iterator[Finding]:
    for call in atomic_calls(file, project):
        if not call.orders:
            yield Finding(call.last_line, f".{call.name}() does not spell its std::memory_order")
            continue
        said = set(ORDER_WORD.findall(reason(file, call.first_line, call.last_line)))
        spelled = {order for order in call.orders if order}
        if not said:
            yield Finding(call.first_line, f".{call.name}() has no reason for its memory order: "
                          "on the line above, like `// acquire: pairs with W1 in seal().`")
        elif spelled and not said & spelled:
            yield Finding(call.first_line, f".{call.name}() is {'/'.join(sorted(spelled))}, its "
                          f"comment speaks of {'/'.join(sorted(said))}")


@rule("fence")
def check_fences(file: SourceFile, _: Project) -> Iterator[Finding]:
    for match in re.finditer(r"\batomic_thread_fence\b", file.code):
        yield Finding(file.line_of(match.start()), "an order on the operation, not a fence: "
                      "ThreadSanitizer does not see fences")


# Labels. A header's opening comment defines an invariant as `//   I1  What holds.`; comments cite
# it as (I1), (I1, I2) or (I1 of file.h), the message of a check as "I1: what holds". What is put
# otherwise is not taken for a citation.

LABEL = r"[A-Z]\d{1,2}"
LABEL_DEFINED = re.compile(r"^//\s{2,}(%s)  \S" % LABEL)
LABELS_CITED = re.compile(r"\((%s(?:(?:, |-| and )%s)*)(?: of ([\w/.]+))?\)"
                          % (LABEL, LABEL))
LABEL_CHECKED = re.compile(r'"(%s)(?: of ([\w/.]+))?(?:: |")' % LABEL)


def folder_of(path: str) -> str:
    return path.rpartition("/")[0] + "/"


def labels_defined(file: SourceFile) -> Iterator[tuple[str, int]]:
    for line, comment in file.comments.items():
        defined = LABEL_DEFINED.match(comment)
        if defined and file.is_header:
            yield defined.group(1), line


def labels_cited(file: SourceFile) -> Iterator[tuple[str, str | None, int]]:
    """Label, the file that is said to define it, line."""
    for line, comment in file.comments.items():
        for cited in LABELS_CITED.finditer(comment):
            for label in re.findall(LABEL, cited.group(1)):
                yield label, cited.group(2), line
    for check in re.finditer(r"\bDIPTYCH_D?CHECK(?=\()", file.code):
        end = closing(file.code, check.end())
        for cited in LABEL_CHECKED.finditer(file.text, check.end(), end):
            yield cited.group(1), cited.group(2), file.line_of(cited.start())


@rule("label", of="project")
def check_labels(project: Project) -> Iterator[Finding]:
    """In a folder a label is defined once, and what is cited without a file's name is there."""
    by_folder: dict[str, dict[str, str]] = {}
    files = [file for file in project.files.values()
             if file.is_cpp and file.path.startswith(LABELLED_FOLDERS)]
    for file in files:
        defined = by_folder.setdefault(folder_of(file.path), {})
        for label, line in labels_defined(file):
            if label in defined:
                yield Finding(line, f"{label} is defined in {defined[label]}, too", file.path)
            defined.setdefault(label, file.path)
    for file in files:
        for label, where, line in labels_cited(file):
            home = by_folder[folder_of(file.path)].get(label)
            if where is None and home is None:
                yield Finding(line, f"{label} is defined nowhere in this folder", file.path)
            elif where is not None and where.endswith(".h"):
                named = [other for path, other in project.files.items()
                         if ("/" + path).endswith("/" + where)]
                if not any(label == own for other in named for own, _ in labels_defined(other)):
                    yield Finding(line, f"{label} is not defined in {where}", file.path)


# Headers.


@rule("pragma-once", of="header")
def check_pragma_once(file: SourceFile, _: Project) -> Iterator[Finding]:
    if not re.search(r"^#pragma once$", file.code, re.M):
        yield Finding(1, "a header has #pragma once")


@rule("contract", of="header")
def check_contract(file: SourceFile, _: Project) -> Iterator[Finding]:
    if not file.text.lstrip().startswith("//"):
        yield Finding(1, "a header opens with a comment: what it is, who may call it, what holds")


@rule("using-namespace", of="header")
def check_using_namespace(file: SourceFile, _: Project) -> Iterator[Finding]:
    for match in re.finditer(r"\busing\s+namespace\b", file.code):
        yield Finding(file.line_of(match.start()), "no `using namespace` in a header")


@rule("own-header")
def check_own_header(file: SourceFile, project: Project) -> Iterator[Finding]:
    """Its source compiles a header alone; those without one are for cmake/DiptychBuild.cmake."""
    header = file.path.removesuffix(".cpp") + ".h"
    if file.is_header or header not in project.files:
        return
    if not file.includes or file.includes[0].path != header:
        line = file.includes[0].line if file.includes else 1
        yield Finding(line, f"the first include of a source is its own header, {header}")


# Text.


@rule("unfinished", of="text")
def check_unfinished(file: SourceFile, _: Project) -> Iterator[Finding]:
    for match in re.finditer(r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b", file.text):
        yield Finding(file.line_of(match.start()), f"{match.group()}: do it, or open an issue")


@rule("divider", of="text")
def check_dividers(file: SourceFile, _: Project) -> Iterator[Finding]:
    """A run of one mark right behind the comment's opening; a drawing begins further in."""
    if file.suffix not in CODE_SUFFIXES:
        return
    opening = "//|/\\*" if file.is_cpp else "#"
    for match in re.finditer(r"^[ \t]*(?:%s)[ \t]?([-=*~#/_])\1{3,}" % opening, file.text, re.M):
        yield Finding(file.line_of(match.start()), "no divider comments")


@rule("machine-path", of="text")
def check_machine_paths(file: SourceFile, _: Project) -> Iterator[Finding]:
    for match in re.finditer(r"(?<![\w.}])/(?:work|root|home)/", file.text):
        yield Finding(file.line_of(match.start()), f"{match.group()} is a path of one machine")


@rule("shared-ptr")
def check_shared_ptr(file: SourceFile, _: Project) -> Iterator[Finding]:
    if not file.path.startswith(DATA_PATH_FOLDERS):
        return
    for match in re.finditer(r"\b(?:shared_ptr|make_shared)\b", file.plain_code):
        line = file.line_of(match.start())
        if not re.search(r"shared_ptr: \S", file.comments.get(line, "")):
            yield Finding(line, "a value, a unique_ptr or a reference; where it must be shared, "
                          "say why on this line: `// shared_ptr: reason`")


@rule("readme", of="project")
def check_readmes(project: Project) -> Iterator[Finding]:
    for folder in FOLDERS_WITH_README:
        if (project.root / folder).is_dir() and f"{folder}/README.md" not in project.files:
            yield Finding(1, "the folder has no README.md", f"{folder}/README.md")


def findings(project: Project) -> Iterator[Finding]:
    for name, function in RULES:
        takes = function.rule_of
        if takes == "project":
            for found in function(project):
                yield dataclasses.replace(found, rule=name)
            continue
        for file in project.files.values():
            if takes == "text" or (file.is_header if takes == "header" else file.is_cpp):
                for found in function(file, project):
                    yield dataclasses.replace(found, rule=name, path=file.path)


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0 if len(arguments) == 1 else 2
    own = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(arguments[0]) if arguments else own
    if not (root / "base").is_dir():
        print(f"check_source: {root} has no folder base/: it is not the project", file=sys.stderr)
        return 2
    project = Project(root)
    found = sorted(findings(project), key=lambda each: (each.path, each.line, each.rule))
    for each in found:
        print(f"{each.path}:{each.line}: {each.rule}: {each.message}")
    if not found:
        print(f"{len(project.files)} files keep {len(RULES)} rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
