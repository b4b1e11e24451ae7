"""Random expressions over the columns in scope, and the subqueries in them."""

import random

import postgres_productions
from productions import AGGREGATES, FOR_ANY, PATTERNS, PRODUCTIONS, SAME_KIND_AGGREGATES
from query_tree import Expression, Listed, Query
from random_schema import KINDS, SQL_TYPES, Column, random_value

PAIRS_MAX = 3_000_000  # of rows that a subquery and the query around it make without an equality
RECURSION_ROWS = 1000  # taken for at most


def literal(draw, kind):
    """Those of the form CAST(value AS TYPE) can be a parameter's value, NULL too."""
    sql_type = SQL_TYPES[kind][0]
    if draw.random() < 0.03:
        return Expression(kind, f"CAST(NULL AS {sql_type})")
    value = random_value(draw, Column("", kind, sql_type, False))
    if kind == "text":
        value = value.replace("'", "''")
        return Expression(kind, "'{}'".replace("{}", value.replace("{", "").replace("}", "")))
    if kind in ("date", "timestamp", "interval"):
        return Expression(kind, f"{kind.upper()} '{value}'")
    # A bigint or a double is not the INT or the decimal that its digits are.
    if kind in ("bigint", "double") or kind in ("int", "decimal") and draw.random() < 0.15:
        return Expression(kind, f"CAST({value} AS {sql_type})")
    return Expression(kind, f"({value})" if value.startswith("-") else value)


def with_more(productions, more):
    return {kind: productions.get(kind, []) + more.get(kind, [])
            for kind in {**productions, **more}}


class Expressions:
    """`postgres`: with what only PostgreSQL answers as this engine does."""

    def __init__(self, seed, tables, postgres=False):
        self.draw = random.Random(seed)
        self.tables = tables
        self.postgres = postgres
        self.aliases = 0
        self.pairs = 1  # of rows that the query around compares, at most
        self.ctes = []  # sources that can be named
        self.kinds = KINDS
        self.productions, self.for_any = PRODUCTIONS, FOR_ANY
        self.aggregates, self.same_kind_aggregates = AGGREGATES, SAME_KIND_AGGREGATES
        if postgres:
            more = postgres_productions
            self.kinds = KINDS + ("interval",)
            self.productions = with_more(PRODUCTIONS, more.PRODUCTIONS)
            self.for_any = FOR_ANY + more.FOR_ANY
            self.aggregates = with_more(AGGREGATES, more.AGGREGATES)
            self.same_kind_aggregates = SAME_KIND_AGGREGATES + more.SAME_KIND_AGGREGATES

    def chosen(self, productions):
        weights = [weight for weight, *_ in productions]
        return self.draw.choices(productions, weights)[0][1:]

    def kinds_of(self, kinds, kind):
        if isinstance(kinds, str):
            one = self.draw.choice([k for k in self.kinds if k != "bool"])
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
        template, kinds = self.chosen(self.productions[kind] + self.for_any)
        return Expression(kind, template, *[self.expression(scope, part, depth - 1)
                                            for part in self.kinds_of(kinds, kind)])

    def naming(self, scope, kind, depth):
        """An expression that names a column of the scope, if there is one."""
        one = self.expression(scope, kind, depth)
        if any(name in str(one) for name, _ in scope) and "SELECT" not in str(one):
            return one
        name, of = self.draw.choice(scope)
        return Expression(of, name)

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
        if self.postgres and self.draw.random() < 0.2:
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
            query.unions = [(self.draw.choice(
                ["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"]), other)]
        elif shape == "first":
            query.order = [(1, " NULLS LAST")]
            query.limit = f" LIMIT {self.draw.randint(1, 3)}"
        query.distinct = shape == "distinct"
        query.items = [(item, "")]
        return query

    def correlated(self, scope, depth):
        """FROM and WHERE of a subquery that may name columns of the query around it, and of those
        around that one; the columns that are its own."""
        query, inner = self.one_source()
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
                for pair in self.columns_of(source, alias)]

    def columns_of(self, source, alias):
        if isinstance(source, Listed):
            return [(f"{alias}.{name}", kind) for name, kind in source.columns]
        return next((self.scope_of(table, alias) for table in self.tables if table.name == source),
                    [])

    def alias(self):
        self.aliases += 1
        return f"x{self.aliases}"

    def one_source(self):
        """A table, or a CTE that can be named."""
        if not self.ctes or self.draw.random() < 0.7:
            return self.one_table()
        query, alias, cte = Query(), self.alias(), self.draw.choice(self.ctes)
        query.tables = [("", cte, alias, None)]
        return query, self.columns_of(cte, alias)

    def one_table(self):
        query = Query()
        table = self.draw.choice(self.tables)
        alias = self.alias()
        query.tables = [("", table.name, alias, None)]
        return query, self.scope_of(table, alias)

    @staticmethod
    def scope_of(table, alias):
        return [(f"{alias}.{column.name}", column.kind) for column in table.columns]

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
            return max(1, source.rows)
        return max(1, next((len(table.rows) for table in self.tables if table.name == source),
                           RECURSION_ROWS))
