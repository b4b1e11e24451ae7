"""What tools/compare-tpch runs: TPC-H's queries, and other shapes, here and on DuckDB.

Data     random, by DuckDB, with the sizes, domains and texts that the queries look for; of one
         seed and scale always the same. Copied to CSV, and loaded by `diptych load`.
Answers  of every query are compared, before anything is measured; one that differs is not.
Times    of each query alone, of its execution, the least of --rounds. Ours as `diptych query`
         reports it, of one call in a new process a round, so always a first one: it is without
         parsing and planning (0.4 to 1.4 ms a query: the batch's time less it, where the tables
         are empty; where they are not, the batch's time has the rest of opening them too). So
         DuckDB's is without these as well: the time from text to Python objects, after a first
         call that warms it, less that of a PREPARE of the same text. Its EXECUTE would plan again.
         The whole time is told beside it.
"""

import contextlib
import re
import shutil
import sys

import side_by_side
from duckdb_peer import ROOT, literal

TPCH = ROOT / "tools/tpch"
NATIONS = [("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4),
           ("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2),
           ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0),
           ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4),
           ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1)]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
WORDS = {
    "@segment": "AUTOMOBILE BUILDING FURNITURE MACHINERY HOUSEHOLD".split(),
    "@color": "almond antique aquamarine azure beige forest green blue".split(),
    "@hue": "red rose rosy sky tan tomato lemon".split(),
    "@size": "STANDARD SMALL MEDIUM LARGE ECONOMY PROMO".split(),
    "@finish": "ANODIZED BURNISHED PLATED POLISHED BRUSHED".split(),
    "@metal": "TIN NICKEL BRASS STEEL COPPER".split(),
    "@pack": "SM LG MED JUMBO WRAP".split(),
    "@box": "CASE BOX BAG JAR PKG PACK CAN DRUM".split(),
    "@status": "F O P".split(),
    "@priority": ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"],
    "@flag": "R A".split(),
    "@instruct": ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"],
    "@mode": ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"],
}
# By table, in the order in which they are made. {S}, {C}, {P}, {O}: suppliers, customers, parts,
# orders. one(n): a random number in [1, n]; money(a, b): an amount in [a, b]; @word: one of WORDS.
TABLES = {
    "region": f"select i::int as r_regionkey, {REGIONS}[i + 1] as r_name, 'region ' || i as"
              " r_comment from range(5) t(i)",
    "nation": f"select i::int as n_nationkey, {[n for n, _ in NATIONS]}[i + 1] as n_name,"
              f" {[r for _, r in NATIONS]}[i + 1]::int as n_regionkey, 'nation ' || i as n_comment"
              " from range(25) t(i)",
    "supplier": "select i::int as s_suppkey, 'Supplier#' || lpad(i::varchar, 9, '0') as s_name,"
                " 'address ' || i as s_address, one(25) - 1 as s_nationkey,"
                " (10 + i % 25) || '-' || (100 + i % 900) as s_phone,"
                " money(-1000, 10000) as s_acctbal, case when i % 97 = 0"
                " then 'x Customer y Complaints z' else 'nice ' || i end as s_comment"
                " from range(1, {S} + 1) t(i)",
    "customer": "select i::int as c_custkey, 'Customer#' || lpad(i::varchar, 9, '0') as c_name,"
                " 'address ' || i as c_address, one(25) - 1 as c_nationkey, (9 + one(25)) || '-' ||"
                " (100 + i % 900) || '-' || (1000 + i % 9000) as c_phone,"
                " money(-1000, 10000) as c_acctbal, @segment as c_mktsegment,"
                " 'customer ' || i as c_comment from range(1, {C} + 1) t(i)",
    "part": "select i::int as p_partkey, @color || ' ' || @hue as p_name,"
            " 'Manufacturer#' || (1 + i % 5) as p_mfgr,"
            " 'Brand#' || (1 + i % 5) || (1 + i // 5 % 5) as p_brand,"
            " @size || ' ' || @finish || ' ' || @metal as p_type, one(50) as p_size,"
            " @pack || ' ' || @box as p_container,"
            " (900 + i % 1000 / 10.0)::decimal(12, 2) as p_retailprice, 'part ' || i as p_comment"
            " from range(1, {P} + 1) t(i)",
    "partsupp": "select p_partkey as ps_partkey, supplier_of(p_partkey, j) as ps_suppkey,"
                " one(9999) as ps_availqty, money(1, 1000) as ps_supplycost, 'offer' as ps_comment"
                " from part, range(4) t(j)",
    # Every third customer has no order.
    "orders": "select (i * 4)::int as o_orderkey, one({C} // 3) * 3 - one(2) as o_custkey,"
              " @status as o_orderstatus, money(1, 400000) as o_totalprice,"
              " date '1992-01-01' + one(2405) as o_orderdate, @priority as o_orderpriority,"
              " 'Clerk#' || i % 1000 as o_clerk, 0 as o_shippriority, case when one(100) = 1 then"
              " 'some special and deposits requests' else 'ordinary ' || i end as o_comment"
              " from range(1, {O} + 1) t(i)",
    "lineitem": "select o_orderkey as l_orderkey, part as l_partkey,"
                " supplier_of(part, one(4) - 1) as l_suppkey, number::int as l_linenumber,"
                " quantity::decimal(12, 2) as l_quantity, (quantity * (900 + part % 1000 / 10.0))"
                "::decimal(12, 2) as l_extendedprice,"
                " ((one(11) - 1) / 100.0)::decimal(12, 2) as l_discount,"
                " ((one(9) - 1) / 100.0)::decimal(12, 2) as l_tax, case when ship + 10 <"
                " date '1995-06-17' then @flag else 'N' end as l_returnflag,"
                " case when ship < date '1995-06-17' then 'F' else 'O' end as l_linestatus,"
                " ship as l_shipdate, commits as l_commitdate, ship + one(30) as l_receiptdate,"
                " @instruct as l_shipinstruct, @mode as l_shipmode, 'line ' || number as l_comment"
                " from (select o_orderkey, number, one({P}) as part, one(50) as quantity,"
                " o_orderdate + one(121) as ship, o_orderdate + 29 + one(61) as commits from"
                " (select *, one(7) as lines from orders), range(1, 8) t(number)"
                " where number <= lines)",
}


def csv_of(table, folder):
    return folder / f"{table}.csv"


def make_data(connection, scale, folder):
    """Tables in DuckDB, and a CSV file of each."""
    sizes = {"S": max(int(10_000 * scale), 4), "C": max(int(150_000 * scale), 3),
             "P": max(int(200_000 * scale), 4), "O": max(int(1_500_000 * scale), 1)}
    connection.execute("set threads = 1")  # random numbers come in one order
    connection.execute("select setseed(0.5)")
    connection.execute("create macro one(n) as 1 + floor(random() * n)::int")
    connection.execute("create macro money(a, b) as (a + random() * (b - a))::decimal(12, 2)")
    connection.execute(f"create macro supplier_of(part, j) as ((part + j * ({sizes['S']} // 4 +"
                       f" (part - 1) // {sizes['S']})) % {sizes['S']} + 1)::int")
    for table, text in TABLES.items():
        text = text.format(**sizes)
        for word in sorted(WORDS, key=len, reverse=True):
            text = text.replace(word, f"{WORDS[word]}[one({len(WORDS[word])})]")
        connection.execute(f"create table {table} as {text}")
        connection.execute(f"copy {table} to {literal(csv_of(table, folder))} (header true)")


def load_data(program, folder):
    shutil.rmtree(program.path, ignore_errors=True)
    program.run("init", program.path, "--schema", TPCH / "schema.sql")
    for table in TABLES:
        program.run("load", program.path, table, csv_of(table, folder))
        csv_of(table, folder).unlink()


@contextlib.contextmanager
def loaded(program, connection, scale, folder):
    """Both sides have the data; however the block ends, none is left in the folder. Gives the
    queries."""
    try:
        make_data(connection, scale, folder)
        load_data(program, folder)
        yield queries()
    finally:
        for table in TABLES:
            csv_of(table, folder).unlink(missing_ok=True)
        shutil.rmtree(program.path, ignore_errors=True)


def queries():
    """(name, text) in their order."""
    text = (TPCH / "queries.sql").read_text()
    return re.findall(r"-- name: (\w+)\n(.*?);\n", text, flags=re.DOTALL)


def parse_options(words):
    return side_by_side.parse_options(words, "tools/compare-tpch", __doc__,
                                      "1: 6 million lines; default 0.3")


def main():
    options = parse_options(sys.argv[1:])
    if not options.check_arguments:
        side_by_side.run(options, loaded)


if __name__ == "__main__":
    main()
