// ArrayElements: the elements of an array that a statement holds, as nodes to bind:
//   ARRAY[a, b]   '{a, b}'   a parameter that is such a text   any of them cast to a type[]
//
// Threads    a value; the nodes live as long as it does.

#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "olap/sql/parse_tree.h"

namespace diptych::olap {

class ArrayElements {
 public:
  // 22P02 where a text is no array; kUnsupported for arrays of any other form, or of arrays.
  static base::Result<ArrayElements> of(const SourceText& source, const Node& array,
                                        std::span<const base::Value> parameters);

  bool is_null() const { return is_null_; }  // the whole array
  NodeList nodes() const { return nodes_; }

 private:
  struct Storage {
    std::deque<std::string> texts;
    std::deque<PgQuery__String> strings;
    std::deque<PgQuery__AConst> constants;
    std::deque<PgQuery__TypeCast> casts;
    std::deque<Node> nodes;
    PgQuery__TypeName type = PG_QUERY__TYPE_NAME__INIT;
  };

  base::Result<void> take_text(const SourceText& source, std::string_view text, int64_t offset);
  void take_constant(std::string text, bool null, int64_t offset);
  void cast_all(const PgQuery__TypeCast& cast);

  std::unique_ptr<Storage> storage_ = std::make_unique<Storage>();  // does not move
  std::vector<Node*> nodes_;
  bool is_null_ = false;
};

}  // namespace diptych::olap
