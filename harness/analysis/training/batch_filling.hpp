// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <string_view>
#include <vector>

namespace plumb::analysis {

/// Number of sequences of each length in tokens.
using LengthHistogram = std::map<std::int64_t, std::int64_t>;

/// Reads lines of a length and a count. Blank lines and lines that begin with '#' are skipped, and
/// a length may come again. Throws Error{kUser} with the line's number for anything else, and for
/// more than a million lines.
[[nodiscard]] LengthHistogram read_lengths(std::istream& in, std::string_view name);

/// What a packed sample may hold.
struct PackLimits {
  std::int64_t tokens = 512;
  std::int64_t sequences = 3;
};

/// Rule by which a sequence is given a sample that has room for it. Long sequences come first.
enum class Packer {
  kNone,      ///< a sample of its own
  kWorstFit,  ///< the sample with the most room ("shortest pack first")
  kBestFit,   ///< the sample with the least room ("longest pack first")
};
[[nodiscard]] std::string_view to_text(Packer packer);

/// Samples with the same lengths in them.
struct Pack {
  std::vector<std::int64_t> lengths;
  std::int64_t count = 0;
};

/// Data set as samples of a fixed number of tokens.
struct Packing {
  Packer packer = Packer::kNone;
  std::vector<Pack> packs;
  std::int64_t sequences = 0;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  ///< of the sequences
  std::int64_t room = 0;    ///< tokens that the samples have room for

  [[nodiscard]] double padding() const {  ///< share of the room that is empty
    return 1.0 - static_cast<double>(tokens) / static_cast<double>(room);
  }
  [[nodiscard]] double sequences_per_sample() const {
    return static_cast<double>(sequences) / static_cast<double>(samples);
  }
};

/// Packs a histogram (Krell et al., "Efficient Sequence Packing without Cross-contamination", 2021:
/// equal lengths are packed together, so time depends on the number of lengths, not of sequences).
/// Throws Error{kUser} for no sequences, for one longer than a sample, and for limits below 1.
[[nodiscard]] Packing pack_sequences(const LengthHistogram& lengths,
                                     const PackLimits& limits,
                                     Packer packer);

/// Number of captured graphs that a batch of samples needs, one for each possible size.
struct GraphCounts {
  std::int64_t fewest_sequences = 0;  ///< in a batch
  std::int64_t most_sequences = 0;
  std::int64_t packed = 0;    ///< graphs, one for each number of sequences
  std::int64_t unpadded = 0;  ///< graphs without padding, one for each number of tokens
};
[[nodiscard]] GraphCounts count_graphs(const LengthHistogram& lengths,
                                       const PackLimits& limits,
                                       std::int64_t batch);

/// Pass over a data set in steps of one global batch. The last step is filled up with samples that
/// the set does not have, as MLPerf's closed division does it.
struct LastBatch {
  std::int64_t samples = 0;  ///< of the data set
  std::int64_t batch = 0;    ///< of all workers together
  std::int64_t steps = 0;
  std::int64_t wasted = 0;  ///< samples that fill up the last step

  /// Returns the wasted samples as a share of all that are computed.
  [[nodiscard]] double share() const {
    return static_cast<double>(wasted) / static_cast<double>(samples + wasted);
  }
};

/// Counts the steps of a pass. Throws Error{kUser} unless both numbers lie from 1 to 10¹².
[[nodiscard]] LastBatch last_batch(std::int64_t samples, std::int64_t batch);

/// Lists the global batches from `from` to `to` that waste least, the smallest share first. They
/// are multiples of `multiple`: what one worker takes. Throws Error{kUser} for an empty range, and
/// for more than ten million candidates.
[[nodiscard]] std::vector<LastBatch> least_wasteful_batches(std::int64_t samples,
                                                            std::int64_t from,
                                                            std::int64_t to,
                                                            std::int64_t multiple,
                                                            std::size_t most);

}  // namespace plumb::analysis
