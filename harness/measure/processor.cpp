// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/processor.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace plumb::measure {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line(64, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  return line.substr(0, line.find('\n'));
}

/// Parses sysfs' "107520K"; also plain bytes, M and G.
std::optional<std::int64_t> parse_size(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{16} << 30;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0 || value > kMost) {
    return std::nullopt;
  }
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = 0;
  if (unit == "K") {
    shift = 10;
  } else if (unit == "M") {
    shift = 20;
  } else if (unit == "G") {
    shift = 30;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (value > (kMost >> shift)) {
    return std::nullopt;
  }
  return value << shift;
}

}  // namespace

std::optional<Bytes> read_last_level_cache(const std::filesystem::path& folder) {
  constexpr int kIndices = 16;  // no machine has as many
  std::optional<Bytes> last_level;
  int highest = 0;
  for (int i = 0; i < kIndices; ++i) {
    const std::filesystem::path index = folder / ("index" + std::to_string(i));
    std::error_code error;
    if (!std::filesystem::is_directory(index, error)) {
      continue;
    }
    const std::string type = first_line(index / "type");
    const std::string level_text = first_line(index / "level");
    int level = 0;
    std::from_chars(level_text.data(), level_text.data() + level_text.size(), level);
    const auto size = parse_size(first_line(index / "size"));
    if ((type == "Unified" || type == "Data") && size && level > highest && level <= kIndices) {
      highest = level;
      last_level = Bytes{*size};
    }
  }
  return last_level;
}

namespace {

/// Returns the processors that the calling thread may run on.
cpu_set_t allowed_processors() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) {
    CPU_SET(0, &processors);
  }
  return processors;
}

/// Processors of this process when it started. A runtime of threads that is loaded later may bind
/// the main thread to one of them (OMP_PROC_BIND), and threads begin where their maker is.
const cpu_set_t kAtStart = allowed_processors();

/// Computes chains of multiplications and shifts (splitmix64's finaliser). The compiler can neither
/// skip nor vectorise them. There are as many as keep the multiplier of a core busy, since of one
/// chain alone two threads could share a core without a loss.
std::uint64_t spin(std::uint64_t rounds, std::uint64_t state) {
  std::array<std::uint64_t, 8> states{};
  for (std::size_t chain = 0; chain < states.size(); ++chain) {
    states[chain] = state + chain;
  }
  for (std::uint64_t i = 0; i < rounds; ++i) {
    for (std::uint64_t& each : states) {
      each = (each ^ (each >> 30U)) * 0xbf58476d1ce4e5b9ULL + i;
    }
  }
  return std::accumulate(states.begin(), states.end(), std::uint64_t{0});
}

Seconds now() {
  return Seconds(std::chrono::steady_clock::now().time_since_epoch());
}

Seconds measure_time(int threads, std::uint64_t rounds) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<std::uint64_t> sink{0};
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    others.emplace_back([&, i] {
      static_cast<void>(sched_setaffinity(0, sizeof kAtStart, &kAtStart));  // refused: as it is
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
      sink.fetch_add(spin(rounds, static_cast<std::uint64_t>(i)));
    });
  }
  while (ready.load() < threads) {
    std::this_thread::yield();
  }
  const Seconds begin = now();
  go.store(true, std::memory_order_release);
  for (std::thread& other : others) {
    other.join();
  }
  return now() - begin;
}

}  // namespace

double measure_parallel_efficiency(int threads, Seconds work) {
  if (threads < 2) {
    return 1.0;
  }
  constexpr std::uint64_t kProbe = 50'000;
  const Seconds probe = measure_time(1, kProbe);
  const double scale = std::clamp(work / std::max(probe, Seconds(1e-6)), 1.0, 1e6);
  const auto rounds = static_cast<std::uint64_t>(static_cast<double>(kProbe) * scale);
  double best = 0.0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Seconds one = measure_time(1, rounds);
    const Seconds all = measure_time(threads, rounds);
    best = std::max(best, std::min(1.0, one / all));
  }
  return best;
}

}  // namespace plumb::measure
