// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/units.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/profile/sample_source.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {
namespace {

/// Ring of memory into which the kernel writes the samples of an event.
class EventRing {
 public:
  /// Place of a thread at a time.
  struct Sample {
    std::uint64_t address = 0;
    std::uint64_t nanoseconds = 0;  ///< of the event's clock
    bool exact = false;             ///< the address is that of the instruction
    /// Addresses to which the calls return, innermost first. Valid until the next sample.
    std::span<const std::uint64_t> calls;
  };

  /// Maps a ring of at most `most` bytes, and of less where a limit on locked memory asks for it.
  /// The event samples an address and a time, and if `depth` isn't zero, a chain of at most as many
  /// calls. Throws Error{kEnvironment} with the system's reason.
  EventRing(int event, std::size_t most, std::size_t depth);
  ~EventRing();
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;
  EventRing(EventRing&&) = delete;
  EventRing& operator=(EventRing&&) = delete;

  /// Returns how many samples have room.
  [[nodiscard]] std::size_t capacity() const;
  /// Removes the samples that there are now, oldest first, and calls `take` with each.
  void drain(const std::function<void(const Sample&)>& take);
  /// Returns the number of samples for which the kernel found no room.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  /// Copies the record at a place of the ring into `record_`, and returns its bytes. Zero: the ring
  /// is damaged.
  std::size_t copy_record(std::uint64_t place, std::uint64_t end);
  /// Returns the sample that `record_` is. Absent: it is none.
  [[nodiscard]] std::optional<Sample> read_sample() const;

  perf_event_mmap_page* page_ = nullptr;
  std::size_t bytes_ = 0;  ///< of the mapping
  std::size_t depth_;
  std::vector<std::uint64_t> record_;
  std::uint64_t lost_ = 0;
};

constexpr std::size_t kSampleWords = 3;  // header, address, time
constexpr std::size_t kLostWords = 3;    // header, event, number of samples

/// Reads or writes a position that the kernel shares.
std::atomic_ref<__u64> shared(__u64& position) {
  return std::atomic_ref<__u64>(position);
}

EventRing::EventRing(int event, std::size_t most, std::size_t depth) : depth_(depth) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t data = std::bit_floor(std::max(most, page)); data >= page; data /= 2) {
    bytes_ = page + data;
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (memory != MAP_FAILED) {
      page_ = static_cast<perf_event_mmap_page*>(memory);
      return;
    }
  }
  throw Error(Error::Kind::kEnvironment,
              fmt::format("no memory for samples: {}", std::strerror(errno)));
}

EventRing::~EventRing() {
  ::munmap(page_, bytes_);
}

std::size_t EventRing::capacity() const {
  constexpr std::size_t kChainWords = 3;  // its length, the mark of user space, the address itself
  const std::size_t words = kSampleWords + (depth_ > 0 ? kChainWords + depth_ : 0);
  return page_->data_size / (words * sizeof(std::uint64_t));
}

std::size_t EventRing::copy_record(std::uint64_t place, std::uint64_t end) {
  const auto* const data = reinterpret_cast<const std::byte*>(page_) + page_->data_offset;
  const std::uint64_t first = place % page_->data_size;
  perf_event_header header{};
  std::memcpy(&header, data + first, sizeof header);  // never split: records are of 8 bytes each
  if (header.size < sizeof header || header.size > end - place) {
    return 0;
  }
  record_.assign((header.size + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
  const auto until_end = std::min<std::uint64_t>(header.size, page_->data_size - first);
  auto* const copy = reinterpret_cast<std::byte*>(record_.data());
  std::memcpy(copy, data + first, until_end);
  std::memcpy(copy + until_end, data, header.size - until_end);
  return header.size;
}

std::optional<EventRing::Sample> EventRing::read_sample() const {
  perf_event_header header{};
  std::memcpy(&header, record_.data(), sizeof header);
  if (header.type != PERF_RECORD_SAMPLE || record_.size() < kSampleWords) {
    return std::nullopt;
  }
  Sample sample{record_[1], record_[2], (header.misc & PERF_RECORD_MISC_EXACT_IP) != 0, {}};
  if (depth_ > 0 && record_.size() > kSampleWords) {
    const auto room = record_.size() - kSampleWords - 1;
    auto calls =
        std::span(record_).subspan(kSampleWords + 1, std::min(room, record_[kSampleWords]));
    if (!calls.empty() && calls.front() >= PERF_CONTEXT_MAX) {
      calls = calls.subspan(1);  // the mark of user space
    }
    sample.calls = calls.empty() ? calls : calls.subspan(1, std::min(depth_, calls.size() - 1));
  }
  return sample;
}

void EventRing::drain(const std::function<void(const Sample&)>& take) {
  const std::uint64_t end = shared(page_->data_head).load(std::memory_order_acquire);
  std::uint64_t place = shared(page_->data_tail).load(std::memory_order_relaxed);
  while (place < end) {
    const std::size_t size = copy_record(place, end);
    if (size == 0) {
      place = end;
      break;
    }
    perf_event_header header{};
    std::memcpy(&header, record_.data(), sizeof header);
    if (const std::optional<Sample> sample = read_sample()) {
      take(*sample);
    } else if (header.type == PERF_RECORD_LOST && record_.size() >= kLostWords) {
      lost_ += record_[2];
    }
    place += size;
  }
  shared(page_->data_tail).store(place, std::memory_order_release);
}

constexpr std::size_t kPeriods = 4;
constexpr std::size_t kRingBytes = std::size_t{1} << 20U;
constexpr double kVisited = 0.25;  // of a ring's room, when steps are long

[[noreturn]] void fail(results::SampledProfile::Clock clock, int reason) {
  throw Error(Error::Kind::kEnvironment,
              fmt::format("{}: {}", results::to_text(clock), std::strerror(reason)));
}

perf_event_attr describe_event(results::SampledProfile::Clock clock) {
  const bool cycles = clock == results::SampledProfile::Clock::kCycles;
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  event.config =
      cycles ? std::uint64_t{PERF_COUNT_HW_CPU_CYCLES} : std::uint64_t{PERF_COUNT_SW_CPU_CLOCK};
  event.exclude_kernel = 1;  // what users without privileges may observe
  event.exclude_hv = 1;
  return event;
}

FileDescriptor open_event(perf_event_attr& event, pid_t thread) {
  return FileDescriptor(static_cast<int>(
      ::syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

/// Returns for how long the calling thread ran so far.
Seconds running_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return Seconds(static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
}

/// Returns how many units of a clock pass in a second in which a thread runs.
double find_rate(results::SampledProfile::Clock clock) {
  constexpr Seconds kSpan{2e-3};
  constexpr double kNanoseconds = 1e9;
  if (clock == results::SampledProfile::Clock::kCpuClock) {
    return kNanoseconds;
  }
  perf_event_attr event = describe_event(clock);
  const FileDescriptor counter = open_event(event, 0);
  if (counter.number() < 0) {
    fail(clock, errno);
  }
  const auto count = [&] {
    std::uint64_t number = 0;
    if (::read(counter.number(), &number, sizeof number) != sizeof number) {
      fail(clock, errno);
    }
    return number;
  };
  const Seconds begin = running_time();
  const std::uint64_t before = count();
  Seconds now = begin;
  while (now - begin < kSpan) {
    now = running_time();
  }
  const std::uint64_t after = count();
  if (after <= before) {
    fail(clock, ENODATA);
  }
  return static_cast<double>(after - before) / (now - begin).count();
}

/// Opens an event of one thread that is sampled with a period.
FileDescriptor open_sampled(results::SampledProfile::Clock clock,
                            pid_t thread,
                            std::uint64_t period,
                            std::size_t depth) {
  perf_event_attr event = describe_event(clock);
  event.sample_period = period;
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
  if (depth > 0) {
    event.sample_type |= PERF_SAMPLE_CALLCHAIN;
    event.exclude_callchain_kernel = 1;
    event.sample_max_stack = static_cast<__u16>(depth + 1);  // with the address itself
  }
  event.use_clockid = 1;
  event.clockid = CLOCK_MONOTONIC;  // that of std::chrono::steady_clock, which steps are timed by
  event.disabled = 1;
  event.watermark = 1;
  event.wakeup_watermark = UINT32_MAX;  // nobody waits for it
  // The most precise addresses that the machine has.
  constexpr unsigned kMostPrecise = 2;
  unsigned precise = clock == results::SampledProfile::Clock::kCycles ? kMostPrecise : 0;
  while (true) {
    event.precise_ip = precise & 3U;
    FileDescriptor opened = open_event(event, thread);
    if (opened.number() >= 0) {
      return opened;
    }
    if (precise == 0) {
      fail(clock, errno);
    }
    --precise;
  }
}

/// Sample that has no step yet.
struct TimedSample {
  std::uint64_t address = 0;
  std::uint64_t nanoseconds = 0;
  std::uint32_t chain = results::kNoChain;
};

/// Events of one thread, one for each period, and the ring that they share.
struct SampledThread {
  SampledThread(results::SampledProfile::Clock clock,
                pid_t thread,
                const std::array<std::uint64_t, kPeriods>& periods,
                std::size_t depth)
      : events(open_all(clock, thread, periods, depth)),
        ring(events.front().number(), kRingBytes, depth) {
    for (std::size_t i = 1; i < events.size(); ++i) {
      if (::ioctl(events[i].number(), PERF_EVENT_IOC_SET_OUTPUT, events.front().number()) != 0) {
        fail(clock, errno);
      }
    }
  }

  static std::vector<FileDescriptor> open_all(results::SampledProfile::Clock clock,
                                              pid_t thread,
                                              const std::array<std::uint64_t, kPeriods>& periods,
                                              std::size_t depth) {
    std::vector<FileDescriptor> events;
    for (const std::uint64_t period : periods) {
      events.push_back(open_sampled(clock, thread, period, depth));
    }
    return events;
  }

  std::vector<FileDescriptor> events;
  EventRing ring;
  std::vector<TimedSample> samples;  ///< that left the ring
};

class KernelSamples final : public SampleSource {
 public:
  KernelSamples(results::SampledProfile::Clock clock,
                const std::vector<pid_t>& threads,
                const SampleSource::Options& options,
                worker::StepMark& step)
      : step_(step) {
    const std::array<std::uint64_t, kPeriods> periods = draw_periods(clock, options);
    std::size_t room = SIZE_MAX;
    for (const pid_t thread : threads) {
      threads_.push_back(std::make_unique<SampledThread>(clock, thread, periods, options.depth));
      room = std::min(room, threads_.back()->ring.capacity());
    }
    visits_ = std::chrono::duration_cast<worker::StepMark::Clock::duration>(
        Seconds(kVisited * static_cast<double>(room) / options.rate));
  }
  ~KernelSamples() override { step_.end_starts(); }
  KernelSamples(const KernelSamples&) = delete;
  KernelSamples& operator=(const KernelSamples&) = delete;
  KernelSamples(KernelSamples&&) = delete;
  KernelSamples& operator=(KernelSamples&&) = delete;

  void start() override {
    step_.keep_starts(visits_, [this] { empty_rings(); });
    for (const std::unique_ptr<SampledThread>& thread : threads_) {
      ::ioctl(thread->events[period_].number(), PERF_EVENT_IOC_ENABLE, 0);
    }
  }

  void stop() override {
    for (const std::unique_ptr<SampledThread>& thread : threads_) {
      ::ioctl(thread->events[period_].number(), PERF_EVENT_IOC_DISABLE, 0);
    }
    step_.end_starts();
    period_ = (period_ + 1) % kPeriods;
  }

  void take(std::uint32_t block, results::SampledProfile& profile) override {
    empty_rings();
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      for (const TimedSample& sample : threads_[i]->samples) {
        profile.samples.push_back({sample.address,
                                   step_at(sample.nanoseconds),
                                   block,
                                   static_cast<std::uint32_t>(i),
                                   sample.chain});
      }
      threads_[i]->samples.clear();
    }
    profile.chains.insert(profile.chains.end(),
                          chains_.begin() + static_cast<std::ptrdiff_t>(profile.chains.size()),
                          chains_.end());
    profile.exact = exact_ && !profile.samples.empty();
  }

  [[nodiscard]] std::uint64_t lost() const override {
    std::uint64_t lost = 0;
    for (const std::unique_ptr<SampledThread>& thread : threads_) {
      lost += thread->ring.lost();
    }
    return lost;
  }

 private:
  /// Draws periods, one from each part of the range, so that no program is in step with them all.
  ///
  /// Each event keeps its phase from one start to the next. So the first period of a start isn't a
  /// gap that every block has at the same place.
  static std::array<std::uint64_t, kPeriods> draw_periods(results::SampledProfile::Clock clock,
                                                          const SampleSource::Options& options) {
    constexpr std::uint64_t kParts = 1U << 20U;
    const double units = find_rate(clock);
    const RandomStream random(options.seed);
    std::array<std::uint64_t, kPeriods> periods{};
    for (std::size_t i = 0; i < kPeriods; ++i) {
      const double place =
          (static_cast<double>(i) + static_cast<double>(random.below(i, kParts)) / kParts) /
          kPeriods;
      const double rate = options.rate * (0.75 + 0.5 * place);
      periods[i] = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(units / rate));
    }
    return periods;
  }

  void empty_rings() {
    for (const std::unique_ptr<SampledThread>& thread : threads_) {
      thread->ring.drain([&](const EventRing::Sample& sample) {
        thread->samples.push_back({sample.address, sample.nanoseconds, number(sample.calls)});
        exact_ = exact_ && sample.exact;
      });
    }
  }

  /// Returns the number of a chain of calls.
  std::uint32_t number(std::span<const std::uint64_t> calls) {
    if (calls.empty()) {
      return results::kNoChain;
    }
    const results::CallChain chain(calls.begin(), calls.end());
    const auto known = numbers_.find(chain);
    if (known != numbers_.end()) {
      return known->second;
    }
    if (chains_.size() == worker::kMaxCallChains) {
      return results::kNoChain;
    }
    numbers_.emplace(chain, static_cast<std::uint32_t>(chains_.size()));
    chains_.push_back(chain);
    return static_cast<std::uint32_t>(chains_.size() - 1);
  }

  [[nodiscard]] std::uint32_t step_at(std::uint64_t nanoseconds) const {
    const worker::StepMark::Clock::time_point time{std::chrono::nanoseconds(nanoseconds)};
    const auto starts = step_.starts();
    const auto after = std::upper_bound(
        starts.begin(), starts.end(), time, [](const auto& value, const auto& start) {
          return value < start.time;
        });
    return after == starts.begin() ? results::kNoStep : std::prev(after)->step;
  }

  worker::StepMark& step_;
  std::vector<std::unique_ptr<SampledThread>> threads_;
  worker::StepMark::Clock::duration visits_{};
  std::size_t period_ = 0;
  std::map<results::CallChain, std::uint32_t> numbers_;
  std::vector<results::CallChain> chains_;  // by number
  bool exact_ = true;
};

}  // namespace

std::unique_ptr<SampleSource> open_kernel_samples(results::SampledProfile::Clock clock,
                                                  const std::vector<pid_t>& threads,
                                                  const SampleSource::Options& options,
                                                  worker::StepMark& step) {
  return std::make_unique<KernelSamples>(clock, threads, options, step);
}

}  // namespace plumb::engine
