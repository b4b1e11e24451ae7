"""DuckDB beside the program: the same data in both, and their answers in one form.

Used by tools/compare-duckdb and by the differential tests.
"""

import argparse
import collections
import contextlib
import datetime
import decimal
import enum
import json
import math
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORKLOADS = ROOT / "workloads"
TABLES = ("region nation supplier item warehouse district stock customer history orders neworder"
          " orderline").split()
REGIONS = ("Africa", "America", "Asia", "Europe")
NATIONS = ("Germany", "Japan", "Zimbabwe", "Algeria")
SANITIZER = re.compile(r"\b(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer\b"
                       r"|: runtime error: ")


def batch_results(done):
    """What a `diptych query --format json` that has ended printed. Its exit code is 1 where a
    statement has an error, and 0 otherwise: what ended in another way, in a crash after the
    results too, or complained after them, is a RuntimeError."""
    results = None
    if done.stdout.startswith("["):
        with contextlib.suppress(json.JSONDecodeError):
            results = json.loads(done.stdout, parse_float=decimal.Decimal)
    _, told, complaint = done.stderr.rpartition("\nbatch: ")
    complaint = complaint.partition("\n")[2].strip() if told else ""
    why = None
    if results is None:
        why = f"no JSON: {done.stdout[:500]}"
    elif done.returncode != any("error" in result for result in results):
        why = "another exit code than the results have"
    elif complaint or SANITIZER.search(done.stderr):
        why = "a complaint beside the results"
    if why:
        raise RuntimeError(f"exit {done.returncode}, {why}\n{done.stderr[-2000:]}")
    return results


class Program:
    """The `diptych` binary on one database."""

    def __init__(self, binary, path):
        self.binary = binary
        self.path = path

    def run(self, *arguments):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, done.args))}: exit {done.returncode}\n"
                               f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def query(self, statements, seconds_max=None, parameters=(), threads=None):
        """One object per statement: columns and rows, or an error, as of one that takes longer."""
        options = [] if seconds_max is None else ["--timeout", str(int(seconds_max * 1000))]
        if threads is not None:
            options += ["--threads", str(threads)]
        for parameter in parameters:
            options += ["--param", parameter]
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(";\n".join(statements))
            script.flush()
            return batch_results(subprocess.run(
                [self.binary, "query", self.path, "-f", script.name, "--format", "json", *options],
                capture_output=True, text=True))


def numbers(text):
    """Of an option."""
    values = [int(part) for part in text.split(",") if part]
    if any(value < 1 for value in values):
        raise argparse.ArgumentTypeError("numbers from 1 on, with commas between them")
    return values


def ch_queries():
    """(name, text) of the 22, in their order."""
    return [(file.stem, file.read_text().strip())
            for file in sorted((WORKLOADS / "queries/ch").glob("*.sql"))]


def templates():
    return [(file.stem, file.read_text().strip())
            for file in sorted((WORKLOADS / "queries/templates").glob("*.sql"))]


def duckdb_schema():
    """schema.sql without what DuckDB cannot use: indexes, storage options, foreign keys."""
    text = re.sub(r"--[^\n]*", "", (WORKLOADS / "tpcc/schema.sql").read_text())
    statements = []
    for statement in text.split(";"):
        if not statement.strip().startswith("CREATE TABLE"):
            continue
        statement = re.sub(r"\)\s*WITH \(.*\)\s*$", ")", statement.strip(), flags=re.DOTALL)
        statement = re.sub(r",\s*FOREIGN KEY \([^)]*\) REFERENCES \w+ \([^)]*\)", "", statement)
        statements.append(re.sub(r",\s*PRIMARY KEY \([^)]*\)", "", statement))
    return statements


def literal(text):
    """A value of SQL's."""
    return "'" + str(text).replace("'", "''") + "'"


def copy_csv(connection, table, csv):
    """A CSV file of ours into a table of DuckDB's: bare empty fields are NULL."""
    connection.execute(f"copy {table} from {literal(csv)} (format csv, header true, nullstr '', "
                       "allow_quoted_nulls false)")


def template_text(text, draw, nations=NATIONS, regions=REGIONS):
    """A template with parameters in the paper's ranges."""
    values = {}

    def value(match):
        name = match.group(1)
        if name not in values:
            kind = re.match("[A-Z]+", name).group(0)
            values[name] = {
                "NNAME": lambda: draw.choice(nations),
                "RNAME": lambda: draw.choice(regions),
                "CHAR": lambda: draw.choice("abcdefghijklmnopqrstuvwxyz"),
                "DATE": lambda: f"{draw.randint(1993, 1997)}-{draw.randint(1, 12):02}-01",
                "PRICE": lambda: str(draw.randint(0, 100)),
                "QUANTITY": lambda: str(draw.randint(0, 10)),
            }[kind]()
        return values[name]

    return re.sub(r"\[([A-Z_0-9]+)\]", value, text)


class Truth(enum.Enum):
    """A BOOLEAN, which Python takes for the number 0 or 1."""

    FALSE = False
    TRUE = True


# What plain() leaves as it is: asked first, since most of millions of values are such.
PLAIN = frozenset((int, float, decimal.Decimal, str, type(None)))


def plain(value):
    """A value of either engine in one form."""
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, datetime.datetime):
        text = value.isoformat(" ")
        return text.rstrip("0") if value.microsecond else text
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def plain_rows(rows):
    """Rows that can be compared and counted, whichever engine they are of."""
    return [tuple(value if type(value) in PLAIN else plain(value) for value in row)
            for row in rows]


def is_quotient(number):
    """Such have 16 digits or places at least; how many more, engines differ on."""
    parts = number.as_tuple()
    if not number.is_finite() or parts.exponent >= 0:
        return False
    return parts.exponent <= -16 or len(parts.digits) >= 16


def equal(ours, theirs, inexact):
    if ours is None or theirs is None:
        return ours is None and theirs is None
    if isinstance(ours, bool) != isinstance(theirs, bool):
        return False
    numbers = (int, float, decimal.Decimal)
    if isinstance(ours, numbers) and isinstance(theirs, numbers):
        if inexact or isinstance(theirs, float):
            return math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=1e-9)
        one, other = decimal.Decimal(ours), decimal.Decimal(theirs)
        return one == other or (is_quotient(one) and is_quotient(other) and
                                math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12))
    return ours == theirs


def sort_key(row):
    """Numbers are rounded, so that two doubles that are equal enough sort alike; -0 is 0. Rows of
    which all values are equal then sort by these as they are."""
    rounded, exact = [], []
    for value in row:
        if value is None:
            rounded.append((2, ""))
        elif isinstance(value, str):
            rounded.append((1, value))
        else:
            number = float(value.value if isinstance(value, Truth) else value)
            rounded.append((0, f"{round(number, 6) + 0.0:+030.6f}"))
            exact.append(number)
    return rounded, exact


def other_widths(result, rows, width=None):
    """How many columns rows of either side have, or the peer's answer, where that is not how many
    our result names; empty where all have as many."""
    widths = {len(row) for row in result["rows"]} | {len(row) for row in rows}
    return (widths | {width}) - {len(result["columns"]), None}


def difference(result, rows, width=None):
    """What differs between one of our results and a peer's rows, in any order; None if nothing.
    width: of how many columns the peer's answer is, which without rows nothing else tells."""
    if "error" in result:
        return result["error"]
    widths = other_widths(result, rows, width)
    if widths:
        return f"{len(result['columns'])} columns against {', '.join(map(str, sorted(widths)))}"
    ours = collections.Counter(plain_rows(result["rows"]))
    theirs = collections.Counter(plain_rows(rows))
    if ours.total() != theirs.total():
        return f"{ours.total()} rows against {theirs.total()}"
    # Most rows are the same in both: only the others are worth sorting.
    ours, theirs = (sorted(some.elements(), key=sort_key)
                    for some in (ours - theirs, theirs - ours))
    for a, b in zip(ours, theirs, strict=True):
        for column, x, y in zip(result["columns"], a, b, strict=True):
            if not equal(x, y, column["type"] == "DOUBLE"):
                return f"column {column['name']}: {x} against {y}, of rows {a} and {b}"
    return None


def duckdb_answer(connection, sql):
    """(rows, width) as difference() takes them."""
    rows = connection.execute(sql).fetchall()
    return rows, len(connection.description)
