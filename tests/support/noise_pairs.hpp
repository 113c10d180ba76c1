// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/paired_comparison.hpp"

namespace plumb {

/// Makes seeded paired rounds with 1% noise of the pair and, in question(), an offset of 0.5% that
/// lies over all of a process.
class NoisePairs {
 public:
  explicit NoisePairs(std::uint64_t seed) : random_(seed) {}

  analysis::PairedSamples make(const std::string& name,
                               double time,
                               double change,
                               std::size_t pairs = 10) {
    constexpr double kSide = 0.01 / 1.41421356;
    analysis::PairedSamples samples;
    samples.name = name;
    for (std::size_t i = 0; i < pairs; ++i) {
      samples.baseline.push_back(time * (1.0 + kSide * normal_(random_)));
      samples.candidate.push_back(time * change * (1.0 + kSide * normal_(random_)));
    }
    return samples;
  }

  /// One metric, each side of each pair with an offset of its process.
  analysis::SequentialRule::Pairs staged(const std::string& name,
                                         double change,
                                         std::size_t screening,
                                         std::size_t pairs) {
    analysis::SequentialRule::Pairs result{make(name, 1e-3, change, pairs), screening};
    for (std::size_t i = 0; i < pairs; ++i) {
      result.pairs.baseline[i] *= 1.0 + kOffset * normal_(random_);
      result.pairs.candidate[i] *= 1.0 + kOffset * normal_(random_);
    }
    return result;
  }

  /// `layers` layers of 0.1 ms, the first changed, and their sums, each process with an offset.
  analysis::PairedComparison::Question question(std::size_t layers,
                                                double change,
                                                std::size_t pairs = 10) {
    analysis::PairedComparison::Question question;
    question.id = "q";
    question.end_to_end = analysis::PairedSamples{
        "end_to_end", std::vector<double>(pairs, 0.0), std::vector<double>(pairs, 0.0)};
    for (std::size_t i = 0; i < layers; ++i) {
      question.layers.push_back(
          make("layer" + std::to_string(i), 1e-4, i == 0 ? change : 1.0, pairs));
      for (std::size_t round = 0; round < pairs; ++round) {
        question.end_to_end->baseline[round] += question.layers.back().baseline[round];
        question.end_to_end->candidate[round] += question.layers.back().candidate[round];
      }
    }
    for (std::size_t round = 0; round < pairs; ++round) {
      question.end_to_end->baseline[round] *= 1.0 + kOffset * normal_(random_);
      question.end_to_end->candidate[round] *= 1.0 + kOffset * normal_(random_);
    }
    return question;
  }

 private:
  static constexpr double kOffset = 0.005;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace plumb
