// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <streambuf>

namespace plumb {

/// Stream buffer over an open file descriptor, which it does not own. It keeps the first fault of
/// a write; what comes behind one is dropped.
class DescriptorBuffer final : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor);

  /// Returns the `errno` of the first write that failed, or 0.
  [[nodiscard]] int fault() const noexcept { return fault_; }

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  int descriptor_;
  int fault_ = 0;
  std::array<char, 1U << 14U> bytes_{};
};

}  // namespace plumb
