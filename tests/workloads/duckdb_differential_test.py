"""The program's answers against DuckDB's, on the same data.

A small database is made by `diptych bench ch --keep`, so that transactions have run on it; its
tables are exported with `diptych query --format csv`, loaded into DuckDB, and every CH query, every
template and a set of further queries runs on both. Each CH query has an answer that an engine which
finds nothing would not give: no column is NULL or 0 in all rows.

Environment: DIPTYCH_PROGRAM, the binary; DIPTYCH_VENV_PYTHON, a Python with duckdb (tools/test
makes one): this script runs itself with it.
"""

import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import virtual_environment  # noqa: E402
from duckdb_peer import (TABLES, WORKLOADS, Program, ch_queries, copy_csv, difference,  # noqa: E402
                         duckdb_answer, duckdb_schema, equal, plain_rows, template_text, templates)
from query_order import order_columns  # noqa: E402

SEED = 31  # a population in which Q08 and Q20, which hang on a few items and suppliers, find rows

# What queries order by and do not put out, and why that leaves one order of all of their rows.
HIDDEN_KEYS = {"n_name": "a key of nation, each of whose rows comes once"}

# One or more per construct of the SQL that the engine supports.
FURTHER_QUERIES = pathlib.Path(__file__).with_name("duckdb_differential_queries.sql")


def further_statements():
    text = re.sub(r"--[^\n]*", "", FURTHER_QUERIES.read_text())
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def tells_something(rows):
    """Whether no column is NULL, 0 or empty in all rows."""
    return bool(rows) and all(any(column) for column in zip(*rows))


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
            copy_csv(cls.duckdb, table, csv)
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
        for (name, sql), result in zip(named, results, strict=True):
            with self.subTest(query=name):
                self.assertNotIn("error", result, sql)
                self.compare_rows(sql, result)
                if not tells_something(result["rows"]):
                    telling_nothing.append(name)
        return telling_nothing

    def compare_rows(self, sql, result):
        rows, width = duckdb_answer(self.duckdb, sql)
        positions = self.order_positions(sql, result)
        differs = difference(result, rows, width)
        self.assertIsNone(differs, f"{differs} in {sql}")
        ours, theirs = plain_rows(result["rows"]), plain_rows(rows)
        inexact = [column["type"] == "DOUBLE" for column in result["columns"]]
        for row, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            self.assertTrue(all(equal(a[i], b[i], inexact[i]) for i in positions),
                            f"order of row {row}: {a} against {b} in {sql}")

    def order_positions(self, sql, result):
        """Of the columns whose values come in one order."""
        columns = order_columns(sql, [column["name"] for column in result["columns"]])
        hidden = {column for column in columns if isinstance(column, str)}
        self.assertLessEqual(hidden, HIDDEN_KEYS.keys(), f"what {sql} orders by is no column")
        return range(len(result["columns"])) if hidden else columns

    def test_data_is_that_of_a_database_that_transactions_ran_on(self):
        count = lambda sql: self.duckdb.execute(sql).fetchone()[0]
        self.assertGreater(count("select count(*) from orders"), 30_000)
        self.assertGreater(count("select sum(s_order_cnt) from stock"), 0)
        self.assertGreater(
            count("select count(*) from orderline where ol_delivery_d > "
                  "timestamp '2011-01-01 00:50:00'"), 0)
        self.assertEqual(count("select count(*) from item"), 100_000)

    def test_ch_queries(self):
        named = ch_queries()
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
        for name, text in templates():
            for run in range(3):
                named.append((f"{name} run {run}", template_text(text, draw)))
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
        for sql, result in zip(queries, results, strict=True):
            with self.assertRaises(AssertionError, msg=sql):
                self.compare_rows(sql, result)
        self.duckdb.rollback()
        for sql, result in zip(queries, results, strict=True):
            self.compare_rows(sql, result)

    def test_a_wrong_order_is_noticed(self):
        queries = ["select o_id as number, o_d_id from orders where o_id < 4 "
                   "order by orders.o_d_id, number desc",
                   "select sum(o_ol_cnt), o_d_id % 5 from orders group by o_d_id % 5 "
                   "order by o_d_id % 5",
                   "select length(n_name), n_nationkey from nation order by n_name limit 9"]
        for sql, result in zip(queries, self.program.query(queries), strict=True):
            self.compare_rows(sql, result)
            result["rows"][1:3] = reversed(result["rows"][1:3])
            with self.assertRaisesRegex(AssertionError, "order of row 1", msg=sql):
                self.compare_rows(sql, result)

    def test_consistency_queries_find_nothing_in_either(self):
        files = sorted((WORKLOADS / "queries/consistency").glob("*.sql"))
        self.assertEqual(len(files), 12)
        results = self.program.query([file.read_text().strip() for file in files])
        for file, result in zip(files, results, strict=True):
            self.assertEqual(result.get("rows"), [], f"{file.stem}: {result}")
            self.assertEqual(self.duckdb.execute(file.read_text()).fetchall(), [], file.stem)


def main():
    if not virtual_environment.enter():
        return 0
    if "DIPTYCH_PROGRAM" not in os.environ:
        print("DIPTYCH_PROGRAM must name the diptych binary", file=sys.stderr)
        return 2
    unittest.main(verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
