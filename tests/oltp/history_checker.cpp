#include "tests/oltp/history_checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace diptych::oltp::test {
namespace {

using Kind = Operation::Kind;

struct Version {
  uint64_t vid;
  size_t writer;  // in the history
  uint64_t token;
  int64_t key;
};

struct Origin {
  size_t writer;
  bool is_last;  // write of its run to the row
};

constexpr Version kNoVersion{0, SIZE_MAX, kAbsent, 0};

bool covers(const Operation& scan, int64_t key) {
  return scan.lower <= key && key < scan.upper;
}

// The committed versions of each row, in VID order, and who wrote which token.
class VersionTable {
 public:
  using Versions = std::vector<Version>;

  explicit VersionTable(const History& history) {
    for (size_t i = 0; i < history.size(); ++i) add(history[i], i);
    for (auto& [row, versions] : rows_) {
      std::stable_sort(versions.begin(), versions.end(),
                       [](const Version& a, const Version& b) { return a.vid < b.vid; });
    }
  }

  const std::map<int64_t, Versions>& rows() const { return rows_; }
  const Origin* origin(uint64_t token) const {
    const auto found = origins_.find(token);
    return found == origins_.end() ? nullptr : &found->second;
  }
  // The newest one at the VID; kNoVersion: there is none yet.
  Version at(int64_t row, uint64_t vid) const {
    const size_t count = count_until(row, vid);
    return count == 0 ? kNoVersion : rows_.at(row)[count - 1];
  }
  // Which version a read got: its place; -1: none. Of "no row", the newest such at the VID.
  int64_t place_of(int64_t row, uint64_t token, uint64_t vid) const {
    const auto found = rows_.find(row);
    if (found == rows_.end()) return -1;
    const Versions& versions = found->second;
    const size_t end = token == kAbsent ? count_until(row, vid) : versions.size();
    for (size_t i = end; i-- > 0;) {
      if (versions[i].token == token) return static_cast<int64_t>(i);
    }
    return -1;
  }

 private:
  void add(const HistoryRun& run, size_t number) {
    std::map<int64_t, const Operation*> last;
    std::set<int64_t> absent;  // before the run wrote them
    for (const Operation& operation : run.operations) {
      if (operation.kind == Kind::kRead && operation.token == kAbsent &&
          !last.contains(operation.row)) {
        absent.insert(operation.row);
      }
      if (operation.kind != Kind::kWrite) continue;
      const auto [before, fresh] = last.try_emplace(operation.row, &operation);
      if (!fresh) {
        origins_[before->second->token].is_last = false;
        before->second = &operation;
      }
      if (operation.token != kAbsent) origins_[operation.token] = {number, true};
    }
    if (!run.committed) return;
    for (const auto& [row, write] : last) {
      // A row that its run inserted and erased never was. Another run may have inserted it since.
      if (write->token == kAbsent && absent.contains(row)) continue;
      rows_[row].push_back({run.commit_vid, number, write->token, write->key});
    }
  }
  size_t count_until(int64_t row, uint64_t vid) const {
    const auto found = rows_.find(row);
    if (found == rows_.end()) return 0;
    const auto end =
        std::upper_bound(found->second.begin(), found->second.end(), vid,
                         [](uint64_t wanted, const Version& of) { return wanted < of.vid; });
    return static_cast<size_t>(end - found->second.begin());
  }

  std::map<int64_t, Versions> rows_;
  std::unordered_map<uint64_t, Origin> origins_;
};

// What the run read of others: each row and its token, scanned ones too.
std::vector<RowSeen> foreign_reads(const HistoryRun& run) {
  std::vector<RowSeen> reads;
  std::set<int64_t> own;
  for (const Operation& operation : run.operations) {
    const auto add = [&](const RowSeen& seen) {
      if (!own.contains(seen.row)) reads.push_back(seen);
    };
    if (operation.kind == Kind::kWrite) own.insert(operation.row);
    if (operation.kind == Kind::kRead) add({operation.row, operation.token});
    for (const RowSeen& seen : operation.seen) add(seen);
  }
  return reads;
}

class SnapshotCheck {
 public:
  explicit SnapshotCheck(const History& history) : history_(history), versions_(history) {}

  std::vector<Breach> run() {
    check_vids();
    for (size_t i = 0; i < history_.size(); ++i) {
      check_reads(i);
      check_visibility(i);
    }
    check_updates();
    return std::move(breaches_);
  }

 private:
  void add(BreachKind kind, std::string text) { breaches_.push_back({kind, std::move(text)}); }

  void check_vids() {
    std::map<uint64_t, size_t> writers;
    for (size_t i = 0; i < history_.size(); ++i) {
      const HistoryRun& run = history_[i];
      if (!run.committed || run.commit_vid == 0) continue;
      if (run.commit_vid <= run.read_vid) {
        add(BreachKind::kVidOrder,
            fmt::format("run {} read at {} and committed at {}", i, run.read_vid, run.commit_vid));
      }
      const auto [other, fresh] = writers.try_emplace(run.commit_vid, i);
      if (fresh) continue;
      add(BreachKind::kVidOrder,
          fmt::format("runs {} and {} both committed at {}", other->second, i, run.commit_vid));
    }
  }

  using Own = std::map<int64_t, const Operation*>;  // row -> the run's last write
  void check_reads(size_t number) {
    Own own;
    for (const Operation& operation : history_[number].operations) {
      if (operation.kind == Kind::kWrite) own[operation.row] = &operation;
      if (operation.kind == Kind::kRead) {
        const auto written = own.find(operation.row);
        if (written == own.end()) {
          check_read(number, {operation.row, operation.token});
        } else if (written->second->token != operation.token) {
          add(BreachKind::kOwnWriteMissed, fmt::format("run {}, row {}", number, operation.row));
        }
      }
      if (operation.kind == Kind::kScan) check_scan(number, operation, own);
    }
  }

  void check_read(size_t number, const RowSeen& seen) {
    const std::string where = fmt::format("run {} at {}, row {}, token {}", number,
                                          history_[number].read_vid, seen.row, seen.token);
    const Origin* const origin = versions_.origin(seen.token);
    if (seen.token != kAbsent && origin == nullptr) return add(BreachKind::kUnknownRead, where);
    if (seen.token != kAbsent && !history_[origin->writer].committed) {
      return add(BreachKind::kAbortedRead, where);
    }
    if (seen.token != kAbsent && !origin->is_last) {
      return add(BreachKind::kIntermediateRead, where);
    }
    const Version expected = versions_.at(seen.row, history_[number].read_vid);
    if (expected.token == seen.token) return;
    add(BreachKind::kSnapshotRead,
        fmt::format("{}; token {} of VID {} is there", where, expected.token, expected.vid));
  }

  void check_scan(size_t number, const Operation& scan, const Own& own) {
    std::map<int64_t, uint64_t> missing;  // row -> token
    for (const auto& [row, versions] : versions_.rows()) {
      const Version version = versions_.at(row, history_[number].read_vid);
      if (version.token != kAbsent && covers(scan, version.key)) missing[row] = version.token;
    }
    for (const auto& [row, write] : own) {
      missing.erase(row);
      if (write->token != kAbsent && covers(scan, write->key)) missing[row] = write->token;
    }
    for (const RowSeen& seen : scan.seen) {
      const auto expected = missing.find(seen.row);
      if (expected != missing.end() && expected->second == seen.token) {
        missing.erase(expected);
      } else if (own.contains(seen.row)) {
        add(BreachKind::kOwnWriteMissed, fmt::format("run {}, scan, row {}", number, seen.row));
      } else {
        const size_t before = breaches_.size();
        check_read(number, seen);
        if (breaches_.size() != before) continue;
        add(BreachKind::kSnapshotRead,
            fmt::format("run {}, scan: row {} is twice there, or not in the range", number,
                        seen.row));
      }
    }
    for (const auto& [row, token] : missing) {
      if (std::any_of(scan.seen.begin(), scan.seen.end(),
                      [row = row](const RowSeen& seen) { return seen.row == row; })) {
        continue;  // told above
      }
      add(own.contains(row) ? BreachKind::kOwnWriteMissed : BreachKind::kSnapshotRead,
          fmt::format("run {} at {}, scan of [{}, {}): row {} with token {} is missing", number,
                      history_[number].read_vid, scan.lower, scan.upper, row, token));
    }
  }

  // Who reads one write of a transaction reads no other row as it was before it.
  void check_visibility(size_t number) {
    const uint64_t read_vid = history_[number].read_vid;
    std::map<int64_t, std::pair<uint64_t, uint64_t>> vids;  // row -> oldest and newest read
    for (const RowSeen& seen : foreign_reads(history_[number])) {
      const int64_t place = versions_.place_of(seen.row, seen.token, read_vid);
      const uint64_t vid =
          place < 0 ? 0 : versions_.rows().at(seen.row)[static_cast<size_t>(place)].vid;
      const auto [range, fresh] = vids.try_emplace(seen.row, vid, vid);
      range->second.first = std::min(range->second.first, vid);
      range->second.second = std::max(range->second.second, vid);
    }
    for (const auto& [row, range] : vids) {
      for (const Version& version :
           versions_.rows().count(row) != 0 ? versions_.rows().at(row) : VersionTable::Versions()) {
        if (version.vid <= range.first) continue;
        for (const auto& [other, other_range] : vids) {
          if (other == row || other_range.second != version.vid) continue;
          add(BreachKind::kTornVisibility,
              fmt::format("run {} sees VID {} in row {}, not in row {}", number, version.vid, other,
                          row));
        }
      }
    }
  }

  void check_updates() {
    for (const auto& [row, versions] : versions_.rows()) {
      for (size_t i = 1; i < versions.size(); ++i) {
        if (history_[versions[i].writer].read_vid >= versions[i - 1].vid) continue;
        add(BreachKind::kLostUpdate,
            fmt::format("run {} wrote row {} over VID {}, having read at {}", versions[i].writer,
                        row, versions[i - 1].vid, history_[versions[i].writer].read_vid));
      }
    }
  }

  const History& history_;
  VersionTable versions_;
  std::vector<Breach> breaches_;
};

class SerializationGraph {
 public:
  explicit SerializationGraph(const History& history) : versions_(history), after_(history.size()) {
    for (const auto& [row, versions] : versions_.rows()) {
      for (size_t i = 1; i < versions.size(); ++i) {
        add_edge(versions[i - 1].writer, versions[i].writer, "ww", row);
      }
    }
    for (size_t i = 0; i < history.size(); ++i) {
      if (!history[i].committed) continue;
      for (const RowSeen& seen : foreign_reads(history[i])) {
        add_read(i, seen.row, versions_.place_of(seen.row, seen.token, history[i].read_vid));
      }
      for (const Operation& operation : history[i].operations) {
        if (operation.kind == Kind::kScan) add_scan(i, history[i], operation);
      }
    }
  }

  // The edges of one, in words.
  std::optional<std::string> cycle() const {
    std::vector<size_t> pending(after_.size(), 0);  // edges from runs that are left
    for (const auto& edges : after_) {
      for (const auto& [to, what] : edges) ++pending[to];
    }
    std::vector<size_t> free;
    for (size_t i = 0; i < pending.size(); ++i) {
      if (pending[i] == 0) free.push_back(i);
    }
    std::vector<bool> left(after_.size(), true);
    while (!free.empty()) {
      const size_t run = free.back();
      free.pop_back();
      left[run] = false;
      for (const auto& [to, what] : after_[run]) {
        if (--pending[to] == 0) free.push_back(to);
      }
    }
    const auto start = std::find(left.begin(), left.end(), true);
    if (start == left.end()) return {};
    return walk_back(static_cast<size_t>(start - left.begin()), left);
  }

 private:
  using Edges = std::map<size_t, std::string>;  // to -> why

  void add_edge(size_t from, size_t to, const char* kind, int64_t row) {
    if (from == to) return;
    after_[from].try_emplace(to, fmt::format("{} row {}", kind, row));
  }
  void add_read(size_t run, int64_t row, int64_t place) {
    const auto found = versions_.rows().find(row);
    if (found == versions_.rows().end()) return;
    const auto next = static_cast<size_t>(place + 1);
    if (place >= 0) add_edge(found->second[next - 1].writer, run, "wr", row);
    if (next < found->second.size()) add_edge(run, found->second[next].writer, "rw", row);
  }
  // The rows that it did not give: they may have been there before, or be there later on.
  void add_scan(size_t run, const HistoryRun& of, const Operation& scan) {
    for (const auto& [row, versions] : versions_.rows()) {
      const auto is_it = [row = row](const RowSeen& seen) { return seen.row == row; };
      if (std::any_of(scan.seen.begin(), scan.seen.end(), is_it)) continue;
      const Version* left_by = nullptr;  // what the scan's answer depends on
      bool was_inside = false;
      for (const Version& version : versions) {
        const bool is_inside = version.token != kAbsent && covers(scan, version.key);
        if (version.vid > of.read_vid) {
          if (!is_inside) continue;
          add_edge(run, version.writer, "rw, by a scan,", row);
          break;
        }
        if (was_inside && !is_inside) left_by = &version;
        was_inside = is_inside;
      }
      if (left_by != nullptr) add_edge(left_by->writer, run, "wr, by a scan,", row);
    }
  }

  // Every run that is left has one before it that is left: going back, some run comes twice.
  std::string walk_back(size_t run, const std::vector<bool>& left) const {
    std::vector<size_t> path{run};
    while (true) {
      size_t before = 0;
      while (!left[before] || !after_[before].contains(path.back())) ++before;
      const auto again = std::find(path.begin(), path.end(), before);
      if (again != path.end()) {
        path.erase(path.begin(), again);
        path.push_back(before);
        break;
      }
      path.push_back(before);
    }
    std::string text;
    for (size_t i = path.size() - 1; i > 0; --i) {
      text += fmt::format("{} -({})-> ", path[i], after_[path[i]].at(path[i - 1]));
    }
    return text + std::to_string(path.front());
  }

  VersionTable versions_;
  std::vector<Edges> after_;
};

}  // namespace

std::vector<Breach> find_snapshot_breaches(const History& history) {
  return SnapshotCheck(history).run();
}

std::optional<Breach> find_cycle(const History& history) {
  auto cycle = SerializationGraph(history).cycle();
  if (!cycle) return {};
  return Breach{BreachKind::kCycle, std::move(*cycle)};
}

}  // namespace diptych::oltp::test
