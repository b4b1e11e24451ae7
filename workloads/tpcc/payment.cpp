#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::RowHandle;
using dispatcher::set;
using dispatcher::Transaction;

constexpr uint32_t kDataBytesMax = 500;  // of c_data

// Pays into the warehouse; gives its name. What it only reads it does not claim: w_ytd is a column
// group of its own.
Result<base::Varchar<10>> pay_warehouse(Transaction& txn, const Tables& tables,
                                        const PaymentArguments& input, PaymentReply* reply) {
  auto found = txn.find<&Warehouse::w_name, &Warehouse::w_street_1, &Warehouse::w_street_2,
                        &Warehouse::w_city, &Warehouse::w_state, &Warehouse::w_zip>(
      tables.warehouse_pkey, input.w_id);
  if (!found) return found.error();
  auto paid = txn.claim<Warehouse, &Warehouse::w_ytd>(found->handle);
  if (!paid) return paid.error();
  txn.update(*paid, set<&Warehouse::w_ytd>({paid->values.units + input.h_amount.units}));
  const auto& [name, street_1, street_2, city, state, zip] = found->values;
  reply->warehouse = {street_1, street_2, city, state, zip};
  return name;
}

// Pays into the district, likewise.
Result<base::Varchar<10>> pay_district(Transaction& txn, const Tables& tables,
                                       const PaymentArguments& input, PaymentReply* reply) {
  auto found =
      txn.find<&District::d_name, &District::d_street_1, &District::d_street_2, &District::d_city,
               &District::d_state, &District::d_zip>(tables.district_pkey, input.w_id, input.d_id);
  if (!found) return found.error();
  auto paid = txn.claim<District, &District::d_ytd>(found->handle);
  if (!paid) return paid.error();
  txn.update(*paid, set<&District::d_ytd>({paid->values.units + input.h_amount.units}));
  const auto& [name, street_1, street_2, city, state, zip] = found->values;
  reply->district = {street_1, street_2, city, state, zip};
  return name;
}

template <auto... Columns>
auto claim_customer(Transaction& txn, const Tables& tables, const PaymentArguments& input,
                    ColumnList<Columns...>) {
  if (input.c_id != 0) {
    return txn.get_for_update<Columns...>(tables.customer_pkey, input.c_w_id, input.c_d_id,
                                          input.c_id);
  }
  using Out = decltype(txn.claim<Customer, Columns...>(RowHandle()));
  auto named = customer_by_name(txn, tables, input.c_w_id, input.c_d_id, input.c_last);
  if (!named) return Out(named.error());
  return txn.claim<Customer, Columns...>(named->handle);
}

// Clause 2.5.2.2: a bad customer's data gets the payment in front and loses its end. In `text`.
std::string_view note_payment(const PaymentArguments& input, int32_t c_id, std::string_view old,
                              char (&text)[kDataBytesMax]) {
  const auto written = fmt::format_to_n(text, kDataBytesMax, "{} {} {} {} {} {}.{:02}|", c_id,
                                        input.c_d_id, input.c_w_id, input.d_id, input.w_id,
                                        input.h_amount.units / 100, input.h_amount.units % 100);
  const std::string_view kept = old.substr(0, kDataBytesMax - written.size);
  std::memcpy(text + written.size, kept.data(), kept.size());
  return {text, written.size + kept.size()};
}

// Gives the number of the customer's payments.
Result<int32_t> charge_customer(Transaction& txn, const Tables& tables,
                                const PaymentArguments& input, PaymentReply* reply) {
  auto customer = claim_customer(txn, tables, input, PayingColumns());
  if (!customer) return customer.error();
  const auto& [c_id, first, middle, last, street_1, street_2, city, state, zip, phone, since,
               credit, credit_lim, discount, balance, ytd_payment, payments] = customer->values;
  const Money owed{balance.units - input.h_amount.units};
  const auto charged = set<&Customer::c_balance>(owed);
  const auto paid = set<&Customer::c_ytd_payment>({ytd_payment.units + input.h_amount.units});
  const auto counted = set<&Customer::c_payment_cnt>(payments + 1);
  if (credit.view() == "BC") {
    auto old = txn.claim<Customer, &Customer::c_data>(customer->handle);
    if (!old) return old.error();
    char text[kDataBytesMax];
    const std::string_view data = note_payment(input, c_id, old->values.view(), text);
    txn.update(*customer, charged, paid, counted,
               set<&Customer::c_data>(base::Varchar<kDataBytesMax>(data)));
    reply->c_data_bytes = static_cast<uint32_t>(data.copy(reply->c_data.data(), kDataBytesShown));
  } else {
    txn.update(*customer, charged, paid, counted);
  }
  reply->c_id = c_id;
  reply->c_first = first;
  reply->c_middle = middle;
  reply->c_last = last;
  reply->customer = {street_1, street_2, city, state, zip};
  reply->c_phone = phone;
  reply->c_since = since;
  reply->c_credit = credit;
  reply->c_credit_lim = credit_lim;
  reply->c_discount = discount;
  reply->c_balance = owed;
  return payments + 1;
}

// The constant-size variant: the history row of the customer's payment before this one.
Result<void> drop_history(Transaction& txn, const Tables& tables, int64_t h_id) {
  auto old = txn.get_for_update<&History::h_id>(tables.history_pkey, h_id);
  if (!old) {
    if (old.code() == ErrorCode::kNotFound) return {};
    return old.error();
  }
  txn.erase(*old);
  return {};
}

base::Varchar<24> history_data(const base::Varchar<10>& w_name, const base::Varchar<10>& d_name) {
  base::Varchar<24> data{};
  for (const std::string_view part : {w_name.view(), std::string_view("    "), d_name.view()}) {
    std::memcpy(data.bytes + data.size, part.data(), part.size());
    data.size = static_cast<uint8_t>(data.size + part.size());
  }
  return data;
}

}  // namespace

Result<PaymentReply> payment(Transaction& txn, const Tables& tables, SizePolicy size,
                             const PaymentArguments& input) {
  PaymentReply reply{};
  auto w_name = pay_warehouse(txn, tables, input, &reply);
  if (!w_name) return w_name.error();
  auto d_name = pay_district(txn, tables, input, &reply);
  if (!d_name) return d_name.error();
  auto payments = charge_customer(txn, tables, input, &reply);
  if (!payments) return payments.error();
  const int32_t c_id = reply.c_id;
  History history{};
  history.h_id = history_id(input.c_w_id, input.c_d_id, c_id, *payments);
  history.h_c_id = c_id;
  history.h_c_d_id = input.c_d_id;
  history.h_c_w_id = input.c_w_id;
  history.h_d_id = input.d_id;
  history.h_w_id = input.w_id;
  history.h_date = txn.now();
  history.h_amount = input.h_amount;
  history.h_data = history_data(*w_name, *d_name);
  if (auto inserted = txn.insert(tables.history, history); !inserted) return inserted.error();
  if (size == SizePolicy::kConstant) {
    const int64_t old = history_id(input.c_w_id, input.c_d_id, c_id, *payments - 1);
    if (auto dropped = drop_history(txn, tables, old); !dropped) return dropped.error();
  }
  reply.h_id = history.h_id;
  reply.h_date = history.h_date;
  return reply;
}

}  // namespace diptych::workloads::tpcc
