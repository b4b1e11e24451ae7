// Which sanitizer watches this build, g++'s or clang's: for the preprocessor, and for the code.

#pragma once

#if defined(__SANITIZE_THREAD__)
#define DIPTYCH_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define DIPTYCH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DIPTYCH_TSAN 1
#elif __has_feature(address_sanitizer)
#define DIPTYCH_ASAN 1
#endif
#endif

namespace diptych::base {

// AddressSanitizer finds uses of what was freed, so memory that is freed must not be kept for the
// next one who asks.
#if defined(DIPTYCH_ASAN)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(DIPTYCH_TSAN) || defined(DIPTYCH_ASAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace diptych::base
