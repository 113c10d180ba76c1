// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/mlperf/mllog_lines.hpp"

#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>

namespace plumb::loadgen {

std::string MllogLines::json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void MllogLines::write(std::string_view key,
                       const std::string& value,
                       bool is_error,
                       unsigned line) {
  fmt::print(out_,
             ":::MLLOG {{\"key\": \"{}\", \"value\": {}, \"time_ms\": {:.6f}, \"namespace\": "
             "\"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": "
             "{{\"is_error\": {}, \"is_warning\": false, \"file\": \"mlperf_detail_log.cpp\", "
             "\"line_no\": {}, \"pid\": {}, \"tid\": {}}}}}\n",
             key,
             value,
             static_cast<double>(time_.count()) * 1e-6,
             is_error,
             line,
             process_id_,
             process_id_);
}

}  // namespace plumb::loadgen
