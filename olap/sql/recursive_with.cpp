#include "olap/sql/recursive_with.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include <fmt/format.h>

namespace diptych::olap {
namespace {

using Visit = std::function<void(const ProtobufCMessage& child)>;

// The messages that the message has, of whatever kind it is.
void for_each_child(const ProtobufCMessage& message, const Visit& visit) {
  const auto* const bytes = reinterpret_cast<const char*>(&message);
  const ProtobufCMessageDescriptor& kind = *message.descriptor;
  for (unsigned i = 0; i < kind.n_fields; ++i) {
    const ProtobufCFieldDescriptor& field = kind.fields[i];
    if (field.type != PROTOBUF_C_TYPE_MESSAGE) continue;
    const char* const value = bytes + field.offset;
    const char* const quantifier = bytes + field.quantifier_offset;
    if (field.label == PROTOBUF_C_LABEL_REPEATED) {
      const auto* const all = *reinterpret_cast<ProtobufCMessage* const* const*>(value);
      const size_t count = *reinterpret_cast<const size_t*>(quantifier);
      for (size_t k = 0; k < count; ++k) visit(*all[k]);
      continue;
    }
    const bool is_choice = (field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    if (is_choice && *reinterpret_cast<const uint32_t*>(quantifier) != field.id) continue;
    const auto* const one = *reinterpret_cast<const ProtobufCMessage* const*>(value);
    if (one != nullptr) visit(*one);
  }
}

// What a reference stands in.
enum class Place : uint8_t {
  kAllowed,
  kFirstTerm,
  kSubquery,
  kOuterJoin,
  kIntersect,
  kExcept,
};

std::string_view name_of(Place place) {
  switch (place) {
    case Place::kFirstTerm: return "its non-recursive term";
    case Place::kSubquery: return "a subquery";
    case Place::kOuterJoin: return "an outer join";
    case Place::kIntersect: return "INTERSECT";
    case Place::kExcept: return "EXCEPT";
    case Place::kAllowed: break;
  }
  return {};
}

// Calls visit for each table that is named without a schema, and by no name of an inner WITH.
class References {
 public:
  using VisitTable = std::function<void(const PgQuery__RangeVar& table, Place place)>;

  explicit References(VisitTable visit) : visit_(std::move(visit)) {}

  void walk(const ProtobufCMessage& node, Place place);

 private:
  void walk_select(const PgQuery__SelectStmt& select, Place place);
  void walk_body(const PgQuery__SelectStmt& select, Place place);
  void walk_join(const PgQuery__JoinExpr& join, Place place);
  void walk_node(const Node* node, Place place) {
    if (node != nullptr) walk(node->base, place);
  }

  const VisitTable visit_;
  std::vector<std::string_view> hidden_;  // names of inner WITHs
};

void References::walk(const ProtobufCMessage& node, Place place) {
  const ProtobufCMessageDescriptor* const kind = node.descriptor;
  if (kind == &pg_query__range_var__descriptor) {
    const auto& table = reinterpret_cast<const PgQuery__RangeVar&>(node);
    const bool is_hidden = std::ranges::find(hidden_, table.relname) != hidden_.end();
    if (table.schemaname[0] == '\0' && !is_hidden) visit_(table, place);
  } else if (kind == &pg_query__select_stmt__descriptor) {
    walk_select(reinterpret_cast<const PgQuery__SelectStmt&>(node), place);
  } else if (kind == &pg_query__join_expr__descriptor) {
    walk_join(reinterpret_cast<const PgQuery__JoinExpr&>(node), place);
  } else if (kind == &pg_query__sub_link__descriptor) {
    const auto& subquery = reinterpret_cast<const PgQuery__SubLink&>(node);
    walk_node(subquery.subselect, Place::kSubquery);
    walk_node(subquery.testexpr, place);
  } else {
    for_each_child(node, [&](const ProtobufCMessage& child) { walk(child, place); });
  }
}

// The names of a WITH are seen by what comes behind them; of WITH RECURSIVE, by all of it.
void References::walk_select(const PgQuery__SelectStmt& select, Place place) {
  const size_t around = hidden_.size();
  if (select.with_clause != nullptr) {
    const PgQuery__WithClause& with = *select.with_clause;
    const NodeList queries(with.ctes, with.n_ctes);
    if (with.recursive != 0) {
      for (const Node* query : queries) hidden_.push_back(query->common_table_expr->ctename);
    }
    for (const Node* query : queries) {
      walk_node(query->common_table_expr->ctequery, place);
      if (with.recursive == 0) hidden_.push_back(query->common_table_expr->ctename);
    }
  }
  walk_body(select, place);
  hidden_.resize(around);
}

void References::walk_body(const PgQuery__SelectStmt& select, Place place) {
  Place left = place;
  Place right = place;
  if (place == Place::kAllowed && select.op == PG_QUERY__SET_OPERATION__SETOP_INTERSECT) {
    if (select.all != 0) left = right = Place::kIntersect;
  }
  if (place == Place::kAllowed && select.op == PG_QUERY__SET_OPERATION__SETOP_EXCEPT) {
    if (select.all != 0) left = Place::kExcept;
    right = Place::kExcept;
  }
  for_each_child(select.base, [&](const ProtobufCMessage& child) {
    const auto is = [&child](const auto* part) { return part != nullptr && &part->base == &child; };
    if (is(select.with_clause)) return;
    walk(child, is(select.larg) ? left : is(select.rarg) ? right : place);
  });
}

void References::walk_join(const PgQuery__JoinExpr& join, Place place) {
  const Place nullable = place == Place::kAllowed ? Place::kOuterJoin : place;
  const bool full = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL;
  const bool left_is_null = full || join.jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT;
  const bool right_is_null = full || join.jointype == PG_QUERY__JOIN_TYPE__JOIN_LEFT;
  walk_node(join.larg, left_is_null ? nullable : place);
  walk_node(join.rarg, right_is_null ? nullable : place);
  walk_node(join.quals, place);
}

// The queries of a clause by the names in them.
class RecursiveWith {
 public:
  RecursiveWith(const SourceText& source, const PgQuery__WithClause& with);

  bool is_recursive(size_t query) const { return names_[query][query]; }
  // No query comes back to itself by way of others.
  base::Result<void> check_order() const;
  // The form of a recursive query.
  base::Result<void> check_form(const PgQuery__CommonTableExpr& query) const;
  const PgQuery__CommonTableExpr& query(size_t i) const { return *queries_[i]->common_table_expr; }
  size_t size() const { return queries_.size(); }

 private:
  base::Error wrong(int64_t offset, std::string message) const {
    return source_.wrong(offset, std::move(message), "42P19");
  }

  const SourceText& source_;
  const NodeList queries_;
  std::vector<std::vector<bool>> names_;  // [query][other]
};

RecursiveWith::RecursiveWith(const SourceText& source, const PgQuery__WithClause& with)
    : source_(source), queries_(with.ctes, with.n_ctes) {
  for (size_t i = 0; i < size(); ++i) {
    std::vector<bool>& named = names_.emplace_back(size());
    References references([&](const PgQuery__RangeVar& table, Place) {
      for (size_t other = 0; other < size(); ++other) {
        if (std::string_view(query(other).ctename) == table.relname) named[other] = true;
      }
    });
    references.walk(query(i).ctequery->base, Place::kAllowed);
  }
}

// Takes the queries away that name none of those left, until there are none.
base::Result<void> RecursiveWith::check_order() const {
  std::vector<bool> left(size(), true);
  for (size_t taken = 0; taken < size(); ++taken) {
    const auto is_free = [&](size_t i) {
      for (size_t other = 0; other < size(); ++other) {
        if (other != i && left[other] && names_[i][other]) return false;
      }
      return static_cast<bool>(left[i]);
    };
    size_t next = 0;
    while (next < size() && !is_free(next)) ++next;
    if (next == size()) {
      const auto first = static_cast<size_t>(std::ranges::find(left, true) - left.begin());
      return source_.unsupported(query(first).location, "mutual recursion between WITH queries");
    }
    left[next] = false;
  }
  return {};
}

base::Result<void> RecursiveWith::check_form(const PgQuery__CommonTableExpr& query) const {
  const std::string_view name = query.ctename;
  const PgQuery__SelectStmt& select = *query.ctequery->select_stmt;
  if (select.op != PG_QUERY__SET_OPERATION__SETOP_UNION) {
    return wrong(query.location,
                 fmt::format("recursive query \"{}\" does not have the form non-recursive-term "
                             "UNION [ALL] recursive-term",
                             name));
  }
  size_t count = 0;
  base::Result<void> result;
  References references([&](const PgQuery__RangeVar& table, Place place) {
    if (table.relname != name || !result.ok()) return;
    const std::string reference =
        fmt::format("recursive reference to query \"{}\" must not ", name);
    if (place != Place::kAllowed) {
      result = wrong(table.location, reference + fmt::format("appear within {}", name_of(place)));
    } else if (++count > 1) {
      result = wrong(table.location, reference + "appear more than once");
    }
  });
  references.walk(select.larg->base, Place::kFirstTerm);
  references.walk(select.rarg->base, Place::kAllowed);
  if (select.with_clause != nullptr) {
    for_each_child(select.with_clause->base, [&](const ProtobufCMessage& child) {
      references.walk(child, Place::kSubquery);
    });
  }
  if (!result.ok()) return result;
  const auto refused = [&](const Node* node, std::string_view clause) {
    return source_.unsupported(start_of(node), fmt::format("{} in a recursive query", clause));
  };
  if (select.n_sort_clause != 0) return refused(select.sort_clause[0]->sort_by->node, "ORDER BY");
  if (select.limit_offset != nullptr) return refused(select.limit_offset, "OFFSET");
  if (select.limit_count != nullptr) return refused(select.limit_count, "LIMIT");
  return {};
}

}  // namespace

base::Result<std::vector<bool>> recursive_queries(const SourceText& source,
                                                  const PgQuery__WithClause& with) {
  std::vector<bool> recursive(with.n_ctes, false);
  if (with.recursive == 0) return recursive;
  const RecursiveWith queries(source, with);
  if (auto ordered = queries.check_order(); !ordered) return ordered.error();
  for (size_t i = 0; i < queries.size(); ++i) {
    if (!queries.is_recursive(i)) continue;
    recursive[i] = true;
    if (auto checked = queries.check_form(queries.query(i)); !checked) return checked.error();
  }
  return recursive;
}

}  // namespace diptych::olap
