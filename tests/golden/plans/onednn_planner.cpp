// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/model_planner.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/golden/plans/model_planner.hpp"
#include "tests/golden/plans/plan_lines.hpp"

namespace plumb::golden {
namespace {

/// Describes where each element lies. Of a layout that only the library can read, the size is left.
std::string layout_text(const dnnl::memory::desc& layout) {
  if (layout.get_ndims() == 0) {
    return "dense";
  }
  const std::string type = fmt::format(
      "type {} [{}]", static_cast<int>(layout.get_data_type()), fmt::join(layout.get_dims(), ","));
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked) {
    return fmt::format("{} opaque of {} bytes", type, layout.get_size());
  }
  return fmt::format("{} padded [{}] strides [{}] blocks [{}] of [{}] from {}",
                     type,
                     fmt::join(layout.get_padded_dims(), ","),
                     fmt::join(layout.get_strides(), ","),
                     fmt::join(layout.get_inner_blks(), ","),
                     fmt::join(layout.get_inner_idxs(), ","),
                     layout.get_submemory_offset());
}

std::string buffer_layout(const onednn::Buffer& buffer) {
  std::string text = layout_text(buffer.layout);
  if (buffer.view != buffer.layout) {
    text += " of " + layout_text(buffer.view);
  }
  text += buffer.pack ? " packed" : "";
  return text + (buffer.updated ? " updated" : "");
}

std::string step_text(const onednn::Step& step) {
  const auto* primitive = std::get_if<onednn::PrimitiveStep>(&step);
  if (primitive == nullptr) {
    return "kernel";
  }
  const char* name = nullptr;
  dnnl_primitive_desc_query(
      primitive->primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0, &name);
  std::string text = name;
  for (const onednn::PrimitiveStep::Argument& argument : primitive->arguments) {
    text += fmt::format("; {} = {}{} {}",
                        argument.index,
                        argument.buffer,
                        argument.offset > 0 ? fmt::format("+{}", argument.offset) : "",
                        layout_text(argument.layout));
  }
  return text;
}

std::string schedule_line(const std::vector<std::vector<std::size_t>>& lists, const char* what) {
  std::string line = what;
  for (const std::vector<std::size_t>& list : lists) {
    line += fmt::format(" [{}]", fmt::join(list, " "));
  }
  return line;
}

class OnednnPlanner final : public ModelPlanner {
 public:
  [[nodiscard]] std::string environment() const override {
    // By the caches' sizes the library chooses implementations and blocks.
    const dnnl_version_t* const version = dnnl_version();
    return fmt::format(
        "oneDNN {}.{}.{} with {}, caches {} {} {}",
        version->major,
        version->minor,
        version->patch,
        onednn::instruction_set_text(static_cast<unsigned>(dnnl::get_effective_cpu_isa())),
        sysconf(_SC_LEVEL1_DCACHE_SIZE),
        sysconf(_SC_LEVEL2_CACHE_SIZE),
        sysconf(_SC_LEVEL3_CACHE_SIZE));
  }
  [[nodiscard]] std::vector<std::string> modes() const override {
    return {"plain",
            "fusion",
            "last_variant",
            "channels_last",
            "channels_last+fusion",
            "bf16",
            "f16",
            "tf32",
            "int8",
            "fusion+int8",
            "parallel_branches",
            "fusion+parallel_branches",
            "training",
            "training+fusion"};
  }
  [[nodiscard]] const worker::Backend& backend() const override { return *backend_; }

  [[nodiscard]] PlanText plan(const model::Graph& graph,
                              const worker::LayerVariants& variants,
                              bool side_by_side) override {
    try {
      const onednn::ModelPlan model =
          onednn::plan_model(graph, variants, device_, parts_, side_by_side ? 2 : 1);
      parts_.release_builders();
      const onednn::ExecutionPlan& plan = model.plan;
      return plan_text(graph,
                       model,
                       model.uses,
                       plan.workspace_bytes,
                       {[&](std::size_t buffer) { return buffer_layout(plan.buffers[buffer]); },
                        [&](std::size_t step) { return step_text(plan.steps[step]); },
                        {schedule_line(plan.schedule.lanes, "lanes"),
                         schedule_line(plan.schedule.waits, "waits")}});
    } catch (const onednn::Unsupported& reason) {
      return {fmt::format("unsupported: {}", reason.what()), ""};
    }
  }

 private:
  /// Limits the library before its first use, and gives it one thread.
  struct Limits {
    dnnl::status status = dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    onednn::OpenmpThreads threads{1};
  };

  Limits limits_;
  std::unique_ptr<worker::Backend> backend_ = onednn::make_onednn_backend();
  onednn::Device device_{dnnl::engine(dnnl::engine::kind::cpu, 0)};
  onednn::LayerParts parts_ = onednn::make_layer_parts(device_);
};

}  // namespace

std::unique_ptr<ModelPlanner> make_onednn_planner() {
  return std::make_unique<OnednnPlanner>();
}

}  // namespace plumb::golden
