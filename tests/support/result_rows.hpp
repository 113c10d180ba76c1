// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb::test {

/// Returns a moment: seconds after 2026-01-01 UTC.
inline Timestamp at(double seconds) {
  return parse_timestamp("2026-01-01T00:00:00Z") +
         std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
}

/// Returns the header of a run that started `seconds` after 2026-01-01, on the named processor.
inline results::RunHeader header(const std::string& id,
                                 double seconds = 0.0,
                                 const std::string& cpu = "Xeon") {
  results::RunHeader result;
  result.id = id;
  result.suite = "quick";
  result.suite_hash = "5f";
  result.resolved_suite = R"({"models":["resnet50-v1"]})";
  result.backend = "onednn";
  result.stack = "default";
  result.environment = {{{"cpu.model", cpu}, {"threads", "1"}}, {{"kernel", "6.1"}}};
  result.command = {"plumb", "run", "quick"};
  result.started = at(seconds);
  return result;
}

/// Returns the key of an element-wise layer over `n` numbers.
inline model::LayerKey key(int n) {
  return {"v1:eltwise;in=f32[" + std::to_string(n) + "];out=f32[" + std::to_string(n) +
          "];acc=f32;math=strict;fn=relu;parameters=[]"};
}

/// Returns a row whose samples are 0.9, 1 and 1.1 times `median_microseconds`.
inline results::Measurement row(const model::LayerKey& layer,
                                double median_microseconds,
                                const std::string& variant = "impl=jit:avx2",
                                results::Purpose purpose = results::Purpose::kFull,
                                results::CacheMode cache = results::CacheMode::kNone) {
  const Seconds median(median_microseconds * 1e-6);
  results::Measurement result;
  result.key = layer;
  result.variant = variant;
  result.purpose = purpose;
  result.cache = cache;
  result.samples = {median * 0.9, median, median * 1.1};
  result.repetitions = 4;
  result.summary = {
      3, median, {median * 0.9, median * 1.1}, median * 0.9, median * 1.08, median, false};
  result.floor = Seconds(1e-7);
  result.started = at(0.0);
  result.wall = Seconds(0.01);
  return result;
}

/// Returns a row that has no time, and why.
inline results::Measurement failure(const model::LayerKey& layer,
                                    results::Outcome::Kind kind,
                                    const std::string& reason,
                                    results::Purpose purpose = results::Purpose::kFull,
                                    results::CacheMode cache = results::CacheMode::kNone) {
  results::Measurement result;
  result.key = layer;
  result.purpose = purpose;
  result.cache = cache;
  result.outcome = {kind, reason};
  result.started = at(0.0);
  return result;
}

}  // namespace plumb::test
