// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace plumb::store {

// What surrounds the rows of COPY in its binary form: the signature, flags, and the length of an
// extension; and the end (the manual's page of COPY, "Binary Format").
inline constexpr std::string_view kCopyHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
inline constexpr std::string_view kCopyEnd("\377\377", 2);
// A column is the length of its bytes, and these.
inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::string_view kNullLength("\377\377\377\377", kLengthBytes);

}  // namespace plumb::store
