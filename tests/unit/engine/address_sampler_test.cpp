// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/address_sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::results {

void PrintTo(results::SampledProfile::Clock clock, std::ostream* out) {
  *out << to_text(clock);
}

}  // namespace plumb::results

namespace plumb::engine {
namespace {

using testing::HasSubstr;

/// Computes while a condition is true.
template <typename Condition>
void spin_while(Condition condition) {
  std::uint64_t value = 1;
  while (condition()) {
    for (int i = 0; i < 4000; ++i) {
      value = value * 6364136223846793005U + 1442695040888963407U;
      asm volatile("" : "+r"(value));
    }
  }
}

/// Returns the processor time of the calling thread.
Seconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

/// Computes for a time on the processor, however long others have it meanwhile.
void spin(Seconds time) {
  const Seconds end = processor_time() + time;
  spin_while([end] { return processor_time() < end; });
}

/// Computes until some time after `begin`.
void spin_until(std::chrono::steady_clock::time_point begin, Seconds after) {
  spin_while([=] { return std::chrono::steady_clock::now() - begin < after; });
}

std::vector<results::SampledProfile::Sample> taken(AddressSampler& sampler) {
  results::SampledProfile profile;
  sampler.take(7, profile);
  return profile.samples;
}

SampleSource::Options with(results::SampledProfile::Clock clock) {
  SampleSource::Options options;
  options.clocks = {clock};
  return options;
}

/// Thread that has prepared itself when the constructor returns, and computes once it is released.
class WaitingThread {
 public:
  explicit WaitingThread(
      std::function<void()> compute, std::function<void()> prepare = [] {})
      : thread_([this, compute = std::move(compute), prepare = std::move(prepare)] {
          prepare();
          started_ = true;
          started_.notify_one();
          released_.wait(false);
          compute();
        }) {
    started_.wait(false);
  }
  void release() {
    released_ = true;
    released_.notify_one();
  }
  void join() { thread_.join(); }

 private:
  std::atomic<bool> started_{false};
  std::atomic<bool> released_{false};
  std::thread thread_;
};

/// Test with a clock, skipped where the machine has none.
class AddressSamplerClock : public testing::TestWithParam<results::SampledProfile::Clock> {
 protected:
  void SetUp() override { open(with(GetParam())); }

  void open(const SampleSource::Options& options) {
    try {
      sampler.emplace(options, step);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Opens a sampler of two threads, or skips the test and ends the other one.
  bool opens_beside(WaitingThread& other, const SampleSource::Options& options) {
    open(options);
    if (IsSkipped()) {
      other.release();
      other.join();
    }
    return !IsSkipped();
  }

  worker::StepMark step;
  std::optional<AddressSampler> sampler;
};

TEST_P(AddressSamplerClock, samples_lie_in_code_and_have_the_current_step) {
  step.begin(3);
  const auto begin = std::chrono::steady_clock::now();
  sampler->start();
  spin(Seconds(0.15));
  const Seconds taken_by_first = std::chrono::steady_clock::now() - begin;
  step.begin(5);
  spin(Seconds(0.15));
  sampler->stop();
  const std::vector<results::SampledProfile::Sample> samples = taken(*sampler);
  const std::vector<results::SampledProfile::Mapping> mappings = read_mapped_code();
  std::vector<std::size_t> steps(8);
  std::size_t in_code = 0;
  for (const results::SampledProfile::Sample& sample : samples) {
    if (sample.thread != 0) {
      continue;
    }
    ASSERT_LT(sample.step, steps.size());
    EXPECT_EQ(sample.block, 7U);
    ++steps[sample.step];
    in_code += std::any_of(mappings.begin(), mappings.end(), [&](const auto& mapping) {
      return sample.address >= mapping.begin && sample.address < mapping.end;
    });
  }
  EXPECT_GT(steps[3], 5U);  // 150 are due
  EXPECT_GT(steps[5], 5U);
  EXPECT_EQ(steps[3] + steps[5], in_code);
  EXPECT_LT(static_cast<double>(steps[3]), 100.0 + 1000.0 * taken_by_first.count());
  EXPECT_EQ(sampler->lost(), 0U);
}

TEST_P(AddressSamplerClock, takes_no_samples_before_the_start_and_after_the_stop) {
  spin(Seconds(0.02));
  EXPECT_TRUE(taken(*sampler).empty());
  sampler->start();
  spin(Seconds(0.05));
  sampler->stop();
  EXPECT_FALSE(taken(*sampler).empty());
  spin(Seconds(0.02));
  EXPECT_TRUE(taken(*sampler).empty());
}

TEST_P(AddressSamplerClock, a_thread_that_waits_has_hardly_a_sample) {
  sampler.reset();
  WaitingThread waiting([] {});
  if (!opens_beside(waiting, with(GetParam()))) {
    return;
  }
  EXPECT_EQ(sampler->threads(), 2U);
  sampler->start();
  spin(Seconds(0.1));
  sampler->stop();
  waiting.release();
  waiting.join();
  std::size_t of_waiting = 0;
  std::size_t of_this = 0;
  for (const results::SampledProfile::Sample& sample : taken(*sampler)) {
    ++(sample.thread == 0 ? of_this : of_waiting);
  }
  EXPECT_GT(of_this, 5U);
  EXPECT_LE(of_waiting, of_this / 10);
}

TEST_P(AddressSamplerClock, other_threads_are_sampled_while_they_run) {
  sampler.reset();
  WaitingThread running([] { spin(Seconds(0.1)); });
  if (!opens_beside(running, with(GetParam()))) {
    return;
  }
  sampler->start();
  running.release();
  running.join();
  sampler->stop();
  const std::vector<results::SampledProfile::Sample> samples = taken(*sampler);
  EXPECT_GT(
      std::count_if(
          samples.begin(), samples.end(), [](const auto& sample) { return sample.thread == 1; }),
      5);
}

TEST_P(AddressSamplerClock, does_not_lock_onto_a_program_with_the_period_of_the_samples) {
  constexpr Seconds kPeriod{1e-3};  // of the program, and of the samples in the mean
  constexpr double kFirst = 0.3;    // share of the first step
  constexpr std::size_t kEnough = 10;
  std::size_t blocks = 0;
  std::size_t of_one_step = 0;
  for (int block = 0; block < 24; ++block) {
    sampler->start();
    const auto begin = std::chrono::steady_clock::now();
    for (int turn = 0; turn < 20; ++turn) {
      step.begin(0);
      spin_until(begin, (turn + kFirst) * kPeriod);
      step.begin(1);
      spin_until(begin, (turn + 1) * kPeriod);
    }
    sampler->stop();
    std::size_t of_first = 0;
    std::size_t all = 0;
    for (const results::SampledProfile::Sample& sample : taken(*sampler)) {
      of_first += sample.thread == 0 && sample.step == 0 ? 1 : 0;
      all += sample.thread == 0 ? 1 : 0;
    }
    if (all >= kEnough) {
      ++blocks;
      of_one_step += of_first == 0 || of_first == all ? 1 : 0;
    }
  }
  if (blocks < 6) {
    GTEST_SKIP() << "the machine is too busy for samples";
  }
  // Of ten independent samples, all are of one step in 3 % of the blocks. On a busy machine samples
  // come in bursts, and more blocks are. With a fixed period nearly all are.
  EXPECT_LE(of_one_step, blocks * 2 / 3) << "of " << blocks;
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)  // which calls handlers later

/// Keeps a pattern from 1 KiB to 4 KiB below the stack pointer while it computes, as code that a
/// library makes at run time may. Returns whether the pattern is still there.
[[gnu::noinline]] bool compute_below_the_stack(std::uint64_t links) {
  constexpr std::uint64_t kPattern = 0x5A17'C0DE'5A17'C0DEU;
  constexpr std::uint64_t kWords = 3072 / sizeof kPattern;
  bool kept = false;
  asm volatile(
      "cld\n\t"
      "lea -4096(%%rsp), %%rdi\n\t"
      "mov %[words], %%rcx\n\t"
      "rep stosq\n\t"
      "1: dec %[links]\n\t"
      "jnz 1b\n\t"
      "lea -4096(%%rsp), %%rdi\n\t"
      "mov %[words], %%rcx\n\t"
      "repe scasq\n\t"
      "sete %[kept]"
      : [links] "+&r"(links), [kept] "=q"(kept)
      : "a"(kPattern), [words] "r"(kWords)
      : "rdi", "rcx", "cc", "memory");
  return kept;
}

TEST_P(AddressSamplerClock, leaves_what_code_keeps_below_the_stack_of_each_thread) {
  constexpr std::uint64_t kLinks = 300'000'000;
  sampler.reset();
  bool kept_by_other = false;
  WaitingThread other([&] { kept_by_other = compute_below_the_stack(kLinks); });
  SampleSource::Options options = with(GetParam());
  options.rate = 10'000.0;
  if (!opens_beside(other, options)) {
    return;
  }
  sampler->start();
  other.release();
  const bool kept = compute_below_the_stack(kLinks);
  other.join();
  sampler->stop();
  std::vector<std::size_t> samples(2);
  for (const results::SampledProfile::Sample& sample : taken(*sampler)) {
    ++samples.at(sample.thread);
  }
  EXPECT_TRUE(kept);
  EXPECT_TRUE(kept_by_other);
  EXPECT_GT(samples[0], 5U);
  EXPECT_GT(samples[1], 5U);
}

#endif

/// Names a test by its clock, without what names of tests may not have.
std::string test_name(const testing::TestParamInfo<results::SampledProfile::Clock>& clock) {
  std::string name(results::to_text(clock.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Clocks,
                         AddressSamplerClock,
                         testing::Values(results::SampledProfile::Clock::kCycles,
                                         results::SampledProfile::Clock::kThread,
                                         results::SampledProfile::Clock::kCpuClock,
                                         results::SampledProfile::Clock::kTimer),
                         test_name);

/// Calls itself with frame pointers, and computes once its stack is deep.
[[gnu::noinline, gnu::optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")]] void
spin_deep(int depth, std::uint64_t links) {
  if (depth > 0) {
    spin_deep(depth - 1, links);
  }
  for (std::uint64_t value = depth == 0 ? links : 0; value > 0; --value) {
    asm volatile("" : "+r"(value));
  }
}

TEST(AddressSampler, chains_of_calls_are_bounded_and_each_is_kept_once) {
  worker::StepMark step;
  SampleSource::Options options = with(results::SampledProfile::Clock::kCpuClock);
  options.depth = 8;
  std::optional<AddressSampler> sampler;
  try {
    sampler.emplace(options, step);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  results::SampledProfile profile;
  sampler->start();
  spin_deep(40, 300'000'000);
  sampler->stop();
  sampler->take(0, profile);
  ASSERT_GT(profile.samples.size(), 5U);
  ASSERT_FALSE(profile.chains.empty());
  std::size_t deepest = 0;
  for (const results::CallChain& chain : profile.chains) {
    deepest = std::max(deepest, chain.size());
  }
  EXPECT_EQ(deepest, 8U);
  for (const results::SampledProfile::Sample& sample : profile.samples) {
    EXPECT_TRUE(sample.chain == results::kNoChain || sample.chain < profile.chains.size());
  }
  std::vector<results::CallChain> sorted = profile.chains;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
}

TEST(ThreadSampler, is_chosen_if_a_processor_is_left_beside_the_threads_and_has_no_calls) {
  worker::StepMark step;
  SampleSource::Options options = with(results::SampledProfile::Clock::kThread);
  options.depth = 8;
  EXPECT_THROW(AddressSampler(options, step), Error);
  std::vector<std::unique_ptr<WaitingThread>> others;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    others.push_back(std::make_unique<WaitingThread>([] {}));
  }
  {
    options = {};
    options.clocks = {results::SampledProfile::Clock::kThread,
                      results::SampledProfile::Clock::kTimer};
    const AddressSampler sampler(options, step);
    EXPECT_EQ(sampler.clock(), results::SampledProfile::Clock::kTimer);
    EXPECT_THAT(sampler.refused(), HasSubstr("no processor is left beside"));
  }
  for (const std::unique_ptr<WaitingThread>& other : others) {
    other->release();
    other->join();
  }
}

#ifndef __SANITIZE_THREAD__

TEST(TimerSampler, a_thread_keeps_its_own_stack_for_signals) {
  std::vector<std::byte> own(std::size_t{256} << 10U);
  stack_t found{};
  WaitingThread thread([&] { ::sigaltstack(nullptr, &found); },
                       [&] {
                         stack_t stack{};
                         stack.ss_sp = own.data();
                         stack.ss_size = own.size();
                         ::sigaltstack(&stack, nullptr);
                       });
  worker::StepMark step;
  const AddressSampler sampler(with(results::SampledProfile::Clock::kTimer), step);
  thread.release();
  thread.join();
  EXPECT_EQ(found.ss_sp, own.data());
}

TEST(TimerSampler, a_thread_that_blocks_the_signal_has_no_samples) {
  WaitingThread blocking([] { spin(Seconds(0.1)); },
                         [] {
                           sigset_t all{};
                           ::sigfillset(&all);
                           ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
                         });
  worker::StepMark step;
  AddressSampler sampler(with(results::SampledProfile::Clock::kTimer), step);
  EXPECT_EQ(sampler.threads(), 2U);
  sampler.start();
  blocking.release();
  spin(Seconds(0.1));
  blocking.join();
  sampler.stop();
  const std::vector<results::SampledProfile::Sample> samples = taken(sampler);
  EXPECT_FALSE(samples.empty());
  EXPECT_TRUE(std::all_of(
      samples.begin(), samples.end(), [](const auto& sample) { return sample.thread == 0; }));
}

#endif

TEST(StepMark, keeps_the_times_of_steps_until_there_are_too_many) {
  worker::StepMark step;
  step.begin(4);
  EXPECT_TRUE(step.starts().empty());
  int visits = 0;
  step.keep_starts(worker::StepMark::Clock::duration::zero(), [&] { ++visits; });
  for (std::uint32_t i = 0; i < worker::StepMark::kMaxStarts; ++i) {
    step.begin(i % 2);
  }
  step.end_starts();
  step.begin(7);
  EXPECT_EQ(step.current(), 7U);
  ASSERT_EQ(step.starts().size(), worker::StepMark::kMaxStarts);
  EXPECT_EQ(step.starts()[0].step, 4U);
  EXPECT_EQ(step.starts()[1].step, 0U);
  EXPECT_EQ(step.starts()[2].step, 1U);
  EXPECT_EQ(step.starts().back().step, results::kNoStep);
  EXPECT_TRUE(std::is_sorted(step.starts().begin(),
                             step.starts().end(),
                             [](const auto& a, const auto& b) { return a.time < b.time; }));
  EXPECT_GT(visits, 0);
}

TEST(AddressSampler, takes_the_next_clock_and_says_why) {
  worker::StepMark step;
  const auto open = [&](std::vector<results::SampledProfile::Clock> clocks) {
    SampleSource::Options options;
    options.clocks = std::move(clocks);
    const AddressSampler sampler(options, step);
    return std::pair(sampler.clock(), sampler.refused());
  };
  const auto [clock, refused] = open(SampleSource::Options().clocks);
  if (clock != results::SampledProfile::Clock::kCycles) {
    EXPECT_THAT(refused, HasSubstr("cycles: "));
  }
  EXPECT_EQ(open({results::SampledProfile::Clock::kTimer}),
            std::pair(results::SampledProfile::Clock::kTimer, std::string()));
}

TEST(AddressSampler, a_clock_that_is_refused_is_an_error_with_the_reason) {
  worker::StepMark step;
  SampleSource::Options options;
  options.clocks = {};
  try {
    const AddressSampler sampler(options, step);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("no clock can interrupt"));
  }
}

}  // namespace
}  // namespace plumb::engine
