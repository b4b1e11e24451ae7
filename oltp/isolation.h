// IsolationLevel: what a transaction may see of others that run at the same time
// (docs/isolation.md says which anomaly each level admits).

#pragma once

#include <cstdint>
#include <string_view>

namespace diptych::oltp {

enum class IsolationLevel : uint8_t {
  kSnapshot,      // one state throughout; the first to claim a row wins. Admits write skew
  kSerializable,  // besides: what a transaction that writes has read is unchanged when it commits
};

constexpr std::string_view to_string(IsolationLevel level) {
  return level == IsolationLevel::kSnapshot ? "snapshot" : "serializable";
}

}  // namespace diptych::oltp
