"""The expected results of tests/sql/*.slt against DuckDB's: they are SQL's, not this engine's.

Each file runs on a new database of DuckDB's. Records that are to fail are left out: what is an
error differs between engines. `skipif duckdb` leaves out what differs on purpose.

Environment: DIPTYCH_VENV_PYTHON, a Python with duckdb (tools/test makes one).
"""

import datetime
import decimal
import pathlib
import re
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import virtual_environment  # noqa: E402


def records(text):
    """(line, words of the first line, SQL, expected lines or None) of what DuckDB is to run."""
    line = 1
    skip = False
    for block in re.split(r"\n[ \t]*(?=\n)", text):
        rows = [(line + i, row) for i, row in enumerate(block.split("\n"))]
        line += len(rows)
        rows = [(at, row) for at, row in rows if row.strip() and not row.startswith("#")]
        while rows and rows[0][1].split()[0] in ("skipif", "onlyif"):
            how, engine = rows.pop(0)[1].split()[:2]
            skip = skip or (how == "skipif") == (engine == "duckdb")
        if not rows:
            continue
        if not skip:
            texts = [row for _, row in rows[1:]]
            end = texts.index("----") if "----" in texts else len(texts)
            expected = texts[end + 1:] if end < len(texts) else None
            yield rows[0][0], rows[0][1].split(), "\n".join(texts[:end]), expected
        skip = False


def rounded(value):
    return str(decimal.Decimal(value).quantize(decimal.Decimal("0.001"),
                                               rounding=decimal.ROUND_HALF_UP))


def shown(value, kind):
    """As cli/test_values.h says."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return re.sub(r"[^ -~]", "@", value) or "(empty)"
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if kind == "I":
        return str(int(value))
    if kind == "R":
        return f"{value:.3f}" if isinstance(value, float) else rounded(value)
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def arranged(rows, sort):
    if sort == "rowsort":
        rows = sorted(rows)
    values = [value for row in rows for value in row]
    return sorted(values) if sort == "valuesort" else values


def expected_values(lines, columns, sort):
    if columns > 1 and all(line.count("\t") == columns - 1 for line in lines):
        return arranged([line.split("\t") for line in lines], sort)
    return arranged([lines[i:i + columns] for i in range(0, len(lines), columns)], sort)


class SltDuckdbTest(unittest.TestCase):
    def run_file(self, path):
        import duckdb

        connection = duckdb.connect()
        queries = 0
        for line, words, sql, expected in records(path.read_text()):
            if words[0] == "statement" and words[1] == "ok":
                # Foreign keys are declared for joins here, and not enforced.
                connection.execute(re.sub(r"REFERENCES \w+ \(\w+\)", "", sql))
            elif words[0] == "query" and expected is not None:
                sort = words[2] if len(words) > 2 else "nosort"
                rows = [[shown(value, kind) for value, kind in zip(row, words[1], strict=True)]
                        for row in connection.execute(sql).fetchall()]
                with self.subTest(place=f"{path.name}:{line}"):
                    self.assertEqual(expected_values(expected, len(words[1]), sort),
                                     arranged(rows, sort), sql)
                queries += 1
        connection.close()
        return queries

    def test_every_expected_result_is_duckdbs_too(self):
        files = sorted(FOLDER.glob("*.slt"))
        queries = sum(self.run_file(path) for path in files)
        self.assertGreater(queries, 150)


def main():
    if not virtual_environment.enter():
        return 0
    unittest.main(verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
