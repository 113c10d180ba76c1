// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/plan_slot.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::onednn {
namespace {

/// Returns the next multiple of `unit` from `offset` on. Throws std::bad_alloc on overflow.
std::size_t rounded_up(std::size_t offset, std::size_t unit) {
  if (offset > static_cast<std::size_t>(-1) - unit) {
    throw std::bad_alloc();
  }
  return (offset + unit - 1) / unit * unit;
}

std::size_t sum(std::size_t one, std::size_t other) {
  if (one > static_cast<std::size_t>(-1) - other) {
    throw std::bad_alloc();
  }
  return one + other;
}

/// Buffers one after the other.
struct Places {
  std::vector<std::size_t> offsets;
  std::size_t end = 0;
};

template <typename Gap>
Places place(std::span<const std::size_t> sizes, const Gap& gap) {
  Places places;
  for (const std::size_t size : sizes) {
    places.end = size >= PlanSlot::Block::AlignedBytes::kPage
                     ? sum(rounded_up(places.end, PlanSlot::Block::AlignedBytes::kPage), gap())
                     : rounded_up(places.end, PlanSlot::Block::AlignedBytes::kLine);
    places.offsets.push_back(places.end);
    places.end = sum(places.end, size);
  }
  return places;
}

}  // namespace

PlanSlot::Block::Block(std::span<const std::size_t> sizes,
                       std::size_t huge_from,
                       const std::function<std::size_t(std::size_t)>& colour) {
  Places places =
      place(sizes, [&] { return colour(kColours) * PlanSlot::Block::AlignedBytes::kPage; });
  offsets_ = std::move(places.offsets);
  bytes_ = PlanSlot::Block::AlignedBytes(places.end, huge_from);
}

std::size_t PlanSlot::Block::mean_bytes(std::span<const std::size_t> sizes, std::size_t huge_from) {
  constexpr std::size_t kMeanGap = (kColours - 1) * PlanSlot::Block::AlignedBytes::kPage / 2;
  // A gap of half a page would be rounded up behind the next buffer, so all gaps come at the end.
  const Places packed = place(sizes, [] { return std::size_t{0}; });
  const auto gaps =
      static_cast<std::size_t>(std::count_if(sizes.begin(), sizes.end(), [](std::size_t size) {
        return size >= PlanSlot::Block::AlignedBytes::kPage;
      }));
  return PlanSlot::Block::AlignedBytes::allocated(sum(packed.end, gaps * kMeanGap), huge_from);
}

namespace {

void fill(const Buffer& buffer,
          const model::Tensor& operand,
          dnnl::stream& stream,
          std::byte* destination) {
  const dnnl::engine engine = stream.get_engine();
  if (buffer.pack) {
    PlanSlot::Block::AlignedBytes packed(buffer.view.get_size());
    buffer.pack(operand.data.data(), packed.data());
    reorder(dnnl::memory(buffer.view, engine, packed.data()),
            dnnl::memory(buffer.layout, engine, destination),
            stream);
    return;
  }
  if (!is_reformatted(buffer)) {
    PLUMB_CHECK(operand.data.size() <= buffer.bytes);
    if (!operand.data.empty()) {
      std::memcpy(destination, operand.data.data(), operand.data.size());
    }
    return;
  }
  PLUMB_CHECK(operand.data.size() == buffer.view.get_size());
  // No copy is made, because weights may be gigabytes. The library takes no pointer to const, but a
  // reorder only reads its source, however it is aligned.
  auto* const source = const_cast<std::byte*>(operand.data.data());
  reorder(dnnl::memory(buffer.view, engine, source),
          dnnl::memory(buffer.layout, engine, destination),
          stream);
}

}  // namespace

bool is_reformatted(const Buffer& buffer) {
  return buffer.view != buffer.layout;
}

void reorder(const dnnl::memory& from, const dnnl::memory& to, dnnl::stream& stream) {
  dnnl::reorder(from, to).execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  stream.wait();
}

std::vector<std::size_t> block_sizes(const ExecutionPlan& plan, bool shared_activations) {
  std::vector<std::size_t> sizes{shared_activations ? 0 : plan.arena_bytes};
  for (const Buffer& buffer : plan.buffers) {
    if (!buffer.arena && (buffer.weight || !shared_activations)) {
      sizes.push_back(buffer.bytes);
    }
  }
  return sizes;
}

void fill_buffers(const ExecutionPlan& plan,
                  std::span<const model::Tensor> operands,
                  const PlanSlot* shared,
                  dnnl::stream& stream,
                  PlanSlot& slot) {
  std::size_t next = 1;  // of the sizes
  for (std::size_t index = 0; index < plan.buffers.size(); ++index) {
    const Buffer& buffer = plan.buffers[index];
    if (shared != nullptr && !buffer.weight) {
      slot.buffers.push_back(shared->buffers[index]);
      continue;
    }
    if (buffer.arena) {
      slot.buffers.push_back(slot.owned.at(0) + *buffer.arena);
      continue;
    }
    slot.buffers.push_back(slot.owned.at(next++));
    if (buffer.role == Buffer::Role::kInput) {
      PLUMB_CHECK(buffer.operand < operands.size());
      fill(buffer, operands[buffer.operand], stream, slot.buffers.back());
    } else if (buffer.pack) {
      buffer.pack(nullptr, slot.buffers.back());
    }
  }
}

void bind_steps(const ExecutionPlan& plan,
                std::span<std::byte* const> scratchpads,
                const dnnl::engine& engine,
                PlanSlot& slot) {
  for (const Step& step : plan.steps) {
    PlanSlot::BoundStep bound;
    if (const auto* kernel = std::get_if<KernelStep>(&step)) {
      bound.kernel = kernel;
      slot.steps.push_back(std::move(bound));
      continue;
    }
    const auto& primitive = std::get<PrimitiveStep>(step);
    bound.primitive = primitive.primitive.get();
    for (const PrimitiveStep::Argument& argument : primitive.arguments) {
      slot.memories.emplace_back(
          argument.layout, engine, slot.buffers[argument.buffer] + argument.offset);
      bound.arguments.push_back({argument.index, slot.memories.back().get()});
    }
    if (plan.workspace_bytes > 0) {
      const dnnl::memory::dims size{static_cast<dnnl::memory::dim>(plan.workspace_bytes)};
      slot.memories.emplace_back(
          dnnl::memory::desc(size, dnnl::memory::data_type::u8, dnnl::memory::format_tag::a),
          engine,
          scratchpads[slot.steps.size()]);
      bound.arguments.push_back({DNNL_ARG_SCRATCHPAD, slot.memories.back().get()});
    }
    slot.steps.push_back(std::move(bound));
  }
}

}  // namespace plumb::onednn
