// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/library/stack_difference.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::stacks {

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
[[nodiscard]] analysis::StackContents stack_contents(const worker::WorkerOptions& options,
                                                     std::span<const model::LayerKey> keys,
                                                     const std::string& device);

/// Adds to the first `most` layers why one side passed over what the other has. Only oneDNN says
/// it, in its verbose mode. Each side and layer takes a worker.
void explain_choices(const worker::WorkerOptions& from,
                     const worker::WorkerOptions& to,
                     std::size_t most,
                     analysis::StackDifference& difference);

}  // namespace plumb::stacks
