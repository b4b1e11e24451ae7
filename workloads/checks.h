// Checks: what a run found when it looked at its database at the end: TPC-C's consistency
// conditions on both replicas, and every row of every table between the replicas.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace diptych::workloads {

// What was found after the last call. A check that was begun and could not be made counts as one
// that found something.
struct Checks {
  std::optional<uint64_t> consistency_violations;  // conditions false, over both replicas;
                                                   // none: not all were checked
  std::vector<std::string> violations;             // in words, at most 20
  std::optional<uint64_t> replica_differences;     // none: not compared
  std::vector<std::string> differences;            // in words, at most 20
  std::string close_error;                         // why the database could not be closed and saved

  // And every check was made: of the replicas where updates were exported.
  bool found_nothing(bool exported) const {
    return consistency_violations == 0 && (replica_differences == 0 || !exported) &&
           close_error.empty();
  }
};

}  // namespace diptych::workloads
