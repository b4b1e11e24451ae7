// CatalogHistory: the catalogs that readers see while DDL changes the engine's own.
//
// The live catalog changes under the gate, where no batch runs; but users bind structs and compile
// SQL on their own threads at any time. They read an immutable copy; DDL publishes the next one.
//
// Threads    publish: who holds the gate exclusively. current: any; wait-free.
// Memory     every copy stays until the history goes, so that a reference to one never dangles.
//            They share the tables that DDL did not change: a pointer a table for each run of DDL.
//
// Its atomic is a parameter so that the stress test can show that it finds weakened orders.

#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/schema.h"

namespace diptych::dispatcher {

template <template <class> class Atomic = std::atomic>
class BasicCatalogHistory {
 public:
  BasicCatalogHistory() { add(base::Catalog()); }

  void publish(const base::Catalog& live) { add(base::Catalog(live, *copies_.back())); }

  const base::Catalog& current() const {
    // acquire: pairs with the release in publish.
    return *current_.load(std::memory_order_acquire);
  }

 private:
  void add(base::Catalog copy) {
    copies_.push_back(std::make_unique<const base::Catalog>(std::move(copy)));
    // release: pairs with the acquire in current; who sees the pointer sees the catalog.
    current_.store(copies_.back().get(), std::memory_order_release);
  }

  std::vector<std::unique_ptr<const base::Catalog>> copies_;
  Atomic<const base::Catalog*> current_{nullptr};  // writer: publish
};

using CatalogHistory = BasicCatalogHistory<>;

}  // namespace diptych::dispatcher
