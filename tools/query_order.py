"""Which output columns the ORDER BY of a query names."""

import re

TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\d+(?:\.\d+)?|\w+|\S")


def tokens(sql):
    """(token, depth) of each: of how many parentheses it stands in. Words are in lower case."""
    depth = 0
    out = []
    for token in TOKEN.findall(sql):
        depth -= token == ")"
        out.append((token if token[0] in "'\"" else token.lower(), depth))
        depth += token == "("
    return out


def split(found):
    """The tokens between the commas that stand in no parentheses."""
    items = [[]]
    for token, depth in found:
        if (token, depth) == (",", 0):
            items.append([])
        else:
            items[-1].append((token, depth))
    return [item for item in items if item]


def words(item):
    return tuple(token for token, _ in item)


def unqualified(item):
    """Without the names of tables before those of columns."""
    return tuple(token for at, token in enumerate(item)
                 if token != "." and item[at + 1:at + 2] != (".",))


def ordered_by(found):
    """The items of the ORDER BY that stands in no parentheses, without their directions."""
    begin = next((at for at in range(len(found)) if found[at:at + 2] == [("order", 0), ("by", 0)]),
                 len(found))
    end = next((at for at in range(begin, len(found))
                if found[at] in (("limit", 0), ("offset", 0), ("fetch", 0))), len(found))
    items = []
    for item in map(words, split(found[begin + 2:end])):
        if item[-2:-1] == ("nulls",):
            item = item[:-2]
        items.append(item[:-1] if item[-1] in ("asc", "desc") else item)
    return items


def selected(found):
    """The expressions of the first select list that stands in no parentheses, without names that
    follow an AS."""
    begin = found.index(("select", 0)) + 1
    if found[begin][0] in ("distinct", "all"):
        begin += 1
        if found[begin] == ("on", 0):
            begin = found.index((")", 0), begin) + 1
    ends = (("from", 0), ("union", 0), ("except", 0), ("intersect", 0), ("order", 0), ("limit", 0))
    end = next((at for at in range(begin, len(found))
                if found[at] in ends and found[at - 1][0] != "distinct"), len(found))
    return [words(item[:item.index(("as", 0))] if ("as", 0) in item else item)
            for item in split(found[begin:end])]


def without_name(expression, name):
    """An expression without the name that follows it without an AS."""
    named = len(expression) > 1 and expression[-1] == name and expression[-2] != "."
    return expression[:-1] if named else expression


def order_columns(sql, names):
    """Of each item of its last ORDER BY the position among the output columns, which have these
    names; or the item's text, where none is it."""
    found = tokens(sql)
    names = [name.lower() for name in names]
    expressions = selected(found)
    if len(expressions) != len(names):  # a *, or VALUES
        expressions = []
    expressions = [without_name(*pair) for pair in zip(expressions, names)]
    plain = [unqualified(expression) for expression in expressions]
    columns = []
    for item in ordered_by(found):
        if len(item) == 1 and item[0].isdigit():
            columns.append(int(item[0]) - 1)
        elif len(item) == 1 and item[0] in names:
            columns.append(names.index(item[0]))
        elif item in expressions:
            columns.append(expressions.index(item))
        elif unqualified(item) in plain:
            columns.append(plain.index(unqualified(item)))
        else:
            columns.append(" ".join(item))
    return columns
