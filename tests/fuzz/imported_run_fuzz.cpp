// SPDX-License-Identifier: Apache-2.0
//
// Any file is refused with an error of the user, or becomes rows that the store can keep: names and
// times within bounds, as many summaries as samples.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/base/error.hpp"
#include "harness/importers/imported_run.hpp"
#include "harness/importers/result_files.hpp"
#include "harness/results/measurement.hpp"
#include "tests/fuzz/require.hpp"

using plumb::test::require;

namespace {

void check_row(const plumb::results::Measurement& row) {
  using namespace plumb;
  require(row.key.text.starts_with("external:s:"));
  require(row.outcome.ok() == (row.summary.n > 0));
  require(!row.outcome.ok() ||
          (std::isfinite(row.summary.p90.count()) && row.summary.median > Seconds(0.0) &&
           std::isfinite(row.summary.interval.high.count())));
  if (!row.samples.empty()) {
    require(row.summary.n == row.samples.size());
    require(results::decode_samples(results::encode_samples(row.samples, row.repetitions),
                                    row.repetitions)
                .has_value());
  }
}

void check(const plumb::importers::ImportedHistory& history) {
  using namespace plumb;
  for (const importers::ImportedResults& results : history) {
    const importers::ImportedResults::Run run = importers::make_imported_run(
        {.format = "any", .suite = "s", .version = "", .system = "", .started = {}},
        {{results}},
        {{std::string("file")}},
        Timestamp{});
    require(run.rows.size() == results.benchmarks.size());
    for (const results::Measurement& row : run.rows) {
      check_row(row);
    }
  }
}

plumb::importers::ImportedHistory read(int format, std::string_view text) {
  using namespace plumb;
  switch (format) {
    case 0:
      return {importers::read_google_benchmark(text)};
    case 1:
      return {importers::read_nvbench(text, [](const std::string& name, std::size_t bytes) {
        return std::string(bytes, name.empty() ? '\0' : name.front());
      })};
    case 2:
      return importers::read_otava(text, 1e-6, {});
    case 3:
      return {importers::read_asv(text)};
    case 4:
      return importers::read_benchmark_action(text);
    default:
      static_cast<void>(importers::read_key_mapping(text));
      return {};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (int format = 0; format <= 5; ++format) {
    try {
      check(read(format, text));
    } catch (const Error& error) {
      require(error.kind() == Error::Kind::kUser);
    }
  }
  return 0;
}
