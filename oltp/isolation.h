// IsolationLevel: the effects of concurrent transactions that a transaction may see
// (docs/isolation.md lists the anomalies of each level).

#pragma once

#include <cstdint>
#include <string_view>

namespace diptych::oltp {

enum class IsolationLevel : uint8_t {
  kSnapshot,      // reads one state; the first to claim a row wins. Admits write skew
  kSerializable,  // in addition, a writing transaction's reads are unchanged when it commits
};

constexpr std::string_view to_string(IsolationLevel level) {
  return level == IsolationLevel::kSnapshot ? "snapshot" : "serializable";
}

}  // namespace diptych::oltp
