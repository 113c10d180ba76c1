// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/plan_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {
namespace {

constexpr int kExecutionsAndCreations = 2;

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

PlanProgram::Log::Log(const std::filesystem::path& file) {
  std::fflush(stdout);
  const FileDescriptor target(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  output_ = FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (target.number() < 0 || output_.number() < 0 || ::dup2(target.number(), STDOUT_FILENO) < 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot write '{}': {}", file.string(), std::strerror(errno)));
  }
  // The library reads this when it writes its first line.
  ::setenv("ONEDNN_VERBOSE_TIMESTAMP", "1", 1);
  dnnl::set_verbose(kExecutionsAndCreations);
}

PlanProgram::Log::~Log() {
  restore();
}

void PlanProgram::Log::restore() noexcept {
  if (output_.number() < 0) {
    return;
  }
  dnnl_set_verbose(0);
  failed_ = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  ::dup2(output_.number(), STDOUT_FILENO);
  output_.reset();
}

void PlanProgram::Log::write_threads(int threads, int processors) {
  fmt::print("plumb_threads,{},{}\n", threads, processors);
}

void PlanProgram::Log::begin_execution() {
  fmt::print("plumb_execution,begin,{:.6f}\n", seconds_since_1970());
}

void PlanProgram::Log::end_execution() {
  fmt::print("plumb_execution,end,{:.6f}\n", seconds_since_1970());
}

void PlanProgram::Log::begin_step(std::size_t step, const std::string& layers) {
  fmt::print("plumb_step,{},{:.6f},{}\n", step, seconds_since_1970(), layers);
}

void PlanProgram::Log::end_step(Seconds time) {
  fmt::print("plumb_step_end,{:.9f}\n", time.count());
}

void PlanProgram::Log::close() {
  restore();
  if (failed_) {
    throw Error(Error::Kind::kEnvironment,
                "the log of oneDNN could not be written: check the space of the disk");
  }
}

namespace {

constexpr std::size_t kHugeFromOfCopies = std::size_t{1} << 20;

Bytes bytes_of(std::size_t size) {
  return Bytes{static_cast<std::int64_t>(size)};
}

/// Returns how many parts of a plan run side by side, each with a scratchpad.
std::size_t lanes_of(const ExecutionPlan& plan) {
  return std::max<std::size_t>(1, plan.schedule.lanes.size());
}

/// Overwrites a byte of each cache line with itself, so that the lines become dirty.
void write_again(std::byte* data, std::size_t size) {
  constexpr std::size_t kLine = 64;
  volatile std::byte* const bytes = data;
  for (std::size_t at = 0; at < size; at += kLine) {
    bytes[at] = bytes[at];
  }
}

}  // namespace

PlanProgram::PlanProgram(const dnnl::engine& engine,
                         model::LayerSpec spec,
                         ExecutionPlan plan,
                         std::uint64_t placement,
                         std::function<void(std::size_t)> before_step)
    : engine_(engine),
      stream_(engine),
      spec_(std::move(spec)),
      plan_(std::move(plan)),
      placement_(placement),
      lane_of_(plan_.steps.size()),
      before_step_(std::move(before_step)),
      done_(plan_.schedule.lanes.empty() ? 0 : plan_.steps.size()) {
  for (std::size_t lane = 0; lane < plan_.schedule.lanes.size(); ++lane) {
    for (const std::size_t step : plan_.schedule.lanes[lane]) {
      lane_of_[step] = lane;
    }
  }
  sequence_.resize(plan_.steps.size());
  std::iota(sequence_.begin(), sequence_.end(), std::size_t{0});
  if (has_lanes()) {
    sequence_ = engine::in_order(plan_.schedule.needs());
    team_ = std::make_unique<engine::BranchSchedule::Team>(
        plan_.schedule.lanes.size(), [threads = plan_.threads_of_lane](std::size_t lane) {
          set_openmp_threads(threads);
          move_to_places(static_cast<int>(lane) * threads, threads);
        });
  }
}

worker::Program::Facts PlanProgram::facts() const {
  worker::Program::Facts facts;
  facts.implementation = plan_.implementation;
  if (plan_.creation > Seconds(0)) {  // built-in kernels make no primitive
    facts.creation = plan_.creation;
  }
  facts.workspace = bytes_of(plan_.workspace_bytes * lanes_of(plan_) + plan_.arena_bytes);
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.arena) {
      continue;
    }
    if (buffer.role == Buffer::Role::kIntermediate) {
      facts.workspace += bytes_of(buffer.bytes);
    } else if (buffer.weight) {
      facts.weight_bytes += bytes_of(buffer.bytes);
    } else {
      facts.activation_bytes += bytes_of(buffer.bytes);
    }
  }
  return facts;
}

void PlanProgram::bind(std::size_t slot,
                       std::span<const model::Tensor> operands,
                       bool shared_activations) {
  PLUMB_CHECK(slot <= slots_.size());
  auto bound = std::make_unique<PlanSlot>();
  if (slot == 0 && !slots_.empty()) {
    // The same places once more: a step's memory may be gigabytes, whose pages take seconds to
    // make.
    bound->owned = std::move(slots_.front()->owned);
    bound->owned.clear();
  }
  slots_.resize(slot);
  while (scratchpads_.size() < lanes_of(plan_)) {
    scratchpads_.emplace_back(plan_.workspace_bytes);
  }
  const PlanSlot* const shared = slot > 0 && shared_activations ? slots_.front().get() : nullptr;
  if (bound->owned.empty()) {
    // Later slots are many and are read from beyond the caches, so small ones need no huge pages.
    const std::size_t huge_from =
        slot == 0 ? PlanSlot::Block::AlignedBytes::kHugeFrom : kHugeFromOfCopies;
    bound->owned = PlanSlot::Block(
        block_sizes(plan_, shared != nullptr), huge_from, [this](std::size_t limit) {
          return static_cast<std::size_t>(placement_.below(drawn_++, limit));
        });
  }
  fill_buffers(plan_, operands, shared, stream_, *bound);
  std::vector<std::byte*> scratchpads;
  for (const std::size_t lane : lane_of_) {
    scratchpads.push_back(scratchpads_[lane].data());
  }
  bind_steps(plan_, scratchpads, engine_, *bound);
  slots_.push_back(std::move(bound));
}

void PlanProgram::refresh_activations(std::size_t slot) {
  const std::vector<std::byte*>& buffers = slots_[slot]->buffers;
  for (const std::size_t output : plan_.outputs) {
    write_again(buffers[output], plan_.buffers[output].bytes);
  }
  for (std::size_t index = 0; index < plan_.buffers.size(); ++index) {
    const Buffer& buffer = plan_.buffers[index];
    if (buffer.role == Buffer::Role::kInput && !buffer.weight) {
      write_again(buffers[index], buffer.bytes);
    }
  }
}

void PlanProgram::run(PlanSlot& slot, const PlanSlot::BoundStep& step) {
  if (step.kernel != nullptr) {
    (*step.kernel)(slot.buffers);
  } else {
    failure_ |= dnnl_primitive_execute(step.primitive,
                                       stream_.get(),
                                       static_cast<int>(step.arguments.size()),
                                       step.arguments.data());
  }
}

void PlanProgram::run_lane(PlanSlot& slot, std::size_t lane) {
  for (const std::size_t step : plan_.schedule.lanes[lane]) {
    for (const std::size_t other : plan_.schedule.waits[step]) {
      // Numbers of executions, unlike flags, need no reset between executions.
      engine::spin_until([&] { return done_[other] == executions_; });
    }
    if (before_step_) {
      before_step_(step);
    }
    run(slot, slot.steps[step]);
    done_[step] = executions_;
  }
}

void PlanProgram::enqueue(std::size_t slot) {
  PlanSlot& bound = *slots_[slot];
  if (has_lanes()) {
    const OpenmpThreads share(plan_.threads_of_lane);
    ++executions_;
    team_->run([&](std::size_t lane) { run_lane(bound, lane); });
    return;
  }
  for (const PlanSlot::BoundStep& step : bound.steps) {
    run(bound, step);
  }
}

Seconds PlanProgram::timed(PlanSlot& slot, const PlanSlot::BoundStep& step) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  run(slot, step);
  stream_.wait();
  return Clock::now() - begin;
}

std::optional<OpenmpThreads> PlanProgram::threads_of_step() const {
  return has_lanes() ? std::make_optional<OpenmpThreads>(plan_.threads_of_lane) : std::nullopt;
}

std::vector<Seconds> PlanProgram::profile(std::size_t slot) {
  const std::optional<OpenmpThreads> threads = threads_of_step();
  PlanSlot& bound = *slots_[slot];
  std::vector<Seconds> times(bound.steps.size());
  for (const std::size_t step : sequence_) {
    times[step] = timed(bound, bound.steps[step]);
  }
  synchronize();
  return times;
}

std::vector<worker::Trace::File> PlanProgram::trace(std::size_t slot,
                                                    std::span<const model::Tensor> operands,
                                                    const std::filesystem::path& folder,
                                                    std::uint64_t executions,
                                                    const std::vector<std::string>& steps) {
  static_cast<void>(operands);
  PLUMB_CHECK(steps.size() == plan_.steps.size());
  enqueue(slot);
  synchronize();
  const std::optional<OpenmpThreads> threads = threads_of_step();
  PlanSlot& bound = *slots_[slot];
  constexpr const char* kName = "onednn.log";
  PlanProgram::Log log(folder / kName);
  if (const std::optional<int> processors = openmp_processors()) {
    log.write_threads(openmp_threads().value_or(1), *processors);
  }
  for (std::uint64_t execution = 0; execution < executions; ++execution) {
    log.begin_execution();
    for (const std::size_t step : sequence_) {
      log.begin_step(step, steps[step]);
      log.end_step(timed(bound, bound.steps[step]));
    }
    log.end_execution();
  }
  log.close();
  synchronize();
  return {{"onednn", kName}};
}

void PlanProgram::execute_marked(std::size_t slot, worker::StepMark& current) {
  const std::optional<OpenmpThreads> threads = threads_of_step();
  PlanSlot& bound = *slots_[slot];
  for (const std::size_t step : sequence_) {
    current.begin(static_cast<std::uint32_t>(step));
    run(bound, bound.steps[step]);
  }
  synchronize();
}

std::vector<Seconds> PlanProgram::profile_in_context(std::size_t slot,
                                                     const std::vector<bool>& wanted) {
  const std::optional<OpenmpThreads> threads = threads_of_step();
  PlanSlot& bound = *slots_[slot];
  PLUMB_CHECK(wanted.size() == bound.steps.size());
  std::vector<Seconds> times(bound.steps.size());
  for (std::size_t i = 0; i < sequence_.size(); ++i) {
    const std::size_t step = sequence_[i];
    if (!wanted[step]) {
      run(bound, bound.steps[step]);
      continue;
    }
    if (i > 0) {
      run(bound, bound.steps[sequence_[i - 1]]);
      stream_.wait();
    }
    times[step] = timed(bound, bound.steps[step]);
  }
  synchronize();
  return times;
}

void PlanProgram::synchronize() {
  stream_.wait();
  if (failure_ != 0) {
    throw Error(
        Error::Kind::kInternal,
        fmt::format("oneDNN failed to execute {} ({}): status bits {:#x}; report this with the key",
                    spec_.op,
                    plan_.implementation,
                    failure_.load()));
  }
}

std::vector<model::Tensor> PlanProgram::outputs(std::size_t slot) {
  PLUMB_CHECK(slot < slots_.size());
  std::vector<model::Tensor> results;
  for (std::size_t index = 0; index < spec_.outputs.size(); ++index) {
    const std::size_t number = plan_.outputs.at(index);
    const Buffer& buffer = plan_.buffers[number];
    std::byte* source = slots_[slot]->buffers[number];
    model::Tensor result;
    result.type = spec_.outputs[index];
    result.data.resize(static_cast<std::size_t>(model::byte_size(result.type).value));
    PlanSlot::Block::AlignedBytes dense;
    if (is_reformatted(buffer)) {
      dense = PlanSlot::Block::AlignedBytes(buffer.view.get_size());
      reorder(dnnl::memory(buffer.layout, engine_, source),
              dnnl::memory(buffer.view, engine_, dense.data()),
              stream_);
      source = dense.data();
    }
    if (!result.data.empty()) {
      std::memcpy(result.data.data(), source, result.data.size());
    }
    results.push_back(std::move(result));
  }
  return results;
}

Seconds PlanProgram::time_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kAtLeast = 3;
  constexpr std::size_t kAtMost = 25;
  constexpr Seconds kBudget{0.004};
  const PlanSlot::Block::AlignedBytes source(from.get_size());
  const PlanSlot::Block::AlignedBytes destination(to.get_size());
  const dnnl::memory input(from, engine_, source.data());
  const dnnl::memory output(to, engine_, destination.data());
  const dnnl::reorder primitive(input, output);
  const std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_FROM, input},
                                                        {DNNL_ARG_TO, output}};
  primitive.execute(stream_, arguments);
  stream_.wait();
  std::vector<Seconds> samples;
  Seconds spent{};
  while (samples.size() < kAtLeast || (spent < kBudget && samples.size() < kAtMost)) {
    const auto start = Clock::now();
    primitive.execute(stream_, arguments);
    stream_.wait();
    samples.emplace_back(Clock::now() - start);
    spent += samples.back();
  }
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

std::optional<Seconds> PlanProgram::reorder_time() {
  std::optional<Seconds> total;
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.weight || buffer.role == Buffer::Role::kIntermediate || !is_reformatted(buffer)) {
      continue;
    }
    const Seconds one = buffer.role == Buffer::Role::kInput
                            ? time_reorder(buffer.view, buffer.layout)
                            : time_reorder(buffer.layout, buffer.view);
    total = total.value_or(Seconds(0)) + one;
  }
  return total;
}

std::span<std::byte> PlanProgram::input_bytes(std::size_t slot, std::size_t operand) {
  std::span<std::byte> found;
  for (std::size_t index = 0; index < plan_.buffers.size(); ++index) {
    const Buffer& buffer = plan_.buffers[index];
    if (buffer.role != Buffer::Role::kInput || buffer.operand != operand) {
      continue;
    }
    if (!found.empty() || buffer.weight || buffer.pack || is_reformatted(buffer)) {
      return {};  // several copies, or one in another form
    }
    found = {slots_.at(slot)->buffers[index], buffer.bytes};
  }
  return found;
}

std::span<const std::byte> PlanProgram::output_bytes(std::size_t slot, std::size_t output) {
  const std::size_t index = plan_.outputs.at(output);
  if (is_reformatted(plan_.buffers[index])) {
    return {};
  }
  const auto size = static_cast<std::size_t>(model::byte_size(spec_.outputs.at(output)).value);
  return {slots_.at(slot)->buffers[index], size};
}

Bytes memory_needed(const ExecutionPlan& plan) {
  return bytes_of(lanes_of(plan) * PlanSlot::Block::AlignedBytes::allocated(plan.workspace_bytes) +
                  PlanSlot::Block::mean_bytes(block_sizes(plan, false),
                                              PlanSlot::Block::AlignedBytes::kHugeFrom));
}

}  // namespace plumb::onednn
