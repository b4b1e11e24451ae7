"""The answers of tests/olap/answers/*.test against PostgreSQL's: they are SQL's, not this engine's.

Every statement runs on a server of its own with the tables that stand there, but those whose
comment says "differs", which are answered otherwise on purpose.

Usage: answers_postgres_test.py [--record]
  --record  writes PostgreSQL's answers into the files where others stand, or none yet

Environment: DIPTYCH_VENV_PYTHON, a Python with psycopg (tools/test makes one).
"""

import decimal
import itertools
import math
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ANSWERS = FOLDER.parent / "olap/answers"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import virtual_environment  # noqa: E402
from postgres_peer import NotInstalled, Server  # noqa: E402

BOOL = 16  # PostgreSQL's number of the type
STATEMENT_SECONDS_MAX = 20


class Statement:
    """Comments, "query [ordered]" or "error STATE", the SQL, "----" and the rows."""

    def __init__(self, lines):
        self.comments = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
        self.header, *text = lines[len(self.comments):] or [""]
        end = text.index("----") if "----" in text else len(text)
        self.sql, self.rows = "\n".join(text[:end]), text[end + 1:]

    def is_compared(self):
        """A comment may stand alone."""
        return self.header != "" and not any("differs" in comment for comment in self.comments)

    def text(self):
        lines = [*self.comments, *([self.header, self.sql] if self.header else [])]
        if self.header.startswith("query"):
            lines += ["----", *self.rows]
        return "\n".join(lines) + "\n"


def statements(path):
    blocks = re.split(r"\n\n+", path.read_text().strip("\n"))
    return [Statement(block.split("\n")) for block in blocks]


def make_tables(connection):
    connection.execute((ANSWERS / "tables.sql").read_text())
    for path in sorted(ANSWERS.glob("*.csv")):
        with connection.cursor() as cursor:
            how = "(FORMAT csv, DELIMITER '|', NULL 'NULL')"
            with cursor.copy(f"COPY {path.stem} FROM STDIN {how}") as copy:
                copy.write(path.read_bytes())


def cell(value, of):
    if value is None:
        return "NULL"
    text = value.decode()
    return {"t": "true", "f": "false"}[text] if of == BOOL else text


def answer(server, connection, sql):
    """(header, rows) as the files have them."""
    try:
        result = connection.execute(sql).pgresult
    except server.psycopg.Error as error:
        return f"error {error.sqlstate}", []
    rows = ["|".join(cell(result.get_value(row, column), result.ftype(column))
                     for column in range(result.nfields)) or "(empty)"
            for row in range(result.ntuples)]
    return "query", rows


def number(text):
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None


def sort_key(row):
    return [text if number(text) is None else f"{number(text):.9e}" for text in row.split("|")]


def same_cell(one, other):
    """Up to zeros at the end of numbers, and the last digits of doubles and quotients."""
    a, b = number(one), number(other)
    if one == other or a is None or b is None or not (a.is_finite() and b.is_finite()):
        return one == other
    return a == b or (min(len(one), len(other)) >= 15 and
                      math.isclose(float(a), float(b), rel_tol=1e-12))


def is_same(statement, header, rows):
    if header.split()[0] != statement.header.split()[0] or len(rows) != len(statement.rows):
        return False
    if header.startswith("error"):
        return header == statement.header
    sides = (statement.rows, rows)
    if statement.header != "query ordered":
        sides = [sorted(side, key=sort_key) for side in sides]
    return all(len(a.split("|")) == len(b.split("|")) and
               all(map(same_cell, a.split("|"), b.split("|"))) for a, b in zip(*sides))


def compare(server, connection, path, record):
    """How many statements were compared, and how many have another answer."""
    compared = different = 0
    asked = statements(path)
    for statement in asked:
        if not statement.is_compared():
            continue
        compared += 1
        header, rows = answer(server, connection, statement.sql)
        if is_same(statement, header, rows):
            continue
        different += 1
        print(f"\n{path.name}: {statement.sql}\nPostgreSQL: {header}", *rows,
              f"here: {statement.header}", *statement.rows, sep="\n")
        if header != statement.header.removesuffix(" ordered"):
            statement.header = header
        statement.rows = rows if statement.header == "query ordered" else sorted(rows)
    if record and different:
        path.write_text("\n".join(statement.text() for statement in asked))
    return compared, different


def main():
    if not virtual_environment.enter():
        return 0
    try:
        server = Server()
    except NotInstalled as reason:
        print(f"SKIPPED: {reason}")
        return 0
    connection = server.connect()
    make_tables(connection)
    connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS_MAX}s'")
    counts = [compare(server, connection, path, "--record" in sys.argv[1:])
              for path in sorted(ANSWERS.glob("*.test"))]
    version = connection.info.server_version // 10000
    connection.close()
    compared, different = map(sum, zip(*counts))
    print(f"{compared} answers compared with those of PostgreSQL {version}, {different} differ")
    return 1 if different or compared < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
