// Which sanitizer watches this build.

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

#if defined(DIPTYCH_TSAN) || defined(DIPTYCH_ASAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace diptych::base
