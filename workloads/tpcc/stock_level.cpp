#include <algorithm>

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
  const int32_t* const end = std::unique(items, items + count);

  StockLevelReply reply{};
  for (const int32_t* item = items; item != end; ++item) {
    auto quantity = txn.get<&Stock::s_quantity>(tables.stock_pkey, input.w_id, *item);
    if (!quantity) return quantity.error();
    if (*quantity < input.threshold) ++reply.low_stock;
  }
  return reply;
}

}  // namespace diptych::workloads::tpcc
