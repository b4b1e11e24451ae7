// Consistency: TPC-C's twelve conditions (clause 3.3.2), checked on each replica in its own way.
//
//    1  w_ytd = sum(d_ytd)
//    2  d_next_o_id - 1 = max(o_id) = max(no_o_id)
//    3  the no_o_id of a district are dense
//    4  sum(o_ol_cnt) = number of lines, by district
//    5  o_carrier_id is null iff the order is in neworder
//    6  o_ol_cnt = number of the order's lines
//    7  ol_delivery_d is null iff the order's o_carrier_id is null
//    8  w_ytd = sum(h_amount)
//    9  d_ytd = sum(h_amount)
//   10  c_balance = sum(delivered ol_amount) - sum(h_amount)
//   11  orders - neworder = 2100 + deliveries, by district
//   12  c_balance + c_ytd_payment = sum(delivered ol_amount)
//
// Where we differ  11 is true in the specification only of a fresh database; sum(c_delivery_cnt)
//            counts what was delivered since. In a constant-size database rows are gone:
//            8, 9 say >=; 10: each customer has one history row, sum(h_amount) <= c_ytd_payment;
//            11: each district has 3000 orders; 12 says >=.
//            2 does not ask for max(no_o_id) where no order waits (the specification's exemption).
//
// OLTP side  one read-only transaction through the indexes; history is read by its known keys, the
//            other tables by known districts. So the tables' rows are counted, too: those that it
//            was not led to violate 4 (orderline), 5 (orders, neworder) or 8 (history).
// OLAP side  one query a condition; its rows are the violations.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "dispatcher/database.h"
#include "workloads/run_control.h"
#include "workloads/session_options.h"
#include "workloads/tpcc/rows.h"

namespace diptych::workloads::tpcc {

inline constexpr int kConditions = 12;

struct ConsistencyReport {
  std::array<uint64_t, kConditions> violations{};  // violating rows of condition i + 1
  std::vector<std::string> first;                  // in words, at most kWordsMax
  // The OLTP side's: rows that its keys led to, of the tables that transactions insert into.
  struct RowsRead {
    uint64_t orders = 0, neworder = 0, orderline = 0, history = 0;
  } rows_read;
  static constexpr size_t kWordsMax = 20;

  uint64_t conditions_violated() const;
  void add(int condition, std::string what);  // condition counts from 1
};

// Registers the procedure of the OLTP side; once a database.
class OltpConsistency {
 public:
  static base::Result<OltpConsistency> attach(dispatcher::Database* database, const Tables& tables);
  // kCancelled: stopped.
  base::Result<ConsistencyReport> check(int32_t warehouses, SizePolicy size,
                                        const StopFlag& stop) const;

 private:
  // The report is written through a pointer: the procedure writes nothing to the database and is
  // never logged or replayed.
  struct Arguments {
    ConsistencyReport* report;
    int32_t warehouses;
    SizePolicy size;
    const StopFlag* stop;
  };
  dispatcher::Database* database_ = nullptr;
  dispatcher::ProcedureRef<Arguments, dispatcher::Nothing> procedure_;
};

// The query of a condition (1 to 12) on the OLAP side.
std::string_view condition_query(int condition, SizePolicy size);

// kCancelled: stopped.
base::Result<ConsistencyReport> check_olap_consistency(dispatcher::Database* database,
                                                       SizePolicy size, const StopFlag& stop);

}  // namespace diptych::workloads::tpcc
