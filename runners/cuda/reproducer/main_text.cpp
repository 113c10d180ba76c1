// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/reproducer/main_text.hpp"

#include <fmt/format.h>

#include "harness/base/cpp_literal.hpp"
#include "harness/base/error.hpp"
#include "runners/cuda/reproducer/frame.hpp"

namespace plumb::cuda {

std::string row_text(const results::Measurement& row) {
  const measure::SampleSummary time = row.corrected();
  return fmt::format("{{{:.9g}, {:.9g}, {:.9g}, {}}}",
                     time.median.count(),
                     time.interval.low.count(),
                     time.interval.high.count(),
                     time.n);
}

std::string title_text(const ReproducerTitle& title) {
  return fmt::format(
      "constexpr const char* kKey = {};\nconstexpr const char* kLibrary = {};\n"
      "constexpr std::uint64_t kSeed = {}U;\n\n",
      cpp_literal(title.key),
      cpp_literal(title.library),
      title.seed);
}

std::string with_variants(std::string_view frame, const std::string& variants) {
  const std::size_t mark = frame.find(kVariantsMark);
  PLUMB_CHECK(mark != std::string_view::npos);
  return fmt::format(
      "{}{}{}", frame.substr(0, mark), variants, frame.substr(mark + kVariantsMark.size()));
}

}  // namespace plumb::cuda
