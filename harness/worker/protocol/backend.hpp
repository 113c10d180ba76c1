// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "harness/worker/protocol/step_mark.hpp"

namespace plumb::worker {

/// One way to execute a key.
struct Variant {
  std::string text;                       ///< canonical "name=value;…", unique for the key
  bool library_choice = false;            ///< the one that the library picks by default
  bool reference_implementation = false;  ///< slow reference: timed only where nothing else exists
  bool channels_last =
      false;  ///< takes and leaves images with their channels last, whatever it is called
  results::Attributes attributes{};  ///< that are known before it is prepared
};

/// Layer or model prepared on a backend: allocated, compiled, ready to be timed. Its methods have
/// nothing left to do but the timed region. Not thread-safe. It exists only in a worker.
class Program {
 public:
  /// Additional interface of a Program whose device has a clock of its own. The harness takes
  /// samples from it instead of timing enqueue() and synchronize().
  class DeviceClock {
   public:
    /// One sample by a device's own clock: the time per execution and the number of executions.
    struct Sample {
      Seconds each{};  ///< where launching cancels out: a difference of two times, which a change
                       ///< of the clock between them makes too short or too long
      Seconds at_most{};  ///< of the longest run, launching included: never below the truth
      std::size_t executions = 1;
    };

    virtual ~DeviceClock() = default;
    /// Takes one sample over the slots in turn, without the time to launch and wait.
    [[nodiscard]] virtual Sample sample(std::span<const std::size_t> slots) = 0;

    /// Takes one sample of one execution of a slot. Just before it the device writes over `swept`
    /// bytes, so that its caches hold nothing else, and then executes slot `warm`, if there is one.
    /// The device is busy with that while the execution is launched.
    [[nodiscard]] virtual Sample sample_cold(std::size_t slot,
                                             Bytes swept,
                                             std::optional<std::size_t> warm) = 0;
  };

  /// Costs of preparing a program, and its memory.
  struct Facts {
    std::string implementation;       ///< as the library names it
    std::optional<Seconds> creation;  ///< primitive creation, cache cold
    Bytes workspace;
    Bytes activation_bytes;  ///< of one slot, in this program's layouts
    Bytes weight_bytes;
    results::Attributes attributes{};  ///< that are known from preparing it
  };

  /// Attributes and readings from executions that were observed and not timed.
  struct Observation {
    results::Attributes attributes;
    results::Readings readings;
  };

  virtual ~Program() = default;
  [[nodiscard]] virtual Facts facts() const = 0;

  /// Copies the operands into slot `slot`, reordered into this program's layouts. Operands are
  /// dense and in the key's order; an absent one has empty data. With `shared_activations`,
  /// activations (also the outputs) are slot 0's, and only the weights are the slot's own. Slots
  /// are bound in order 0, 1, 2…
  virtual void bind(std::size_t slot,
                    std::span<const model::Tensor> operands,
                    bool shared_activations) = 0;

  /// Rewrites a slot's activations in place, unchanged, as the layers before would write them.
  /// First the outputs, whose content is no longer needed, then the inputs.
  virtual void refresh_activations(std::size_t slot) { static_cast<void>(slot); }

  /// Starts one execution on a slot. It allocates, checks and reorders nothing.
  virtual void enqueue(std::size_t slot) = 0;
  /// Waits for everything enqueued.
  virtual void synchronize() = 0;

  /// Returns a copy of a slot's outputs, dense, in the key's types.
  [[nodiscard]] virtual std::vector<model::Tensor> outputs(std::size_t slot) = 0;

  /// Executes a slot once, launch after launch, and returns its outputs as outputs() does.
  /// `operands` are the slot's, as for bind(): a step of training begins with them again. Empty:
  /// enqueue() itself does so, and there is nothing to compare it with.
  [[nodiscard]] virtual std::vector<model::Tensor> outputs_launch_by_launch(
      std::size_t slot, std::span<const model::Tensor> operands) {
    static_cast<void>(slot);
    static_cast<void>(operands);
    return {};
  }

  /// Executes a slot once, step by step, and returns the time of each step in order. Steps run one
  /// after the other even where the program has them side by side. The sum is not a time of the
  /// whole. Empty: the program has no steps.
  [[nodiscard]] virtual std::vector<Seconds> profile(std::size_t slot) {
    static_cast<void>(slot);
    return {};
  }

  /// Executes a slot once, step by step, and times the `wanted` steps (one flag per step) in
  /// context. Right before such a step, the step before is executed once more. Returns a time for
  /// every step, in order, and zero for a step that is not wanted. The slot's outputs are invalid
  /// afterwards. Empty: the program has no steps.
  [[nodiscard]] virtual std::vector<Seconds> profile_in_context(std::size_t slot,
                                                                const std::vector<bool>& wanted) {
    static_cast<void>(slot);
    static_cast<void>(wanted);
    return {};
  }

  /// Executes a slot once, and tells `current` the number of each step before the step begins.
  /// Steps run one after the other even where the program has them side by side. A program that has
  /// no steps tells none.
  virtual void execute_marked(std::size_t slot, StepMark& current) {
    static_cast<void>(current);
    enqueue(slot);
    synchronize();
  }

  /// Returns the dense memory of an input of slot `slot`, to write another input between
  /// executions. Empty: the input can only be bound.
  [[nodiscard]] virtual std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) {
    static_cast<void>(slot);
    static_cast<void>(operand);
    return {};
  }
  /// Returns the dense memory of a slot's output, valid after synchronize(). Empty: use outputs(),
  /// which copies it.
  [[nodiscard]] virtual std::span<const std::byte> output_bytes(std::size_t slot,
                                                                std::size_t output) {
    static_cast<void>(slot);
    static_cast<void>(output);
    return {};
  }

  /// Executes a slot in extra passes with a profiler or with counters of the device. No time of a
  /// row comes from them. Takes about `budget`; of zero, what takes many executions is absent. What
  /// cannot be observed is absent, too.
  [[nodiscard]] virtual Observation collect_counters(std::size_t slot, Seconds budget) {
    static_cast<void>(slot);
    static_cast<void>(budget);
    return {};
  }

  /// Executes a slot once more, then `executions` times under the library's own profiler, which
  /// writes into `folder`. `operands` are the slot's, as for bind(). `steps` has a text for each
  /// step of the program, for a log that knows no layers. Empty: there is no profiler.
  [[nodiscard]] virtual std::vector<Trace::File> trace(std::size_t slot,
                                                       std::span<const model::Tensor> operands,
                                                       const std::filesystem::path& folder,
                                                       std::uint64_t executions,
                                                       const std::vector<std::string>& steps) {
    static_cast<void>(slot);
    static_cast<void>(operands);
    static_cast<void>(folder);
    static_cast<void>(executions);
    static_cast<void>(steps);
    return {};
  }

  /// Measures the reorder of plain operands into this program's layouts, and of the result back.
  /// Empty: the layouts do not differ.
  [[nodiscard]] virtual std::optional<Seconds> reorder_time() { return std::nullopt; }
};

/// Variant to use for each key.
using LayerVariants = std::unordered_map<model::LayerKey, std::string>;

/// One library on one device. It exists only in a worker process.
class Backend {
 public:
  /// Ways to hand a whole model to a device. It runs launch after launch, as one captured graph, or
  /// as one captured graph in which independent branches run on streams of their own.
  enum class LaunchMode { kEager, kCaptured, kStreams };

  /// Result of prepare(): a program, or why there is none.
  struct Prepared {
    std::unique_ptr<Program> program;  ///< null unless outcome.ok()
    results::Outcome outcome;
  };

  /// Result of prepare_model(): a program, or why there is none.
  struct PreparedModel {
    /// Origin of a step of a model's program.
    struct Step {
      std::optional<model::LayerId>
          layer;             ///< of the graph that was prepared; absent: of its outputs
      bool reorder = false;  ///< only converts an operand, or an output, to a layout
    };

    std::unique_ptr<Program> program;  ///< null unless outcome.ok(); its outputs are the graph's,
                                       ///< dense
    std::vector<model::ValueId> operands;  ///< what bind() takes, in order: inputs and constants
    std::size_t reorders = 0;              ///< changes of layout in each execution
    Bytes reordered;                       ///< that they read and write
    std::vector<Step> steps;               ///< of the program, as profile() counts them
    /// Steps that must have finished before each step begins. Empty: they run one after the other.
    std::vector<std::vector<std::size_t>> needs;
    std::vector<std::string> variants;  ///< by layer of the graph; empty text: nothing is executed
    Bytes memory;                       ///< that one slot will take, weights included
    results::Outcome outcome;
  };

  /// Options for preparing a whole model.
  struct ModelOptions {
    LayerVariants variants;
    bool parallel_branches = false;  ///< branches side by side, with a share of the threads each
    /// How a device gets the model. Absent: the backend's own way. Where there is no device, the
    /// model is unsupported with any of them.
    std::optional<LaunchMode> launches{};
    bool fusion = false;  ///< for a backend that plans models: it may fuse and fold layers
  };

  virtual ~Backend() = default;

  /// Returns the identity and the facts of library, device and stack. Identity: what a series must
  /// not mix ("backend", "library", "device"…). Facts: versions, paths and hashes of the libraries
  /// really mapped.
  [[nodiscard]] virtual results::Environment describe() const = 0;

  /// Returns the memory that programs can still take, where it is not the host's. Absent: it is.
  [[nodiscard]] virtual std::optional<Bytes> free_memory() const { return std::nullopt; }

  /// Returns whether the backend can execute the key, and if not, why.
  [[nodiscard]] virtual results::Outcome supports(const model::LayerKey& key) const = 0;

  /// Lists the variants of a key, best first in the library's own ranking. Empty only if the key is
  /// unsupported.
  [[nodiscard]] virtual std::vector<Variant> variants(const model::LayerKey& key) const = 0;

  /// Prepares one variant. Refusals of the library and lack of memory are outcomes, not exceptions.
  [[nodiscard]] virtual Prepared prepare(const model::LayerKey& key,
                                         const std::string& variant) = 0;

  /// Divides the worker's threads between `lanes` that execute side by side, at least one thread
  /// each. What the calling thread prepares and executes from now on has one lane's share.
  virtual void partition_threads(std::size_t lanes) { static_cast<void>(lanes); }
  /// Gives the calling thread the share of lane `lane`.
  virtual void enter_lane(std::size_t lane) { static_cast<void>(lane); }

  /// Returns whether the backend plans whole models itself, as an inference runtime does. It then
  /// gets a model as written in every mode, and ModelOptions say what it may do. So there are no
  /// modes with variants, layouts or 8-bit integers that the harness chooses.
  [[nodiscard]] virtual bool plans_models() const { return false; }

  /// Prepares a whole model. Each layer uses the variant given for its key, otherwise the library's
  /// choice. Results are passed on in the layouts in which a layer leaves them. Allocates nothing.
  /// Refused are a model whose memory exceeds the machine's (with the number) and, with
  /// parallel_branches, one without branches for the available threads.
  [[nodiscard]] virtual PreparedModel prepare_model(const model::Graph& graph,
                                                    const ModelOptions& options) {
    static_cast<void>(graph);
    static_cast<void>(options);
    PreparedModel none;
    none.outcome = {results::Outcome::Kind::kUnsupported,
                    "this backend does not execute whole models"};
    return none;
  }

  /// Prepares one model in several shapes as one program, whose slots are the shapes. `graphs` have
  /// the shapes, in order; PreparedModel::operands are those of each. Not ok: each shape needs a
  /// program of its own.
  [[nodiscard]] virtual PreparedModel prepare_shapes(std::span<const model::Graph* const> graphs,
                                                     const ModelOptions& options) {
    static_cast<void>(graphs);
    static_cast<void>(options);
    PreparedModel none;
    none.outcome = {results::Outcome::Kind::kUnsupported,
                    "this backend plans each shape by itself"};
    return none;
  }

  /// Makes the library write generated code and its names into `folder`, as jitdump files. Holds
  /// for code that it generates from now on. Returns false if it cannot, or generates none.
  virtual bool dump_generated_code(const std::filesystem::path& folder) {
    static_cast<void>(folder);
    return false;
  }

  /// Writes the source of a program that does what rows did, with the library alone. The call
  /// itself executes each variant once. Throws Error{kUser} where there is no such source, saying
  /// for what there is.
  [[nodiscard]] virtual Reproducer reproduce(const Reproducer::Request& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser, "this backend writes no reproducers");
  }
};

[[nodiscard]] std::string_view to_text(
    Backend::LaunchMode mode);  ///< "eager", "captured", "streams"

/// Returns the way that a mode names. Empty: it leaves that to the backend.
[[nodiscard]] std::optional<Backend::LaunchMode> find_launch_mode(
    const results::ExecutionMode& mode);

}  // namespace plumb::worker
