// Population: the rows of a freshly loaded database (clause 4.3.3), each a function of the seed and
// its key.
//
// Dates      the specification's "current time" would differ from run to run; kLoadTime stands for
//            it, and an order's entry is o_id seconds later. It lies where the CH queries look.
// Supplier   TPC-H's rule: in each 2,000 suppliers one comment has "Customer...Complaints", one
//            other "Customer...Recommends".
// Nation     keys are the codes of the 62 alphanumerics, so that a customer's nation is
//            ascii(substr(c_state, 1, 1)).
// Strings    long ones are placed in the TextPool that is passed, until it is cleared.
// Threads    const and without state: any number.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "workloads/tpcc/random.h"
#include "workloads/tpcc/rows.h"

namespace diptych::workloads::tpcc {

inline constexpr base::Timestamp kLoadTime{1'293'840'000'000'000};  // 2011-01-01 00:00:00
// The newest date of a loaded row, where the transactions' clock starts: 2011-01-01 00:50:00.
inline constexpr base::Timestamp kTimeOrigin{kLoadTime.micros +
                                             int64_t{1'000'000} * kInitialOrders};

// The bytes of the long strings of one batch of rows.
class TextPool {
 public:
  explicit TextPool(size_t bytes) : bytes_(bytes) {}
  char* allocate(size_t size) {
    DIPTYCH_CHECK(used_ + size <= bytes_.size(), "a pool holds the strings of one batch");
    used_ += size;
    return bytes_.data() + used_ - size;
  }
  void clear() { used_ = 0; }

 private:
  std::vector<char> bytes_;
  size_t used_ = 0;
};
inline constexpr size_t kRowTextBytesMax = 512;  // of the long strings of one row

class Population {
 public:
  Population(uint64_t seed, int32_t warehouses) : seed_(seed), warehouses_(warehouses) {}
  int32_t warehouses() const { return warehouses_; }

  Region region(int32_t key, TextPool* pool) const;       // 0 to kRegions - 1
  Nation nation(int32_t position, TextPool* pool) const;  // 0 to kNations - 1
  Supplier supplier(int32_t key, TextPool* pool) const;   // 0 to kSuppliers - 1
  Item item(int32_t i_id) const;
  Warehouse warehouse(int32_t w_id) const;
  District district(int32_t w_id, int32_t d_id) const;
  Stock stock(int32_t w_id, int32_t i_id) const;
  Customer customer(int32_t w_id, int32_t d_id, int32_t c_id, TextPool* pool) const;
  History history(int32_t w_id, int32_t d_id, int32_t c_id) const;

  // c_id of the orders 1 to kInitialOrders of a district: a permutation of its customers.
  std::vector<int32_t> order_customers(int32_t w_id, int32_t d_id) const;
  Order order(int32_t w_id, int32_t d_id, int32_t o_id, int32_t c_id) const;
  int32_t order_line_count(int32_t w_id, int32_t d_id, int32_t o_id) const;
  OrderLine order_line(int32_t w_id, int32_t d_id, int32_t o_id, int32_t number) const;

 private:
  enum Stream : uint32_t;
  Random random(Stream stream, uint64_t key) const {
    return Random(seed_, static_cast<uint32_t>(stream), key);
  }

  uint64_t seed_;
  int32_t warehouses_;
};

// Names as the queries use them.
std::string_view region_name(int32_t key);
std::string_view nation_name(int32_t position);
inline int32_t nation_key(int32_t position) {
  return alphanumerics()[position];
}

}  // namespace diptych::workloads::tpcc
