// SPDX-License-Identifier: Apache-2.0
#include "harness/base/descriptor_buffer.hpp"

#include <unistd.h>

#include <cerrno>

namespace plumb {

DescriptorBuffer::DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type character) {
  if (sync() != 0) {
    return traits_type::eof();
  }
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    sputc(traits_type::to_char_type(character));
  }
  return traits_type::not_eof(character);
}

int DescriptorBuffer::sync() {
  for (const char* next = pbase(); next < pptr() && fault_ == 0;) {
    const ssize_t written = ::write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
    if (written >= 0) {
      next += written;
    } else if (errno != EINTR) {
      fault_ = errno;
    }
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return fault_ == 0 ? 0 : -1;
}

}  // namespace plumb
