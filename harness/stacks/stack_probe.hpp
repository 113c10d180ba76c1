// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/library/stack_difference.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::stacks {

/// A shared library that a process has mapped.
struct MappedLibrary {
  std::string name;  ///< file name without what follows ".so": "libdnnl"
  std::filesystem::path path;
  bool of_stack = false;  ///< the stack names it, or it lies in one of the stack's folders
  bool deleted = false;   ///< the file was removed or replaced since
};

/// Lists the shared libraries that a running process has mapped, each file once, in the order of
/// their addresses. Empty if the process is gone.
[[nodiscard]] std::vector<MappedLibrary> mapped_libraries(int pid, const worker::Stack& stack);

/// Returns the libraries that a worker running with a stack has mapped so far, and the problems
/// found. Lists libraries that the stack names, that lie in its folders, or whose version the
/// worker reports. Each has its version as the worker reports it and the SHA-256 of its file.
/// Problems: a library that the stack names and the worker did not map, and two files of one
/// library (a mixture). Throws WorkerDied.
[[nodiscard]] analysis::StackReport probe_worker(worker::WorkerProcess& worker,
                                                 const worker::Stack& stack);

/// Lists all stacks, `default` first, with the libraries that their files name. A stack that cannot
/// be read has a problem instead.
[[nodiscard]] std::vector<analysis::StackReport> list_stacks(
    const std::filesystem::path& stacks_folder);

/// Inquiry into what a stack would choose for layers on a described device, one by one. A layer
/// that kills the worker costs only its own answer.
class StackInquiry {
 public:
  /// Starts a worker. Throws what starting a worker throws.
  explicit StackInquiry(worker::WorkerProcess::Options options);

  [[nodiscard]] const results::Environment& environment() const { return environment_; }

  /// Returns the stack's choices for one layer. If the worker dies, its death is the outcome.
  /// Throws Error{kEnvironment} when the fifth worker in a row dies: then the layer is not the
  /// cause.
  [[nodiscard]] results::EngineChoices ask(const worker::WorkerService::PreviewRequest& request);

 private:
  void start();

  worker::WorkerProcess::Options options_;
  std::optional<worker::WorkerProcess> worker_;
  results::Environment environment_;
  int deaths_ = 0;  ///< in a row
};

/// Lists the symbols that a 64-bit ELF library exports, sorted, each once, without versions. These
/// are defined symbols with global or weak binding. Throws Error{kUser} for a file that is not such
/// a library or is damaged.
[[nodiscard]] std::vector<std::string> exported_symbols(const std::filesystem::path& library);

/// Reads from a log with ONEDNN_VERBOSE=dispatch why oneDNN passed over implementations.
///
/// For each implementation ("brg:avx512_core") the result has the reasons in oneDNN's words, each
/// once, joined by "; ". Left out are the reason "bad algorithm", and lines that are not such a
/// message or have too few fields. Version 3.2 prints reasons for products only, later versions for
/// more, earlier ones for nothing. Source: oneDNN developer guide, "Verbose mode".
[[nodiscard]] std::map<std::string, std::string> dispatch_reasons(std::string_view log);

/// Starts a worker with a stack, and collects the stack's libraries and what it has for each key.
///
/// Libraries are those that the worker mapped and those in the stack's folders, with their symbols.
/// For each key there are the variants. On a described device, as the library writes it, there is
/// what the library would choose instead; an empty `device` is this machine's. Nothing is measured.
/// Throws what starting a worker throws.
[[nodiscard]] analysis::StackDifference::Contents stack_contents(
    const worker::WorkerProcess::Options& options,
    std::span<const model::LayerKey> keys,
    const std::string& device);

/// Adds to the first `most` layers why one side passed over what the other has. Only oneDNN says
/// it, in its verbose mode. Each side and layer takes a worker.
void explain_choices(const worker::WorkerProcess::Options& from,
                     const worker::WorkerProcess::Options& to,
                     std::size_t most,
                     analysis::StackDifference& difference);

}  // namespace plumb::stacks
