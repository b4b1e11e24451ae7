"""Random schemas, data and queries: what random_query_test.py asks both engines.

A query is a tree of parts that can be taken away, so that one on which the engines differ can be
made small. What may stand where is a table, PRODUCTIONS: for each type, how an expression of that
type can be made, with a weight; a new function is one more line. What an engine does not support
yet may stand there too: such a query counts as skipped, and is compared from the day that it runs.

Left out, since engines differ on purpose: division of whole numbers, texts outside ASCII in
functions, sums that hang on the order of doubles (all doubles are multiples of 1/4), LIMIT without
a total order, patterns of `~` without anchors and of SIMILAR TO with % (DuckDB matches the whole
text, and takes % for itself), rounding of doubles, decimals of fewer than two places beside others
(of whose sums DuckDB drops them).
"""

import collections
import random
import re

KINDS = ("int", "bigint", "decimal", "double", "bool", "date", "timestamp", "text")
SQL_TYPES = {
    "int": ["INT"], "bigint": ["BIGINT"], "decimal": ["DECIMAL(9,2)", "DECIMAL(18,4)"],
    "double": ["DOUBLE PRECISION"], "bool": ["BOOLEAN"], "date": ["DATE"],
    "timestamp": ["TIMESTAMP"], "text": ["VARCHAR(12)", "CHAR(4)", "TEXT"]}
NUMBERS = ("int", "bigint", "decimal", "double")
WORDS = ["", "a", "b", "ab", "abc", "ba", "B", "Ab", "zz", "x y", "it's", "100%", "a_b"]
LONG = "a text that is longer than a cell of a row, number "


class Column:
    def __init__(self, name, kind, sql_type, nullable):
        self.name, self.kind, self.sql_type, self.nullable = name, kind, sql_type, nullable


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
    if column.nullable and draw.random() < 0.15:
        return None
    kind = column.kind
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
                f"{draw.randint(0, 23):02}:{draw.choice([0, 30]):02}:{draw.randint(0, 59):02}")
    word = draw.choice(WORDS)
    if column.sql_type == "CHAR(4)":
        return word[:4].strip() or "c"
    if column.sql_type == "TEXT" and draw.random() < 0.2:
        return LONG + str(draw.randint(1, 3))
    return word


def random_schema(draw):
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
            columns.append(Column(f"{name}_{kind[0]}{at}", kind, draw.choice(SQL_TYPES[kind]),
                                  draw.random() < 0.6))
        tables.append(Table(name, columns, parent))
    for table in tables:
        fill(draw, table)
    return tables


def fill(draw, table):
    count = draw.choice([0, 1, 7, 40, 40, 200, 200, 3000])
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


class Expression:
    """A template with {} for each child, and {0} for the first once more; its type; what it may be
    replaced with is its children."""

    def __init__(self, kind, template, *children, aggregate=False):
        self.kind, self.template, self.children = kind, template, list(children)
        self.aggregate = aggregate

    def __str__(self):
        parts = iter(self.children)
        return re.sub(r"\{(0?)\}", lambda place: str(self.children[0] if place[1] else next(parts)),
                      self.template)

    def has_aggregate(self):
        return self.aggregate or any(child.has_aggregate() for child in self.children
                                     if isinstance(child, Expression))

    def smaller(self):
        """Expressions with one part less."""
        for child in self.children:
            if isinstance(child, Expression) and child.kind == self.kind:
                yield child
        if self.kind == "bool" and self.template not in ("1 = 1",):
            yield Expression("bool", "1 = 1")
        for number, child in enumerate(self.children):
            for less in child.smaller():
                if isinstance(child, Expression) and less.kind != child.kind:
                    continue
                copy = Expression(self.kind, self.template, *self.children,
                                  aggregate=self.aggregate)
                copy.children[number] = less
                yield copy


class Listed(str):
    """A source that is no table, with a number of rows."""

    def __new__(cls, text, rows):
        one = super().__new__(cls, text)
        one.rows = rows
        return one


class Using:
    """In a condition's place: of columns that have one name on both sides."""

    def __init__(self, column):
        self.column = column

    def __str__(self):
        return f"USING ({self.column})"

    def smaller(self):
        return []


class Query:
    """SELECT; every part is a list, from which shrinking takes one at a time."""

    def __init__(self):
        self.distinct = False
        self.distinct_on = 0  # so many first ones of what it is ordered by
        self.items = []      # (Expression, name)
        self.tables = []     # [(how, text or Query, alias, condition or None)]
        self.where = []
        self.groups = []
        self.grouping = ""   # ROLLUP, CUBE or GROUPING SETS of the groups
        self.having = []
        self.order = []      # (position or name, suffix)
        self.limit = ""
        self.wrapped = False  # the limit is that of a query around it, whose rows come in its order
        self.prefix = ""     # WITH
        self.recursion = None  # WITH RECURSIVE: (name, first Query, word, step Query)
        self.union = None    # (word, Query)
        self.lateral = False  # as a source: names columns of those before it
        self.joined = None   # rows that its FROM makes, at most; None: each with each

    def copy(self):
        other = Query()
        other.__dict__.update({key: list(value) if isinstance(value, list) else value
                               for key, value in self.__dict__.items()})
        return other

    def __str__(self):
        sources = []
        for how, source, alias, condition in self.tables:
            text = f"({source})" if isinstance(source, Query) else source
            text = "LATERAL " + text if isinstance(source, Query) and source.lateral else text
            text += f" {alias}" if alias else ""
            if not sources:
                sources.append(text)
            elif how == ",":
                sources.append(f", {text}")
            else:
                on = f"{'' if isinstance(condition, Using) else 'ON '}{condition}"
                sources.append(f" {how} {text}" + (f" {on}" if condition else ""))
        text = self.prefix
        if self.recursion:
            name, first, word, step = self.recursion
            text += f"WITH RECURSIVE {name}(n, k, s) AS ({first} {word} {step}) "
        text += "SELECT " + ("DISTINCT " if self.distinct else "")
        if self.distinct_on and self.order:
            names = [self.items[number - 1][1] for number, _ in self.order[:self.distinct_on]]
            text += f"DISTINCT ON ({', '.join(names)}) "
        text += ", ".join(f"{item} AS {name}" if name else str(item) for item, name in self.items)
        text += " FROM " + "".join(sources)
        if self.where:
            text += " WHERE " + " AND ".join(f"({part})" for part in self.where)
        if self.groups:
            text += " GROUP BY " + self.grouped_by()
        if self.having:
            text += " HAVING " + " AND ".join(f"({part})" for part in self.having)
        if self.union:
            text += f" {self.union[0]} {self.union[1]}"
        if self.order:
            text += " ORDER BY " + ", ".join(f"{what}{suffix}" for what, suffix in self.order)
        if self.wrapped and self.order:
            text = f"SELECT * FROM ({text}) AS ordered"
        return text + self.limit

    def grouped_by(self):
        groups = list(map(str, self.groups))
        if self.grouping == "REST":
            return f"{groups[0]}, ROLLUP({', '.join(groups[1:])})" if groups[1:] else groups[0]
        if self.grouping == "GROUPING SETS":
            sets = [f"({', '.join(groups[:count])})" for count in range(len(groups), -1, -1)]
            return f"GROUPING SETS ({', '.join(sets)})"
        return f"{self.grouping}({', '.join(groups)})" if self.grouping else ", ".join(groups)

    def smaller(self):
        for field in ("wrapped", "union", "limit", "distinct", "distinct_on", "grouping", "prefix"):
            if getattr(self, field):
                less = self.copy()
                setattr(less, field, type(getattr(self, field))() if field != "union" else None)
                yield less
        yield from self.with_smaller_recursion()
        for field in ("having", "where", "order", "groups", "items", "tables"):
            parts = getattr(self, field)
            if len(parts) <= (1 if field in ("items", "tables") else 0):
                continue
            for number in range(len(parts) - 1, -1, -1):
                less = self.copy()
                del getattr(less, field)[number]
                # What orders by position or counts on every column is not this query any more.
                if field == "items" and less.order:
                    less.order, less.limit = [], ""
                if field == "order":
                    less.order, less.limit = [], ""
                yield less
        for field in ("where", "having", "groups"):
            for number, part in enumerate(getattr(self, field)):
                for smaller in part.smaller():
                    less = self.copy()
                    getattr(less, field)[number] = smaller
                    yield less
        for number, (item, name) in enumerate(self.items):
            for smaller in item.smaller():
                less = self.copy()
                less.items[number] = (smaller, name)
                yield less
        for number, (how, source, alias, condition) in enumerate(self.tables):
            for smaller in ([] if not isinstance(source, Query) else source.smaller()):
                less = self.copy()
                less.tables[number] = (how, smaller, alias, condition)
                yield less
            for smaller in ([] if condition is None else condition.smaller()):
                less = self.copy()
                less.tables[number] = (how, source, alias, smaller)
                yield less

    def with_smaller_recursion(self):
        if not self.recursion:
            return
        name, first, word, step = self.recursion
        less = self.copy()
        less.recursion = None
        yield less
        pairs = [(smaller, step) for smaller in first.smaller()]
        # Without the step's first condition it does not end.
        pairs += [(first, smaller) for smaller in step.smaller()
                  if smaller.where and str(smaller.where[0]) == str(step.where[0])]
        for smaller_first, smaller_step in pairs:
            less = self.copy()
            less.recursion = (name, smaller_first, word, smaller_step)
            yield less


def literal(draw, kind):
    value = random_value(draw, Column("", kind, SQL_TYPES[kind][0], False))
    if kind == "text":
        value = value.replace("'", "''")
        return Expression(kind, "'{}'".replace("{}", value.replace("{", "").replace("}", "")))
    if kind in ("date", "timestamp"):
        return Expression(kind, f"{kind.upper()} '{value}'")
    if kind in ("bigint", "double"):  # not the INT or the decimal that its digits are
        return Expression(kind, f"CAST({value} AS {SQL_TYPES[kind][0]})")
    return Expression(kind, f"({value})" if value.startswith("-") else value)


# kind: (weight, template, kinds of the children). N stands for any one kind of number, A for any
# one kind, the same in the whole production. `bigint` is also what counts and sums are.
PRODUCTIONS = {
    "bool": [
        (6, "{} = {}", "AA"), (3, "{} <> {}", "AA"), (4, "{} < {}", "AA"), (3, "{} >= {}", "AA"),
        (3, "{} AND {}", ["bool", "bool"]), (4, "({} OR {})", ["bool", "bool"]),
        (2, "NOT ({})", ["bool"]), (3, "{} IS NULL", "A"), (2, "{} IS NOT NULL", "A"),
        (2, "{} BETWEEN {} AND {}", "AAA"), (2, "{} NOT BETWEEN {} AND {}", "AAA"),
        (1, "{} > {}", ["int", "decimal"]), (1, "{} <= {}", ["bigint", "double"]),
        (1, "{} IS DISTINCT FROM {}", "AA"), (1, "{} = {}", ["date", "timestamp"]),
        (1, "{} - {} < INTERVAL '30' DAY", ["timestamp", "timestamp"]),
        (1, "{} - {} = {} - {}", ["timestamp", "timestamp", "timestamp", "timestamp"]),
        (1, "starts_with({}, 'a')", ["text"]), (1, "({}) IS TRUE", ["bool"]),
        (1, "({}) IS NOT FALSE", ["bool"]),
    ],
    "int": [
        (1, "abs({})", ["int"]), (1, "-({})", ["int"]), (4, "({} + {})", ["int", "int"]),
        (2, "({} - {})", ["int", "int"]), (3, "({} * {})", ["int", "int"]),
        (2, "mod({}, 3)", ["int"]), (1, "ascii({})", ["text"]), (1, "strpos({}, 'b')", ["text"]),
        (1, "({} - {})", ["date", "date"]),
        (1, "position({} IN {})", ["text", "text"]),
    ],
    "bigint": [
        (4, "({} + {})", ["bigint", "int"]), (3, "({} - {})", ["bigint", "int"]),
        (3, "({} * {})", ["int", "bigint"]), (2, "({} % 7)", ["bigint"]),
        (2, "length({})", ["text"]), (1, "abs({})", ["bigint"]),
        (2, "extract(year FROM {})", ["date"]), (1, "extract(month FROM {})", ["timestamp"]),
        (1, "extract(day FROM {})", ["date"]), (1, "extract(hour FROM {})", ["timestamp"]),
        (1, "extract(day FROM {} - {})", ["timestamp", "timestamp"]),
        (1, "CAST({} AS BIGINT)", ["int"]), (1, "extract(dow FROM {})", ["date"]),
        (1, "extract(quarter FROM {})", ["timestamp"]), (1, "extract(doy FROM {})", ["date"]),
    ],
    "decimal": [
        (3, "({} + {})", ["decimal", "decimal"]), (3, "({} - {})", ["decimal", "int"]),
        (2, "({} * {})", ["decimal", "int"]), (1, "-({})", ["decimal"]),
        (1, "abs({})", ["decimal"]),
        (1, "CAST({} AS DECIMAL(12,2))", ["int"]),
        (1, "CAST(round({}, 1) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(round({}) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(trunc({}) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(floor({}) AS DECIMAL(18,2))", ["decimal"]),
        (1, "CAST(ceil({}) AS DECIMAL(18,2))", ["decimal"]),
        # What a literal that could be an integer makes of one.
        (1, "CAST(round(coalesce({}, 2.00) / 4, 2) AS DECIMAL(18,2))", ["int"]),
        (1, "CAST(round(greatest({}, 0.0) / 4, 2) AS DECIMAL(18,2))", ["int"]),
        (1, "CAST(round(CASE WHEN {} THEN {} ELSE 1.0 END / 4, 2) AS DECIMAL(18,2))",
         ["bool", "int"]),
    ],
    "double": [
        (3, "({} + {})", ["double", "double"]), (2, "({} * {})", ["double", "double"]),
        (2, "({} / CAST(4 AS DOUBLE PRECISION))", ["double"]), (1, "floor({})", ["double"]),
        (1, "ceil({})", ["double"]), (1, "CAST({} AS DOUBLE PRECISION)", ["int"]),
        (1, "abs({})", ["double"]), (1, "sign({})", ["double"]),
    ],
    "text": [
        (2, "upper({})", ["text"]), (2, "lower({})", ["text"]), (3, "({} || {})", ["text", "text"]),
        (2, "substring({} FROM 2 FOR 3)", ["text"]), (1, "substr({}, 1, 1)", ["text"]),
        (1, "trim({})", ["text"]), (1, "CAST({} AS VARCHAR)", ["int"]),
        (1, "replace({}, 'a', 'q')", ["text"]), (1, "left({}, 2)", ["text"]),
        (1, "right({}, -1)", ["text"]), (1, "lpad({}, 5, '*')", ["text"]),
        (1, "rpad({}, 3, 'xy')", ["text"]), (1, "reverse({})", ["text"]),
        (1, "split_part({}, 'b', 1)", ["text"]), (1, "translate({}, 'ab', 'x')", ["text"]),
        (1, "repeat({}, 2)", ["text"]), (1, "concat({}, {})", ["text", "int"]),
        (1, "ltrim({}, 'a')", ["text"]), (1, "CAST({} AS VARCHAR)", ["date"]),
    ],
    "date": [(1, "CAST({} AS DATE)", ["timestamp"]), (1, "({} + {})", ["date", "int"])],
    "timestamp": [(1, "CAST({} AS TIMESTAMP)", ["date"]),
                  (1, "({} + INTERVAL '1' DAY)", ["timestamp"]),
                  (1, "({} - INTERVAL '1' MONTH)", ["date"]),
                  (1, "date_trunc('month', {})", ["timestamp"]),
                  (1, "date_trunc('week', {})", ["timestamp"]),
                  (1, "date_trunc('hour', {})", ["timestamp"])],
}
FOR_ANY = [  # of the type asked for
    (2, "CASE WHEN {} THEN {} ELSE {} END", ["bool", "=", "="]), (1, "CASE WHEN {} THEN {} END",
                                                                  ["bool", "="]),
    (2, "coalesce({}, {})", ["=", "="]), (1, "nullif({}, {})", ["=", "="]),
    (1, "greatest({}, {})", ["=", "="]), (1, "least({}, {}, {})", ["=", "=", "="]),
    (1, "CASE {} WHEN {} THEN {} ELSE {} END", ["int", "int", "=", "="]),
]
AGGREGATES = {
    "bigint": [(4, "count(*)", []), (3, "count({})", "A"), (2, "count(DISTINCT {})", "A"),
               (3, "sum({})", ["int"]), (1, "sum({})", ["bigint"]),
               (1, "sum(DISTINCT {})", ["int"]), (1, "bit_and({})", ["int"]),
               (1, "bit_or({})", ["int"]), (1, "bit_xor({})", ["int"]),
               (1, "regr_count({}, {})", ["int", "double"]),
               (1, "count(DISTINCT {} - {})", ["timestamp", "timestamp"]),
               (1, "extract(day FROM max({} - {}))", ["timestamp", "timestamp"]),
               (1, "count(*) FILTER (WHERE {})", ["bool"])],
    "double": [(2, "avg({})", ["int"]), (1, "avg({})", ["double"]), (2, "sum({})", ["double"]),
               (1, "percentile_cont(0.25) WITHIN GROUP (ORDER BY {})", ["int"]),
               (1, "percentile_cont(0.5) WITHIN GROUP (ORDER BY {} DESC)", ["double"]),
               (1, "stddev({})", ["int"]), (1, "var_pop({})", ["double"]),
               (1, "variance({})", ["decimal"]), (1, "stddev_pop({})", ["int"]),
               (1, "covar_pop({}, {})", ["int", "double"])],
    "decimal": [(3, "sum({})", ["decimal"])],
    "text": [(2, "string_agg({}, ',' ORDER BY {0})", ["text"]),
             (1, "string_agg(DISTINCT {}, ',' ORDER BY {0} DESC NULLS LAST)", ["text"])],
    "bool": [(1, "bool_and({})", ["bool"]), (1, "bool_or({})", ["bool"])],
}
SAME_KIND_AGGREGATES = [  # no mode(): of values that are as frequent DuckDB's is any
    (2, "min({})", ["="]), (2, "max({})", ["="]),
    (1, "percentile_disc(0.25) WITHIN GROUP (ORDER BY {})", ["="]),
    (1, "percentile_disc(0.5) WITHIN GROUP (ORDER BY {} DESC)", ["="]),
]

# With aggregates in them; {} is a group.
WINDOWS_OF_GROUPS = ["rank() OVER (ORDER BY count(*) DESC)",
                     "sum(count(*)) OVER (ORDER BY {} NULLS FIRST)",
                     "count(*) OVER (PARTITION BY count(*))",
                     "max(count(*)) OVER (PARTITION BY {})"]

# Over windows: what does not depend on the order of peers, nor do these frames.
WINDOWED = [
    (3, "bigint", "sum({})", ["int"]), (2, "bigint", "count({})", ["text"]),
    (2, "int", "min({})", ["int"]), (2, "text", "max({})", ["text"]),
    (2, "decimal", "sum({})", ["decimal"]), (1, "double", "avg({})", ["int"]),
    (1, "int", "bit_and({})", ["int"]), (1, "int", "bit_or({})", ["int"]),
    (1, "int", "bit_xor({})", ["int"]), (1, "bigint", "count(*)", []),
    (1, "bigint", "regr_count({}, {})", ["int", "double"]),
    (1, "bigint", "sum({}) FILTER (WHERE {})", ["int", "bool"]),
    (1, "bigint", "rank()", []), (1, "bigint", "dense_rank()", []),
    (1, "double", "percent_rank()", []), (1, "double", "cume_dist()", []),
]
FRAMES = ["", "", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
          " GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
          " GROUPS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
          " GROUPS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
          " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES",
          " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW"]
# By the type of the one column that rows are ordered by.
RANGES = {
    **dict.fromkeys(NUMBERS, [" RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING",
                              " RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING"]),
    **dict.fromkeys(("date", "timestamp"), [
        " RANGE BETWEEN INTERVAL '40' DAY PRECEDING AND CURRENT ROW",
        " RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND INTERVAL '1' DAY FOLLOWING"])}
# Of rows in a total order.
NUMBERED = [
    (3, "bigint", "row_number()", []), (2, "int", "lag({})", ["int"]),
    (2, "text", "lead({}, 2)", ["text"]), (1, "int", "lag({}, 1, -1)", ["int"]),
    (1, "int", "ntile(3)", []),
]
ROWS = [" ROWS UNBOUNDED PRECEDING", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
        " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
        " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW"]
OF_ROWS = [(1, "text", "first_value({})", ["text"]), (1, "int", "last_value({})", ["int"]),
           (1, "date", "nth_value({}, 2)", ["date"])]


LIKED = ["%a%", "a%", "%b", "_b%", "%", "", "100%", "a_b", "%x y%"]
MATCHED = ["^.*a.*$", "^[ab]+$", "^a?b.*$", "^$", "^(a|zz).*$", "^[^a]{2,}$"]
PATTERNS = [("NOT LIKE", LIKED), ("NOT LIKE", LIKED), ("NOT ILIKE", LIKED), ("~", MATCHED),
            ("!~", MATCHED), ("NOT SIMILAR TO", ["(a|b)+", "[a-z]*", "a(b|c)*", "zz|x y"])]

# What a recursion's columns are cast to: both terms have one type.
RECURSION_TYPES = {"int": "INT", "bigint": "BIGINT", "decimal": "DECIMAL(18,4)",
                   "double": "DOUBLE PRECISION", "bool": "BOOLEAN", "date": "DATE",
                   "timestamp": "TIMESTAMP", "text": "VARCHAR"}

RECURSION_ROWS = 1000  # taken for at most

PAIRS_MAX = 3_000_000  # of rows that a subquery and the query around it make without an equality
JOINED_MAX = 200_000   # rows that the members of a FROM make, by how often values come


def has_comma(query):
    return any(how == "," for how, *_ in query.tables)


class Generator:
    def __init__(self, seed, tables):
        self.draw = random.Random(seed)
        self.tables = tables
        self.aliases = 0
        self.pairs = 1  # of rows that the query around compares, at most

    def chosen(self, productions):
        weights = [weight for weight, *_ in productions]
        return self.draw.choices(productions, weights)[0][1:]

    def kinds_of(self, kinds, kind):
        if isinstance(kinds, str):
            one = self.draw.choice([k for k in KINDS if k != "bool"])
            return [one] * len(kinds)
        return [kind if part == "=" else part for part in kinds]

    def leaf(self, scope, kind):
        columns = [name for name, of in scope if of == kind]
        if columns and self.draw.random() < 0.8:
            return Expression(kind, self.draw.choice(columns))
        return literal(self.draw, kind)

    def expression(self, scope, kind, depth):
        """`scope`: the columns that can be named, as (text, kind)."""
        if depth <= 0 or self.draw.random() < 0.3:
            return self.leaf(scope, kind)
        if kind == "bool" and self.draw.random() < 0.25:
            return self.special_predicate(scope, depth)
        if kind == "bigint" and depth > 1 and self.draw.random() < 0.1:
            return Expression(kind, "CAST(({}) AS BIGINT)", self.scalar(scope, depth - 1))
        productions = PRODUCTIONS[kind] + FOR_ANY
        template, kinds = self.chosen(productions)
        return Expression(kind, template, *[self.expression(scope, part, depth - 1)
                                            for part in self.kinds_of(kinds, kind)])

    def special_predicate(self, scope, depth):
        """Lists, patterns and subqueries."""
        which = self.draw.choice(
            ["in", "like", "exists", "in query", "scalar", "quantified", "row"])
        word = self.draw.choice(["", "NOT "])
        if which == "like":
            operator, patterns = self.draw.choice(PATTERNS)
            operator = operator.replace("NOT ", word)
            return Expression("bool", f"{{}} {operator} '{self.draw.choice(patterns)}'",
                              self.expression(scope, "text", depth - 1))
        kind = self.draw.choice(["int", "int", "text", "date", "decimal", "bigint"])
        if which == "in":
            listed = ", ".join(str(literal(self.draw, kind))
                               for _ in range(self.draw.randint(1, 4)))
            return Expression("bool", "{} " + word + f"IN ({listed})",
                              self.expression(scope, kind, depth - 1))
        return self.subquery_predicate(scope, which, word, depth)

    def subquery_predicate(self, scope, which, word, depth):
        if which == "exists":
            query = self.subquery(scope, self.draw.choice(["int", "text"]), depth - 1)
            return Expression("bool", word + "EXISTS ({})", query)
        if which == "row":
            return self.row_predicate(scope, word, depth)
        kind = self.draw.choice(["int", "int", "text"])
        if which == "quantified":
            query = self.subquery(scope, kind, depth - 1)
            operator = self.draw.choice(["=", "<>", "<", ">="]) + self.draw.choice([" ALL", " ANY"])
            return Expression("bool", f"{{}} {operator} ({{}})",
                              self.expression(scope, kind, depth - 1), query)
        if which == "in query":
            query = self.subquery(scope, kind, depth - 1)
            return Expression("bool", "{} " + word + "IN ({})",
                              self.expression(scope, kind, depth - 1), query)
        return Expression("bool", "{} " + self.draw.choice("<=>") + " ({})",
                          self.expression(scope, "int", depth - 1),
                          self.scalar(scope, depth - 1))

    def row_predicate(self, scope, word, depth):
        if self.draw.random() < 0.2:
            return self.row_comparison(scope, depth)
        query, inner = self.correlated(scope, depth - 1)
        kinds = self.draw.choices(["int", "text", "date"], k=2)
        query.items = [(self.expression(inner, kind, 1), "") for kind in kinds]
        left = [self.expression(scope, kind, depth - 1) for kind in kinds]
        return Expression("bool", "({}, {}) " + word + "IN ({})", *left, query)

    def row_comparison(self, scope, depth):
        """With a subquery's single row, which DuckDB does not have."""
        query = self.scalar(scope, depth - 1)
        item = query.items[0][0]
        more = item if query.limit else Expression("bigint", "count(*)", aggregate=True)
        query.items.insert(self.draw.randint(0, 1), (more, ""))
        left = [self.expression(scope, "int", depth - 1) for _ in range(2)]
        operator = self.draw.choice(["=", "<>", "<", "<=", ">", ">="])
        return Expression("bool", f"({{}}, {{}}) {operator} ({{}})", *left, query)

    def scalar(self, scope, depth):
        """One row for each outer one: an aggregate of all rows, or the first row."""
        query, inner = self.correlated(scope, depth)
        value = self.expression(inner, "int", 1)
        if self.draw.random() < 0.8:
            name = self.draw.choice(["max({})", "min({})", "count({})", "count(DISTINCT {})"])
            query.items = [(Expression("int", name, value, aggregate=True), "")]
            if not any(column in str(value) for column, _ in inner):
                query.items = [(Expression("bigint", "count(*)", aggregate=True), "")]
            if self.draw.random() < 0.1:
                query.having.append(Expression("bool", "count(*) <> 1", aggregate=True))
        else:
            query.items = [(value, "")]
            query.order = [(1, " NULLS " + self.draw.choice(["FIRST", "LAST"]))]
            query.limit = " LIMIT 1" + self.draw.choice(["", " OFFSET 1"])
        return query

    def subquery(self, scope, kind, depth):
        """Of one column, with any number of rows."""
        query, inner = self.correlated(scope, depth)
        item = self.expression(inner, kind, 1)
        shape = self.draw.choice(["rows", "rows", "rows", "groups", "set", "first", "distinct"])
        if shape == "groups":
            query.groups.append(Expression(kind, self.draw.choice(
                [name for name, of in inner if of == kind] or [str(item)])))
            item = self.draw.choice([query.groups[0], Expression(
                kind, "max({})", self.leaf(inner, kind), aggregate=True)])
            if not any(name in str(item) or name in str(query.groups[0]) for name, _ in inner):
                query.groups = []
        elif shape == "set":
            other, more = self.correlated(scope, 0)
            other.items = [(self.expression(more, kind, 1), "")]
            query.union = (self.draw.choice(
                ["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"]), other)
        elif shape == "first":
            query.order = [(1, " NULLS LAST")]
            query.limit = f" LIMIT {self.draw.randint(1, 3)}"
        query.distinct = shape == "distinct"
        query.items = [(item, "")]
        return query

    def correlated(self, scope, depth):
        """FROM and WHERE of a subquery that may name columns of the query around it, and of those
        around that one; the columns that are its own."""
        query, inner = self.one_table()
        free = self.pairs * self.rows_of(query) < PAIRS_MAX
        if depth > 0 and self.draw.random() < 0.2:
            derived, _ = self.correlated(scope, 0)
            derived.items = [(Expression(of, name), f"d{number}")
                             for number, (name, of) in enumerate(self.own_of(derived))]
            alias = self.alias()
            query.tables = [("", derived, alias, None)]
            inner = [(f"{alias}.{name}", item.kind) for item, name in derived.items]
        elif free and self.pairs * self.rows_of(query) ** 2 < PAIRS_MAX and (
                self.draw.random() < 0.2):
            joined, more = self.one_table()
            condition = self.expression(inner + more + scope, "bool", 1)
            query.tables.append((self.draw.choice(["LEFT JOIN", "JOIN"]), joined.tables[0][1],
                                 joined.tables[0][2], condition))
            inner = inner + more
        if self.draw.random() < 0.6:
            kind = self.draw.choice(["int", "int", "text", "date"])
            outer = [name for name, of in scope if of == kind]
            own = [name for name, of in inner if of == kind]
            if outer and own:
                how = self.draw.choice(["=", "=", "=", "<", "<>", "IS NOT DISTINCT FROM"]
                                       if free else ["="])
                query.where.append(Expression(
                    "bool", f"{self.draw.choice(own)} {how} {self.draw.choice(outer)}"))
        if self.draw.random() < 0.5:
            both = inner + (scope if free and self.draw.random() < 0.5 else [])
            query.where.append(self.expression(both, "bool", depth))
        return query, inner

    def own_of(self, query):
        return [pair for _, source, alias, _ in query.tables
                for table in self.tables if table.name == source
                for pair in self.scope_of(table, alias)]

    def alias(self):
        self.aliases += 1
        return f"x{self.aliases}"

    def one_table(self):
        query = Query()
        table = self.draw.choice(self.tables)
        alias = self.alias()
        query.tables = [("", table.name, alias, None)]
        return query, self.scope_of(table, alias)

    @staticmethod
    def scope_of(table, alias):
        return [(f"{alias}.{column.name}", column.kind) for column in table.columns]

    def sources(self, query, depth):
        """FROM: tables, joined along their foreign keys or any columns; derived tables."""
        query.tables, scope, joined, rows = [], [], [], 1
        for number in range(self.draw.choices([1, 2, 3, 4], [4, 4, 2, 1])[0]):
            alias = self.alias()
            if depth > 0 and self.draw.random() < 0.12:
                derived, own = self.listed() if self.draw.random() < 0.3 else self.derived()
                table = None
            else:
                table = self.draw.choice(self.tables)
                derived, own = table.name, self.scope_of(table, alias)
            own = [(f"{alias}.{name.split('.')[-1]}", kind) for name, kind in own]
            if number > 0 and table is not None and self.draw.random() < 0.15:
                rows, own = self.join_by_name(query, scope, joined, alias, rows)
                scope = scope + own
                continue
            if number == 0:
                rows = self.rows_of_source(derived)
                query.tables.append(("", derived, alias, None))
            else:
                # A comma binds less than JOIN: an ON after one does not see what stands before.
                how = "," if has_comma(query) else self.draw.choices(
                    ["JOIN", "LEFT JOIN", ",", "RIGHT JOIN", "FULL JOIN"], [8, 5, 3, 1, 1])[0]
                condition, rows = self.join_condition(scope, own, joined, (table, derived, alias),
                                                      rows)
                if condition is None:
                    break
                if how == "FULL JOIN":  # whose ON takes no subqueries of both sides
                    while "SELECT" in str(condition):
                        condition = condition.children[0]
                if how == ",":
                    query.where.append(condition)
                    condition = None
                query.tables.append((how, derived, alias, condition))
            scope = scope + own
            joined.append((table, alias))
        query.joined = self.pairs = rows
        scope = scope + self.merged(query)
        if depth > 0 and self.draw.random() < 0.15:
            own = self.lateral(query, scope, depth)
            together = rows * self.rows_of(query.tables[-1][1])
            if together > PAIRS_MAX:
                query.tables.pop()
            else:
                query.joined = self.pairs = together
                scope = scope + own
        return scope

    def join_by_name(self, query, scope, joined, alias, rows):
        """With a table that stands before it, by its key or all columns; or with each row. How
        many rows they make at most, and the member's columns; none where that were too many."""
        all_before = [table for table, _ in joined if table is not None]
        before = [table for table in all_before if all_before.count(table) == 1]
        if not before or has_comma(query):
            table = min(self.tables, key=lambda one: len(one.rows))
            if rows * len(table.rows) > JOINED_MAX:
                return rows, []
            query.tables.append(("CROSS JOIN", table.name, alias, None))
            joined.append((table, alias))
            return rows * max(1, len(table.rows)), self.scope_of(table, alias)
        table, key = before[0], before[0].columns[0].name
        how = self.draw.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "NATURAL JOIN",
                                "NATURAL LEFT JOIN"])
        query.tables.append((how, table.name, alias,
                             None if how.startswith("NATURAL") else Using(key)))
        joined.append((table, alias))
        return rows + len(table.rows), self.scope_of(table, alias)

    @staticmethod
    def merged(query):
        """Columns of USING that no third table makes ambiguous."""
        sources = [source for _, source, _, _ in query.tables]
        return [(condition.column, "int") for _, source, _, condition in query.tables
                if isinstance(condition, Using) and sources.count(source) == 2]

    def listed(self):
        """VALUES or a series, as a text, with its columns."""
        if self.draw.random() < 0.4:
            first, last = self.draw.randint(-3, 3), self.draw.randint(0, 12)
            step = self.draw.choice(["", ", 2", ", -1"])
            return (Listed(f"(SELECT g AS v0 FROM generate_series({first}, {last}{step}) AS s(g))",
                           16), [("v0", "int")])
        kinds = self.draw.sample(["int", "text", "date", "decimal"], self.draw.randint(1, 3))
        rows = [[literal(self.draw, kind) for kind in kinds]
                for _ in range(self.draw.randint(1, 5))]
        if len(rows) > 1 and self.draw.random() < 0.3:
            rows[-1][0] = "NULL"
        names = [f"v{number}" for number in range(len(kinds))]
        lines = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
        return (Listed(f"(SELECT * FROM (VALUES {lines}) AS v({', '.join(names)}))", len(rows)),
                list(zip(names, kinds)))

    def rows_of(self, query):
        """At most."""
        if query.joined is not None:
            return query.joined
        rows = 1
        for _, source, _, _ in query.tables:
            rows *= self.rows_of_source(source)
        return rows

    def rows_of_source(self, source):
        """At most; an empty one counts as one row, since an outer join makes one of it."""
        if isinstance(source, Query):
            return self.rows_of(source)
        if isinstance(source, Listed):
            return source.rows
        return max(1, next((len(table.rows) for table in self.tables if table.name == source),
                           RECURSION_ROWS))

    def lateral(self, query, scope, depth):
        kind = self.draw.choice(["int", "text"])
        if self.draw.random() < 0.3:
            source, kind = self.scalar(scope, depth - 1), "int"
        else:
            source = self.subquery(scope, kind, depth - 1)
        source.items = [(item, "l0") for item, _ in source.items]
        source.lateral = True
        alias = self.alias()
        how = "," if has_comma(query) else self.draw.choice([",", "LEFT JOIN"])
        query.tables.append((how, source, alias, Expression("bool", "1 = 1")
                             if how == "LEFT JOIN" else None))
        return [(f"{alias}.l0", kind)]

    def join_condition(self, scope, own, joined, member, rows):
        """Of columns of the member and those before it, which make so many rows; and how many they
        make together at most. None where that were too many."""
        for _ in range(5):
            condition, column = self.equality(scope, own, joined, *member)
            table, source, alias = member
            alike = (table.most_alike(column[len(alias) + 1:]) if table and "." in column else
                     self.rows_of_source(source))
            together = rows * max(1, alike) + self.rows_of_source(source)
            if together > JOINED_MAX:
                continue
            self.pairs = together
            if self.draw.random() < 0.2:
                more = self.expression(scope + own, "bool", 1)
                condition = Expression("bool", "{} AND {}", condition, more)
            return condition, together
        return None, rows

    def equality(self, scope, own, joined, table, _, alias):
        """And the member's column in it, or a constant."""
        pairs = []
        for other, name in joined:
            if table is not None and table.parent is other and other is not None:
                pairs.append((f"{name}.{other.columns[0].name}",
                              f"{alias}.{table.columns[1].name}"))
            if other is not None and other.parent is table and table is not None:
                pairs.append((f"{name}.{other.columns[1].name}",
                              f"{alias}.{table.columns[0].name}"))
        if pairs and self.draw.random() < 0.7:
            before, column = self.draw.choice(pairs)
        else:
            kind = self.draw.choice(["int", "int", "text", "date", "bigint"])
            left = [name for name, of in scope if of == kind]
            right = [name for name, of in own if of == kind]
            if not left or not right:  # every table has a key
                kind = "int"
                left = [name for name, of in scope if of == kind] or ["1"]
                right = [name for name, of in own if of == kind] or ["1"]
            before, column = self.draw.choice(left), self.draw.choice(right)
        return Expression("bool", f"{before} = {column}"), column

    def recursion(self):
        """WITH RECURSIVE: steps over what its rows have, or along a table; few, by a counter."""
        name, kind = self.alias(), self.draw.choice(KINDS)
        own = [(f"{name}.n", "int"), (f"{name}.k", "int"), (f"{name}.s", kind)]
        first, scope = self.one_table()
        first.where = [Expression("bool", f"{scope[0][0]} < 12")]
        step = Query()
        step.tables = [("", name, "", None)]
        step.where = [Expression("bool", f"{name}.k < {self.draw.randint(1, 5)}")]
        word = self.draw.choice(["UNION", "UNION ALL"])
        around = list(own)
        if self.draw.random() < 0.7:
            table, alias = self.draw.choice(self.tables), self.alias()
            columns = self.scope_of(table, alias)
            along = [column for column, of in columns if of == "int"]
            if word == "UNION ALL" or self.draw.random() < 0.5:
                along = along[:1]  # the key: rows do not multiply
            how = self.draw.choice(["JOIN", "JOIN", "LEFT JOIN"])
            step.tables.append((how, table.name, alias,
                                Expression("bool", f"{self.draw.choice(along)} = {name}.n")))
            around += columns
        self.pairs = 1000
        if self.draw.random() < 0.4:
            step.where.append(self.expression(around, "bool", 2))
        for query, names, counter in ((first, scope, "0"), (step, around, f"{name}.k + 1")):
            query.items = [(Expression("int", "CAST(mod({}, 50) AS INT)",
                                       self.expression(names, "int", 1)), ""),
                           (Expression("int", counter), ""),
                           (Expression(kind, "CAST({} AS " + RECURSION_TYPES[kind] + ")",
                                       self.expression(names, kind, 1)), "")]
        query = Query()
        query.recursion = (name, first, word, step)
        query.tables = [("", name, "", None)]
        query.items = [(Expression(of, column), f"c{number}")
                       for number, (column, of) in enumerate(own)]
        return query, [(alias, item.kind) for item, alias in query.items]

    def derived(self):
        if self.draw.random() < 0.3:
            return self.recursion()
        query = self.query(0, named=True)
        query.order, query.limit = [], ""
        return query, [(name, item.kind) for item, name in query.items]

    def aggregate(self, scope):
        kind = self.draw.choices(["bigint", "double", "decimal", "any", "text", "bool"],
                                 [4, 3, 2, 2, 1, 1])[0]
        if kind == "any":
            kind = self.draw.choice([k for k in KINDS if k != "bool"])
            template, kinds = self.chosen(SAME_KIND_AGGREGATES)
        else:
            template, kinds = self.chosen(AGGREGATES[kind])
        children = [self.expression(scope, part, 1) for part in self.kinds_of(kinds, kind)]
        if "FILTER" not in template and "extract" not in template and self.draw.random() < 0.1:
            template += " FILTER (WHERE {})"
            children.append(self.expression(scope, "bool", 1))
        return Expression(kind, template, *children, aggregate=True)

    def windowed(self, query, scope):
        over = [f"PARTITION BY {self.draw.choice(scope)[0]} "] if self.draw.random() < 0.6 else []
        by, of = self.draw.choice(scope)
        over.append(f"ORDER BY {by}" + self.draw.choice(["", " DESC"]) + " NULLS "
                    + self.draw.choice(["FIRST", "LAST"]))
        productions = WINDOWED
        frames = [*FRAMES, *RANGES.get(of, [])]
        keys = self.keys_of(query)
        if len(keys) == len(query.tables) and self.draw.random() < 0.5:
            over.append("".join(f", {key}" for key in keys))
            productions, frames = WINDOWED + NUMBERED + OF_ROWS, ROWS
        kind, template, kinds = self.chosen(productions)
        if not any(word in template for word in ("rank", "dist", "number", "lag", "lead", "ntile")):
            over.append(self.draw.choice(frames))
        return Expression(kind, f"{template} OVER ({''.join(over)})",
                          *[self.leaf(scope, part) for part in kinds])

    def keys_of(self, query):
        """Which together name a row, if every source is a table."""
        return [f"{alias}.{table.columns[0].name}" for _, source, alias, _ in query.tables
                for table in self.tables if source == table.name]

    def query(self, depth=2, named=False):
        query = Query()
        scope = self.sources(query, depth)
        for _ in range(self.draw.choices([0, 1, 2], [4, 4, 2])[0]):
            query.where.append(self.expression(scope, "bool", 2))
        if self.draw.random() < 0.5:
            self.grouped(query, scope)
        else:
            for _ in range(self.draw.randint(1, 4)):
                query.items.append((self.expression(scope, self.draw.choice(KINDS), 2), ""))
            if self.draw.random() < 0.2:
                query.items.append((self.windowed(query, scope), ""))
            query.distinct = self.draw.random() < 0.15
        query.items = [(item, f"c{number}") for number, (item, _) in enumerate(query.items)]
        if depth > 0:
            self.finish(query, depth)
        return query

    def grouped(self, query, scope):
        for _ in range(self.draw.choices([0, 1, 2], [3, 5, 2])[0]):
            group = self.expression(scope, self.draw.choice(KINDS), 1)
            if "SELECT" in str(group) or not any(name in str(group) for name, _ in scope):
                continue
            query.groups.append(group)
            query.items.append((group, ""))
        for _ in range(self.draw.randint(1, 3)):
            query.items.append((self.aggregate(scope), ""))
        # PostgreSQL 15 takes what is constant for every row for constant, also where it is NULL.
        constant = any(word in query.grouped_by() for word in ("coalesce", "CASE"))
        if query.groups and not constant and self.draw.random() < 0.25:
            query.grouping = self.draw.choice(["ROLLUP", "CUBE", "GROUPING SETS", "REST"])
            query.items.append((Expression("int", "grouping({})", self.draw.choice(query.groups),
                                           aggregate=True), ""))
        if self.draw.random() < 0.2:
            query.having.append(self.having(query, scope))
        elif query.groups and not query.grouping and self.draw.random() < 0.15:
            query.items.append((Expression(
                "bigint", self.draw.choice(WINDOWS_OF_GROUPS), self.draw.choice(query.groups),
                aggregate=True), ""))

    def having(self, query, scope):
        """Of an aggregate: with a constant, or what a subquery finds that may name the groups."""
        template, kinds = self.chosen([(4, "count(*)", []), (1, "count(DISTINCT {})", ["int"]),
                                       (2, "max({})", ["int"]), (2, "sum({})", ["int"])])
        value = Expression("bigint", template, *[self.leaf(scope, kind) for kind in kinds],
                           aggregate=True)
        names = [name for name, _ in scope]
        groups = [(str(group), group.kind) for group in query.groups if str(group) in names]
        if query.grouping or self.draw.random() < 0.5:
            return Expression("bool", "{} > {}", value, literal(self.draw, "int"))
        return Expression("bool", "{} " + self.draw.choice(["<", ">=", "<>"]) + " ({})", value,
                          self.scalar(groups, 1))

    def finish(self, query, depth):
        """ORDER BY all columns, so that the order is total, and LIMIT; UNION; WITH."""
        if self.draw.random() < 0.08:
            word = self.draw.choice(["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT",
                                     "EXCEPT ALL"])
            other, inner = self.one_table()
            other.items = [(self.expression(inner, item.kind, 1), "") for item, _ in query.items]
            query.union = (word, other)
        if self.draw.random() < 0.5:
            positions = list(range(1, len(query.items) + 1))
            self.draw.shuffle(positions)
            query.order = [(number, self.draw.choice(["", " DESC NULLS LAST", " NULLS FIRST",
                                                      " DESC NULLS FIRST", " NULLS LAST"]))
                           for number in positions]
            if not query.union and not query.distinct and self.draw.random() < 0.2:
                query.distinct_on = self.draw.randint(1, len(positions))
            if self.draw.random() < 0.5:
                query.limit = f" LIMIT {self.draw.choice([0, 1, 5, 50])}"
                query.limit += self.draw.choice(["", f" OFFSET {self.draw.choice([1, 10])}"])
            query.wrapped = self.draw.random() < 0.2
        keys = self.keys_of(query)
        if depth > 1 and keys and self.draw.random() < 0.08:
            table = self.draw.choice(self.tables)
            alias = self.alias()
            query.prefix = (f"WITH {alias} AS (SELECT {table.columns[0].name} AS k FROM "
                            f"{table.name}) ")
            query.tables.append((",", alias, "", None))
            query.where.append(Expression("bool", f"{alias}.k = {keys[0]}"))
