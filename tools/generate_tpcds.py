"""Makes TPC-DS's data with DuckDB's extension `tpcds`; compare_tpcds.py runs it.

Its Python is that of requirements_tpcds.txt. Into --folder it writes a CSV file of each table; on
standard output one JSON object: `tables`, of each the (name, type, whether it can be NULL) of its
columns, as DuckDB describes them; `queries`, (number, text) of the 99. One scale gives the same
data each time.
"""

import argparse
import json
import pathlib

import duckdb
from duckdb_extensions import import_extension


def generator(folder):
    """A connection with the extension, which is installed here and not in the user's home."""
    connection = duckdb.connect(config={"extension_directory": str(folder / "extensions")})
    import_extension("tpcds", con=connection)
    connection.execute("load tpcds")
    return connection


def described(connection, table):
    return [(name, kind, null == "YES") for name, kind, null, *_ in
            connection.execute(f"describe {table}").fetchall()]


def generate(scale, folder):
    connection = generator(folder)
    connection.execute(f"call dsdgen(sf = {scale})")
    tables = {}
    for (table,) in connection.execute("select table_name from duckdb_tables()").fetchall():
        tables[table] = described(connection, table)
        target = str(folder / f"{table}.csv").replace("'", "''")
        connection.execute(f"copy {table} to '{target}' (header true)")
    queries = connection.execute("select query_nr, query from tpcds_queries() order by 1")
    return {"tables": tables, "queries": queries.fetchall()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    options = parser.parse_args()
    print(json.dumps(generate(options.scale, options.folder)))


if __name__ == "__main__":
    main()
