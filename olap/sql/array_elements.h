// ArrayElements: the elements of an array in a statement, as nodes to bind. The forms are:
//   ARRAY[a, b]   '{a, b}'   a parameter with such a text   any of these with a cast to type[]
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
  // Fails with 22P02 if a text is not an array, with 42P02 for a parameter that was not given, and
  // with kUnsupported for arrays of arrays or of any other form.
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
