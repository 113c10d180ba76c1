// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/kernel_runner.hpp"

#include <ucontext.h>

#include <bit>
#include <cstddef>
#include <memory>
#include <vector>

#include "tests/support/cuda_driver/kernel_module.hpp"
#include "tests/support/cuda_driver/machine.hpp"

namespace plumb::stand_in {
namespace {

constexpr std::size_t kStack = std::size_t{128} << 10;

/// One fibre: runs threads of a block in turn until one of them waits.
struct Fibre {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack{new std::byte[kStack]};
  unsigned thread = 0;  ///< that it waits in
  bool waits = false;
};

/// Execution of one launch in the calling thread.
class Run {
 public:
  Run(const Launch& launch, AccessLog& log)
      : launch_(launch),
        log_(log),
        places_(*static_cast<Places*>(launch.function->places())),
        threads_(launch.block[0] * launch.block[1] * launch.block[2]) {}

  int all();
  void wait();
  void note(const void* address, std::size_t bytes, bool write);

 private:
  static void begin();
  void block();
  void place(unsigned thread);
  void end_with(int status);

  const Launch& launch_;
  AccessLog& log_;
  Places& places_;
  unsigned threads_;
  unsigned next_ = 0;  // thread of the block that has not begun
  unsigned ended_ = 0;
  int status_ = kSuccess;
  ucontext_t scheduler_{};
  Fibre* running_ = nullptr;
  std::vector<std::unique_ptr<Fibre>> waiting_;
  std::vector<std::unique_ptr<Fibre>> spare_;
  AccessLog::Touched* last_ = nullptr;
};

thread_local Run* current = nullptr;

void Run::place(unsigned thread) {
  const auto& extents = launch_.block;
  places_.thread = {
      thread % extents[0], thread / extents[0] % extents[1], thread / extents[0] / extents[1]};
}

void Run::end_with(int status) {
  status_ = status;
  running_->waits = false;
  setcontext(&scheduler_);  // the fibre is left for good
}

void Run::begin() {
  Run& run = *current;
  while (run.next_ < run.threads_) {
    run.running_->thread = run.next_++;
    run.place(run.running_->thread);
    run.launch_.function->run(const_cast<void**>(run.launch_.pointers.data()));
    run.ended_ += 1;
  }
  setcontext(&run.scheduler_);
}

void Run::wait() {
  Fibre* const fibre = running_;
  fibre->waits = true;
  swapcontext(&fibre->context, &scheduler_);
  fibre->waits = false;
  place(fibre->thread);
}

void Run::block() {
  next_ = ended_ = 0;
  std::vector<std::unique_ptr<Fibre>> turn;
  const auto resume = [&](std::unique_ptr<Fibre> fibre) {
    running_ = fibre.get();
    swapcontext(&scheduler_, &fibre->context);
    const bool waits = fibre->waits;
    (waits ? turn : spare_).push_back(std::move(fibre));
  };
  while (status_ == kSuccess && (next_ < threads_ || !turn.empty())) {
    std::vector<std::unique_ptr<Fibre>> phase = std::move(turn);
    turn.clear();
    for (auto& fibre : phase) {
      if (status_ == kSuccess) {
        resume(std::move(fibre));
      }
    }
    while (status_ == kSuccess && next_ < threads_) {
      std::unique_ptr<Fibre> fibre;
      if (spare_.empty()) {
        fibre = std::make_unique<Fibre>();
      } else {
        fibre = std::move(spare_.back());
        spare_.pop_back();
      }
      getcontext(&fibre->context);
      fibre->context.uc_stack.ss_sp = fibre->stack.get();
      fibre->context.uc_stack.ss_size = kStack;
      fibre->context.uc_link = nullptr;
      makecontext(&fibre->context, begin, 0);
      resume(std::move(fibre));
    }
    if (status_ == kSuccess && !turn.empty() && ended_ > 0) {
      machine().findings.add("barrier",
                             "'" + launch_.function->name +
                                 "': threads of a block have ended while others wait for them");
      status_ = kLaunchFailed;
    }
  }
}

int Run::all() {
  Run* const before = current;
  current = this;
  places_.block_extents = launch_.block;
  places_.grid_extents = launch_.grid;
  for (unsigned z = 0; z < launch_.grid[2] && status_ == kSuccess; ++z) {
    for (unsigned y = 0; y < launch_.grid[1] && status_ == kSuccess; ++y) {
      for (unsigned x = 0; x < launch_.grid[0] && status_ == kSuccess; ++x) {
        places_.block = {x, y, z};
        block();
      }
    }
  }
  current = before;
  return status_;
}

void Run::note(const void* address, std::size_t bytes, bool write) {
  const auto at = std::bit_cast<std::uint64_t>(address);
  if (last_ == nullptr || at - last_->allocation->address >= last_->allocation->bytes) {
    MemoryMap& memory = machine().memory;
    if (!memory.is_device(at)) {
      return;  // the thread's own, or shared memory
    }
    const std::shared_ptr<Allocation> allocation = memory.find(at);
    if (allocation == nullptr || !allocation->live ||
        at + bytes > allocation->address + allocation->bytes) {
      end_with(kIllegalAddress);
      return;
    }
    last_ = &log_.touched[allocation->address];
    last_->allocation = allocation;
  }
  const std::size_t offset = at - last_->allocation->address;
  if (!last_->allocation->live || offset + bytes > last_->allocation->bytes) {
    end_with(kIllegalAddress);
    return;
  }
  (write ? last_->writes : last_->reads).add(offset, bytes);
}

}  // namespace

int run_kernel(const Launch& launch, AccessLog& log) {
  if (!launch.function->loaded) {
    machine().findings.add("module", "'" + launch.function->name + "' runs, and is unloaded");
    return kLaunchFailed;
  }
  return Run(launch, log).all();
}

void wait_for_block() {
  current->wait();
}

void note_access(const void* address, std::size_t bytes, bool write) {
  if (current != nullptr) {
    current->note(address, bytes, write);
  }
}

int note_range(AccessLog& log, std::uint64_t address, std::size_t bytes, bool write) {
  if (bytes == 0) {
    return kSuccess;
  }
  const std::shared_ptr<Allocation> allocation = machine().memory.find(address);
  if (allocation == nullptr || !allocation->live ||
      address + bytes > allocation->address + allocation->bytes) {
    return kIllegalAddress;
  }
  AccessLog::Touched& touched = log.touched[allocation->address];
  touched.allocation = allocation;
  (write ? touched.writes : touched.reads).add_range(address - allocation->address, bytes);
  return kSuccess;
}

}  // namespace plumb::stand_in
