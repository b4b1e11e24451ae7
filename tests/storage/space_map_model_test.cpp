#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "storage/space_map.h"

namespace diptych::storage {
namespace {

// A page is an entry of a plain array: who uses it, and in which states' manifests it stands.
class PlainSpace {
 public:
  struct Page {
    uint32_t user = 0;  // 0: nobody
    bool durable = false;
    bool coming = false;
  };

  void resize(uint32_t pages) { pages_.resize(pages); }
  bool free(uint32_t page) const { return pages_[page].user == 0 && !pages_[page].durable; }
  bool all_free(uint32_t first, uint32_t count) const {
    for (uint32_t page = first; page < first + count; ++page) {
      if (!free(page)) return false;
    }
    return true;
  }
  // The lowest run that is free and, unless it is longer than an extent, within one; a longer one
  // begins with an extent.
  std::optional<uint32_t> lowest(uint32_t count) const {
    uint32_t run = 0;
    for (uint32_t page = 0; page < pages_.size(); ++page) {
      const bool boundary = page % kExtentPages == 0;
      if (boundary && (count <= kExtentPages || run < kExtentPages)) run = 0;
      run = free(page) ? run + 1 : 0;
      if (count <= kExtentPages && run == count) return page + 1 - count;
      if (count > kExtentPages && run > kExtentPages) {
        const uint32_t first = page + 1 - run;
        const uint32_t aligned = (first + kExtentPages - 1) / kExtentPages * kExtentPages;
        if (page + 1 - aligned >= count) return aligned;
      }
    }
    return std::nullopt;
  }
  void use(uint32_t first, uint32_t count, uint32_t user) {
    for (uint32_t page = first; page < first + count; ++page) pages_[page].user = user;
  }
  void begin_commit() {
    for (Page& page : pages_) {
      page.coming = page.user != 0;
      page.durable = page.durable || page.coming;
    }
  }
  void commit() {
    for (Page& page : pages_) page.durable = page.coming;
    const auto used = [this](uint32_t extent) {
      for (uint32_t page = 0; page < kExtentPages; ++page) {
        const uint32_t number = extent * kExtentPages + page;
        if (number != 0 && !free(number)) return true;
      }
      return false;
    };
    while (!pages_.empty() && !used(static_cast<uint32_t>(pages_.size()) / kExtentPages - 1)) {
      pages_.resize(pages_.size() - kExtentPages);
    }
  }
  void expect_agrees(const SpaceMap& map) const {
    uint32_t free_pages = 0;
    uint32_t held = 0;
    for (uint32_t page = 1; page < pages_.size(); ++page) {
      free_pages += free(page);
      held += pages_[page].user == 0 && pages_[page].durable;
    }
    ASSERT_EQ(map.pages(), std::max<size_t>(pages_.size(), 1));
    ASSERT_EQ(map.free_pages(), free_pages);
    ASSERT_EQ(map.held_pages(), held);
  }

 private:
  std::vector<Page> pages_;
};

// Both, driven alike.
class SpaceMapModel {
 public:
  explicit SpaceMapModel(uint64_t seed) : random_(seed) {}

  void allocate(uint32_t pages) {
    std::optional<uint32_t> first = map_.allocate(pages);
    ASSERT_EQ(first, model_.lowest(pages));
    if (!first) {
      const uint32_t extents = map_.extents_to_grow(pages);
      map_.grow(extents);
      const uint32_t had = map_.pages() - extents * kExtentPages;
      model_.resize(map_.pages());
      if (had == 0) model_.use(0, 1, ~0U);
      first = map_.allocate(pages);
      ASSERT_EQ(first, model_.lowest(pages)) << pages;
      ASSERT_TRUE(first.has_value()) << pages;
    }
    ASSERT_TRUE(model_.all_free(*first, pages)) << "space that a restart needs";
    model_.use(*first, pages, ++last_user_);
    chunks_.emplace(*first, pages);
  }
  void release_one() {
    if (chunks_.empty()) return;
    auto chunk = chunks_.lower_bound(static_cast<uint32_t>(random_() % map_.pages()));
    if (chunk == chunks_.end()) chunk = chunks_.begin();
    map_.release(chunk->first, chunk->second);
    model_.use(chunk->first, chunk->second, 0);
    chunks_.erase(chunk);
  }
  void release_all() {
    while (!chunks_.empty()) release_one();
  }
  void begin_commit() {
    map_.begin_commit();
    model_.begin_commit();
    begun_ = true;
  }
  void commit() {
    if (!begun_) model_.begin_commit();
    begun_ = false;
    model_.commit();
    const uint32_t pages = map_.commit();
    ASSERT_EQ(pages, map_.pages());
  }
  void expect_agrees() const { model_.expect_agrees(map_); }
  // Moves what should move, where there is room.
  void move_some(size_t* moved) {
    const uint32_t from = map_.moves_from();
    const uint32_t kept = map_.pages() - map_.free_pages();
    ASSERT_LE(from, map_.pages());
    if (from == map_.pages()) return;
    ASSERT_GE(from, kept + kept / 4 + kExtentPages) << "as much is left to be written";
    uint32_t pages_behind = 0;
    for (auto chunk = chunks_.lower_bound(from); chunk != chunks_.end();) {
      const auto [first, pages] = *chunk;
      pages_behind += pages;
      const std::optional<uint32_t> to = map_.allocate_before(from, pages);
      std::optional<uint32_t> lowest = model_.lowest(pages);
      if (lowest && *lowest + pages > from) lowest = std::nullopt;
      ASSERT_EQ(to, lowest);
      if (!to) {
        ++chunk;
        continue;
      }
      model_.use(*to, pages, ++last_user_);
      map_.release(first, pages);
      model_.use(first, pages, 0);
      chunk = chunks_.erase(chunk);
      chunks_.emplace(*to, pages);
      ++*moved;
    }
    ASSERT_LE(pages_behind, std::max<uint32_t>(4 * kExtentPages, map_.pages() / 16));
  }
  // What a restart makes of it.
  void expect_adoptable() {
    SpaceMap read(map_.pages() / kExtentPages);
    for (const auto& [first, pages] : chunks_) {
      ASSERT_TRUE(read.adopt(first, pages));
      ASSERT_FALSE(read.adopt(first + pages - 1, 2));
    }
    ASSERT_EQ(read.free_pages(), map_.free_pages() + map_.held_pages());
  }
  std::mt19937_64& random() { return random_; }
  size_t chunks() const { return chunks_.size(); }

 private:
  std::mt19937_64 random_;
  SpaceMap map_;
  PlainSpace model_;
  std::map<uint32_t, uint32_t> chunks_;  // first page to pages
  uint32_t last_user_ = 0;
  bool begun_ = false;
};

uint32_t some_pages(std::mt19937_64& random) {
  switch (random() % 40) {
    case 0: return 1 + static_cast<uint32_t>(random() % (3 * kExtentPages));
    case 1: return kExtentPages + static_cast<uint32_t>(random() % 3) - 1;
    case 2:
    case 3: return 1 + static_cast<uint32_t>(random() % 700);
    default: return 1 + static_cast<uint32_t>(random() % 90);
  }
}

TEST(SpaceMapModel, NeverGivesOutWhatIsUsedOrDurableAndFindsTheLowestOfTheRest) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  SpaceMapModel both(seed);
  size_t commits = 0;
  for (int i = 0; i < 3'500; ++i) {
    const uint64_t what = both.random()() % 100;
    const bool growing = (i / 500) % 2 == 0;
    if (what < 2) {
      both.begin_commit();  // one that fails if another begins before the commit
    } else if (what < 4) {
      ASSERT_NO_FATAL_FAILURE(both.commit());
      ++commits;
    } else if (what < (growing ? 64U : 40U)) {
      ASSERT_NO_FATAL_FAILURE(both.allocate(some_pages(both.random())));
    } else {
      both.release_one();
    }
    if (i % 16 == 0) {
      ASSERT_NO_FATAL_FAILURE(both.expect_agrees());
    }
  }
  EXPECT_GT(commits, 20U);
  EXPECT_GT(both.chunks(), 20U);
  ASSERT_NO_FATAL_FAILURE(both.expect_adoptable());
  both.release_all();
  ASSERT_NO_FATAL_FAILURE(both.commit());
  ASSERT_NO_FATAL_FAILURE(both.commit());
  ASSERT_NO_FATAL_FAILURE(both.expect_agrees());
}

TEST(SpaceMapModel, SaysWhatToMoveSoThatTheFileBecomesShorter) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  SpaceMapModel both(seed);
  size_t moved = 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 300; ++i) {
      ASSERT_NO_FATAL_FAILURE(both.allocate(some_pages(both.random())));
    }
    ASSERT_NO_FATAL_FAILURE(both.commit());
    for (int i = 0; i < 240; ++i) both.release_one();
    // The old state goes, and then what it had.
    ASSERT_NO_FATAL_FAILURE(both.commit());
    for (int i = 0; i < 4; ++i) {
      ASSERT_NO_FATAL_FAILURE(both.move_some(&moved));
      ASSERT_NO_FATAL_FAILURE(both.expect_agrees());
      ASSERT_NO_FATAL_FAILURE(both.commit());
      ASSERT_NO_FATAL_FAILURE(both.expect_agrees());
    }
    ASSERT_NO_FATAL_FAILURE(both.expect_adoptable());
  }
  EXPECT_GT(moved, 20U);
}

TEST(SpaceMap, KeepsWhatTheDurableStateNamesUntilTheNextCommit) {
  SpaceMap map(1);
  const uint32_t first = *map.allocate(10);
  EXPECT_EQ(first, 1U) << "page 0 is the file's header";
  map.release(first, 10);
  EXPECT_EQ(*map.allocate(10), first) << "no state names it: reused at once";
  map.commit();
  map.release(first, 10);
  EXPECT_EQ(map.held_pages(), 10U);
  EXPECT_EQ(*map.allocate(10), first + 10) << "a restart reads it";
  map.commit();
  EXPECT_EQ(map.held_pages(), 0U);
  EXPECT_EQ(*map.allocate(10), first);
}

TEST(SpaceMap, KeepsBothStatesWhileItIsNotKnownWhichOneIsDurable) {
  SpaceMap map(1);
  const uint32_t old_chunk = *map.allocate(1);
  map.commit();
  const uint32_t new_chunk = *map.allocate(1);
  map.release(old_chunk, 1);
  map.begin_commit();
  // The manifest's rename may have reached the disk, but its sync failed: no commit.
  map.release(new_chunk, 1);
  EXPECT_EQ(map.held_pages(), 2U);
  const uint32_t other = *map.allocate(1);
  EXPECT_NE(other, old_chunk);
  EXPECT_NE(other, new_chunk);
  map.begin_commit();
  map.commit();
  EXPECT_EQ(map.held_pages(), 0U);
}

TEST(SpaceMap, GivesARunBeforeAPageOrNothing) {
  SpaceMap map(1);
  EXPECT_EQ(map.allocate_before(11, 10), 1U);
  const uint32_t free_pages = map.free_pages();
  EXPECT_FALSE(map.allocate_before(20, 10).has_value());
  EXPECT_EQ(map.free_pages(), free_pages);
  EXPECT_EQ(map.allocate(10), 11U) << "nothing was taken";
}

TEST(SpaceMap, KeepsAChunkOfAtMostAnExtentWithinOne) {
  SpaceMap map(2);
  EXPECT_EQ(*map.allocate(kExtentPages - 3), 1U);
  EXPECT_EQ(*map.allocate(3), kExtentPages) << "not the 2 pages before, and one behind them";
  EXPECT_EQ(*map.allocate(2), kExtentPages - 2);
  EXPECT_FALSE(map.allocate(kExtentPages).has_value());
  map.grow(map.extents_to_grow(kExtentPages));
  EXPECT_EQ(*map.allocate(kExtentPages), 2 * kExtentPages);
  EXPECT_EQ(map.extents_to_grow(3 * kExtentPages + 1), 4U);
  map.grow(4);
  EXPECT_EQ(*map.allocate(3 * kExtentPages + 1), 3 * kExtentPages);
  EXPECT_EQ(*map.allocate(kExtentPages - 1), 6 * kExtentPages + 1) << "behind a long one's end";
}

TEST(SpaceMap, GivesFreeExtentsAtTheEndBack) {
  SpaceMap map;
  EXPECT_EQ(map.pages(), 1U);
  map.grow(map.extents_to_grow(kExtentPages));
  EXPECT_EQ(map.pages(), 2 * kExtentPages) << "the header is in the first";
  const uint32_t large = *map.allocate(kExtentPages);
  const uint32_t small = *map.allocate(1);
  EXPECT_EQ(map.commit(), 2 * kExtentPages);
  map.release(large, kExtentPages);
  EXPECT_EQ(map.commit(), kExtentPages);
  map.release(small, 1);
  EXPECT_EQ(map.pages(), kExtentPages) << "held: the durable state needs the file's end";
  EXPECT_EQ(map.commit(), 1U);
  EXPECT_FALSE(map.allocate(1).has_value());
  map.grow(1);
  EXPECT_EQ(*map.allocate(1), 1U);
}

TEST(SpaceMap, AdoptsNothingTwiceAndNothingOutside) {
  SpaceMap map(1);
  EXPECT_FALSE(map.adopt(0, 1)) << "the header";
  EXPECT_TRUE(map.adopt(5, 3));
  EXPECT_FALSE(map.adopt(7, 1));
  EXPECT_FALSE(map.adopt(2, 4));
  EXPECT_FALSE(map.adopt(kExtentPages - 1, 2));
  EXPECT_FALSE(map.adopt(~0U, ~0U));
  EXPECT_TRUE(map.adopt(kExtentPages - 1, 1));
  map.release(5, 3);
  EXPECT_EQ(map.held_pages(), 3U);
}

TEST(SpaceMapDeathTest, RefusesToReleaseTwice) {
  SpaceMap map(1);
  const uint32_t first = *map.allocate(4);
  map.release(first, 4);
  EXPECT_DEATH(map.release(first, 4), "released once");
}

}  // namespace
}  // namespace diptych::storage
