// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/training/training_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/training_layers.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"

namespace plumb::analysis {

ExchangeSchedule schedule_exchanges(std::span<const ExchangeSchedule::Layer> layers,
                                    const ExchangeSchedule::Communication& communication) {
  if (!(communication.rate.value > 0.0) || communication.bucket.value < 1 ||
      !(communication.latency >= Seconds(0.0))) {
    throw Error(Error::Kind::kUser,
                "communication needs a rate and a bucket above 0, and a latency of 0 or more");
  }
  ExchangeSchedule schedule;
  Bytes filled;
  Seconds now{};
  Seconds updates{};
  const auto exchange = [&] {
    if (filled.value > 0) {
      const Seconds free = schedule.exchanges.empty() ? Seconds{} : schedule.exchanges.back().end;
      const Seconds takes = communication.latency + filled / communication.rate;
      const Seconds begin = std::max(now, free);
      schedule.exchanges.push_back({filled, now, begin, begin + takes});
      schedule.communication += takes;
      filled = {};
    }
  };
  for (const ExchangeSchedule::Layer& layer : layers) {
    if (layer.update) {
      updates += layer.time;
      continue;
    }
    now += layer.time;
    filled += layer.gradients;
    if (filled >= communication.bucket) {
      exchange();
    }
  }
  exchange();
  const Seconds last = schedule.exchanges.empty() ? Seconds{} : schedule.exchanges.back().end;
  schedule.computation = now + updates;
  schedule.overlapped = std::max(now, last) + updates;
  return schedule;
}

Seconds time_with_evaluations(std::size_t epochs, Seconds epoch, Seconds evaluation) {
  Seconds time{};
  for (std::size_t done = 1; done <= epochs; ++done) {
    time += epoch + evaluation;
  }
  return time;
}

Seconds time_beside_evaluations(std::size_t epochs, Seconds epoch, Seconds evaluation) {
  Seconds time{};
  for (std::size_t done = 1; done <= epochs; ++done) {
    const Seconds trained = static_cast<double>(done) * epoch;
    time = std::max(time, trained) + evaluation;
  }
  return time;
}

namespace {

constexpr std::size_t kCaps = 16;

bool is_update(const model::Layer& layer) {
  return layer.role == model::Layer::Role::kCompute && model::is_update(layer.spec);
}

}  // namespace

MeasuredStep measured_step(const model::Graph& graph, const ResultSet& results) {
  MeasuredStep step;
  if (std::none_of(graph.layers.begin(), graph.layers.end(), is_update)) {
    step.why_not = "it is not trained: run with --training";
    return step;
  }
  step.times.resize(graph.layers.size());
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    if (graph.layers[id].role != model::Layer::Role::kCompute) {
      continue;
    }
    const auto time = served_time(results, graph.layers[id].key);
    if (!time) {
      step.why_not = fmt::format("no time for '{}'", graph.layers[id].name);
      return step;
    }
    step.times[id] = time->time.median;
    step.total += step.times[id];
  }
  return step;
}

std::vector<ExchangeSchedule::Layer> timed_layers(const model::Graph& graph,
                                                  const MeasuredStep& step) {
  const std::vector<model::ValueId> root = model::shared_bytes(graph);
  std::set<model::ValueId> gradients;
  for (const model::Layer& layer : graph.layers) {
    if (is_update(layer)) {
      const model::UpdateShape shape(layer.spec);
      for (std::size_t tensor = 0; tensor < shape.tensors(); ++tensor) {
        gradients.insert(root[layer.inputs.at(shape.gradient(tensor)).value()]);
      }
    }
  }
  std::vector<ExchangeSchedule::Layer> layers;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    ExchangeSchedule::Layer timed{step.times.at(id), {}, is_update(graph.layers[id])};
    for (const model::ValueId output : graph.layers[id].outputs) {
      if (root[output] == output && gradients.contains(output)) {
        timed.gradients += byte_size(graph.values[output].type);
      }
    }
    layers.push_back(timed);
  }
  return layers;
}

std::vector<MeasuredStep::Checkpoints> price_checkpoints(const model::Graph& graph,
                                                         const MeasuredStep& step) {
  std::vector<double> costs;
  for (const Seconds time : step.times) {
    costs.push_back(time.count());
  }
  const std::vector<rewrite::CheckpointPlan::Chain> chains = rewrite::chains_of_step(graph, costs);
  std::vector<MeasuredStep::Checkpoints> front;
  for (const auto& plan : rewrite::checkpoint_front(chains.front().stages, kCaps)) {
    std::vector<rewrite::CheckpointPlan> plans;
    plans.reserve(chains.size());
    for (const rewrite::CheckpointPlan::Chain& chain : chains) {
      plans.push_back(rewrite::cheapest_checkpoints(chain.stages, plan.peak)
                          .value_or(rewrite::smallest_checkpoints(chain.stages)));
    }
    const rewrite::TrainingStep::Rewritten made = rewrite::checkpointed_graph(graph, chains, plans);
    MeasuredStep::Checkpoints priced{made.changes, model::compute_memory(made.graph), {}};
    for (const model::LayerId origin : made.origins) {
      priced.recomputation += step.times[origin];
    }
    priced.recomputation = std::max(Seconds{}, priced.recomputation - step.total);
    // Both numbers are those of the graph, so a plan may turn out no better than one before it.
    while (!front.empty() && front.back().memory.peak >= priced.memory.peak &&
           front.back().recomputation >= priced.recomputation) {
      front.pop_back();
    }
    if (front.empty() || priced.recomputation < front.back().recomputation) {
      front.push_back(priced);
    }
  }
  return front;
}

namespace {

constexpr std::int64_t kMaxLength = 1'000'000;
constexpr std::int64_t kMaxCount = 1'000'000'000'000;
constexpr std::size_t kMaxLines = 1'000'000;

/// Reads a positive number and moves behind it. Absent: there is none, or it is too large.
std::optional<std::int64_t> take_number(std::string_view& text, std::int64_t most) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t,;\r"), text.size()));
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > most) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Samples under construction, by the room that they have left.
class Samples {
 public:
  Samples(const Packing::Limits& limits, Packing::Packer packer)
      : limits_(limits), packer_(packer) {}

  void add(std::int64_t length, std::int64_t count) {
    while (count > 0) {
      count -= packer_ == Packing::Packer::kNone || !has_room(length) ? add_new(length, count)
                                                                      : add_to_open(length, count);
    }
  }

  std::vector<Packing::Pack> take() {
    for (auto& [room, packs] : open_) {
      std::move(packs.begin(), packs.end(), std::back_inserter(full_));
    }
    return std::move(full_);
  }

 private:
  [[nodiscard]] bool has_room(std::int64_t length) const {
    return !open_.empty() && open_.rbegin()->first >= length;
  }

  /// Opens samples with as many sequences of a length as they hold. Returns how many that are.
  std::int64_t add_new(std::int64_t length, std::int64_t count) {
    const std::int64_t each = packer_ == Packing::Packer::kNone
                                  ? 1
                                  : std::min({limits_.sequences, limits_.tokens / length, count});
    const std::int64_t samples = count / each;
    keep({std::vector<std::int64_t>(static_cast<std::size_t>(each), length), samples},
         limits_.tokens - each * length);
    return samples * each;
  }

  std::int64_t add_to_open(std::int64_t length, std::int64_t count) {
    const auto at =
        packer_ == Packing::Packer::kBestFit ? open_.lower_bound(length) : std::prev(open_.end());
    const std::int64_t room = at->first;
    Packing::Pack pack = std::move(at->second.back());
    at->second.pop_back();
    if (at->second.empty()) {
      open_.erase(at);
    }
    // The best fit for the next sequence of this length is the sample that was just filled; the
    // worst fit is another one.
    const auto used = static_cast<std::int64_t>(pack.lengths.size());
    const std::int64_t each = packer_ == Packing::Packer::kBestFit
                                  ? std::min({room / length, limits_.sequences - used, count})
                                  : 1;
    const std::int64_t samples = std::min(pack.count, count / each);
    if (pack.count > samples) {
      open_[room].push_back({pack.lengths, pack.count - samples});
    }
    pack.count = samples;
    pack.lengths.insert(pack.lengths.end(), static_cast<std::size_t>(each), length);
    keep(std::move(pack), room - each * length);
    return samples * each;
  }

  void keep(Packing::Pack pack, std::int64_t room) {
    const bool full =
        room == 0 || static_cast<std::int64_t>(pack.lengths.size()) == limits_.sequences;
    (full ? full_ : open_[room]).push_back(std::move(pack));
  }

  const Packing::Limits& limits_;
  Packing::Packer packer_;
  std::map<std::int64_t, std::vector<Packing::Pack>> open_;
  std::vector<Packing::Pack> full_;
};

void check(const LengthHistogram& lengths, const Packing::Limits& limits) {
  if (limits.tokens < 1 || limits.sequences < 1) {
    throw Error(Error::Kind::kUser,
                fmt::format("a sample of {} tokens and {} sequences: use at least one of each",
                            limits.tokens,
                            limits.sequences));
  }
  if (lengths.empty()) {
    throw Error(Error::Kind::kUser, "no sequences to pack: give lengths and their counts");
  }
  if (lengths.rbegin()->first > limits.tokens) {
    throw Error(Error::Kind::kUser,
                fmt::format("a sequence of {} tokens is longer than a sample of {}",
                            lengths.rbegin()->first,
                            limits.tokens));
  }
}

}  // namespace

std::string_view to_text(Packing::Packer packer) {
  constexpr std::array<std::string_view, 3> kNames{"none", "worst_fit", "best_fit"};
  return kNames[static_cast<std::size_t>(packer)];
}

LengthHistogram read_lengths(std::istream& in, std::string_view name) {
  LengthHistogram lengths;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    std::string_view rest = line;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
    if (rest.empty() || rest.front() == '#') {
      continue;
    }
    const std::optional<std::int64_t> length = take_number(rest, kMaxLength);
    const std::optional<std::int64_t> count =
        length ? take_number(rest, kMaxCount) : std::optional<std::int64_t>();
    if (!count || rest.find_first_not_of(" \t\r") != std::string_view::npos || number > kMaxLines) {
      throw Error(Error::Kind::kUser,
                  fmt::format("{}:{}: '{}' is not a length and a count: both are whole numbers, up "
                              "to {} and {}, on at most {} lines",
                              name,
                              number,
                              line.substr(0, 80),
                              kMaxLength,
                              kMaxCount,
                              kMaxLines));
    }
    lengths[*length] = std::min(lengths[*length] + *count, kMaxCount);
  }
  if (in.bad()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' cannot be read", name));
  }
  return lengths;
}

Packing pack_sequences(const LengthHistogram& lengths,
                       const Packing::Limits& limits,
                       Packing::Packer packer) {
  check(lengths, limits);
  Samples samples(limits, packer);
  Packing packing;
  packing.packer = packer;
  for (auto each = lengths.rbegin(); each != lengths.rend(); ++each) {
    samples.add(each->first, each->second);
    packing.sequences += each->second;
    packing.tokens += each->first * each->second;
  }
  packing.packs = samples.take();
  for (const Packing::Pack& pack : packing.packs) {
    packing.samples += pack.count;
  }
  packing.room = packing.samples * limits.tokens;
  return packing;
}

Packing::GraphCounts count_graphs(const LengthHistogram& lengths,
                                  const Packing::Limits& limits,
                                  std::int64_t batch) {
  check(lengths, limits);
  if (batch < 1 || batch > kMaxLength) {
    throw Error(Error::Kind::kUser,
                fmt::format("a batch of {}: use a number from 1 to {}", batch, kMaxLength));
  }
  Packing::GraphCounts counts;
  counts.fewest_sequences = batch;
  counts.most_sequences = batch * limits.sequences;
  counts.packed = counts.most_sequences - counts.fewest_sequences + 1;
  counts.unpadded = batch * (lengths.rbegin()->first - lengths.begin()->first) + 1;
  return counts;
}

namespace {

constexpr std::int64_t kMaxSamples = 1'000'000'000'000;
constexpr std::int64_t kMaxCandidates = 10'000'000;

void check(const char* what, std::int64_t number) {
  if (number < 1 || number > kMaxSamples) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} of {}: use a number from 1 to {}", what, number, kMaxSamples));
  }
}

}  // namespace

LastBatch last_batch(std::int64_t samples, std::int64_t batch) {
  check("a data set", samples);
  check("a batch", batch);
  const std::int64_t steps = (samples + batch - 1) / batch;
  return {samples, batch, steps, steps * batch - samples};
}

std::vector<LastBatch> least_wasteful_batches(std::int64_t samples,
                                              std::int64_t from,
                                              std::int64_t to,
                                              std::int64_t multiple,
                                              std::size_t most) {
  check("a batch", from);
  check("a batch", to);
  check("a multiple", multiple);
  const std::int64_t first = (from + multiple - 1) / multiple;
  const std::int64_t last = to / multiple;
  if (first > last || last - first >= kMaxCandidates) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} multiples of {} lie from {} to {}: use a range with 1 to {}",
                            std::max<std::int64_t>(0, last - first + 1),
                            multiple,
                            from,
                            to,
                            kMaxCandidates));
  }
  std::vector<LastBatch> batches;
  for (std::int64_t factor = first; factor <= last; ++factor) {
    batches.push_back(last_batch(samples, factor * multiple));
  }
  std::stable_sort(batches.begin(), batches.end(), [](const LastBatch& a, const LastBatch& b) {
    return a.share() < b.share();
  });
  batches.resize(std::min(most, batches.size()));
  return batches;
}

}  // namespace plumb::analysis
