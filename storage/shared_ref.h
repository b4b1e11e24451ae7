// SharedRef: owns an object together with others. What snapshots and the live replica share
// (leaves, chunks, string heaps) changes hands in whole objects, and this counts the hands.
//
// When to use  what has one owner has a unique_ptr. This is for what a snapshot holds while the
//              live replica goes on: whoever would write asks is_shared() first, and writes to a
//              copy where the answer is yes. Where it is no, nobody else can come to own it.
// Threads      the object's count: any number. One SharedRef: one thread at a time.
// Cost         a copy is an atomic addition; is_shared() is a load.
//
// Invariants
//   O1  The object goes with its last owner.
//   O2  Who finds that it is the only owner sees all that former owners did.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace diptych::storage {

// How many own an object.
template <template <class> class Atomic = std::atomic>
class SharedCount {
 public:
  // relaxed: who adds an owner is one, so the object is there, and whoever gives the new owner the
  // object to another thread orders that.
  void add() { owners_.fetch_add(1, std::memory_order_relaxed); }
  // True: it was the last.
  [[nodiscard]] bool drop() {
    // acq_rel: what owners did comes before their drops, and the last one's drop after these (O2).
    return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  bool is_shared() const {
    // acquire: pairs with the release in drop; who is alone sees what the others did (O2).
    return owners_.load(std::memory_order_acquire) != 1;
  }

 private:
  Atomic<uint32_t> owners_{1};  // writers: owners
};

// What has such a count. A copy of the object is another object, with an owner of its own.
class Shared {
 public:
  bool is_shared() const { return owners_.is_shared(); }

 protected:
  Shared() = default;
  Shared(const Shared&) {}
  Shared& operator=(const Shared&) = delete;
  ~Shared() = default;

 private:
  template <class>
  friend class SharedRef;
  SharedCount<> owners_;
};

template <class Object>
class SharedRef {
 public:
  SharedRef() = default;  // of nothing
  // Its first owner.
  template <class Made>
  explicit SharedRef(std::unique_ptr<Made> object) : object_(object.release()) {}
  SharedRef(const SharedRef& other) : object_(other.object_) {
    if (object_ != nullptr) object_->owners_.add();
  }
  SharedRef(SharedRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  SharedRef& operator=(SharedRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~SharedRef() { give_up(); }

  // Owns nothing afterwards. The object, where this was its last owner; else nullptr.
  std::unique_ptr<Object> give_up() {
    Object* const object = std::exchange(object_, nullptr);
    const bool was_last = object != nullptr && object->owners_.drop();
    return std::unique_ptr<Object>(was_last ? object : nullptr);
  }

  Object* get() const { return object_; }
  Object& operator*() const { return *object_; }
  Object* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object* object_ = nullptr;
};

}  // namespace diptych::storage
