#include <map>
#include <utility>

#include <fmt/format.h>

#include "workloads/tpcc/consistency.h"

namespace diptych::workloads::tpcc {
namespace {

using base::Result;
using dispatcher::prefix;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::Transaction;

using Cents = int64_t;

// Builds the report of the whole database inside one transaction, district by district.
class Check {
 public:
  Check(Transaction& txn, const Tables& tables, int32_t warehouses, SizePolicy size,
        const StopFlag& stop, ConsistencyReport* report)
      : txn_(txn),
        tables_(tables),
        warehouses_(warehouses),
        size_(size),
        stop_(stop),
        report_(report) {}

  Result<void> run();

 private:
  struct OrderState {
    int32_t c_id = 0;
    int32_t expected_lines = 0;
    bool delivered = false;
    bool waiting = false;  // has a row in neworder
    int32_t lines = 0;
    int32_t delivered_lines = 0;
  };
  struct CustomerState {
    Cents delivered = 0;
  };
  struct DistrictState {
    int32_t w_id = 0, d_id = 0;
    std::map<int32_t, OrderState> orders;
    std::vector<CustomerState> customers;
    int32_t waiting = 0, first_waiting = 0, last_waiting = 0;
    int64_t deliveries = 0;
  };

  Result<void> check_district(int32_t w_id, int32_t d_id, Cents* warehouse_ytd);
  Result<void> read_orders(DistrictState* district);
  Result<void> read_new_orders(DistrictState* district);
  Result<void> read_lines(DistrictState* district);
  Result<void> check_customer(DistrictState* district, int32_t c_id);
  Result<std::pair<Cents, int32_t>> read_history(int32_t w_id, int32_t d_id, int32_t c_id,
                                                 int32_t payments);
  void check_orders(const DistrictState& district, int32_t next_o_id);
  Result<void> check_paid();

  bool constant() const { return size_ == SizePolicy::kConstant; }
  template <class... Parts>
  void violated(int condition, fmt::format_string<Parts...> text, Parts&&... parts) {
    report_->add(condition, fmt::format(text, std::forward<Parts>(parts)...));
  }

  Transaction& txn_;
  const Tables& tables_;
  int32_t warehouses_;
  SizePolicy size_;
  const StopFlag& stop_;
  ConsistencyReport* report_;
  std::map<std::pair<int32_t, int32_t>, Cents> paid_;  // sum(h_amount) by (h_w_id, h_d_id)
};

Result<void> Check::read_orders(DistrictState* district) {
  auto scanned = txn_.scan<&Order::o_id, &Order::o_c_id, &Order::o_ol_cnt, &Order::o_carrier_id>(
      tables_.orders_by_customer,
      prefix(tables_.orders_by_customer, district->w_id, district->d_id), {},
      [&](const RowHandle&, const auto& row) {
        const auto& [o_id, c_id, ol_cnt, carrier] = row;
        ++report_->rows_read.orders;
        district->orders[o_id] = {c_id, ol_cnt, !carrier.is_null, false, 0, 0};
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  return {};
}

Result<void> Check::read_new_orders(DistrictState* district) {
  auto scanned = txn_.scan<&NewOrder::no_o_id>(
      tables_.neworder_pkey, prefix(tables_.neworder_pkey, district->w_id, district->d_id), {},
      [&](const RowHandle&, int32_t o_id) {
        ++report_->rows_read.neworder;
        if (district->waiting++ == 0) district->first_waiting = o_id;
        district->last_waiting = o_id;
        const auto order = district->orders.find(o_id);
        if (order == district->orders.end()) {
          violated(5, "neworder {} {} {} has no order", district->w_id, district->d_id, o_id);
        } else {
          order->second.waiting = true;
        }
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  return {};
}

Result<void> Check::read_lines(DistrictState* district) {
  auto scanned = txn_.scan<&OrderLine::ol_o_id, &OrderLine::ol_delivery_d, &OrderLine::ol_amount>(
      tables_.orderline_pkey, prefix(tables_.orderline_pkey, district->w_id, district->d_id), {},
      [&](const RowHandle&, const auto& row) {
        const auto& [o_id, delivery, amount] = row;
        ++report_->rows_read.orderline;
        const auto found = district->orders.find(o_id);
        if (found == district->orders.end()) {
          violated(4, "orderline {} {} {} has no order", district->w_id, district->d_id, o_id);
          return ScanStep::kContinue;
        }
        OrderState& order = found->second;
        ++order.lines;
        if (!delivery.is_null) {
          ++order.delivered_lines;
          if (order.c_id >= 1 && order.c_id <= kCustomers) {
            district->customers[order.c_id].delivered += amount.units;
          }
        }
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  return {};
}

// Conditions 2 to 7 and 11.
void Check::check_orders(const DistrictState& district, int32_t next_o_id) {
  const auto w_id = district.w_id;
  const auto d_id = district.d_id;
  const int32_t newest = district.orders.empty() ? 0 : district.orders.rbegin()->first;
  if (next_o_id - 1 != newest || (district.waiting != 0 && district.last_waiting != newest)) {
    violated(2, "district {} {}: next order {}, newest {}, newest waiting {}", w_id, d_id,
             next_o_id, newest, district.last_waiting);
  }
  if (district.waiting != 0 &&
      district.last_waiting - district.first_waiting + 1 != district.waiting) {
    violated(3, "district {} {}: {} orders wait, numbered {} to {}", w_id, d_id, district.waiting,
             district.first_waiting, district.last_waiting);
  }
  int64_t expected = 0;
  int64_t lines = 0;
  for (const auto& [o_id, order] : district.orders) {
    expected += order.expected_lines;
    lines += order.lines;
    if (order.delivered == order.waiting) {
      violated(5, "order {} {} {}: carrier {}, in neworder {}", w_id, d_id, o_id, order.delivered,
               order.waiting);
    }
    if (order.expected_lines != order.lines) {
      violated(6, "order {} {} {}: {} lines instead of {}", w_id, d_id, o_id, order.lines,
               order.expected_lines);
    }
    const int32_t wrong =
        order.delivered ? order.lines - order.delivered_lines : order.delivered_lines;
    for (int32_t i = 0; i < wrong; ++i) {
      violated(7, "order {} {} {}: carrier {}, {} of {} lines delivered", w_id, d_id, o_id,
               order.delivered, order.delivered_lines, order.lines);
    }
  }
  if (expected != lines) {
    violated(4, "district {} {}: {} lines instead of {}", w_id, d_id, lines, expected);
  }
  const auto orders = static_cast<int64_t>(district.orders.size());
  const int64_t delivered = kFirstUndelivered - 1 + district.deliveries;
  if (constant() ? orders != kInitialOrders : orders - district.waiting != delivered) {
    violated(11, "district {} {}: {} orders, {} waiting, {} delivered since loading", w_id, d_id,
             orders, district.waiting, district.deliveries);
  }
}

Result<std::pair<Cents, int32_t>> Check::read_history(int32_t w_id, int32_t d_id, int32_t c_id,
                                                      int32_t payments) {
  std::pair<Cents, int32_t> read{0, 0};
  for (int32_t payment = constant() ? payments : 1; payment <= payments; ++payment) {
    auto row = txn_.get<&History::h_amount, &History::h_w_id, &History::h_d_id>(
        tables_.history_pkey, history_id(w_id, d_id, c_id, payment));
    if (!row) {
      if (row.code() == base::ErrorCode::kNotFound) continue;
      return row.error();
    }
    const auto& [amount, h_w_id, h_d_id] = *row;
    read.first += amount.units;
    ++read.second;
    ++report_->rows_read.history;
    paid_[{h_w_id, h_d_id}] += amount.units;
  }
  return read;
}

// Conditions 10 and 12 of one customer.
Result<void> Check::check_customer(DistrictState* district, int32_t c_id) {
  const auto w_id = district->w_id;
  const auto d_id = district->d_id;
  auto row = txn_.get<&Customer::c_balance, &Customer::c_ytd_payment, &Customer::c_payment_cnt,
                      &Customer::c_delivery_cnt>(tables_.customer_pkey, w_id, d_id, c_id);
  if (!row) {
    return row.error().within(fmt::format("customer {} {} {}", w_id, d_id, c_id));
  }
  const auto& [balance, ytd_payment, payment_cnt, delivery_cnt] = *row;
  district->deliveries += delivery_cnt;
  auto history = read_history(w_id, d_id, c_id, payment_cnt);
  if (!history) return history.error();
  const auto [paid, rows] = *history;
  const Cents delivered = district->customers[c_id].delivered;
  const bool ten =
      constant() ? rows == 1 && paid <= ytd_payment.units : balance.units == delivered - paid;
  if (!ten) {
    violated(10, "customer {} {} {}: balance {}, delivered {}, paid {} in {} rows (cents)", w_id,
             d_id, c_id, balance.units, delivered, paid, rows);
  }
  const Cents turnover = balance.units + ytd_payment.units;
  if (constant() ? turnover < delivered : turnover != delivered) {
    violated(12, "customer {} {} {}: balance {}, paid {}, delivered {} (cents)", w_id, d_id, c_id,
             balance.units, ytd_payment.units, delivered);
  }
  return {};
}

Result<void> Check::check_district(int32_t w_id, int32_t d_id, Cents* warehouse_ytd) {
  auto row = txn_.get<&District::d_ytd, &District::d_next_o_id>(tables_.district_pkey, w_id, d_id);
  if (!row) return row.error().within(fmt::format("district {} {}", w_id, d_id));
  *warehouse_ytd += std::get<0>(*row).units;
  DistrictState district;
  district.w_id = w_id;
  district.d_id = d_id;
  district.customers.resize(kCustomers + 1);
  if (auto read = read_orders(&district); !read) return read;
  if (auto read = read_new_orders(&district); !read) return read;
  if (auto read = read_lines(&district); !read) return read;
  for (int32_t c_id = 1; c_id <= kCustomers; ++c_id) {
    if (auto checked = check_customer(&district, c_id); !checked) return checked;
  }
  check_orders(district, std::get<1>(*row));
  return {};
}

// Conditions 8 and 9, when all of history has been read.
Result<void> Check::check_paid() {
  for (int32_t w_id = 1; w_id <= warehouses_; ++w_id) {
    Cents warehouse_paid = 0;
    for (int32_t d_id = 1; d_id <= kDistricts; ++d_id) {
      const Cents paid = paid_[{w_id, d_id}];
      warehouse_paid += paid;
      auto ytd = txn_.get<&District::d_ytd>(tables_.district_pkey, w_id, d_id);
      if (!ytd) return ytd.error();
      if (constant() ? ytd->units < paid : ytd->units != paid) {
        violated(9, "district {} {}: d_ytd {}, paid {} (cents)", w_id, d_id, ytd->units, paid);
      }
    }
    auto ytd = txn_.get<&Warehouse::w_ytd>(tables_.warehouse_pkey, w_id);
    if (!ytd) return ytd.error();
    if (constant() ? ytd->units < warehouse_paid : ytd->units != warehouse_paid) {
      violated(8, "warehouse {}: w_ytd {}, paid {} (cents)", w_id, ytd->units, warehouse_paid);
    }
  }
  return {};
}

Result<void> Check::run() {
  for (int32_t w_id = 1; w_id <= warehouses_; ++w_id) {
    Cents districts_ytd = 0;
    for (int32_t d_id = 1; d_id <= kDistricts; ++d_id) {
      if (stopped(stop_)) return base::ErrorCode::kCancelled;
      if (auto checked = check_district(w_id, d_id, &districts_ytd); !checked) return checked;
    }
    auto ytd = txn_.get<&Warehouse::w_ytd>(tables_.warehouse_pkey, w_id);
    if (!ytd) return ytd.error().within(fmt::format("warehouse {}", w_id));
    if (ytd->units != districts_ytd) {
      violated(1, "warehouse {}: w_ytd {}, districts {} (cents)", w_id, ytd->units, districts_ytd);
    }
  }
  return check_paid();
}

// Rows that no known key leads to are seen by no condition.
Result<void> count_rows(const dispatcher::Database& database, ConsistencyReport* report) {
  const ConsistencyReport::RowsRead& read = report->rows_read;
  const struct {
    int condition;
    std::string_view table;
    uint64_t rows_read;
  } tables[] = {{5, "orders", read.orders},
                {5, "neworder", read.neworder},
                {4, "orderline", read.orderline},
                {8, "history", read.history}};
  for (const auto& [condition, name, rows_read] : tables) {
    const base::TableSchema* const schema = database.catalog().find_table(name);
    DIPTYCH_CHECK(schema != nullptr, "the tables were bound by these names");
    const auto rows = database.row_count(schema->id);
    if (!rows) return rows.error();
    if (*rows == rows_read) continue;
    report->add(condition, fmt::format("{} rows in {}, of which {} have a known district, or are "
                                       "of a customer's payments",
                                       *rows, name, rows_read));
  }
  return {};
}

}  // namespace

uint64_t ConsistencyReport::conditions_violated() const {
  uint64_t count = 0;
  for (const uint64_t rows : violations) count += rows != 0 ? 1 : 0;
  return count;
}

void ConsistencyReport::add(int condition, std::string what) {
  ++violations[condition - 1];
  if (first.size() < kWordsMax) {
    first.push_back(fmt::format("condition {}: {}", condition, std::move(what)));
  }
}

Result<OltpConsistency> OltpConsistency::attach(dispatcher::Database* database,
                                                const Tables& tables) {
  auto registered = database->register_procedure<Arguments, dispatcher::Nothing>(
      "tpcc_consistency",
      [tables](Transaction& txn, const Arguments& arguments) -> Result<dispatcher::Nothing> {
        *arguments.report = {};
        Check check(txn, tables, arguments.warehouses, arguments.size, *arguments.stop,
                    arguments.report);
        if (auto done = check.run(); !done) return done.error();
        return dispatcher::Nothing{};
      });
  if (!registered) return registered.error();
  OltpConsistency attached;
  attached.database_ = database;
  attached.procedure_ = *registered;
  return attached;
}

Result<ConsistencyReport> OltpConsistency::check(int32_t warehouses, SizePolicy size,
                                                 const StopFlag& stop) const {
  ConsistencyReport report;
  constexpr std::string_view kWhat = "checking consistency on the OLTP replica";
  auto done = database_->call(procedure_, {&report, warehouses, size, &stop}).get();
  if (!done) return done.error().within(kWhat);
  if (auto counted = count_rows(*database_, &report); !counted) {
    return counted.error().within(kWhat);
  }
  return report;
}

}  // namespace diptych::workloads::tpcc
