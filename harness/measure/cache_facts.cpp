// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/cache_facts.hpp"

#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

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

CacheFacts read_cache_facts(const std::filesystem::path& folder) {
  constexpr int kIndices = 16;  // no machine has as many
  CacheFacts facts{kAssumedLastLevelCache, true};
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
      facts = {Bytes{*size}, false};
    }
  }
  return facts;
}

}  // namespace plumb::measure
