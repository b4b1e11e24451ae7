// kAddressSanitizer: whether AddressSanitizer watches. It finds uses of what was freed, so memory
// that is freed must then not be kept for the next one who asks.

#pragma once

namespace diptych::base {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace diptych::base
