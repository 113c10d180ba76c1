// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::results {

/// Operation of a call of kind kCreation that compiles the model, and not one kernel of a library.
inline constexpr const char* kModelCompilation = "torch.compile";

/// What a trace says was executed, in the order of the start times.
struct ExecutedTrace {
  /// What a traced execution of a model lost, as a run keeps it.
  struct Losses {
    /// Time that one kind of finding would give back.
    struct Loss {
      std::string finding;
      Seconds gain{};
      std::vector<std::string> layers;
      std::string evidence;
    };
    std::string mode;
    std::string stack;
    Seconds span{};                   ///< of the traced execution, or of its calls
    std::optional<Seconds> untraced;  ///< of an execution without the profiler
    std::vector<Loss> losses;         ///< only those with a gain
  };

  /// What a call does, apart from its times. Many calls of a trace share one.
  struct Description {
    /// Kinds of work, as far as a trace tells.
    enum class Kind {
      kCompute,
      kReorder,   ///< changes a layout, or transposes
      kCopy,      ///< copies or converts without computing
      kPad,       ///< pads an operand before the layer that could do so itself
      kWait,      ///< synchronises
      kCreation,  ///< makes or compiles a kernel
    };
    Kind kind = Kind::kCompute;
    std::string operation;       ///< as the trace names it: "convolution", "Conv", "aten::conv2d"
    std::string name;            ///< of the node, as the trace has it; empty: it has none
    std::string output;          ///< first value of the layer, if a worker said; else empty
    std::string implementation;  ///< or execution provider
    std::string layouts;         ///< of the operands: "src:aBcd16b …"; empty: unknown
    std::vector<std::string> types;                  ///< element types of the operands
    std::vector<std::vector<std::int64_t>> inputs;   ///< shapes of operands; empty: unknown
    std::string problem;                             ///< as oneDNN writes it
    std::optional<std::vector<std::size_t>> layers;  ///< of the model; absent: nobody said
  };

  /// When and where one call ran.
  struct CallTime {
    Seconds start{};  ///< from any origin; see ExecutedTrace::timed
    Seconds duration{};
    std::uint64_t thread = 0;
    std::optional<std::uint32_t> execution;  ///< of the trace's; absent: of none
  };

  /// One call that a runtime or a library executed.
  struct Call : Description, CallTime {};

  /// One call of a trace: its times, and the number of its description.
  struct TracedCall : CallTime {
    std::uint32_t description = 0;
  };

  /// One execution of a model within a trace.
  struct Execution {
    Seconds start{};
    Seconds duration{};
  };

  std::string format;  ///< "onednn", "onnxruntime", "kineto", "cudnn" or "cublas"
  std::vector<Description> descriptions;  ///< of the calls
  std::vector<TracedCall> calls;
  std::vector<Execution> executions;  ///< empty: all calls are of one
  bool timed = false;                 ///< calls have start times
  std::size_t left_out = 0;           ///< lines or events of these kinds that are broken
  std::size_t device_calls = 0;  ///< kernels and copies of a GPU, which are counted and not read
  std::size_t threads = 0;       ///< that a call used at most; 0: unknown
  std::size_t processors = 0;    ///< that these threads had; 0: unknown

  [[nodiscard]] const Description& description_of(const TracedCall& call) const {
    return descriptions[call.description];
  }
  /// Returns a call with its description.
  [[nodiscard]] Call call(std::size_t index) const {
    return {description_of(calls.at(index)), calls.at(index)};
  }
  /// Adds a call with a description of its own.
  void add(Call call) {
    const CallTime& time = call;
    calls.push_back({time, static_cast<std::uint32_t>(descriptions.size())});
    descriptions.push_back(std::move(call));
  }
};

/// Kind of the records that keep the traces of a run, and what ends the subject of each: its mode.
inline constexpr const char* kTraceRecord = "trace";

/// Reads the document of `plumb trace`. Throws Error{kUser} that names a field that is not valid.
[[nodiscard]] ExecutedTrace::Losses traced_losses_from_json(std::string_view text);

}  // namespace plumb::results
