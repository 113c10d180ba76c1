// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/analysis/limits/model_limits.hpp"

namespace plumb::analysis {
namespace {

/// What a multiprocessor holds at once (CUDA Programming Guide, "Compute Capabilities").
struct Multiprocessor {
  std::string_view architecture;
  std::int64_t threads;
  std::int64_t blocks;
  std::int64_t shared_bytes;
  std::int64_t reserved_bytes;  ///< of shared memory, by the system, in each block
};

constexpr std::array kMultiprocessors = std::to_array<Multiprocessor>({
    {"sm_70", 2048, 32, 96 << 10, 0},
    {"sm_75", 1024, 16, 64 << 10, 0},
    {"sm_80", 2048, 32, 164 << 10, 1 << 10},
    {"sm_86", 1536, 16, 100 << 10, 1 << 10},
    {"sm_89", 1536, 24, 100 << 10, 1 << 10},
    {"sm_90", 2048, 32, 228 << 10, 1 << 10},
    {"sm_100", 2048, 32, 228 << 10, 1 << 10},
});

// The same on all of them.
constexpr std::int64_t kParts = 4;  // of a multiprocessor: a block's warps are dealt out to them
constexpr std::int64_t kRegistersOfPart = 16'384;
constexpr std::int64_t kRegisterUnit = 256;  // in which a warp gets its registers
constexpr std::int64_t kWarp = 32;           // threads

/// Launch of a kernel: its thread blocks, and what each of them needs.
struct Launch {
  double blocks = 0.0;
  std::int64_t threads = 0;
  std::int64_t registers = 0;  ///< of a thread
  std::int64_t shared_bytes = 0;
};

std::int64_t round_up(std::int64_t amount, std::int64_t unit) {
  return (amount + unit - 1) / unit * unit;
}

/// Returns the largest launch of a row: that with the most threads. Absent: the list cannot be
/// read, or is empty.
std::optional<Launch> largest_launch(const std::string& kernels) {
  std::optional<Launch> largest;
  try {
    for (const nlohmann::json& kernel : nlohmann::json::parse(kernels)) {
      Launch launch{.blocks = 1.0,
                    .threads = 1,
                    .registers = kernel.at("registers").get<std::int32_t>(),
                    .shared_bytes = kernel.at("shared_bytes").get<std::int32_t>()};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        launch.blocks *= kernel.at("grid").at(axis).get<std::int32_t>();
        launch.threads *= std::clamp(kernel.at("block").at(axis).get<std::int32_t>(), 1, 1024);
      }
      const auto threads_of = [](const Launch& each) {
        return each.blocks * static_cast<double>(each.threads);
      };
      if (!largest || threads_of(launch) > threads_of(*largest)) {
        largest = launch;
      }
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return largest;
}

/// Returns how many blocks of a launch a multiprocessor holds at once.
std::int64_t blocks_at_once(const Multiprocessor& unit, const Launch& launch) {
  const std::int64_t warps = round_up(launch.threads, kWarp) / kWarp;
  std::int64_t blocks = std::min(unit.blocks, unit.threads / (warps * kWarp));
  if (launch.registers > 0) {
    const std::int64_t of_warp = round_up(launch.registers * kWarp, kRegisterUnit);
    blocks = std::min(blocks, kRegistersOfPart / of_warp * kParts / round_up(warps, kParts));
  }
  if (launch.shared_bytes > 0) {
    blocks = std::min(blocks, unit.shared_bytes / (launch.shared_bytes + unit.reserved_bytes));
  }
  return blocks;
}

template <typename Number>
std::optional<Number> number_in(const results::Facts& texts, const char* name) {
  const auto found = texts.find(name);
  Number number{};
  if (found == texts.end() ||
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), number)
              .ec != std::errc() ||
      !(number > 0)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<double> count_waves(const results::Attributes& row,
                                  const results::Environment& environment) {
  if (const auto waves = number_in<double>(row, "waves")) {
    return waves;
  }
  const auto kernels = row.find("kernels");
  const auto architecture = environment.facts.find("gpu.architecture");
  const auto count = number_in<std::int64_t>(environment.facts, "gpu.multiprocessors");
  if (kernels == row.end() || architecture == environment.facts.end() || !count) {
    return std::nullopt;
  }
  const auto* const unit = std::find_if(
      kMultiprocessors.begin(), kMultiprocessors.end(), [&](const Multiprocessor& each) {
        return each.architecture == architecture->second;
      });
  const std::optional<Launch> launch = largest_launch(kernels->second);
  if (unit == kMultiprocessors.end() || !launch || launch->blocks <= 0.0) {
    return std::nullopt;
  }
  const std::int64_t at_once = blocks_at_once(*unit, *launch);
  return at_once > 0 ? std::optional(launch->blocks / static_cast<double>(at_once * *count))
                     : std::nullopt;
}

}  // namespace plumb::analysis
