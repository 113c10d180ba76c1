// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "harness/results/paired_round.hpp"

namespace plumb {

/// Makes seeded paired rounds by hand: 0.3% noise on every time.
class RoundBuilder {
 public:
  explicit RoundBuilder(std::uint64_t seed = 1) : random_(seed) {}

  /// Appends a round with quiet controls.
  results::PairedRound& add() {
    results::PairedRound& round = rounds_.emplace_back();
    round.number = rounds_.size();
    round.baseline_first = round.number % 2 == 1;
    for (results::PairedRound::Side* side : {&round.baseline, &round.candidate}) {
      side->controls = results::Controls{Seconds(1e-7), noisy(1e-3), noisy(5e-3)};
    }
    return round;
  }

  /// Puts a layer, timed by `variant`, into one side.
  results::Measurement& layer(results::PairedRound::Side& side,
                              const std::string& key,
                              const std::string& variant,
                              double seconds) {
    results::Measurement& row = side.layers[model::LayerKey{key}];
    row.key.text = key;
    row.variant = variant;
    row.library_choice = true;
    row.output_hash = "same";
    time(row, seconds);
    return row;
  }

  /// Puts a model, executed in the mode plain, into one side; `layers` with their seconds.
  results::Execution& model(results::PairedRound::Side& side,
                            const std::string& subject,
                            double seconds,
                            const std::vector<std::pair<std::string, double>>& layers) {
    results::Execution& execution = side.models[{subject, "plain"}];
    execution.mode = "plain";
    execution.memory = Bytes{1000};
    time(execution.row, seconds);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      results::Execution::Layer& layer = execution.layers.emplace_back();
      layer.layers = {i};
      layer.key.text = layers[i].first;
      layer.seconds = noisy(layers[i].second);
    }
    return execution;
  }

  [[nodiscard]] const std::vector<results::PairedRound>& rounds() const { return rounds_; }

 private:
  Seconds noisy(double seconds) { return Seconds(seconds * (1.0 + 0.003 * normal_(random_))); }

  void time(results::Measurement& row, double seconds) {
    const Seconds median = noisy(seconds);
    row.summary = {30, median, {median, median}, median, median, median, true};
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<results::PairedRound> rounds_;
};

}  // namespace plumb
