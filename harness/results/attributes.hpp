// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace plumb {

/// Facts that a backend knows about how a variant is executed, by name: "engine", "plan"…
/// (docs/design/cuda.md). They are the same for each row of a variant in a stack on a device. What
/// differs from block to block is a reading.
using Attributes = std::map<std::string, std::string>;

/// Names the attribute of a row at which the device was found to have erred, and what it did: no
/// row of the run can be believed then.
inline constexpr const char* kDeviceFault = "device_fault";

/// Quantity observed beside a row, in the unit that its name ends with.
struct Reading {
  double median = 0.0;
  double low = 0.0;  ///< 95% interval of the median; below six values their range
  double high = 0.0;
  std::int64_t n = 1;  ///< values that it sums up

  bool operator==(const Reading&) const = default;
};

/// Readings by name: "sm_clock_hertz", "energy_joules"… What was not read is absent.
using Readings = std::map<std::string, Reading>;

/// Sums up values in any order; empty if there are none, or one is not finite.
[[nodiscard]] std::optional<Reading> reading_of(std::span<const double> values);

/// Bounds what one row may have.
inline constexpr std::size_t kMostAttributes = 64;     ///< and as many readings
inline constexpr std::size_t kMostAttributeName = 64;  ///< bytes
inline constexpr std::size_t kMostAttributeText = std::size_t{64} << 10;

/// Returns whether a name may be an attribute's: letters, digits, '_', '.' and '-', not empty.
[[nodiscard]] bool is_attribute_name(const std::string& name);

/// Leaves out texts of more than `most` bytes: of a race's row, of which there are many, what is
/// long is not kept.
[[nodiscard]] Attributes short_attributes(const Attributes& attributes, std::size_t most);

}  // namespace plumb
