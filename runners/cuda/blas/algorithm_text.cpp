// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/algorithm_text.hpp"

#include <fmt/format.h>

#include <charconv>

#include "harness/base/error.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kDigits = 16;

}  // namespace

std::string algorithm_text(const abi::LtAlgorithm& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) {
    text += fmt::format("{:016x}", word);
  }
  return text;
}

abi::LtAlgorithm parse_algorithm(const std::string& text) {
  abi::LtAlgorithm algorithm;
  bool good = text.size() == kDigits * algorithm.data.size();
  for (std::size_t i = 0; good && i < algorithm.data.size(); ++i) {
    const char* const begin = text.data() + i * kDigits;
    const auto [end, error] = std::from_chars(begin, begin + kDigits, algorithm.data.at(i), 16);
    good = error == std::errc() && end == begin + kDigits;
  }
  if (!good) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' is not an algorithm of cuBLASLt", text));
  }
  return algorithm;
}

}  // namespace plumb::cuda
