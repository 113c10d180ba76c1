// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/benchmark_program.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/bench/candidate.hpp"
#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {
namespace {

/// Shortest execution that is reported. With zero the library would never have repeated enough.
constexpr Seconds kShortest{1e-9};

worker::WorkerService::MeasureRequest request_for(const model::LayerKey& key) {
  worker::WorkerService::MeasureRequest request;
  request.key = key;
  return request;
}

/// Warms up as a measurement does, and returns how many executions a sample needs.
std::size_t warm_up(worker::Program& program, const measure::Clock& clock) {
  LayerTiming::HotRegion region(program);
  measure::SamplingPlan plan;
  plan.samples_at_least = 1;
  plan.samples_at_most = 1;
  return measure::sample(region, plan, clock).repetitions;
}

/// Adds what Google Benchmark divides by the time: bytes that the layer must move, and its
/// multiply-accumulates.
void count_work(benchmark::State& state, const model::LayerCost& cost) {
  const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
  state.SetBytesProcessed(bytes.value * state.iterations());
  if (cost.macs > 0) {
    state.counters["macs_per_second"] = benchmark::Counter(
        static_cast<double>(cost.macs), benchmark::Counter::kIsIterationInvariantRate);
  }
}

}  // namespace

/// One variant on its way to Google Benchmark. Its members refer to each other.
struct LayerBenchmarks::WarmProgram {
  WarmProgram(worker::Backend& backend, const measure::Clock& clock, const model::LayerKey& key)
      : request(request_for(key)), preparation(backend, clock, request, model::parse_key(key)) {}

  worker::WorkerService::MeasureRequest request;
  Candidate::Preparation preparation;
  Candidate candidate;
  std::size_t repetitions = 1;  ///< executions in a sample
};

LayerBenchmarks::LayerBenchmarks(worker::Backend& backend, measure::Clock clock)
    : backend_(backend), clock_(std::move(clock)), overhead_(measure_floor(clock_)) {}

LayerBenchmarks::~LayerBenchmarks() = default;

void LayerBenchmarks::add(const model::LayerKey& written) {
  const model::LayerKey key = model::to_key(model::parse_key(written));
  const results::Outcome supported = backend_.supports(key);
  std::vector<worker::Variant> variants =
      supported.ok() ? backend_.variants(key) : std::vector<worker::Variant>{};
  const auto fast =
      std::stable_partition(variants.begin(), variants.end(), [](const worker::Variant& one) {
        return !one.reference_implementation;
      });
  if (fast != variants.begin()) {
    variants.erase(fast, variants.end());
  }
  for (const worker::Variant& variant : variants) {
    benchmark::RegisterBenchmark(
        fmt::format("{}/{}", key.text, variant.text).c_str(),
        [this, key, variant](benchmark::State& state) { run(state, key, variant); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  if (variants.empty()) {
    const std::string reason =
        supported.ok() ? "the backend lists no variant of this key" : supported.reason;
    benchmark::RegisterBenchmark(key.text.c_str(), [reason](benchmark::State& state) {
      state.SkipWithError(reason.c_str());
    });
  }
}

LayerBenchmarks::WarmProgram& LayerBenchmarks::prepare(const model::LayerKey& key,
                                                       const worker::Variant& variant) {
  if (!prepared_ || prepared_->request.key != key) {
    prepared_.reset();  // before the next key's operands are there
    prepared_ = std::make_unique<WarmProgram>(backend_, clock_, key);
  }
  if (prepared_->candidate.variant.text != variant.text) {
    Candidate candidate;
    candidate.variant = variant;
    prepared_->candidate = std::move(candidate);
    if (prepared_->preparation.make_ready(prepared_->candidate)) {
      guarded(prepared_->candidate.row,
              [&] { prepared_->repetitions = warm_up(*prepared_->candidate.program, clock_); });
    }
  }
  return *prepared_;
}

void LayerBenchmarks::run(benchmark::State& state,
                          const model::LayerKey& key,
                          const worker::Variant& variant) {
  WarmProgram& prepared = prepare(key, variant);
  results::Outcome& outcome = prepared.candidate.row.outcome;
  if (outcome.ok()) {
    // Google Benchmark expects no exceptions.
    guarded(outcome, [&] {
      LayerTiming::HotRegion region(*prepared.candidate.program);
      const std::size_t repetitions = prepared.repetitions;
      const auto executions = static_cast<double>(repetitions);
      const Seconds overhead = overhead_.at(repetitions) * executions;
      while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(repetitions))) {
        const Seconds begin = clock_();
        region.run(repetitions);
        const Seconds whole = clock_() - begin - overhead;
        state.SetIterationTime(std::max(whole, kShortest * executions).count());
      }
    });
  }
  if (!outcome.ok()) {
    state.SkipWithError(fmt::format("{}: {}", to_text(outcome.kind), outcome.reason).c_str());
    return;
  }
  if (variant.library_choice) {
    state.SetLabel("library's choice");
  }
  count_work(state, model::compute_cost(model::parse_key(key)));
}

namespace {

constexpr int kMaxThreads = 4096;
constexpr std::string_view kBlank = " \t\r";

int parse_threads(const std::string& text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 ||
      threads > kMaxThreads) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--threads {}' is not a number from 1 to {}", text, kMaxThreads));
  }
  return threads;
}

/// Splits "--option=value" arguments, so that each option and each value stands alone.
std::vector<std::string> split(std::span<const std::string> arguments) {
  std::vector<std::string> parts;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (argument.starts_with("--") && equals != std::string::npos) {
      parts.push_back(argument.substr(0, equals));
      parts.push_back(argument.substr(equals + 1));
    } else {
      parts.push_back(argument);
    }
  }
  return parts;
}

bool is_key(std::string_view text) {
  const std::size_t colon = text.find(':');
  return text.starts_with('v') && colon != std::string_view::npos && colon > 1 &&
         text.find_first_not_of("0123456789", 1) == colon;
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(kBlank);
  return first == std::string::npos ? std::string()
                                    : line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

/// Adds a key in its canonical form, once.
void add_key(std::vector<model::LayerKey>& keys,
             const std::string& text,
             const std::string& where) {
  model::LayerKey key;
  try {
    key = model::to_key(model::parse_key({text}));
  } catch (const Error& error) {
    throw Error(error.kind(), where.empty() ? error.what() : where + ": " + error.what());
  }
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
    keys.push_back(std::move(key));
  }
}

void read_keys(std::istream& stream, const std::string& name, std::vector<model::LayerKey>& keys) {
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    const std::string text = trimmed(line);
    if (!text.empty() && !text.starts_with('#')) {
      add_key(keys, text, fmt::format("{}:{}", name, number));
    }
  }
  if (stream.bad() || !stream.eof()) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' cannot be read", name));
  }
}

/// Shows in the report's context what identifies a series.
void describe(const worker::Backend& backend, int threads) {
  for (const auto& [name, value] : backend.describe().identity) {
    benchmark::AddCustomContext(name, value);
  }
  benchmark::AddCustomContext("threads", std::to_string(threads));
}

}  // namespace

LayerBenchmarks::Arguments parse_benchmark_arguments(std::span<const std::string> arguments) {
  LayerBenchmarks::Arguments result;
  std::string option;  // whose value comes next
  const auto check_value = [&option] {
    if (!option.empty() && option != kLayersOption) {
      throw Error(Error::Kind::kUser, fmt::format("'{}' needs a value", option));
    }
  };
  for (const std::string& part : split(arguments)) {
    if (part.starts_with("--")) {
      check_value();
      option = part;
      if (option != kLayersOption && option != "--library" && option != "--threads") {
        throw Error(Error::Kind::kUser,
                    fmt::format("unknown option '{}': the options are --layers, --library, "
                                "--threads and those of Google Benchmark (--benchmark_…)",
                                part));
      }
    } else if (option == kLayersOption) {
      result.layers.push_back(part);
    } else if (option == "--library") {
      result.setup.libraries.emplace_back(part);
      option.clear();
    } else if (option == "--threads") {
      result.setup.threads = parse_threads(part);
      option.clear();
    } else {
      throw Error(Error::Kind::kUser, fmt::format("'{}' does not belong to an option", part));
    }
  }
  check_value();
  if (result.layers.empty()) {
    throw Error(Error::Kind::kUser,
                "'--layers' needs layer keys, or files with a key on each line ('-' is standard "
                "input)");
  }
  return result;
}

std::vector<model::LayerKey> read_layer_keys(std::span<const std::string> texts) {
  std::vector<model::LayerKey> keys;
  for (const std::string& text : texts) {
    if (is_key(text)) {
      add_key(keys, text, "");
    } else if (text == "-") {
      read_keys(std::cin, "standard input", keys);
    } else if (std::ifstream file(text); file) {
      read_keys(file, text, keys);
    } else {
      throw Error(
          Error::Kind::kUser,
          fmt::format("'{}' is neither a layer key ('v1:conv;in=…') nor a file that can be read",
                      text));
    }
  }
  if (keys.empty()) {
    throw Error(Error::Kind::kUser,
                "'--layers' has no key: give layer keys, or a file that lists them");
  }
  return keys;
}

int run_benchmark_program(const OpenBackend& open, std::span<const char* const> arguments) {
  std::vector<std::string> texts(arguments.begin(), arguments.end());
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    list.push_back(text.data());
  }
  list.push_back(nullptr);
  int count = static_cast<int>(texts.size());
  benchmark::Initialize(&count, list.data());  // takes its own options out
  const std::vector<std::string> rest(list.begin() + 1, list.begin() + count);
  LayerBenchmarks::Arguments asked = parse_benchmark_arguments(rest);
  const std::vector<model::LayerKey> keys = read_layer_keys(asked.layers);
  worker::Backend& backend = open(asked.setup);
  describe(backend, asked.setup.threads);
  LayerBenchmarks layers(backend);
  for (const model::LayerKey& key : keys) {
    layers.add(key);
  }
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  if (ran == 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--benchmark_filter={}' leaves no benchmark of these layers",
                            benchmark::GetBenchmarkFilter()));
  }
  return 0;
}

}  // namespace plumb::engine
