"""Random queries as trees of parts that can be taken away, to make a wrong one small."""

import re

# What need not be evaluated for each row, though it stands there.
LAZY = re.compile(r"\b(AND|OR|CASE|coalesce|FILTER|EXISTS|IN|ANY|ALL|LIMIT|FETCH)\b")


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
    """A source that is no table, with a number of rows and its columns."""

    def __new__(cls, text, rows, columns=()):
        one = super().__new__(cls, text)
        one.rows, one.columns = rows, columns
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
        self.ctes = []       # (name, Query)
        self.distinct = False
        self.distinct_on = 0  # so many first ones of what it is ordered by, all positions then
        self.items = []      # (Expression, name)
        self.tables = []     # [(how, text or Query, alias, condition or None)]
        self.where = []
        self.groups = []
        self.grouping = ""   # ROLLUP, CUBE and so on of the groups
        self.group_style = ""  # "position" or "name": of the items, which begin with the groups
        self.having = []
        self.windows = []    # (name, text)
        self.unions = []     # (word, Query): a chain
        self.parenthesised = False  # the chain but for its last member
        self.order = []      # (position, name or expression, suffix)
        self.limit = ""
        self.wrapped = False  # the limit is that of a query around it, whose rows come in its order
        self.recursion = None  # WITH RECURSIVE: (name, first Query, word, step Query)
        self.lateral = False  # as a source: names columns of those before it
        self.joined = None   # rows that its FROM makes, at most; None: each with each

    def copy(self):
        other = Query()
        other.__dict__.update({key: list(value) if isinstance(value, list) else value
                               for key, value in self.__dict__.items()})
        return other

    def __str__(self):
        text = self.selected()
        for number, (word, other) in enumerate(self.unions):
            if self.parenthesised and number and number == len(self.unions) - 1:
                text = f"({text})"
            text += f" {word} ({other})" if other.is_compound() else f" {word} {other}"
        if self.ctes:
            text = f"WITH {', '.join(f'{name} AS ({query})' for name, query in self.ctes)} {text}"
        if self.order:
            text += " ORDER BY " + ", ".join(f"{what}{suffix}" for what, suffix in self.order)
        if self.wrapped and self.order:
            text = f"SELECT * FROM ({text}) AS ordered"
        return text + self.limit

    def is_compound(self):
        """It is a member of a set operation in parentheses alone."""
        return bool(self.ctes or self.unions or self.order or self.limit or self.recursion)

    def selected(self):
        text = ""
        if self.recursion:
            name, first, word, step = self.recursion
            text += f"WITH RECURSIVE {name}(n, k, s) AS ({first} {word} {step}) "
        text += "SELECT " + ("DISTINCT " if self.distinct else "")
        if self.distinct_on and self.order:
            names = [self.items[number - 1][1] for number, _ in self.order[:self.distinct_on]]
            text += f"DISTINCT ON ({', '.join(names)}) "
        text += ", ".join(f"{item} AS {name}" if name else str(item) for item, name in self.items)
        text += " FROM " + self.sources_text()
        if self.where:
            text += " WHERE " + " AND ".join(f"({part})" for part in self.where)
        if self.groups:
            text += " GROUP BY " + self.grouped_by()
        if self.having:
            text += " HAVING " + " AND ".join(f"({part})" for part in self.having)
        if self.windows:
            text += " WINDOW " + ", ".join(f"{name} AS ({over})" for name, over in self.windows)
        return text

    def sources_text(self):
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
        return "".join(sources)

    def grouped_by(self):
        groups = list(map(str, self.groups))
        if self.group_style:
            groups = [str(number + 1) if self.group_style == "position" else self.items[number][1]
                      for number in range(len(groups))]
        if self.grouping == "REST":
            return f"{groups[0]}, ROLLUP({', '.join(groups[1:])})" if groups[1:] else groups[0]
        if self.grouping == "GROUPING SETS":
            sets = [f"({', '.join(groups[:count])})" for count in range(len(groups), -1, -1)]
            return f"GROUPING SETS ({', '.join(sets)})"
        if self.grouping == "SEVERAL":
            return f"GROUPING SETS (({groups[-1]}), ()), CUBE({', '.join(groups)})"
        if self.grouping == "DISTINCT":
            return f"DISTINCT ROLLUP({', '.join(groups)}), ROLLUP({groups[0]})"
        return f"{self.grouping}({', '.join(groups)})" if self.grouping else ", ".join(groups)

    def evaluates_its_items(self, rows_of):
        """Whether it has to evaluate all that stands in its items and groups for some row.
        rows_of: rows of tables by their names."""
        parts = [item for item, _ in self.items] + self.groups
        rest = (self.ctes, self.distinct_on, self.where, self.having, self.unions, self.order,
                self.limit, self.recursion)
        return (not any(rest) and not self.grouping and len(self.tables) == 1 and
                rows_of.get(str(self.tables[0][1]), 0) > 0 and
                not any(LAZY.search(str(part)) for part in parts))

    def smaller(self):
        for field in ("wrapped", "unions", "parenthesised", "limit", "distinct", "distinct_on",
                      "grouping", "group_style", "ctes", "recursion"):
            if getattr(self, field):
                less = self.copy()
                setattr(less, field, getattr(Query(), field))
                yield less
        yield from (query for _, query in self.ctes + self.unions)
        yield from (source for _, source, _, _ in self.tables if isinstance(source, Query))
        yield from self.with_smaller_recursion()
        yield from self.with_fewer_parts()
        yield from self.with_smaller_parts()

    def with_fewer_parts(self):
        for field in ("having", "where", "order", "groups", "items", "tables", "unions", "ctes",
                      "windows"):
            parts = getattr(self, field)
            if len(parts) <= (1 if field in ("items", "tables") else 0):
                continue
            for number in range(len(parts) - 1, -1, -1):
                less = self.copy()
                del getattr(less, field)[number]
                # What orders by position or counts on every column is not this query any more.
                if field == "order" or field == "items" and less.order:
                    less.order, less.limit = [], ""
                if field == "items":
                    less.group_style = ""
                yield less

    def with_smaller_parts(self):
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
        for field in ("unions", "ctes"):
            for number, (word, query) in enumerate(getattr(self, field)):
                for smaller in query.smaller():
                    less = self.copy()
                    getattr(less, field)[number] = (word, smaller)
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
        pairs = [(smaller, step) for smaller in first.smaller()]
        # Without the step's first condition it does not end.
        pairs += [(first, smaller) for smaller in step.smaller()
                  if smaller.where and str(smaller.where[0]) == str(step.where[0])]
        for smaller_first, smaller_step in pairs:
            less = self.copy()
            less.recursion = (name, smaller_first, word, smaller_step)
            yield less
