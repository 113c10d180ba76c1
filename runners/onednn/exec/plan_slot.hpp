// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "harness/model/key/tensor.hpp"
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// One slot of a program, with memory of its own and prebuilt argument lists.
struct PlanSlot {
  /// Buffers of one slot of a program, in one piece of memory.
  ///
  /// A cache beyond the first level finds a line by its physical address. Buffers in ordinary pages
  /// fall on its sets by chance in every process, and some layers then take up to twice as long. In
  /// a huge page the offsets decide, so they are drawn at random. Each buffer of a page or more
  /// starts at a page, `colour(kColours)` pages after the end of the one before it. Smaller ones
  /// start at cache lines.
  class Block {
   public:
    /// Zeroed memory whose pages have all been touched, so that none faults later.
    ///
    /// From `huge_from` bytes on it lies in huge pages (2 MiB) of its own, where the kernel grants
    /// them on request (`transparent_hugepage` is madvise or always). Smaller memory begins at a
    /// page, and memory below a page at a cache line (64 bytes, as oneDNN itself aligns).
    class AlignedBytes {
     public:
      static constexpr std::size_t kLine = 64;
      static constexpr std::size_t kPage = 4096;
      static constexpr std::size_t kHugeFrom = std::size_t{64} << 10;

      AlignedBytes() = default;
      /// Allocates `size` bytes. Throws std::bad_alloc.
      explicit AlignedBytes(std::size_t size, std::size_t huge_from = kHugeFrom) : size_(size) {
        const std::size_t unit = unit_of(size, huge_from);
        const std::size_t rounded = allocated(size, huge_from);
        data_.reset(static_cast<std::byte*>(std::aligned_alloc(unit, rounded)));
        if (!data_) {
          throw std::bad_alloc();
        }
        if (unit == kHugePage) {
          // Kernels without huge pages refuse. Small pages are as correct, only less repeatable.
          static_cast<void>(madvise(data_.get(), rounded, MADV_HUGEPAGE));
        }
        std::memset(data_.get(), 0, rounded);
      }

      /// Returns the bytes that are allocated for `size`: whole pages or lines. Throws
      /// std::bad_alloc.
      [[nodiscard]] static std::size_t allocated(std::size_t size,
                                                 std::size_t huge_from = kHugeFrom) {
        const std::size_t unit = unit_of(size, huge_from);
        if (size > static_cast<std::size_t>(-1) - unit) {
          throw std::bad_alloc();
        }
        return (size / unit + 1) * unit;
      }

      void clear() {
        if (size_ > 0) {
          std::memset(data_.get(), 0, size_);
        }
      }

      [[nodiscard]] std::byte* data() const { return data_.get(); }
      [[nodiscard]] std::size_t size() const { return size_; }

     private:
      static constexpr std::size_t kHugePage = std::size_t{2} << 20;

      static std::size_t unit_of(std::size_t size, std::size_t huge_from) {
        return size >= huge_from ? kHugePage : size >= kPage ? kPage : kLine;
      }

      struct Free {
        void operator()(std::byte* pointer) const { std::free(pointer); }
      };
      std::unique_ptr<std::byte, Free> data_;
      std::size_t size_ = 0;
    };

    static constexpr std::size_t kColours =
        16;  ///< pages until the sets of 1 MiB in 16 ways repeat

    Block() = default;
    /// Places buffers of the given sizes and allocates their memory. `colour(n)` returns a number
    /// below n. `huge_from` is that of AlignedBytes. Throws std::bad_alloc.
    Block(std::span<const std::size_t> sizes,
          std::size_t huge_from,
          const std::function<std::size_t(std::size_t)>& colour);

    /// Returns the bytes of a block with its gaps, as they are on average over the draws. Throws
    /// std::bad_alloc on overflow.
    [[nodiscard]] static std::size_t mean_bytes(std::span<const std::size_t> sizes,
                                                std::size_t huge_from);

    [[nodiscard]] bool empty() const { return offsets_.empty(); }
    /// Fills all buffers with zeros.
    void clear() { bytes_.clear(); }

    /// Returns the start of a buffer, in the order of the sizes.
    [[nodiscard]] std::byte* at(std::size_t buffer) const {
      return bytes_.data() + offsets_[buffer];
    }

   private:
    std::vector<std::size_t> offsets_;
    AlignedBytes bytes_;
  };

  /// Step of a plan with its arguments in one slot.
  struct BoundStep {
    dnnl_primitive_t primitive = nullptr;  ///< null: `kernel`
    const KernelStep* kernel = nullptr;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  Block owned;
  std::vector<std::byte*> buffers;  ///< of all the plan's buffers, owned or slot 0's
  std::vector<dnnl::memory> memories;
  std::vector<BoundStep> steps;
};

/// Returns whether a buffer holds its operand in another layout.
[[nodiscard]] bool is_reformatted(const Buffer& buffer);

/// Changes a layout, and waits.
void reorder(const dnnl::memory& from, const dnnl::memory& to, dnnl::stream& stream);

/// Lists the pieces of a slot's block: the arena, then buffers with memory of their own; without
/// what it shares with another slot.
[[nodiscard]] std::vector<std::size_t> block_sizes(const ExecutionPlan& plan,
                                                   bool shared_activations);

/// Finds the slot's buffers in its block, and fills those of operands and constants. The
/// activations are those of `shared`, if it is not null.
void fill_buffers(const ExecutionPlan& plan,
                  std::span<const model::Tensor> operands,
                  const PlanSlot* shared,
                  dnnl::stream& stream,
                  PlanSlot& slot);

/// Makes the argument lists of the steps. `scratchpads` has the scratchpad of each step, if the
/// plan needs any. The plan must outlive the slot.
void bind_steps(const ExecutionPlan& plan,
                std::span<std::byte* const> scratchpads,
                const dnnl::engine& engine,
                PlanSlot& slot);

}  // namespace plumb::onednn
