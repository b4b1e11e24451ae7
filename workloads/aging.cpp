#include "workloads/aging.h"

#include <string>

#include "base/clock.h"
#include "workloads/tpcc/inputs.h"

namespace diptych::workloads {
namespace {

using base::ErrorCode;
using base::Result;
using tpcc::TransactionType;

constexpr int32_t kUniformPercent = 20;    // of the New-Orders
constexpr uint64_t kProgressEvery = 1024;  // transactions

class Aging {
 public:
  Aging(Session* session, uint32_t warehouses, uint64_t seed)
      : database_(*session->database()),
        procedures_(session->procedures()),
        inputs_(seed, static_cast<int32_t>(warehouses)),
        items_(seed + 1) {}

  // One transaction; how many order lines it added.
  Result<uint64_t> run_one() {
    switch (inputs_.draw_type()) {
      case TransactionType::kNewOrder: {
        const tpcc::NewOrderArguments input = new_order();
        const auto reply = database_.call(procedures_.new_order, input).get();
        if (reply) return static_cast<uint64_t>(input.line_count);
        return accepted(reply);
      }
      case TransactionType::kPayment:
        return accepted(database_.call(procedures_.payment, inputs_.payment()).get());
      case TransactionType::kOrderStatus:
        return accepted(database_.call(procedures_.order_status, inputs_.order_status()).get());
      case TransactionType::kDelivery:
        return accepted(database_.call(procedures_.delivery, inputs_.delivery()).get());
      case TransactionType::kStockLevel:
        return accepted(database_.call(procedures_.stock_level, inputs_.stock_level()).get());
    }
    return uint64_t{0};
  }

 private:
  tpcc::NewOrderArguments new_order() {
    tpcc::NewOrderArguments input = inputs_.new_order();
    if (!items_.percent(kUniformPercent)) return input;
    for (int32_t i = 0; i < input.line_count; ++i) {
      int32_t& item = input.lines[static_cast<size_t>(i)].i_id;
      // An item that does not exist stays one: its order is to be rolled back.
      if (item <= tpcc::kItems) item = items_.between(1, tpcc::kItems);
    }
    return input;
  }

  // One New-Order of a hundred asks to be rolled back.
  template <class Reply>
  static Result<uint64_t> accepted(const Result<Reply>& reply) {
    if (reply || reply.code() == ErrorCode::kAborted) return uint64_t{0};
    return reply.error();
  }

  dispatcher::Database& database_;
  const tpcc::Procedures& procedures_;
  tpcc::InputGenerator inputs_;
  tpcc::Random items_;
};

// The first value of the first row, a count.
Result<double> count(dispatcher::Database* database, const std::string& sql) {
  const auto result = database->query(sql);
  if (!result) return result.error().within(sql);
  const base::Value value = result->rows.at(0).at(0);
  const auto* const number = std::get_if<int64_t>(&value);
  DIPTYCH_CHECK(number != nullptr, "count(*) is a whole number");
  return static_cast<double>(*number);
}

// Of a table's rows, those of which the condition holds.
Result<double> share(dispatcher::Database* database, const std::string& table,
                     const std::string& condition) {
  const auto changed = count(database, "select count(*) from " + table + " where " + condition);
  if (!changed) return changed;
  const auto all = count(database, "select count(*) from " + table);
  if (!all) return all;
  return *changed / *all;
}

// What the replica shows: asking also brings it up to date.
Result<void> describe(dispatcher::Database* database, AgingReport* report) {
  const auto lines = count(database, "select count(*) from orderline");
  if (!lines) return lines.error();
  report->order_lines = static_cast<uint64_t>(*lines);
  const auto stock = share(database, "stock", "s_order_cnt > 0");
  if (!stock) return stock.error();
  report->stock_changed = *stock;
  // A customer is loaded with one payment and no delivery.
  const auto customers = share(database, "customer", "c_payment_cnt > 1 or c_delivery_cnt > 0");
  if (!customers) return customers.error();
  report->customers_changed = *customers;
  return {};
}

}  // namespace

Result<AgingReport> age(Session* session, uint32_t warehouses, uint64_t seed, const StopFlag& stop,
                        const Progress& progress, double growth) {
  const auto loaded = session->database()->row_count(session->tables().orderline.table);
  if (!loaded) return loaded.error();
  AgingReport report;
  report.order_lines_loaded = *loaded;
  const auto wanted = static_cast<uint64_t>(growth * static_cast<double>(*loaded));
  const uint64_t begin = base::steady_ns();
  Aging aging(session, warehouses, seed);
  for (uint64_t added = 0; added < wanted;) {
    if (report.transactions % kProgressEvery == 0) {
      if (stopped(stop)) return base::Error(ErrorCode::kCancelled, "stopped while aging the data");
      progress("aging", static_cast<double>(added) / static_cast<double>(wanted));
    }
    const auto lines = aging.run_one();
    if (!lines) return lines.error().within("aging the data");
    added += *lines;
    ++report.transactions;
  }
  report.seconds = static_cast<double>(base::steady_ns() - begin) * 1e-9;
  if (auto described = describe(session->database(), &report); !described) {
    return described.error();
  }
  return report;
}

}  // namespace diptych::workloads
