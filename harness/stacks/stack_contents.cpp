// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/stack_contents.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "harness/base/digest.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/stacks/dispatch_log.hpp"
#include "harness/stacks/exported_symbols.hpp"
#include "harness/stacks/stack_inquiry.hpp"
#include "harness/stacks/stack_probe.hpp"

namespace plumb::stacks {
namespace {

namespace fs = std::filesystem;

analysis::LibraryContents read_contents(const analysis::StackLibrary& library) {
  return {.name = library.name,
          .version = library.version,
          .path = library.path,
          .sha256 = library.sha256.empty() ? sha256_of_file(library.path) : library.sha256,
          .size = Bytes{static_cast<std::int64_t>(fs::file_size(library.path))},
          .symbols = exported_symbols(library.path)};
}

/// Returns whether a stack is about this library. It is about the libraries that it names and their
/// sub-libraries ("libcudnn_ops"), or about all if it names none. So the forty files of a C library
/// do not count.
bool is_measured(const worker::Stack& stack, const std::string& name) {
  return stack.libraries.empty() ||
         std::any_of(stack.libraries.begin(), stack.libraries.end(), [&](const fs::path& library) {
           const std::string file = library.filename().string();
           return name.rfind(file.substr(0, file.find(".so")), 0) == 0;
         });
}

/// Adds the libraries in the stack's folders that no worker has mapped yet. Sub-libraries load
/// late.
void add_unmapped(const worker::Stack& stack, std::vector<analysis::StackLibrary>& libraries) {
  std::set<std::string> known;
  for (const analysis::StackLibrary& library : libraries) {
    known.insert(library.name);
  }
  for (const fs::path& folder : stack.folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      const std::size_t suffix = file.find(".so");
      const std::string name = file.substr(0, suffix);
      if (suffix != std::string::npos && name.rfind("lib", 0) == 0 && entry.is_regular_file() &&
          is_measured(stack, name) && known.insert(name).second) {
        libraries.push_back({name, "", fs::canonical(entry.path()).string(), ""});
      }
    }
  }
}

/// Finds why a stack passed over variants that it does not have for a layer, by implementation. A
/// worker of its own is started for that. Empty for backends other than oneDNN.
std::map<std::string, std::string> reasons_against(const std::vector<std::string>& variants,
                                                   const model::LayerKey& key,
                                                   worker::WorkerOptions options) {
  std::map<std::string, std::string> result;
  if (variants.empty() || options.stack.backend != "onednn") {
    return result;
  }
  options.stack.variables["ONEDNN_VERBOSE"] = "dispatch";
  worker::WorkerProcess worker(options);
  (void)worker.variants(key);
  const std::map<std::string, std::string> reasons = dispatch_reasons(worker.log_tail());
  for (const std::string& variant : variants) {
    const std::string implementation(results::VariantId(variant).implementation());
    if (const auto found = reasons.find(implementation); found != reasons.end()) {
      result.insert(*found);
    }
  }
  return result;
}

}  // namespace

analysis::StackContents stack_contents(const worker::WorkerOptions& options,
                                       const StackQuestion& question) {
  worker::WorkerProcess worker(options);
  analysis::StackReport report = probe_worker(worker, options.stack);
  add_unmapped(options.stack, report.libraries);
  analysis::StackContents contents;
  contents.name = options.stack.name;
  for (const analysis::StackLibrary& library : report.libraries) {
    contents.libraries.push_back(read_contents(library));
  }
  if (!question.device.empty()) {
    StackInquiry inquiry(options);
    for (const model::LayerKey& key : question.keys) {
      contents.choices.push_back(inquiry.ask({key, question.device}));
    }
    return contents;
  }
  for (const model::LayerKey& key : question.keys) {
    analysis::LayerOffers& offers = contents.layers.emplace_back();
    offers.key = key;
    const std::vector<worker::Variant> variants = worker.variants(key);
    for (const worker::Variant& variant : variants) {
      offers.variants.push_back(variant.text);
    }
    offers.reference_only =
        !variants.empty() &&
        std::all_of(variants.begin(), variants.end(), [](const worker::Variant& variant) {
          return variant.reference_implementation;
        });
  }
  return contents;
}

void explain_choices(const worker::WorkerOptions& from,
                     const worker::WorkerOptions& to,
                     std::size_t most,
                     analysis::StackDifference& difference) {
  for (analysis::LayerDifference& layer :
       std::span(difference.layers).first(std::min(most, difference.layers.size()))) {
    layer.passed_over_by_from = reasons_against(layer.added, layer.key, from);
    layer.passed_over_by_to = reasons_against(layer.removed, layer.key, to);
  }
}

}  // namespace plumb::stacks
