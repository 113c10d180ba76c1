// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/counter_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/results/measurement.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"

namespace plumb::cuda {
namespace {

abi::ProfilerCalls::Ranges::Host find_calls(const ProfilerLibrary& library) {
  abi::ProfilerCalls::Ranges::Host calls;
  abi::for_each_metric_host_call(calls,
                                 [&](auto& call, const char* name) { library.find(call, name); });
  return calls;
}

void* begin(const ProfilerLibrary& library,
            const abi::ProfilerCalls::Ranges::Host& calls,
            const CounterReader::Host::Chip& chip) {
  abi::ProfilerCalls::Ranges::Host::BeginParams params;
  params.chip = chip.name.c_str();
  params.availability = chip.availability.empty() ? nullptr : chip.availability.data();
  library.check(calls.begin(&params), fmt::format("what the chip {} can count", chip.name).c_str());
  return params.host;
}

void end_host(const abi::ProfilerCalls::Ranges::Host& calls, void* host) {
  abi::ProfilerCalls::Ranges::Host::EndParams params;
  params.host = host;
  static_cast<void>(calls.end(&params));
}

int add(const abi::ProfilerCalls::Ranges::Host& calls, void* host, std::vector<const char*> names) {
  abi::ProfilerCalls::Ranges::Host::MetricsParams params;
  params.host = host;
  params.names = names.data();
  params.count = names.size();
  return calls.add_metrics(&params);
}

}  // namespace

CounterReader::Host::Host(const ProfilerLibrary& library,
                          const CounterReader::Host::Chip& chip,
                          const std::vector<std::string>& metrics)
    : library_(library),
      calls_(find_calls(library)),
      metrics_(metrics),
      host_(begin(library, calls_, chip)) {
  try {
    library_.check(add(calls_, host_, names()), "choosing metrics");
    configure();
  } catch (const Error&) {
    end_host(calls_, host_);
    throw;
  }
}

CounterReader::Host::~Host() {
  end_host(calls_, host_);
}

void CounterReader::Host::configure() {
  abi::ProfilerCalls::Ranges::Host::ImageSizeParams size;
  size.host = host_;
  library_.check(calls_.image_size(&size), "the size of the counters' settings");
  if (size.image_bytes == 0 || size.image_bytes > kLargestImage) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("CUPTI: settings of {} bytes for the counters", size.image_bytes));
  }
  image_.resize(size.image_bytes);
  abi::ProfilerCalls::Ranges::Host::ImageParams image;
  image.host = host_;
  image.image_bytes = image_.size();
  image.image = image_.data();
  library_.check(calls_.image(&image), "the counters' settings");
  abi::ProfilerCalls::Ranges::Host::PassesParams passes;
  passes.image_bytes = image_.size();
  passes.image = image_.data();
  library_.check(calls_.passes(&passes), "counting passes");
  passes_ = passes.passes;
}

std::vector<const char*> CounterReader::Host::names() const {
  std::vector<const char*> names;
  names.reserve(metrics_.size());
  for (const std::string& metric : metrics_) {
    names.push_back(metric.c_str());
  }
  return names;
}

std::vector<double> CounterReader::Host::values(std::span<const std::uint8_t> data,
                                                std::size_t range) const {
  std::vector<const char*> wanted = names();
  std::vector<double> values(wanted.size());
  abi::ProfilerCalls::Ranges::Host::ValuesParams params;
  params.host = host_;
  params.data = data.data();
  params.data_bytes = data.size();
  params.range = range;
  params.names = wanted.data();
  params.count = wanted.size();
  params.values = values.data();
  library_.check(calls_.values(&params), "what the counters counted");
  return values;
}

bool has_metric(const ProfilerLibrary& library,
                const CounterReader::Host::Chip& chip,
                const std::string& metric) {
  const abi::ProfilerCalls::Ranges::Host calls = find_calls(library);
  void* const host = begin(library, calls, chip);
  const bool there = add(calls, host, {metric.c_str()}) == abi::kProfilerSuccess;
  end_host(calls, host);
  return there;
}

namespace {

constexpr std::size_t kLargestData = std::size_t{256} << 20;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(Error::Kind::kEnvironment, "CUPTI: " + why);
}

}  // namespace

/// Profiling session that holds a context's counters for its lifetime.
class CounterReader::Ranges::Session {
 public:
  Session(const CounterReader::Ranges& owner, const Device::Context& context)
      : library_(owner.library_), calls_(owner.calls_) {
    abi::ProfilerCalls::Ranges::BeginParams params;
    params.context = context.get();
    library_.check(calls_.begin(&params), "taking the GPU's counters");
    profiler_ = params.profiler;
  }
  ~Session() {
    abi::ProfilerCalls::Ranges::Params params = range();
    static_cast<void>(calls_.end(&params));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  /// Sets the counters, and returns the buffer in which their values are gathered.
  std::vector<std::uint8_t> set(const CounterReader::Host& metrics, std::size_t ranges) const {
    std::vector<const char*> names = metrics.names();
    abi::ProfilerCalls::Ranges::DataSizeParams size;
    size.profiler = profiler_;
    size.names = names.data();
    size.count = names.size();
    size.ranges = ranges;
    size.nodes = static_cast<std::uint32_t>(ranges);
    library_.check(calls_.data_size(&size), "the size of what is counted");
    if (size.data_bytes == 0 || size.data_bytes > kLargestData) {
      refuse(fmt::format("{} bytes of counts", size.data_bytes));
    }
    std::vector<std::uint8_t> data(size.data_bytes);
    abi::ProfilerCalls::Ranges::DataParams place;
    place.profiler = profiler_;
    place.data_bytes = data.size();
    place.data = data.data();
    library_.check(calls_.data(&place), "a place for counts");
    abi::ProfilerCalls::Ranges::SetParams settings;
    settings.profiler = profiler_;
    settings.image_bytes = metrics.image().size();
    settings.image = metrics.image().data();
    settings.data_bytes = data.size();
    settings.data = data.data();
    settings.ranges = ranges;
    library_.check(calls_.set(&settings), "setting the counters");
    return data;
  }

  /// Counts one pass over all ranges. Returns whether it was the last.
  bool pass(std::size_t ranges, const std::function<void()>& work) const {
    abi::ProfilerCalls::Ranges::Params params = range();
    library_.check(calls_.start(&params), "starting the counters");
    for (std::size_t i = 0; i < ranges; ++i) {
      const std::string name = fmt::format("{}", i);
      abi::ProfilerCalls::Ranges::PushParams push;
      push.profiler = profiler_;
      push.name = name.c_str();
      library_.check(calls_.push(&push), "beginning a range");
      work();
      library_.check(calls_.pop(&params), "ending a range");
    }
    abi::ProfilerCalls::Ranges::StopParams stop;
    stop.profiler = profiler_;
    library_.check(calls_.stop(&stop), "stopping the counters");
    return stop.all_passes != 0;
  }

  void decode(const std::vector<std::uint8_t>& data, std::size_t ranges) const {
    abi::ProfilerCalls::Ranges::DecodeParams decoded;
    decoded.profiler = profiler_;
    library_.check(calls_.decode(&decoded), "reading the counters");
    abi::ProfilerCalls::Ranges::CountParams counted;
    counted.data = data.data();
    counted.data_bytes = data.size();
    library_.check(calls_.count(&counted), "the number of ranges");
    if (decoded.dropped != 0 || counted.ranges != ranges) {
      refuse(fmt::format(
          "{} of {} ranges counted, {} dropped", counted.ranges, ranges, decoded.dropped));
    }
  }

 private:
  [[nodiscard]] abi::ProfilerCalls::Ranges::Params range() const {
    abi::ProfilerCalls::Ranges::Params params;
    params.profiler = profiler_;
    return params;
  }

  const ProfilerLibrary& library_;
  const abi::ProfilerCalls::Ranges& calls_;
  void* profiler_ = nullptr;
};

CounterReader::Ranges::Ranges() {
  abi::for_each_range_profiler_call(
      calls_, [this](auto& call, const char* name) { library_.find(call, name); });
  abi::ProfilerCalls::Ranges::ProfilerParams params;
  library_.check(calls_.initialize(&params), "its start");
}

CounterReader::Ranges::~Ranges() {
  abi::ProfilerCalls::Ranges::ProfilerParams params;
  static_cast<void>(calls_.finish(&params));
}

CounterReader::Host::Chip CounterReader::Ranges::chip(const Device::Context& context) const {
  context.use();
  CounterReader::Host::Chip chip;
  abi::ProfilerCalls::Ranges::ChipNameParams name;
  library_.check(calls_.chip_name(&name), "the chip's name");
  if (name.name == nullptr) {
    refuse("the GPU's chip has no name");
  }
  chip.name = name.name;
  abi::ProfilerCalls::Ranges::AvailabilityParams availability;
  availability.context = context.get();
  library_.check(calls_.availability(&availability), "which counters can be read");
  if (availability.image_bytes > CounterReader::Host::kLargestImage) {
    refuse(fmt::format("{} bytes of counters", availability.image_bytes));
  }
  chip.availability.resize(availability.image_bytes);
  availability.image = chip.availability.data();
  library_.check(calls_.availability(&availability), "which counters can be read");
  return chip;
}

std::vector<std::vector<double>> CounterReader::Ranges::count(
    const Device::Context& context,
    const CounterReader::Host& metrics,
    std::size_t ranges,
    const std::function<void()>& work) const {
  if (metrics.passes() > kMaxPasses) {
    refuse(fmt::format(
        "these metrics take {} passes, more than {}: ask for fewer", metrics.passes(), kMaxPasses));
  }
  const Session session(*this, context);
  const std::vector<std::uint8_t> data = session.set(metrics, ranges);
  std::size_t passes = 1;
  while (!session.pass(ranges, work)) {
    if (++passes > kMaxPasses) {
      refuse(fmt::format("no end after {} passes", kMaxPasses));
    }
  }
  session.decode(data, ranges);
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i < ranges; ++i) {
    values.push_back(metrics.values(data, i));
  }
  return values;
}

namespace {

constexpr const char* kTensorPipe = "tensor_pipe_instructions";
constexpr const char* kTensorPipeFma = "tensor_pipe_fma_instructions";
constexpr double kPassesMayDiffer = 1e-3;

/// Reading that is counted by default, with the metrics that provide it.
struct Question {
  const char* reading;
  std::vector<const char*> names;  // as chips call it, the newest first
  double unit = 1.0;
  bool everywhere = true;  // a chip without it lacks something
};

const std::vector<Question>& questions() {
  constexpr double kPercent = 0.01;
  static const std::vector<Question> list{
      {kTensorPipe, {"sm__inst_executed_pipe_tensor_v2.sum", "sm__inst_executed_pipe_tensor.sum"}},
      {kTensorPipeFma, {"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum"}, 1.0, false},
      {"tensor_pipe_active_ratio",
       {"sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
       kPercent},
      {"instructions", {"sm__inst_executed.sum"}},
      {"dram_read_bytes", {"dram__bytes_op_read.sum", "dram__bytes_read.sum"}},
      {"dram_written_bytes", {"dram__bytes_op_write.sum", "dram__bytes_write.sum"}},
      {"l2_hit_ratio", {"lts__t_sector_hit_rate.pct"}, kPercent},
      {"sm_throughput_ratio", {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}, kPercent},
      {"dram_throughput_ratio",
       {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
       kPercent},
      {"occupancy_ratio", {"sm__warps_active.avg.pct_of_peak_sustained_active"}, kPercent},
  };
  return list;
}

/// Returns whether a metric grows with the number of executions that it counts.
bool grows(std::string_view name) {
  constexpr std::array<std::string_view, 4> kCounts{".sum", ".avg", ".min", ".max"};
  return std::any_of(
      kCounts.begin(), kCounts.end(), [&](std::string_view end) { return name.ends_with(end); });
}

void add_tensor_cores(worker::Program::Observation& seen) {
  const auto pipe = seen.readings.find(kTensorPipe);
  if (pipe == seen.readings.end()) {
    return;
  }
  const auto fma = seen.readings.find(kTensorPipeFma);
  const double ordinary = fma != seen.readings.end() ? fma->second.median : 0.0;
  const bool used = pipe->second.median - ordinary > kPassesMayDiffer * pipe->second.median;
  seen.attributes["tensor_cores"] = used ? "yes" : "no";
  seen.attributes["tensor_cores.source"] = "counter";
}

}  // namespace

std::vector<std::string> CounterReader::Choice::names() const {
  std::vector<std::string> names;
  for (const CounterReader::Choice::Metric& metric : metrics) {
    names.push_back(metric.name);
  }
  return names;
}

CounterReader::Choice choose_metrics(const std::vector<std::string>& asked,
                                     const std::function<bool(const std::string&)>& has) {
  CounterReader::Choice choice;
  for (const std::string& name : asked) {
    if (has(name)) {
      choice.metrics.push_back({name, name, 1.0});
    } else {
      choice.missing.push_back(name);
    }
  }
  if (!asked.empty()) {
    return choice;
  }
  for (const Question& question : questions()) {
    const auto name = std::find_if(question.names.begin(), question.names.end(), has);
    if (name != question.names.end()) {
      choice.metrics.push_back({*name, question.reading, question.unit});
    } else if (question.everywhere) {
      choice.missing.emplace_back(question.reading);
    }
  }
  return choice;
}

worker::Program::Observation metric_observation(const CounterReader::Choice& choice,
                                                const std::vector<std::vector<double>>& ranges,
                                                std::size_t executions) {
  PLUMB_CHECK(executions > 0);
  worker::Program::Observation seen;
  std::vector<std::string> missing = choice.missing;
  for (std::size_t i = 0; i < choice.metrics.size(); ++i) {
    const CounterReader::Choice::Metric& metric = choice.metrics[i];
    const double unit =
        grows(metric.name) ? metric.unit / static_cast<double>(executions) : metric.unit;
    std::vector<double> values;
    values.reserve(ranges.size());
    for (const std::vector<double>& range : ranges) {
      values.push_back(range.at(i) * unit);
    }
    if (const std::optional<results::Reading> reading = results::summarize_reading(values)) {
      seen.readings[metric.reading] = *reading;
    } else {
      missing.push_back(metric.reading);
    }
  }
  add_tensor_cores(seen);
  if (!missing.empty()) {
    seen.attributes["metrics_missing"] =
        fmt::format("this GPU does not count {}", fmt::join(missing, ", "));
  }
  return seen;
}

std::size_t executions_of_range(Seconds one) {
  constexpr Seconds kRange{2e-3};  // the cost of a range itself counts little then
  constexpr auto kMost = static_cast<double>(CounterReader::kMaxExecutions);
  if (one <= Seconds(0.0)) {
    return CounterReader::kMaxExecutions;
  }
  return static_cast<std::size_t>(std::clamp(std::ceil(kRange / one), 1.0, kMost));
}

worker::Program::Observation CounterReader::read(const Device::Context& context,
                                                 const std::function<void(std::size_t)>& execute) {
  if (!chip_) {
    const CounterReader::Host::Chip chip = profiler_.chip(context);
    choice_ = choose_metrics(asked_, [&](const std::string& metric) {
      return has_metric(profiler_.library(), chip, metric);
    });
    chip_ = chip;
  }
  if (choice_.metrics.empty()) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the chip {} has none of these metrics", chip_->name));
  }
  execute(1);
  // The first execution may load or allocate, so the second one is timed.
  const auto begin = std::chrono::steady_clock::now();
  execute(1);
  const std::size_t executions = executions_of_range(std::chrono::steady_clock::now() - begin);
  const CounterReader::Host metrics(profiler_.library(), *chip_, choice_.names());
  const auto ranges = profiler_.count(context, metrics, kRanges, [&] { execute(executions); });
  worker::Program::Observation seen = metric_observation(choice_, ranges, executions);
  seen.attributes["metrics"] = fmt::format("{}, {}, {} passes over {} ranges of {} executions",
                                           profiler_.library().version(),
                                           chip_->name,
                                           metrics.passes(),
                                           kRanges,
                                           executions);
  return seen;
}

}  // namespace plumb::cuda
