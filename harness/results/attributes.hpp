// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace plumb::results {

/// Facts that a backend knows about the execution of a variant, by name: "engine", "plan"…
/// (docs/design/cuda.md). They are the same for each row of a variant in a stack on a device. What
/// differs from block to block is a reading.
using Attributes = std::map<std::string, std::string>;

/// Attribute of a row at which a device error was found, with what the device did. No row of that
/// run can be trusted.
inline constexpr const char* kDeviceFault = "device_fault";

/// Attribute of a row: warnings and errors that the runtime logged of it, one a line.
inline constexpr const char* kSessionLog = "session_log";
/// Attribute of a row: the nodes on the CPU, where the runtime was to execute them elsewhere.
inline constexpr const char* kCpuNodes = "cpu_nodes";

/// Attribute of the rows of a run that several processes share: the name of their host.
inline constexpr const char* kHost = "host";

/// Quantity observed beside a row, in the unit that its name ends with.
struct Reading {
  double median = 0.0;
  double low = 0.0;  ///< 95% interval of the median; below six values their range
  double high = 0.0;
  std::int64_t n = 1;  ///< number of values

  bool operator==(const Reading&) const = default;
};

/// Readings by name: "sm_clock_hertz", "energy_joules"… What was not read is absent.
using Readings = std::map<std::string, Reading>;

/// Summarises values in any order. Empty if there are none, or one is not finite.
[[nodiscard]] std::optional<Reading> summarize_reading(std::span<const double> values);

/// Limits of one row.
inline constexpr std::size_t kMaxAttributes = 64;     ///< and as many readings
inline constexpr std::size_t kMaxAttributeName = 64;  ///< bytes
inline constexpr std::size_t kMaxAttributeText = std::size_t{64} << 10;

/// Returns whether a name may be an attribute's: letters, digits, '_', '.' and '-', not empty, at
/// most kMaxAttributeName bytes.
[[nodiscard]] bool is_attribute_name(const std::string& name);

/// Returns the attributes without texts of more than `most` bytes. Rows of races are many, so they
/// do not keep long texts.
[[nodiscard]] Attributes short_attributes(const Attributes& attributes, std::size_t most);

/// Adds the readings of another block of the same executions. If both have a name, the median is
/// the mean of both, weighted by n. The interval spans both intervals, and n is the sum.
void add_readings(Readings& sum, const Readings& block);

}  // namespace plumb::results
