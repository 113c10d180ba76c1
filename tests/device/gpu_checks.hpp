// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "harness/base/units.hpp"

namespace plumb::device_checks {

/// Sizes of the checks. A test double of a GPU needs small ones.
struct CheckSizes {
  std::size_t largest = std::size_t{1} << 28;  ///< bytes of the largest array
  std::int64_t extent = 8192;                  ///< of the large product
  int samples = 50;
};

/// Returns median, 95 % interval, minimum and number of samples.
[[nodiscard]] nlohmann::json summary_json(std::span<const Seconds> samples);

/// Measures what times rest on: the event timer's tick, an empty pair of events, graphs of several
/// lengths, and the slope of replays beside plain event timing and beside the profiler's times.
[[nodiscard]] nlohmann::json check_clocks(const CheckSizes& sizes);

/// Reads the device's properties, and measures what data sheets and arithmetic say: the rate of a
/// large copy, the rate of a large bf16 product, and whether TF32 is rejected where f32 is asked.
[[nodiscard]] nlohmann::json check_truths(const std::string& cudnn, const CheckSizes& sizes);

/// Compares cuDNN's choices on this device with those for a described device, layer by layer. Reads
/// one key a line from the file `keys`, and begins none after `limit`.
[[nodiscard]] nlohmann::json check_choices(const std::string& cudnn,
                                           const std::string& profile,
                                           const std::string& keys,
                                           Seconds limit);

}  // namespace plumb::device_checks
