// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/worker/protocol/worker_service.hpp"
#include "runners/fake/fake_script.hpp"

namespace plumb::fake {

/// Worker service that answers from a script and measures nothing.
///
/// Every time is computed from the key, and every moment is fixed. So two runs on any two machines
/// give the same rows, bit for bit.
class FakeService : public worker::WorkerService {
 public:
  explicit FakeService(Script script, worker::WorkerService::Setup::Observation observe = {})
      : script_(std::move(script)), observe_(std::move(observe)) {}

  [[nodiscard]] results::Environment describe() override;
  /// Lists three variants: "algorithm=direct" (the library's choice), "algorithm=gemm" and
  /// "algorithm=winograd". Lists none if a rule refuses the whole key.
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) override;
  void measure(const worker::WorkerService::MeasureRequest& request,
               const std::function<void(results::Measurement)>& emit,
               const worker::AwaitTurn& await_turn) override;
  [[nodiscard]] results::Calibration calibrate() override;
  /// Emits one execution of the model for each mode. It takes as long as the layers with cold
  /// weights, one after the other, by "algorithm=direct". Each of best_variant, bf16, f16 and
  /// fusion saves a tenth. A rule with the key "model:NAME" and the mode as variant takes
  /// precedence.
  void execute(const worker::ExecuteRequest& request,
               const std::function<void(results::Execution)>& emit,
               const worker::ExecuteReport& report,
               const worker::AwaitTurn& await_turn) override;
  /// Runs a load scenario in time that passes only while the load waits for it.
  ///
  /// Batches run one after the other. Each takes as long as execute() says of the smallest bucket
  /// that holds it. A rule with the key "model:NAME" and the scenario as variant ("server") may
  /// refuse the load, fail every answer ("wrong_result"), drop every query ("timed_out"), set the
  /// time of a sample, or act.
  [[nodiscard]] results::ScenarioResult load(const worker::LoadRequest& request,
                                             const worker::LoadReport& report) override;

 private:
  void act_on(const std::string& request) const;
  /// Returns the factor of this process on the times of a key. Controls have none.
  [[nodiscard]] double noise_of(const model::LayerKey& key) const;
  [[nodiscard]] results::Execution execution(const worker::ExecuteRequest& request,
                                             const worker::ModeRequest& mode) const;
  /// Executes the script's rule for this row and returns the resulting row.
  [[nodiscard]] results::Measurement row(const worker::WorkerService::MeasureRequest& request,
                                         results::CacheMode cache,
                                         const worker::Variant& variant,
                                         results::Purpose purpose) const;
  /// Computes the time of one execution of a model where no rule sets it.
  [[nodiscard]] static Seconds model_time(const worker::ExecuteRequest& request,
                                          const results::ExecutionMode& mode);

  Script script_;
  worker::WorkerService::Setup::Observation observe_;
};

/// Start time of every row.
inline constexpr std::string_view kStarted = "2026-01-01T00:00:00Z";

/// Executes the actions of a rule that come before its row.
void act(const Script::Rule& rule);

/// Computes the time of one execution of a layer.
///
/// It is one microsecond plus the longer of its operations at 50 GFLOP/s (bf16, f16: 100) and its
/// bytes at 10 GB/s. Weights count twice when they are cold. A variant adds up to half, by a hash
/// of its name and the key. Keys that cannot be parsed count as a million operations.
[[nodiscard]] Seconds fake_time(const model::LayerKey& key,
                                const std::string& variant,
                                results::CacheMode cache);

}  // namespace plumb::fake
