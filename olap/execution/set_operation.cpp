#include "olap/execution/set_operation.h"

#include <algorithm>

#include "base/check.h"

namespace diptych::olap {

namespace {

class RelayStage : public Stage {
 public:
  explicit RelayStage(Stage* chain) : chain_(chain) {}
  bool push(Batch& batch) override { return chain_->push(batch); }

 private:
  Stage* chain_;
};

}  // namespace

StageFactory SharedChains::factory() {
  return [this](uint32_t worker) -> StagePtr {
    StagePtr& chain = chains_[worker];
    if (chain == nullptr) chain = sink_(worker);
    return std::make_unique<RelayStage>(chain.get());
  };
}

bool RepeatStage::push(Batch& batch) {
  const Vector& counts = batch.columns.back();
  DIPTYCH_CHECK(counts.type == PhysicalType::kInt64, "rows are repeated a BIGINT of times");
  const Selection& rows = *batch.selection;
  int64_t least = INT64_MAX;
  int64_t most = 0;
  for_selected(rows, [&](uint32_t slot) {
    const int64_t count = counts.is_null(slot) ? 0 : counts.as<int64_t>()[slot];
    least = std::min(least, count);
    most = std::max(most, count);
  });
  if (most == 0) return true;
  const uint32_t copies = kVectorRows / rows.count;
  if (copies < kCopiesMin || most < kCopiesMin || batch.build_rows != nullptr) {
    return push_rounds(batch, rows.slots, 1, least);
  }
  lay_out_copies(batch, copies);
  return push_rounds(copies_, rows.count, copies, least);
}

// The selected rows one behind the other, and all of them again and again.
void RepeatStage::lay_out_copies(const Batch& batch, uint32_t copies) {
  const Selection& rows = *batch.selection;
  buffers_.clear();
  buffers_.reserve(batch.columns.size());  // vectors point into them
  copies_.columns.clear();
  for (const Vector& column : batch.columns) {
    VectorBuffer& buffer = buffers_.emplace_back(column.type);
    if (column.values != nullptr) {
      with_physical_type(column.type, [&](auto value) {
        using T = decltype(value);
        T* const to = buffer.values<T>();
        for_numbered(rows, [&](uint32_t k, uint32_t slot) { to[k] = column.as<T>()[slot]; });
        for (uint32_t i = 1; i < copies; ++i) std::copy_n(to, rows.count, to + i * rows.count);
      });
    }
    Vector& copied = copies_.columns.emplace_back(buffer.view());
    copied.string_life = column.string_life;
    if (column.nulls == nullptr) continue;
    buffer.clear_nulls();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (!bit_at(column.nulls, slot)) return;
      for (uint32_t i = 0; i < copies; ++i) set_bit(buffer.nulls(), i * rows.count + k);
    });
    copied.nulls = buffer.nulls();
  }
  select_all(copies * rows.count, &all_);
  copies_.selection = &all_;
}

// Of `copies` times so many slots, the i-th of which have the (round + i)-th repetitions. All rows
// come `least` times.
bool RepeatStage::push_rounds(Batch& batch, uint32_t slots, uint32_t copies, int64_t least) {
  const Vector counts = batch.columns.back();
  const Selection* const before = batch.selection;
  batch.columns.back() = numbers_ ? numbers_->view() : Vector{.type = PhysicalType::kInt64};
  for (uint32_t i = 0; numbers_ && i < before->slots; ++i) {
    numbers_->values<int64_t>()[i] = 1 + i / slots;
  }
  batch.selection = &selection_;
  selection_ = *before;
  bool more = true;
  for (int64_t round = 0; more; round += copies) {
    for (uint32_t i = 0; numbers_ && round != 0 && i < before->slots; ++i) {
      numbers_->values<int64_t>()[i] += copies;
    }
    if (round + copies > least) {
      uint64_t bits[kVectorWords] = {};
      for_selected(selection_, [&](uint32_t slot) {
        const int64_t repetition = round + slot / slots;
        if (!counts.is_null(slot) && counts.as<int64_t>()[slot] > repetition) set_bit(bits, slot);
      });
      select_bits(bits, before->slots, &selection_);
      if (selection_.count == 0) break;
    }
    context_.stop->check();
    more = next_->push(batch);
  }
  batch.columns.back() = counts;
  batch.selection = before;
  return more;
}

}  // namespace diptych::olap
