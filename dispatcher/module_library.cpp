#include "dispatcher/module_library.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/descriptor.h"
#include "dispatcher/module_file.h"

namespace diptych::dispatcher {
namespace {

base::Error system_error(std::string_view what) {
  const base::ErrorCode code = errno == ENOENT || errno == ENOTDIR  ? base::ErrorCode::kNotFound
                               : errno == ENOMEM || errno == ENOSPC ? base::ErrorCode::kOutOfMemory
                                                                    : base::ErrorCode::kIo;
  return {code, fmt::format("{}: {}", what, std::strerror(errno))};
}

base::Result<std::string> read_whole(const std::string& path) {
  // Not blocking, for what turns out to be a pipe.
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error("it cannot be opened");
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return system_error("it cannot be examined");
  if (!S_ISREG(status.st_mode)) {
    return base::Error(base::ErrorCode::kInvalidArgument, "it is not a regular file");
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("it cannot be read");
    if (got == 0) break;  // it became shorter meanwhile
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

base::Result<int> copy_to_memory(std::string_view bytes) {
  base::Descriptor copy(::memfd_create("diptych-procedures", MFD_CLOEXEC));
  if (copy.get() < 0) return system_error("no memory file for its copy");
  while (!bytes.empty()) {
    const ssize_t put = ::write(copy.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("its copy cannot be written");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return copy.release();
}

// The linker's own words, with its symbol readable, and without the copy's path.
std::string linker_error(const std::string& loaded_path) {
  const char* const said = ::dlerror();
  std::string text = said != nullptr ? said : "the dynamic linker gave no reason";
  if (text.starts_with(loaded_path + ": ")) text.erase(0, loaded_path.size() + 2);
  constexpr std::string_view kUndefined = "undefined symbol: ";
  const size_t at = text.find(kUndefined);
  if (at == std::string::npos) return text;
  const size_t begin = at + kUndefined.size();
  const size_t end = std::min(text.find_first_of(", \t", begin), text.size());
  const std::string symbol = text.substr(begin, end - begin);
  int status = -1;
  char* const readable = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (status == 0) text.replace(begin, end - begin, readable);
  std::free(readable);
  return text + " (neither it nor the program that loads it has one)";
}

}  // namespace

base::Result<std::unique_ptr<ModuleLibrary>> ModuleLibrary::open(const std::string& path) {
  auto bytes = read_whole(path);
  if (!bytes) return bytes.error().within(path);
  if (auto checked = check_module_file(*bytes); !checked) return checked.error().within(path);
  auto copy = copy_to_memory(*bytes);
  if (!copy) return copy.error().within(path);
  std::string loaded_path = fmt::format("/proc/{}/fd/{}", ::getpid(), *copy);
  std::unique_ptr<ModuleLibrary> library(new ModuleLibrary(*copy, std::move(loaded_path)));
  library->handle_ = ::dlopen(library->loaded_path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("{}: {}", path, linker_error(library->loaded_path_)));
  }
  const void* const entry = ::dlsym(library->handle_, kProcedureModuleSymbol);
  DIPTYCH_CHECK(entry != nullptr, "check_module_file has seen the symbol");
  library->module_ = static_cast<const ProcedureModule*>(entry);
  if (library->module_->define == nullptr) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       path + ": it has no function that defines its procedures");
  }
  return library;
}

ModuleLibrary::~ModuleLibrary() {
  if (handle_ != nullptr) {
    ::dlclose(handle_);
    // Still there (a destructor of a thread-local object is due): the linker knows it by its path,
    // which must not become another library's.
    if (void* const kept = ::dlopen(loaded_path_.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      ::dlclose(kept);
      return;
    }
  }
  ::close(descriptor_);
}

}  // namespace diptych::dispatcher
