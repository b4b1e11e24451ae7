#include <algorithm>
#include <span>
#include <tuple>

#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {

using base::Result;
using dispatcher::between;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::Transaction;

Result<StockLevelReply> stock_level(Transaction& txn, const Tables& tables,
                                    const StockLevelArguments& input) {
  constexpr int32_t kOrders = 20;
  auto next = txn.get<&District::d_next_o_id>(tables.district_pkey, input.w_id, input.d_id);
  if (!next) return next.error();

  int32_t items[kOrders * kOrderLinesMax];
  size_t count = 0;
  auto scanned = txn.scan<&OrderLine::ol_i_id>(
      tables.orderline_pkey,
      between(tables.orderline_pkey, std::tuple(input.w_id, input.d_id, *next - kOrders),
              std::tuple(input.w_id, input.d_id, *next - 1)),
      {.limit = std::size(items)}, [&](const RowHandle&, int32_t i_id) {
        items[count++] = i_id;
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  std::sort(items, items + count);
  const size_t distinct = static_cast<size_t>(std::unique(items, items + count) - items);
  std::tuple<int32_t, int32_t> stocks[std::size(items)];
  for (size_t i = 0; i < distinct; ++i) stocks[i] = {input.w_id, items[i]};

  StockLevelReply reply{};
  auto read = txn.get_each<&Stock::s_quantity>(tables.stock_pkey, std::span(stocks, distinct),
                                               [&](size_t, int32_t quantity) {
                                                 if (quantity < input.threshold) ++reply.low_stock;
                                               });
  if (!read) return read.error();
  return reply;
}

}  // namespace diptych::workloads::tpcc
