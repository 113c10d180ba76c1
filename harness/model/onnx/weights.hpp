// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace onnx {

class GraphProto;
class ModelProto;

}  // namespace onnx

namespace plumb::model {

/// Stream of pseudo-random numbers with the same bits on every machine. It is SplitMix64 (Steele,
/// Lea and Flood, OOPSLA 2014) and integer arithmetic only, because std::normal_distribution
/// promises no particular output.
class WeightStream {
 public:
  /// Role of a weight in the node that reads it, which decides how the weight is initialised.
  struct Role {
    enum class Kind { kMatrix, kScale, kVariance, kOffset, kEmbedding, kSlope };
    Kind kind = Kind::kOffset;
    std::int64_t fan_in = 1;   ///< of kMatrix: products summed into one output element
    bool ends_branch = false;  ///< of kMatrix: its result is added to another branch (a residual)
  };

  explicit WeightStream(std::uint64_t state) : state_(state) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31U);
  }

  /// Returns a multiple of 2^-16 in [0, 1).
  double uniform() { return static_cast<double>(next() >> 48U) / 65536.0; }

  /// Returns an approximately normal number of mean 0 and variance 1, within ±6, exactly
  /// representable. It is the centred sum of twelve uniform 16-bit integers (Irwin-Hall), whose
  /// variance is 2^32 − 1, over 2^16.
  double normal() {
    std::int64_t sum = 0;
    for (int word = 0; word < 3; ++word) {
      const std::uint64_t bits = next();
      sum += static_cast<std::int64_t>((bits & 0xFFFFU) + ((bits >> 16U) & 0xFFFFU) +
                                       ((bits >> 32U) & 0xFFFFU) + (bits >> 48U));
    }
    return static_cast<double>(sum - std::int64_t{6} * 65535) / 65536.0;
  }

 private:
  std::uint64_t state_;
};

/// Finds the role of every initializer of a graph, by name. Looks through nodes that only rearrange
/// a weight (Reshape, Unsqueeze, Cast…). A weight that no known operator reads is an offset.
[[nodiscard]] std::map<std::string, WeightStream::Role> weight_roles(const onnx::GraphProto& graph);

/// Returns the stream of `name` under `seed`, by FNV-1a of the name. One tensor's values therefore
/// do not depend on what else the model holds.
[[nodiscard]] inline WeightStream stream_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  }
  return WeightStream(hash ^ (seed * 0x9E3779B97F4A7C15U));
}

/// Fills every weight of a weight-free model with seeded random values, so that any runtime can run
/// it. Filters and matrices are He-normal, scales and variances lie in [0.875, 1.125), and offsets
/// are small. Weights with data keep them. The same seed gives the same bytes on every machine.
///
/// Throws Error{kUser} for a weight that is not of type float, or if the model would not fit into
/// one file.
void fill_weights(onnx::ModelProto& model, std::uint64_t seed);

}  // namespace plumb::model
