"""Random FROMs: tables, joined along their foreign keys or any columns, and what stands for one."""

from productions import RECURSION_TYPES
from query_tree import Expression, Listed, Query, Using
from random_expressions import PAIRS_MAX, Expressions, literal
from random_schema import KINDS

JOINED_MAX = 200_000   # rows that the members of a FROM make, by how often values come
UNEQUAL_MAX = 20_000   # of a join without an equality
# Of rows, with the type of the one column; and those that are for PostgreSQL alone.
SERIES = [("generate_series(-1, 9, 2)", "int"), ("generate_series(12, -3, -1)", "int"),
          ("generate_series(0, 5)", "int"), ("generate_series(3, 0)", "int"),
          ("unnest(ARRAY[1, NULL, 3, 3])", "int")]
POSTGRES_SERIES = [
    ("generate_series(0.5, 3, 0.75)", "decimal"), ("generate_series(2.0, -1, -0.5)", "decimal"),
    ("generate_series(TIMESTAMP '2011-01-01', TIMESTAMP '2011-02-01 12:00', "
     "INTERVAL '3 days 01:30:00')", "timestamp"),
    ("generate_series(TIMESTAMP '2011-03-31', TIMESTAMP '2011-01-01', INTERVAL '-1 month')",
     "timestamp"),
    ("unnest(ARRAY['a', NULL, 'ab'])", "text"), ("unnest('{2011-01-02, 2011-02-03}'::date[])",
                                                 "date"), ("unnest('{1,NULL,20}'::int[])", "int")]


def has_comma(query):
    return any(how == "," for how, *_ in query.tables)


def has_listed(query):
    """Whose columns may have names of others."""
    return any(isinstance(source, Listed) for _, source, *_ in query.tables)


class Sources(Expressions):
    def sources(self, query, depth):
        """FROM: tables, derived tables and others; the columns that can be named."""
        query.tables, scope, joined, rows = [], [], [], 1
        for number in range(self.draw.choices([1, 2, 3, 4], [4, 4, 2, 1])[0]):
            alias = self.alias()
            table, source, alias, own = self.member(alias, depth)
            if number > 0 and table is not None and self.draw.random() < 0.15:
                rows, own = self.join_by_name(query, scope, joined, alias, rows)
                scope = scope + own
                continue
            if number == 0:
                rows = self.rows_of_source(source)
                query.tables.append(("", source, alias, None))
            else:
                # A comma binds less than JOIN: an ON after one does not see what stands before.
                how = "," if has_comma(query) else self.draw.choices(
                    ["JOIN", "LEFT JOIN", ",", "RIGHT JOIN", "FULL JOIN"], [8, 5, 3, 1, 1])[0]
                condition, rows = self.join_condition(scope, own, joined, (table, source, alias),
                                                      rows, how)
                if condition is None:
                    break
                if how == ",":
                    query.where.append(condition)
                    condition = None
                query.tables.append((how, source, alias, condition))
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

    def member(self, alias, depth):
        """Of a FROM: its table or None, text or Query, alias, and columns."""
        if self.ctes and self.draw.random() < 0.4:
            cte = self.draw.choice(self.ctes)
            return None, cte, alias, self.columns_of(cte, alias)
        if depth == 0 or self.draw.random() > 0.15:
            table = self.draw.choice(self.tables)
            return table, table.name, alias, self.scope_of(table, alias)
        which = self.draw.random()
        if which < 0.2:
            return None, *self.joined_source(alias)
        derived, own = self.listed() if which < 0.45 else self.derived()
        return None, derived, alias, [(f"{alias}.{name}", kind) for name, kind in own]

    def joined_source(self, alias):
        """Two tables in parentheses, with an alias for both where no names are the same."""
        one, other = self.draw.choice(self.tables), self.draw.choice(self.tables)
        names = self.alias(), self.alias()
        by = self.draw.choice([column.name for column in other.columns if column.kind == "int"])
        how = self.draw.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
        text = (f"({one.name} {names[0]} {how} {other.name} {names[1]} ON "
                f"{names[0]}.{one.columns[0].name} = {names[1]}.{by})")
        own = self.scope_of(one, names[0]) + self.scope_of(other, names[1])
        if one is other or self.draw.random() < 0.5:
            alias = ""
        else:
            own = [(f"{alias}.{name.split('.')[1]}", kind) for name, kind in own]
        return Listed(text, len(one.rows) + len(other.rows)), alias, own

    def listed(self):
        """VALUES or a series, as a text, with its columns."""
        if self.draw.random() < 0.4:
            series = SERIES + (POSTGRES_SERIES if self.postgres else [])
            text, kind = self.draw.choice(series)
            return Listed(f"(SELECT g AS v0 FROM {text} AS s(g))", 16), [("v0", kind)]
        kinds = self.draw.sample(["int", "text", "date", "decimal"], self.draw.randint(1, 3))
        rows = [[literal(self.draw, kind) for kind in kinds]
                for _ in range(self.draw.randint(1, 5))]
        if len(rows) > 1 and self.draw.random() < 0.3:
            rows[-1][0] = "NULL"
        names = [f"v{number}" for number in range(len(kinds))]
        lines = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
        return (Listed(f"(SELECT * FROM (VALUES {lines}) AS v({', '.join(names)}))", len(rows)),
                list(zip(names, kinds)))

    def derived(self):
        """A query without an order, with its columns."""
        if self.draw.random() < 0.3:
            return self.recursion()
        query = self.query(0, ordered=False)
        return query, self.columns_named(query)

    @staticmethod
    def columns_named(query):
        return [(name, item.kind) for item, name in query.items]

    def with_ctes(self):
        """One or two, which the query and those that follow can name; one may have its own."""
        made = []
        for _ in range(self.draw.randint(1, 2)):
            outer = self.ctes
            inner = [self.cte(self.query(0, ordered=False))] if self.draw.random() < 0.3 else []
            self.ctes = outer + [source for source, _ in inner]
            body = self.query(0, ordered=self.draw.random() < 0.7)
            body.ctes = [(str(source), query) for source, query in inner]
            source, _ = self.cte(body)
            self.ctes = outer + [source]
            made.append((str(source), body))
        return made

    def cte(self, query):
        return Listed(self.alias(), self.rows_of(query), self.columns_named(query)), query
    def join_by_name(self, query, scope, joined, alias, rows):
        """With a table that stands before it, by its key or all columns; or with each row. How
        many rows they make at most, and the member's columns; none where that were too many."""
        all_before = [table for table, _ in joined if table is not None]
        before = [table for table in all_before if all_before.count(table) == 1]
        if not before or has_comma(query) or has_listed(query):
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
        if has_listed(query):
            return []
        sources = [source for _, source, _, _ in query.tables]
        return [(condition.column, "int") for _, source, _, condition in query.tables
                if isinstance(condition, Using) and sources.count(source) == 2]

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

    def join_condition(self, scope, own, joined, member, rows, how):
        """Of columns of the member and those before it, which make so many rows; and how many they
        make together at most. None where that were too many."""
        pairs = rows * self.rows_of_source(member[1])
        if how != "FULL JOIN" and pairs <= UNEQUAL_MAX and self.draw.random() < 0.15:
            self.pairs = pairs
            return Expression("bool", "({})", self.expression(scope + own, "bool", 1)), pairs
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
                # The ON of a full join takes no subqueries of both sides.
                if how != "FULL JOIN" or "SELECT" not in str(more):
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
            if word == "UNION ALL" or len(table.rows) > 200 or self.draw.random() < 0.5:
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
