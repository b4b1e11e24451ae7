#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::Claimed;
using dispatcher::set;
using dispatcher::Transaction;

constexpr size_t kDataBytesMax = 500;  // of c_data

// Pays into the warehouse; gives its name.
Result<base::Varchar<10>> pay_warehouse(Transaction& txn, const Tables& tables,
                                        const PaymentArguments& input, PaymentReply* reply) {
  auto claimed =
      txn.get_for_update<&Warehouse::w_name, &Warehouse::w_street_1, &Warehouse::w_street_2,
                         &Warehouse::w_city, &Warehouse::w_state, &Warehouse::w_zip,
                         &Warehouse::w_ytd>(tables.warehouse_pkey, input.w_id);
  if (!claimed) return claimed.error();
  const auto& [name, street_1, street_2, city, state, zip, ytd] = claimed->values;
  txn.update(*claimed, set<&Warehouse::w_ytd>({ytd.units + input.h_amount.units}));
  reply->warehouse = {street_1, street_2, city, state, zip};
  return name;
}

// Pays into the district; gives its name.
Result<base::Varchar<10>> pay_district(Transaction& txn, const Tables& tables,
                                       const PaymentArguments& input, PaymentReply* reply) {
  auto claimed =
      txn.get_for_update<&District::d_name, &District::d_street_1, &District::d_street_2,
                         &District::d_city, &District::d_state, &District::d_zip, &District::d_ytd>(
          tables.district_pkey, input.w_id, input.d_id);
  if (!claimed) return claimed.error();
  const auto& [name, street_1, street_2, city, state, zip, ytd] = claimed->values;
  txn.update(*claimed, set<&District::d_ytd>({ytd.units + input.h_amount.units}));
  reply->district = {street_1, street_2, city, state, zip};
  return name;
}

using PayingCustomer = Claimed<Customer, std::tuple<int32_t, base::Varchar<16>, base::Char<2>,
                                                    Money, Rate, Money, Money, int32_t>>;

Result<PayingCustomer> claim_customer(Transaction& txn, const Tables& tables,
                                      const PaymentArguments& input) {
  if (input.c_id != 0) {
    return txn.get_for_update<&Customer::c_id, &Customer::c_first, &Customer::c_credit,
                              &Customer::c_credit_lim, &Customer::c_discount, &Customer::c_balance,
                              &Customer::c_ytd_payment, &Customer::c_payment_cnt>(
        tables.customer_pkey, input.c_w_id, input.c_d_id, input.c_id);
  }
  auto named = customer_by_name(txn, tables, input.c_w_id, input.c_d_id, input.c_last);
  if (!named) return named.error();
  return txn.claim<Customer, &Customer::c_id, &Customer::c_first, &Customer::c_credit,
                   &Customer::c_credit_lim, &Customer::c_discount, &Customer::c_balance,
                   &Customer::c_ytd_payment, &Customer::c_payment_cnt>(named->handle);
}

// Clause 2.5.2.2: a bad customer's data gets the payment in front and loses its end.
Result<void> note_bad_credit(Transaction& txn, const Tables& tables, const PaymentArguments& input,
                             const PayingCustomer& customer, int32_t c_id) {
  auto data = txn.get<&Customer::c_data>(tables.customer_pkey, input.c_w_id, input.c_d_id, c_id);
  if (!data) return data.error();
  char text[kDataBytesMax];
  const auto written = fmt::format_to_n(text, kDataBytesMax, "{} {} {} {} {} {}.{:02}|", c_id,
                                        input.c_d_id, input.c_w_id, input.d_id, input.w_id,
                                        input.h_amount.units / 100, input.h_amount.units % 100);
  const std::string_view old = data->view().substr(0, kDataBytesMax - written.size);
  std::memcpy(text + written.size, old.data(), old.size());
  const base::Varchar<500> value(std::string_view(text, written.size + old.size()));
  txn.update(customer, set<&Customer::c_data>(value));
  return {};
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
  auto customer = claim_customer(txn, tables, input);
  if (!customer) return customer.error();
  const auto& [c_id, first, credit, credit_lim, discount, balance, ytd_payment, payment_cnt] =
      customer->values;
  const Money new_balance{balance.units - input.h_amount.units};
  txn.update(*customer, set<&Customer::c_balance>(new_balance),
             set<&Customer::c_ytd_payment>({ytd_payment.units + input.h_amount.units}),
             set<&Customer::c_payment_cnt>(payment_cnt + 1));
  if (credit.view() == "BC") {
    if (auto noted = note_bad_credit(txn, tables, input, *customer, c_id); !noted) {
      return noted.error();
    }
  }
  History history{};
  history.h_id = history_id(input.c_w_id, input.c_d_id, c_id, payment_cnt + 1);
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
    const int64_t old = history_id(input.c_w_id, input.c_d_id, c_id, payment_cnt);
    if (auto dropped = drop_history(txn, tables, old); !dropped) return dropped.error();
  }
  reply.h_id = history.h_id;
  reply.c_id = c_id;
  reply.c_first = first;
  reply.c_credit = credit;
  reply.c_credit_lim = credit_lim;
  reply.c_discount = discount;
  reply.c_balance = new_balance;
  return reply;
}

}  // namespace diptych::workloads::tpcc
