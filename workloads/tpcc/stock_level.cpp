#include <array>
#include <span>
#include <tuple>

#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {

using base::Result;
using dispatcher::between;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::Transaction;

namespace {

constexpr int32_t kOrders = 20;
constexpr size_t kLinesMax = size_t{kOrders} * kOrderLinesMax;

// Item numbers, which are greater than 0: open addressing, at most 3/5 full.
class ItemSet {
 public:
  // False: it is there already.
  bool insert(int32_t i_id) {
    constexpr uint32_t kGolden = 0x9e3779b9;
    size_t at = static_cast<uint32_t>(i_id) * kGolden >> (32 - kPlaceBits);
    for (; places_[at] != 0; at = (at + 1) % places_.size()) {
      if (places_[at] == i_id) return false;
    }
    places_[at] = i_id;
    return true;
  }

 private:
  static constexpr int kPlaceBits = 9;
  static_assert(kLinesMax * 5 <= (size_t{3} << kPlaceBits));
  std::array<int32_t, size_t{1} << kPlaceBits> places_{};
};

}  // namespace

Result<StockLevelReply> stock_level(Transaction& txn, const Tables& tables,
                                    const StockLevelArguments& input) {
  auto next = txn.get<&District::d_next_o_id>(tables.district_pkey, input.w_id, input.d_id);
  if (!next) return next.error();

  ItemSet items;
  std::array<std::tuple<int32_t, int32_t>, kLinesMax> stocks;
  size_t count = 0;
  auto scanned = txn.scan<&OrderLine::ol_i_id>(
      tables.orderline_pkey,
      between(tables.orderline_pkey, std::tuple(input.w_id, input.d_id, *next - kOrders),
              std::tuple(input.w_id, input.d_id, *next - 1)),
      {.limit = kLinesMax}, [&](const RowHandle&, int32_t i_id) {
        if (items.insert(i_id)) stocks[count++] = {input.w_id, i_id};
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();

  StockLevelReply reply{};
  auto read = txn.get_each<&Stock::s_quantity>(tables.stock_pkey, std::span(stocks).first(count),
                                               [&](size_t, int32_t quantity) {
                                                 if (quantity < input.threshold) ++reply.low_stock;
                                               });
  if (!read) return read.error();
  return reply;
}

}  // namespace diptych::workloads::tpcc
