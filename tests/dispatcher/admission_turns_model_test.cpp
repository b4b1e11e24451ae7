// Whose turn it is, against a plain model: random arrivals, deadlines and rooms of batches.
//
// Of each batch  how many of each priority it has is computed anew; items of one queue come in
//                their order, once; what is late is set aside, and nothing else.
// Of the turns   between two queues of a priority that both have items all the time, what they got
//                differs by a turn at most, over any time; and who comes waits for no more than a
//                turn of each of the others.

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/admission_turns.h"
#include "oltp/request.h"

namespace diptych::dispatcher {
namespace {

constexpr std::array<size_t, kPriorities> kModelWeights = {16, 4, 1};
constexpr size_t kModelClients = 5;  // of a priority
constexpr uint32_t kModelItems = 64;

class TurnsModel {
 public:
  TurnsModel(uint32_t seed, size_t turn_max) : random_(seed), turn_max_(turn_max) {
    std::array<CallQueue*, kPriorities> anonymous;
    for (size_t p = 0; p < kPriorities; ++p) {
      anonymous[p] = add(CallQueue::Of::kAnyone, p);
      for (size_t i = 0; i < kModelClients; ++i) add(CallQueue::Of::kClient, p);
    }
    turns_ =
        std::make_unique<AdmissionTurns<oltp::Request*>>(anonymous, kModelClients * 3, turn_max);
  }

  void step() {
    ++now_;
    // Now all come, now few, so that lines grow and end.
    const size_t arrivals = below(8) == 0 ? below(200) : below(12);
    for (size_t i = 0; i < arrivals; ++i) submit(sources_[below(sources_.size())].get());
    if (below(4) == 0) drop_expired();
    fill(below(4) == 0 ? below(4) : below(60), below(3));
    // Who was answered often comes back at once.
    for (oltp::Request* const request : batch_) {
      if (request != &repeated_ && below(2) == 0) submit(source_of(*request));
    }
  }

 private:
  struct Waiting {
    oltp::Request* request;
    uint64_t deadline;
  };
  struct Source {
    std::unique_ptr<CallQueue> queue;
    size_t priority;
    std::deque<Waiting> waiting;
    size_t served = 0;                  // items in batches, ever
    std::vector<int64_t> least, most;   // by Source: served more than it, while both had items
    std::vector<size_t> others_served;  // by Source, as this one's oldest item came
    bool is_new = false;                // it has had nothing since
  };

  size_t below(size_t end) { return random_() % end; }

  CallQueue* add(CallQueue::Of whose, size_t priority) {
    sources_.push_back(std::make_unique<Source>());
    sources_.back()->queue = std::make_unique<CallQueue>(whose, static_cast<Priority>(priority),
                                                         kModelItems, base::SpinPolicy::kNever);
    sources_.back()->priority = priority;
    return sources_.back()->queue.get();
  }
  Source* source_of(const oltp::Request& request) { return static_cast<Source*>(request.context); }
  bool is_late(const Waiting& item) const { return item.deadline != 0 && item.deadline <= now_; }

  void submit(Source* source) {
    if (!source->queue->tokens().take()) {
      EXPECT_EQ(source->waiting.size(), kModelItems) << "it is refused at its limit only";
      return;
    }
    requests_.push_back(std::make_unique<oltp::Request>());
    oltp::Request* const request = requests_.back().get();
    request->context = source;
    const uint64_t deadline = below(3) == 0 ? now_ + below(4) : 0;
    if (source->waiting.empty()) {
      source->is_new = true;
      source->others_served.clear();
      for (const auto& other : sources_) source->others_served.push_back(other->served);
    }
    source->waiting.push_back({request, deadline});
    if (source->queue->push({request, deadline})) turns_->arrive(source->queue.get());
  }

  // How many of each priority are to come into a batch with so much room.
  std::array<size_t, kPriorities> expected(size_t room) {
    std::array<size_t, kPriorities> waiting{};
    for (const auto& source : sources_) {
      for (const Waiting& item : source->waiting) waiting[source->priority] += !is_late(item);
    }
    std::array<size_t, kPriorities> shares{};
    if (room >= kPriorities) {
      shares[1] = std::max<size_t>(1, room * kModelWeights[1] / 21);
      shares[2] = std::max<size_t>(1, room * kModelWeights[2] / 21);
      shares[0] = room - shares[1] - shares[2];
    } else {
      const size_t turn = small_batches_++ % 21;
      shares[turn < 16 ? 0 : turn < 20 ? 1 : 2] = room;
    }
    std::array<size_t, kPriorities> taken{};
    for (const bool first : {true, false}) {
      for (size_t p = 0; p < kPriorities; ++p) {
        const size_t some = std::min(waiting[p] - taken[p], first ? shares[p] : room);
        taken[p] += some;
        room -= some;
      }
    }
    return taken;
  }

  void fill(size_t room, size_t repeated) {
    const auto wanted = expected(room);
    size_t all = 0;
    for (const auto& source : sources_) all += source->waiting.size();
    EXPECT_EQ(turns_->waiting(), all);
    batch_.assign(repeated, &repeated_);
    expired_.clear();
    turns_->fill(room + repeated, now_, &batch_, &expired_);
    std::array<size_t, kPriorities> counts{};
    for (oltp::Request* const request : expired_) {
      Source* const source = source_of(*request);
      source->is_new = false;
      take(source, request, true);
    }
    for (size_t i = repeated; i < batch_.size(); ++i) {
      Source* const source = source_of(*batch_[i]);
      ++counts[source->priority];
      ++source->served;
      take(source, batch_[i], false);
      check_newcomer(source);
    }
    EXPECT_EQ(counts, wanted) << "room " << room;
    check_fairness();
  }

  // Also those behind others that have time yet.
  void drop_expired() {
    expired_.clear();
    turns_->drop_expired(now_, &expired_);
    for (oltp::Request* const request : expired_) {
      source_of(*request)->is_new = false;
      take(source_of(*request), request, true);
    }
    for (const auto& source : sources_) {
      EXPECT_TRUE(std::none_of(source->waiting.begin(), source->waiting.end(),
                               [&](const Waiting& item) { return is_late(item); }));
    }
  }

  // The next one of its queue; late ones in between are set aside with the same batch.
  void take(Source* source, const oltp::Request* request, bool late) {
    auto& waiting = source->waiting;
    const auto is_next = [&](const Waiting& item) { return is_late(item) == late; };
    const auto next = std::find_if(waiting.begin(), waiting.end(), is_next);
    ASSERT_NE(next, waiting.end());
    EXPECT_EQ(next->request, request) << "out of order, or twice";
    waiting.erase(next);
    source->queue->tokens().give_back();
  }

  void check_newcomer(Source* served) {
    served->is_new = false;
    const auto place = static_cast<size_t>(
        std::find_if(sources_.begin(), sources_.end(),
                     [&](const auto& source) { return source.get() == served; }) -
        sources_.begin());
    for (const auto& source : sources_) {
      if (!source->is_new || source->priority != served->priority) continue;
      EXPECT_LE(served->served - source->others_served[place], turn_max_)
          << "who came waits for more than a turn of another";
    }
  }

  void check_fairness() {
    for (const auto& one : sources_) {
      one->least.resize(sources_.size(), INT64_MAX);
      one->most.resize(sources_.size(), INT64_MIN);
      for (size_t i = 0; i < sources_.size(); ++i) {
        const Source& other = *sources_[i];
        if (one->priority != other.priority) continue;
        if (one->waiting.empty() || other.waiting.empty()) {
          one->least[i] = INT64_MAX;
          one->most[i] = INT64_MIN;
          continue;
        }
        const int64_t more = static_cast<int64_t>(one->served) - static_cast<int64_t>(other.served);
        one->least[i] = std::min(one->least[i], more);
        one->most[i] = std::max(one->most[i], more);
        EXPECT_LE(one->most[i] - one->least[i], static_cast<int64_t>(turn_max_));
      }
    }
  }

  std::mt19937 random_;
  const size_t turn_max_;
  std::unique_ptr<AdmissionTurns<oltp::Request*>> turns_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::unique_ptr<oltp::Request>> requests_;
  std::vector<oltp::Request*> batch_, expired_;
  oltp::Request repeated_;  // of the batch before, which are first in the next
  size_t small_batches_ = 0;
  uint64_t now_ = 1;
};

TEST(AdmissionTurnsModel, BatchesAreThoseOfAPlainModel) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    TurnsModel model(seed, std::array<size_t, 3>{1, 3, 8}[seed % 3]);
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) model.step();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace diptych::dispatcher
