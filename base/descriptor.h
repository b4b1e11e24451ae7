// Descriptor: a file descriptor that is closed with its owner.
//
//   const base::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
//   if (file.get() < 0) return system_error("open", path, errno);
//
// Threads    as a value: one owner at a time.

#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace diptych::base {

class Descriptor {
 public:
  // Below 0: none, as open(2) gives it where it fails; errno still says why.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  // The caller closes it.
  int release() { return std::exchange(number_, -1); }
  // Closes it and gives the system's answer, which for a written file may be "no space left"; 0:
  // it is closed.
  int close_now() { return ::close(release()) == 0 ? 0 : errno; }

 private:
  int number_;
};

}  // namespace diptych::base
