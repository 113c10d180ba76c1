// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {

/// Schedule of data-parallel steps: arithmetic over given communication times, not a measurement.
struct ExchangeSchedule {
  /// Given communication: what it takes to add up a number of bytes over all workers.
  struct Communication {
    Seconds latency{};       ///< of each exchange
    BytesPerSecond rate;     ///< of gradients added up, whatever algorithm does it
    Bytes bucket{25 << 20};  ///< gradients are exchanged together up to this size
  };

  /// Layer of a step of training, in the order of execution, with the gradients that are ready
  /// after it.
  struct Layer {
    Seconds time{};
    Bytes gradients;  ///< of weights, to be added up over all workers
    bool update = false;
  };

  /// Exchange of one bucket in a schedule that begins with the step.
  struct Exchange {
    Bytes bytes;
    Seconds ready{};  ///< when the last of its gradients is computed
    Seconds begin{};
    Seconds end{};
  };

  std::vector<Exchange> exchanges;
  Seconds computation{};    ///< the step of one worker alone
  Seconds communication{};  ///< all exchanges, one after the other
  Seconds overlapped{};     ///< the step with exchanges beside the backward pass, updates last

  [[nodiscard]] Seconds after_each_other() const { return computation + communication; }
};

/// Schedules the exchanges: one at a time, each as soon as its bucket is full, while the layers go
/// on. Updates begin when all gradients have come (Li et al., "PyTorch Distributed", 2020, section
/// 3.2). Throws Error{kUser} for a rate or bucket that is not positive, or a negative latency.
[[nodiscard]] ExchangeSchedule schedule_exchanges(
    std::span<const ExchangeSchedule::Layer> layers,
    const ExchangeSchedule::Communication& communication);

/// Returns the time of several epochs with an evaluation after each. The next epoch waits for it.
[[nodiscard]] Seconds time_with_evaluations(std::size_t epochs, Seconds epoch, Seconds evaluation);

/// Returns that time with the evaluations on machines of their own, beside the next epoch.
[[nodiscard]] Seconds time_beside_evaluations(std::size_t epochs,
                                              Seconds epoch,
                                              Seconds evaluation);

/// Layers of a step of training with their hot times by the library's own choice, or by the fastest
/// variant where that was not timed, as where it is slow reference code.
struct MeasuredStep {
  /// Step that computes some values again, with what that costs and saves.
  struct Checkpoints {
    std::size_t repeated = 0;  ///< layers that are executed twice
    model::Graph::Memory memory;
    Seconds recomputation{};
  };

  std::vector<Seconds> times;  ///< by layer; 0 for views and folded layers
  Seconds total{};
  std::string why_not;  ///< non-empty: no step of training, or a layer without a time
};
[[nodiscard]] MeasuredStep measured_step(const model::Graph& graph, const ResultSet& results);

/// Lists the layers in order with the gradients that updates wait for.
[[nodiscard]] std::vector<ExchangeSchedule::Layer> timed_layers(const model::Graph& graph,
                                                                const MeasuredStep& step);

/// Returns steps from the smallest memory to the one that keeps all, of which none is both slower
/// and larger than another.
[[nodiscard]] std::vector<MeasuredStep::Checkpoints> price_checkpoints(const model::Graph& graph,
                                                                       const MeasuredStep& step);

/// Number of sequences of each length in tokens.
using LengthHistogram = std::map<std::int64_t, std::int64_t>;

/// Reads lines of a length and a count. Blank lines and lines that begin with '#' are skipped, and
/// a length may come again. Throws Error{kUser} with the line's number for anything else, and for
/// more than a million lines.
[[nodiscard]] LengthHistogram read_lengths(std::istream& in, std::string_view name);

/// Data set as samples of a fixed number of tokens.
struct Packing {
  /// Samples with the same lengths in them.
  struct Pack {
    std::vector<std::int64_t> lengths;
    std::int64_t count = 0;
  };

  /// Number of captured graphs that a batch of samples needs, one for each possible size.
  struct GraphCounts {
    std::int64_t fewest_sequences = 0;  ///< in a batch
    std::int64_t most_sequences = 0;
    std::int64_t packed = 0;    ///< graphs, one for each number of sequences
    std::int64_t unpadded = 0;  ///< graphs without padding, one for each number of tokens
  };

  /// Rule by which a sequence is given a sample that has room for it. Long sequences come first.
  enum class Packer {
    kNone,      ///< a sample of its own
    kWorstFit,  ///< the sample with the most room ("shortest pack first")
    kBestFit,   ///< the sample with the least room ("longest pack first")
  };

  /// What a packed sample may hold.
  struct Limits {
    std::int64_t tokens = 512;
    std::int64_t sequences = 3;
  };

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

[[nodiscard]] std::string_view to_text(Packing::Packer packer);

/// Packs a histogram (Krell et al., "Efficient Sequence Packing without Cross-contamination", 2021:
/// equal lengths are packed together, so time depends on the number of lengths, not of sequences).
/// Throws Error{kUser} for no sequences, for one longer than a sample, and for limits below 1.
[[nodiscard]] Packing pack_sequences(const LengthHistogram& lengths,
                                     const Packing::Limits& limits,
                                     Packing::Packer packer);
[[nodiscard]] Packing::GraphCounts count_graphs(const LengthHistogram& lengths,
                                                const Packing::Limits& limits,
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
