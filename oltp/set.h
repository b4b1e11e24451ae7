// set<&Row::column>(value): a column and its new value, for Transaction::update.

#pragma once

#include <type_traits>

#include "base/row_binding.h"
#include "base/types.h"
#include "oltp/key_parts.h"

namespace diptych::oltp {

namespace detail {
// True if a cell is made of the value by a conversion that may give another number.
template <class Cell, class Value>
inline constexpr bool kMayBeCut = [] {
  if constexpr (base::CellTraits<Cell>::kType.is_string() || std::is_class_v<Value>) {
    return false;
  } else {
    return !holds_all<Cell, Value>();
  }
}();
}  // namespace detail

template <auto Member>
struct Set {
  typename base::MemberOf<Member>::Cell value;
};

// A column and its new value for Transaction::update: set<&District::d_ytd>(amount). A number of a
// type that the column may not hold does not compile, since C++ would cut it (an int64_t to INT).
template <auto Member>
Set<Member> set(const typename base::MemberOf<Member>::Cell& value) {
  return {value};
}
template <auto Member, class Value>
  requires(detail::kMayBeCut<typename base::MemberOf<Member>::Cell, Value>)
Set<Member> set(const Value& value) = delete;

}  // namespace diptych::oltp
