"""The program's answers against DuckDB's, on the same data.

A small database is made by `diptych bench ch --keep`, so that transactions have run on it; its
tables are exported with `diptych query --format csv`, loaded into DuckDB, and every CH query, every
template and a set of further queries runs on both. Each CH query has an answer that an engine which
finds nothing would not give: no column is NULL or 0 in all rows.

Environment: DIPTYCH_PROGRAM, the binary; DIPTYCH_VENV_PYTHON, a Python with duckdb (tools/test
makes one): this script runs itself with it.
"""

import datetime
import decimal
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "workloads"
SEED = 31  # a population in which Q08 and Q20, which hang on a few items and suppliers, find rows
TABLES = ("region nation supplier item warehouse district stock customer history orders neworder"
          " orderline").split()

# One or more per construct of the SQL that the engine supports.
FURTHER_QUERIES = pathlib.Path(__file__).with_name("duckdb_differential_queries.sql")


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

    def query(self, statements):
        """One object per statement: columns and rows, or an error."""
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(";\n".join(statements))
            script.flush()
            done = subprocess.run(
                [self.binary, "query", self.path, "-f", script.name, "--format", "json"],
                capture_output=True, text=True)
        if not done.stdout.startswith("["):
            raise RuntimeError(f"no JSON: {done.stdout[:500]} {done.stderr[-2000:]}")
        return json.loads(done.stdout, parse_float=decimal.Decimal)


def further_statements():
    text = re.sub(r"--[^\n]*", "", FURTHER_QUERIES.read_text())
    return [statement.strip() for statement in text.split(";") if statement.strip()]


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


def template_text(text, draw):
    """A template with parameters in the paper's ranges."""
    values = {}

    def value(match):
        name = match.group(1)
        if name not in values:
            kind = re.match("[A-Z]+", name).group(0)
            values[name] = {
                "NNAME": lambda: draw.choice(["Germany", "Japan", "Zimbabwe", "Algeria"]),
                "RNAME": lambda: draw.choice(["Africa", "America", "Asia", "Europe"]),
                "CHAR": lambda: draw.choice("abcdefghijklmnopqrstuvwxyz"),
                "DATE": lambda: f"{draw.randint(1993, 1997)}-{draw.randint(1, 12):02}-01",
                "PRICE": lambda: str(draw.randint(0, 100)),
                "QUANTITY": lambda: str(draw.randint(0, 10)),
            }[kind]()
        return values[name]

    return re.sub(r"\[([A-Z_0-9]+)\]", value, text)


def plain(value):
    """A value of either engine in one form."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return decimal.Decimal(value)
    return value


def equal(ours, theirs, inexact):
    if ours is None or theirs is None:
        return ours is None and theirs is None
    numbers = (int, float, decimal.Decimal)
    if isinstance(ours, numbers) and isinstance(theirs, numbers):
        if inexact or isinstance(theirs, float):
            return math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=1e-9)
        return decimal.Decimal(ours) == decimal.Decimal(theirs)
    return ours == theirs


def sort_key(row):
    """Numbers are rounded, so that two doubles that are equal enough sort alike."""
    key = []
    for value in row:
        if value is None:
            key.append((2, ""))
        elif isinstance(value, str):
            key.append((1, value))
        else:
            key.append((0, f"{float(value):+030.6f}"))
    return key


def tells_something(rows):
    """Whether no column is NULL, 0 or empty in all rows."""
    return bool(rows) and all(any(column) for column in zip(*rows))


def order_columns(sql, names):
    """Positions of the output columns that the last ORDER BY names, as far as they are found."""
    match = re.search(r"order\s+by\s+((?:(?!order\s+by).)*)$", sql, re.IGNORECASE | re.DOTALL)
    if not match:
        return []
    positions = []
    items = re.sub(r"\blimit\b.*", "", match.group(1), flags=re.I | re.S)
    for item in re.split(r",(?![^(]*\))", items):
        word = re.sub(r"\s+(asc|desc)$", "", item.strip(), flags=re.IGNORECASE)
        if word.isdigit():
            positions.append(int(word) - 1)
        elif word in names:
            positions.append(names.index(word))
        else:
            break
    return positions


class DuckdbDifferentialTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import duckdb

        cls.folder = tempfile.TemporaryDirectory(prefix="diptych-duckdb-")
        path = pathlib.Path(cls.folder.name) / "db"
        cls.program = Program(os.environ["DIPTYCH_PROGRAM"], path)
        cls.program.run("bench", "ch", "--warehouses", 1, "--transaction-clients", 8,
                        "--query-clients", 0, "--seconds", 0.3, "--warmup", 0, "--seed", SEED,
                        "--keep", path)
        cls.duckdb = duckdb.connect()
        for statement in duckdb_schema():
            cls.duckdb.execute(statement)
        for table, text in zip(TABLES, cls.export_tables(), strict=True):
            csv = pathlib.Path(cls.folder.name) / f"{table}.csv"
            csv.write_text(text)
            cls.duckdb.execute(f"copy {table} from '{csv}' (format csv, header true, nullstr '', "
                               "allow_quoted_nulls false)")
            csv.unlink()

    @classmethod
    def export_tables(cls):
        """In one run of the program, which has to open the database. No row of theirs is empty."""
        statements = [part for table in TABLES for part in ("-c", f"select * from {table}")]
        text = cls.program.run("query", cls.program.path, "--format", "csv", *statements)
        return [csv + "\n" for csv in text.rstrip("\n").split("\n\n")]

    @classmethod
    def tearDownClass(cls):
        cls.duckdb.close()
        cls.folder.cleanup()

    def compare(self, named):
        """named: (name, sql) pairs. Gives the names whose answers tell nothing."""
        telling_nothing = []
        results = self.program.query([sql for _, sql in named])
        self.assertEqual(len(results), len(named))
        for (name, sql), result in zip(named, results):
            with self.subTest(query=name):
                self.assertNotIn("error", result, sql)
                self.compare_rows(sql, result)
                if not tells_something(result["rows"]):
                    telling_nothing.append(name)
        return telling_nothing

    def compare_rows(self, sql, result):
        ours = [[plain(value) for value in row] for row in result["rows"]]
        theirs = [[plain(value) for value in row] for row in self.duckdb.execute(sql).fetchall()]
        names = [column["name"] for column in result["columns"]]
        inexact = [column["type"] == "DOUBLE" for column in result["columns"]]
        self.assertEqual(len(ours), len(theirs), f"rows of {sql}")
        for position in order_columns(sql, names):
            for row, (a, b) in enumerate(zip(ours, theirs)):
                self.assertTrue(equal(a[position], b[position], inexact[position]),
                                f"order of row {row}: {a} against {b} in {sql}")
        pairs = zip(sorted(ours, key=sort_key), sorted(theirs, key=sort_key))
        for row, (a, b) in enumerate(pairs):
            for column, (x, y) in enumerate(zip(a, b)):
                self.assertTrue(equal(x, y, inexact[column]),
                                f"row {row}, column {names[column]}: {x} against {y} in {sql}")

    def test_data_is_that_of_a_database_that_transactions_ran_on(self):
        count = lambda sql: self.duckdb.execute(sql).fetchone()[0]
        self.assertGreater(count("select count(*) from orders"), 30_000)
        self.assertGreater(count("select sum(s_order_cnt) from stock"), 0)
        self.assertGreater(
            count("select count(*) from orderline where ol_delivery_d > "
                  "timestamp '2011-01-01 00:50:00'"), 0)
        self.assertEqual(count("select count(*) from item"), 100_000)

    def test_ch_queries(self):
        named = [(file.stem, file.read_text().strip())
                 for file in sorted((WORKLOADS / "queries/ch").glob("*.sql"))]
        self.assertEqual(len(named), 22)
        # Q22 asks for customers without an order, of whom a database that grows has none.
        self.assertEqual(self.compare(named), ["Q22"])

    def test_q22_finds_customers_without_an_order(self):
        sql = (WORKLOADS / "queries/ch/Q22.sql").read_text().strip()
        folder = pathlib.Path(self.folder.name)
        copy = Program(self.program.binary, folder / "copy")
        shutil.copytree(self.program.path, copy.path)
        customers = folder / "customers.csv"
        self.duckdb.begin()
        self.duckdb.execute("insert into customer select * replace (c_id + 3000 as c_id, "
                            "1000000 + c_id as c_balance) from customer where c_id <= 50")
        self.duckdb.execute(f"copy (select * from customer where c_id > 3000) to '{customers}' "
                            "(header true)")
        copy.run("load", copy.path, "customer", customers)
        result, = copy.query([sql])
        self.compare_rows(sql, result)
        self.duckdb.rollback()
        self.assertTrue(tells_something(result["rows"]), result)

    def test_templates(self):
        draw = random.Random(SEED)
        named = []
        for file in sorted((WORKLOADS / "queries/templates").glob("*.sql")):
            for run in range(3):
                text = template_text(file.read_text().strip(), draw)
                named.append((f"{file.stem} run {run}", text))
        self.assertEqual(len(named), 3 * 14)
        self.compare(named)

    def test_further_queries(self):
        statements = further_statements()
        named = [(f"further {i + 1}", sql) for i, sql in enumerate(statements)]
        self.compare(named)

    def test_a_wrong_answer_is_noticed(self):
        queries = ["select sum(ol_amount) from orderline",
                   "select o_d_id, o_id from orders order by o_id desc, o_d_id limit 7",
                   "select avg(ol_amount) from orderline where ol_o_id = 1"]
        results = self.program.query(queries)
        self.duckdb.begin()
        self.duckdb.execute("update orderline set ol_amount = ol_amount + 0.01 where ol_o_id = 1")
        self.duckdb.execute("delete from orders where o_id = (select max(o_id) from orders)")
        for sql, result in zip(queries, results):
            with self.assertRaises(AssertionError, msg=sql):
                self.compare_rows(sql, result)
        self.duckdb.rollback()
        for sql, result in zip(queries, results):
            self.compare_rows(sql, result)

    def test_consistency_queries_find_nothing_in_either(self):
        files = sorted((WORKLOADS / "queries/consistency").glob("*.sql"))
        self.assertEqual(len(files), 12)
        results = self.program.query([file.read_text().strip() for file in files])
        for file, result in zip(files, results):
            self.assertEqual(result.get("rows"), [], f"{file.stem}: {result}")
            self.assertEqual(self.duckdb.execute(file.read_text()).fetchall(), [], file.stem)


def main():
    python = os.environ.get("DIPTYCH_VENV_PYTHON")
    if not python:
        print("SKIPPED: DIPTYCH_VENV_PYTHON is not set (tools/test makes a virtual environment "
              "with duckdb and sets it)")
        return 0
    if os.path.realpath(sys.prefix) != os.path.realpath(pathlib.Path(python).parent.parent):
        os.execv(python, [python, *sys.argv])
    if "DIPTYCH_PROGRAM" not in os.environ:
        print("DIPTYCH_PROGRAM must name the diptych binary", file=sys.stderr)
        return 2
    unittest.main(verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
