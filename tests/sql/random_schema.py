"""Random tables with data: what the queries of random_sql.py are asked of.

Most tables that are not small fill some blocks of 1,024 rows. `postgres` adds values that only
PostgreSQL takes as this engine does: the ends of numbers, NaN, letters outside ASCII.
"""

import collections

KINDS = ("int", "bigint", "decimal", "double", "bool", "date", "timestamp", "text")
SQL_TYPES = {
    "int": ["INT"], "bigint": ["BIGINT"], "decimal": ["DECIMAL(9,2)", "DECIMAL(18,4)"],
    "double": ["DOUBLE PRECISION"], "bool": ["BOOLEAN"], "date": ["DATE"],
    "timestamp": ["TIMESTAMP"], "text": ["VARCHAR(12)", "CHAR(4)", "TEXT"],
    "interval": ["INTERVAL"]}  # of no column
NUMBERS = ("int", "bigint", "decimal", "double")
WORDS = ["", "a", "b", "ab", "abc", "ba", "B", "Ab", "zz", "x y", "it's", "100%", "a_b"]
LONG = "a text that is longer than a cell of a row, number "
UNUSUAL = {  # a length is in bytes
    "int": [str(2**31 - 1), str(-2**31)], "bigint": [str(2**63 - 1), str(-2**63)],
    "decimal": ["9999999.99", "-9999999.99", "0.01"],
    "double": ["NaN", "Infinity", "-Infinity", "-0"],
    # Years BC, which this engine has not, are far enough.
    "date": ["0200-02-28", "9999-12-31", "2012-02-29"],
    "timestamp": ["0200-02-28 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.5"],
    "text": ["ä", "Öb", "日本", "aé b", "😀", "12", "-3.5", "2011-02-03"]}
FULL_BLOCK_ROWS = 1024


class Column:
    def __init__(self, name, kind, sql_type, nullable, special=""):
        self.name, self.kind, self.sql_type, self.nullable = name, kind, sql_type, nullable
        self.special = special  # "null": all of it; "unusual": values of UNUSUAL, too


class Table:
    """Column 0 is the key; `parent` is the table that column 1 refers to, or None."""

    def __init__(self, name, columns, parent):
        self.name, self.columns, self.parent = name, columns, parent
        self.rows = []

    def most_alike(self, column):
        """How many rows at most have the same value in the column of this name."""
        at = next(number for number, one in enumerate(self.columns) if one.name == column)
        counts = collections.Counter(row[at] for row in self.rows if row[at] is not None)
        return max(counts.values(), default=0)

    def ddl(self, foreign_keys):
        parts = [f"{c.name} {c.sql_type}{'' if c.nullable else ' NOT NULL'}" for c in self.columns]
        parts.append(f"PRIMARY KEY ({self.columns[0].name})")
        if foreign_keys and self.parent:
            parts.append(f"FOREIGN KEY ({self.columns[1].name}) REFERENCES {self.parent.name}"
                         f" ({self.parent.columns[0].name})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


def random_value(draw, column):
    """As CSV writes it; None for NULL. Few different ones, so that they meet."""
    if column.special == "null" or column.nullable and draw.random() < 0.15:
        return None
    kind = column.kind
    if column.special == "unusual" and draw.random() < 0.2:
        fits = [value for value in UNUSUAL[kind]
                if column.sql_type != "CHAR(4)" or len(value.encode()) <= 4]
        return draw.choice(fits)
    if kind == "int":
        return str(draw.randint(-5, 20))
    if kind == "bigint":
        return str(draw.choice([draw.randint(-3, 9), draw.randint(-10**6, 10**6)]))
    if kind == "decimal":
        return f"{draw.choice([draw.randint(-300, 300), draw.randint(-10**6, 10**6)]) / 100:.2f}"
    if kind == "double":
        return str(draw.randint(-40, 40) / 4)
    if kind == "bool":
        return draw.choice(["true", "false"])
    if kind == "date":
        return f"20{draw.randint(10, 13)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
    if kind == "timestamp":
        return (f"2011-{draw.randint(1, 3):02}-{draw.randint(1, 28):02} "
                f"{draw.randint(0, 23):02}:{draw.choice([0, 30]):02}:{draw.randint(0, 59):02}"
                + draw.choice(["", "", "", ".25", ".000001"]))
    if kind == "interval":  # of equal ones one writing
        return draw.choice(["3 days", "12:30:00", "-2 days -00:00:30.5", "40 days 00:00:01", "0"])
    word = draw.choice(WORDS)
    if column.sql_type == "CHAR(4)":
        return word[:4].strip() or "c"
    if column.sql_type == "TEXT" and draw.random() < 0.2:
        return LONG + str(draw.randint(1, 3))
    return word


def random_schema(draw, postgres=False):
    """Two to four tables; a child's column 1 names a parent's row, no row, or NULL."""
    tables = []
    for number in range(draw.randint(2, 4)):
        name = f"t{number}"
        parent = draw.choice(tables) if tables and draw.random() < 0.8 else None
        columns = [Column(f"{name}_id", "int", "INT", False)]
        if parent:
            columns.append(Column(f"{name}_ref", "int", "INT", draw.random() < 0.5))
        kinds = draw.sample(KINDS, draw.randint(2, 5)) + draw.choices(KINDS, k=draw.randint(0, 3))
        for at, kind in enumerate(kinds):
            column = Column(f"{name}_{kind[0]}{at}", kind, draw.choice(SQL_TYPES[kind]),
                            draw.random() < 0.6)
            if column.nullable and draw.random() < 0.08:
                column.special = "null"
            elif postgres and kind in UNUSUAL and draw.random() < 0.2:
                column.special = "unusual"
            columns.append(column)
        tables.append(Table(name, columns, parent))
    for table in tables:
        fill(draw, table)
    return tables


def fill(draw, table):
    count = draw.choice([0, 1, 7, 40, 200, 200, draw.randint(3000, 6000),
                         draw.randint(3000, 6000)])
    keys = draw.sample(range(2 * count + 5), count)
    if draw.random() < 0.5:
        keys.sort()
    for key in keys:
        row = [str(key)]
        for column in table.columns[1:]:
            if table.parent and column is table.columns[1]:
                row.append(random_reference(draw, table.parent, column))
            else:
                row.append(random_value(draw, column))
        table.rows.append(row)


def random_reference(draw, parent, column):
    if column.nullable and draw.random() < 0.1:
        return None
    if parent.rows and draw.random() < 0.85:
        return draw.choice(parent.rows)[0]
    return str(draw.randint(-3, 50))
