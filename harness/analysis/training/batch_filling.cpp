// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/training/batch_filling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::analysis {
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
  Samples(const PackLimits& limits, Packer packer) : limits_(limits), packer_(packer) {}

  void add(std::int64_t length, std::int64_t count) {
    while (count > 0) {
      count -= packer_ == Packer::kNone || !has_room(length) ? add_new(length, count)
                                                             : add_to_open(length, count);
    }
  }

  std::vector<Pack> take() {
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
    const std::int64_t each = packer_ == Packer::kNone
                                  ? 1
                                  : std::min({limits_.sequences, limits_.tokens / length, count});
    const std::int64_t samples = count / each;
    keep({std::vector<std::int64_t>(static_cast<std::size_t>(each), length), samples},
         limits_.tokens - each * length);
    return samples * each;
  }

  std::int64_t add_to_open(std::int64_t length, std::int64_t count) {
    const auto at =
        packer_ == Packer::kBestFit ? open_.lower_bound(length) : std::prev(open_.end());
    const std::int64_t room = at->first;
    Pack pack = std::move(at->second.back());
    at->second.pop_back();
    if (at->second.empty()) {
      open_.erase(at);
    }
    // The best fit for the next sequence of this length is the sample that was just filled; the
    // worst fit is another one.
    const auto used = static_cast<std::int64_t>(pack.lengths.size());
    const std::int64_t each = packer_ == Packer::kBestFit
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

  void keep(Pack pack, std::int64_t room) {
    const bool full =
        room == 0 || static_cast<std::int64_t>(pack.lengths.size()) == limits_.sequences;
    (full ? full_ : open_[room]).push_back(std::move(pack));
  }

  const PackLimits& limits_;
  Packer packer_;
  std::map<std::int64_t, std::vector<Pack>> open_;
  std::vector<Pack> full_;
};

void check(const LengthHistogram& lengths, const PackLimits& limits) {
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

std::string_view to_text(Packer packer) {
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

Packing pack_sequences(const LengthHistogram& lengths, const PackLimits& limits, Packer packer) {
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
  for (const Pack& pack : packing.packs) {
    packing.samples += pack.count;
  }
  packing.room = packing.samples * limits.tokens;
  return packing;
}

GraphCounts count_graphs(const LengthHistogram& lengths,
                         const PackLimits& limits,
                         std::int64_t batch) {
  check(lengths, limits);
  if (batch < 1 || batch > kMaxLength) {
    throw Error(Error::Kind::kUser,
                fmt::format("a batch of {}: use a number from 1 to {}", batch, kMaxLength));
  }
  GraphCounts counts;
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
