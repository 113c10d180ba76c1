// SPDX-License-Identifier: Apache-2.0
#include <fmt/ostream.h>

#include <ostream>

#include "harness/loadgen/mlperf/mlperf_log.hpp"

namespace plumb::loadgen {

MlperfAccuracyLog::MlperfAccuracyLog(std::ostream& out) : out_(out) {
  out_ << "[\n";
}

void MlperfAccuracyLog::record(std::uint64_t sequence,
                               std::uint64_t index,
                               std::span<const std::byte> data) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string hex;
  hex.reserve(2 * data.size());
  for (const std::byte byte : data) {
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    hex += kDigits[std::to_integer<unsigned>(byte) & 0xFU];
  }
  fmt::print(out_,
             "{}{{ \"seq_id\" : {}, \"qsl_idx\" : {}, \"data\" : \"{}\" }}",
             any_ ? ",\n" : "",
             sequence,
             index,
             hex);
  any_ = true;
}

void MlperfAccuracyLog::finish() {
  out_ << (any_ ? "\n]\n" : "]\n");
}

}  // namespace plumb::loadgen
