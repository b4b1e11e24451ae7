"""Random schemas, data and queries: what random_query_test.py asks both engines.

A query is a tree of parts that can be taken away (query_tree.py), so that one on which the engines
differ can be made small. What may stand where is a table (productions.py); a new function is one
more line. What an engine does not support yet may stand there too: such a query counts as skipped,
and is compared from the day that it runs.

Left out, since engines differ on purpose: division of whole numbers, texts outside ASCII in
functions, sums that hang on the order of doubles (all doubles are multiples of 1/4), LIMIT without
a total order, patterns of `~` without anchors and of SIMILAR TO with % (DuckDB matches the whole
text, and takes % for itself), rounding of doubles, decimals of fewer than two places beside others
(of whose sums DuckDB drops them). PostgreSQL is asked the first two and rounding, too.
"""

import re

from postgres_productions import RISKY
from productions import (FRAMES, NUMBERED, OF_ROWS, RANGES, ROWS, WINDOWED, WINDOWS_OF_GROUPS)
from query_tree import Expression, Query
from random_expressions import PAIRS_MAX, literal  # noqa: F401
from random_schema import KINDS, random_schema  # noqa: F401
from random_sources import JOINED_MAX, Sources  # noqa: F401

EXCLUDE_ROWS_MAX = 2000  # the time of PostgreSQL for it grows with the square of the rows
INEXACT = re.compile(r"\b(var|variance|stddev|covar|corr|regr)")  # ties are no ties
SUFFIXES = ["", " DESC NULLS LAST", " NULLS FIRST", " DESC NULLS FIRST", " NULLS LAST"]
SET_OPERATIONS = ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]


class Generator(Sources):
    def query(self, depth=2, ordered=True):
        """depth: of subqueries and derived tables. Without any it is itself one of them."""
        if depth > 1 and self.postgres and self.draw.random() < 0.04:
            return self.risky()
        query, outer = Query(), self.ctes
        if depth > 1 and self.draw.random() < 0.15:
            query.ctes = self.with_ctes()
        scope = self.sources(query, depth)
        for _ in range(self.draw.choices([0, 1, 2], [4, 4, 2])[0]):
            query.where.append(self.expression(scope, "bool", 2))
        if self.draw.random() < 0.5:
            self.grouped(query, scope)
        else:
            for _ in range(self.draw.randint(1, 4)):
                query.items.append((self.expression(scope, self.draw.choice(self.kinds), 2), ""))
            for _ in range(self.draw.choices([0, 1, 2], [15, 3, 1])[0]):
                query.items += [(item, "") for item in self.windowed(query, scope)]
            query.distinct = self.draw.random() < 0.15
        query.items = [(item, f"c{number}") for number, (item, _) in enumerate(query.items)]
        if query.groups and not query.grouping and self.draw.random() < 0.3:
            named = len(self.keys_of(query)) == len(query.tables)  # else c0 may be a column
            query.group_style = self.draw.choice(["position", "name"] if named else ["position"])
        if depth > 0 and self.draw.random() < 0.12:
            self.add_unions(query)
        if ordered and self.draw.random() < 0.5:
            self.order(query, scope)
        self.ctes = outer
        return query

    def risky(self):
        """What may fail on a row, alone or behind a condition; or a scalar subquery of all rows."""
        query, scope = self.one_table()
        kind, template, kinds = self.chosen(RISKY)
        item = Expression(kind, template, *[self.leaf(scope, part) for part in kinds],
                          aggregate="sum(" in template or "max(" in template)
        if self.draw.random() < 0.1:
            other, inner = self.one_table()
            other.items = [(self.expression(inner, "int", 1), "")]
            item = Expression("int", "({})", other)
        query.items = [(item, "c0")]
        if self.draw.random() < 0.3:
            query.where.append(self.expression(scope, "bool", 1))
        return query

    def aggregate(self, scope):
        kind = self.draw.choice(["bigint"] * 4 + ["double"] * 3 + ["decimal", "any"] * 2
                                + ["text", "bool"] + ["interval"] * self.postgres)
        if kind == "any":
            kind = self.draw.choice([k for k in self.kinds if k != "bool"])
            template, kinds = self.chosen(self.same_kind_aggregates)
        else:
            template, kinds = self.chosen(self.aggregates[kind])
        children = [self.expression(scope, part, 1) for part in self.kinds_of(kinds, kind)]
        # A FILTER stands behind the aggregate itself.
        bare = not any(word in template for word in ("FILTER", "extract", "justify", "greatest"))
        if bare and self.draw.random() < 0.1:
            template += " FILTER (WHERE {})"
            children.append(self.expression(scope, "bool", 1))
        return Expression(kind, template, *children, aggregate=True)

    def windowed(self, query, scope):
        """One or two functions over one window."""
        partitions = [self.window_key(scope)[0]
                      for _ in range(self.draw.choices([0, 1, 2], [4, 6, 1])[0])]
        keys = [self.window_key(scope) for _ in range(self.draw.choices([0, 1, 2], [1, 8, 2])[0])]
        orders = [f"{key}{self.draw.choice(['', ' DESC'])} NULLS "
                  + self.draw.choice(["FIRST", "LAST"]) for key, _ in keys]
        frames = [*FRAMES, *RANGES.get(keys[0][1], [])] if len(keys) == 1 else FRAMES
        if not keys:
            frames = [""]
        if self.rows_of(query) > EXCLUDE_ROWS_MAX:
            frames = [frame for frame in frames if "EXCLUDE" not in frame]
        productions, own = WINDOWED, self.keys_of(query)
        if len(own) == len(query.tables) and self.draw.random() < 0.5:
            orders += own
            productions = WINDOWED + NUMBERED + OF_ROWS
            frames = [frame for frame in ROWS
                      if "EXCLUDE" not in frame or self.rows_of(query) <= EXCLUDE_ROWS_MAX]
        over = [f"PARTITION BY {', '.join(partitions)}"] if partitions else []
        over = " ".join(over + ([f"ORDER BY {', '.join(orders)}"] if orders else []))
        name = ""
        if self.draw.random() < 0.3:
            name = self.alias()
            query.windows.append((name, over))
        return [self.window_function(scope, productions, over, name, self.draw.choice(frames))
                for _ in range(self.draw.choices([1, 2], [3, 1])[0])]

    def window_function(self, scope, productions, over, name, frame):
        kind, template, kinds = self.chosen(productions)
        if any(word in template for word in ("rank", "dist", "number", "lag", "lead", "ntile")):
            frame = ""
        over = f"({name or over}{frame})" if frame or not name else name
        return Expression(kind, f"{template} OVER {over}",
                          *[self.leaf(scope, part) for part in kinds])

    def window_key(self, scope):
        """As (text, its type if it is a column)."""
        if self.draw.random() < 0.2:
            return str(self.naming(scope, self.draw.choice(self.kinds), 1)), None
        return self.draw.choice(scope)

    def keys_of(self, query):
        """Which together name a row, if every source is a table."""
        return [f"{alias}.{table.columns[0].name}" for _, source, alias, _ in query.tables
                for table in self.tables if source == table.name]

    def grouped(self, query, scope):
        for _ in range(self.draw.choices([0, 1, 2], [3, 5, 2])[0]):
            group = self.expression(scope, self.draw.choice(self.kinds), 1)
            if "SELECT" in str(group) or not any(name in str(group) for name, _ in scope):
                continue
            query.groups.append(group)
            query.items.append((group, ""))
        for _ in range(self.draw.randint(1, 3)):
            query.items.append((self.aggregate(scope), ""))
        # PostgreSQL 15 takes what is constant for every row for constant, also where it is NULL.
        constant = any(word in query.grouped_by() for word in ("coalesce", "CASE"))
        if query.groups and not constant and self.draw.random() < 0.25:
            query.grouping = self.draw.choice(["ROLLUP", "CUBE", "GROUPING SETS", "REST", "SEVERAL"]
                                              + ["DISTINCT"] * self.postgres)
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

    def add_unions(self, query):
        """A chain of set operations, of one type in each column."""
        kinds = [item.kind for item, _ in query.items]
        for _ in range(self.draw.choices([1, 2, 3], [5, 3, 1])[0]):
            query.unions.append((self.draw.choice(SET_OPERATIONS), self.branch(kinds, 1)))
        query.parenthesised = self.draw.random() < 0.5

    def branch(self, kinds, depth):
        """Of a set operation: with joins, conditions, groups, and branches of its own."""
        query, scope = self.one_source()
        if self.draw.random() < 0.3:
            query = Query()
            scope = self.sources(query, 0)
        if self.draw.random() < 0.5:
            query.where.append(self.expression(scope, "bool", 1))
        query.items = [(self.expression(scope, kind, 1), "") for kind in kinds]
        texts = [str(item) for item, _ in query.items]
        if "SELECT" not in "".join(texts) and self.draw.random() < 0.25:
            query.groups = [item for (item, _), text in zip(query.items, texts)
                            if any(name in text for name, _ in scope)]
            if query.groups and self.draw.random() < 0.5:
                query.having.append(Expression("bool", "count(*) > 1", aggregate=True))
        if depth > 0 and self.draw.random() < 0.2:
            query.unions.append((self.draw.choice(SET_OPERATIONS), self.branch(kinds, 0)))
        if self.draw.random() < 0.15:
            query.order = [(number + 1, " NULLS LAST") for number in range(len(kinds))]
            query.limit = f" LIMIT {self.draw.randint(1, 20)}"
        return query

    def order(self, query, scope):
        """ORDER BY all columns, so that the order is total; LIMIT."""
        positions = list(range(1, len(query.items) + 1))
        self.draw.shuffle(positions)
        plain = not query.unions and not query.distinct
        exact = not INEXACT.search(str(query))
        if plain and exact and self.draw.random() < 0.15:
            query.distinct_on = self.draw.randint(1, len(positions))
        query.order = [(number if query.distinct_on else self.order_key(query, number, plain),
                        self.draw.choice(SUFFIXES)) for number in positions]
        if plain and not query.distinct_on and self.draw.random() < 0.15:
            hidden = self.hidden_key(query, scope)
            if not INEXACT.search(str(hidden)):
                query.order.insert(0, (hidden, self.draw.choice(SUFFIXES)))
        count, skipped = self.draw.choice([0, 1, 5, 50]), self.draw.choice([0, 0, 1, 10])
        which = self.draw.random()
        if not exact:
            pass
        elif which < 0.35:
            query.limit = f" LIMIT {count}" + (f" OFFSET {skipped}" if skipped else "")
        elif which < 0.45:
            query.limit = f" OFFSET {skipped} ROWS FETCH FIRST {count} ROWS ONLY"
        elif which < 0.55 and self.postgres and not query.distinct_on:
            query.order = query.order[:self.draw.randint(1, len(query.order))]
            query.limit = f" FETCH FIRST {max(1, count)} ROWS WITH TIES"
            return
        query.wrapped = self.draw.random() < 0.2

    def order_key(self, query, number, plain):
        """A column by its position, its name, or its expression."""
        item, name = query.items[number - 1]
        expression = plain and re.search(r"\bx\d+\.", str(item))
        return self.draw.choice([number, name, item if expression else name])

    def hidden_key(self, query, scope):
        """Of no column of the result."""
        if query.groups or any(item.has_aggregate() for item, _ in query.items):
            return self.aggregate(scope)
        return self.naming(scope, self.draw.choice(self.kinds), 1)
