"""What tools/compare-tpcds runs: the 99 queries of TPC-DS, here and on DuckDB.

Data     and the queries' texts are of DuckDB's extension `tpcds`: generate_tpcds.py makes them.
         Both sides load the same CSV files. Only ours have primary keys, which they need; DuckDB's
         queries take as long with them.
Answers  of every query are compared, before anything is measured; one that differs is not. Their
         order counts, and what a LIMIT may leave open does not: ordered_answer.py.
Times    are those of tools/compare-tpch, whose --help explains them: of each query alone, of its
         execution without parsing and planning, the least of --rounds.
"""

import contextlib
import json
import shutil
import subprocess
import sys

import side_by_side
from duckdb_peer import ROOT, copy_csv
from ordered_answer import ordered_difference

SCALE_MIN = 0.01  # the generator does not come to its end with 0.005
# Of the other tables the first column is the key.
KEYS = {
    "catalog_returns": ("cr_item_sk", "cr_order_number"),
    "catalog_sales": ("cs_item_sk", "cs_order_number"),
    "inventory": ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"),
    "store_returns": ("sr_item_sk", "sr_ticket_number"),
    "store_sales": ("ss_item_sk", "ss_ticket_number"),
    "web_returns": ("wr_item_sk", "wr_order_number"),
    "web_sales": ("ws_item_sk", "ws_order_number"),
}


def generated(scale, data):
    """(tables, queries): of each table its columns as generate_tpcds.py gives them, and the pairs
    of names and texts. The folder has a CSV file of each table then."""
    python = data.parent / "venv/bin/python"
    done = subprocess.run([python, ROOT / "tools/generate_tpcds.py", "--scale", str(scale),
                           "--folder", data], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit("tools/compare-tpcds: the data could not be made; the message is above.")
    made = json.loads(done.stdout)
    return made["tables"], [(f"q{number:02}", text.strip().rstrip("; \n"))
                            for number, text in made["queries"]]


def created(table, columns, constraint=""):
    """The CREATE TABLE; columns that cannot be NULL are the key's and those said to be so."""
    key = KEYS.get(table, (columns[0][0],))
    parts = [f"{name} {'TEXT' if kind == 'VARCHAR' else kind}"
             f"{'' if can_be_null and name not in key else ' NOT NULL'}"
             for name, kind, can_be_null in columns]
    if constraint:
        parts.append(f"{constraint} ({', '.join(key)})")
    return f"CREATE TABLE {table} ({', '.join(parts)})"


def load(program, connection, tables, data):
    schema = data / "schema.sql"
    schema.write_text("".join(f"{created(table, columns, 'PRIMARY KEY')};\n"
                              for table, columns in tables.items()))
    program.run("init", program.path, "--schema", schema)
    for table, columns in tables.items():
        csv = data / f"{table}.csv"
        connection.execute(created(table, columns))
        copy_csv(connection, table, csv)
        program.run("load", program.path, table, csv)
        csv.unlink()


def remove(program, data):
    for folder in (program.path, data):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def loaded(program, connection, scale, folder):
    """Both sides have the data; however the block ends, none is left in the folder. Gives the
    queries."""
    data = folder / "data"
    remove(program, data)
    data.mkdir()
    try:
        tables, queries = generated(scale, data)
        load(program, connection, tables, data)
        yield queries
    finally:
        remove(program, data)


def parse_options(words):
    return side_by_side.parse_options(words, "tools/compare-tpcds", __doc__,
                                      "1: 2.9 million sales in stores; default 0.3, least 0.01",
                                      SCALE_MIN)


def main():
    options = parse_options(sys.argv[1:])
    if not options.check_arguments:
        side_by_side.run(options, loaded, ordered_difference)


if __name__ == "__main__":
    main()
