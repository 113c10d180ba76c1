// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/stack_contents.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/base/digest.hpp"
#include "harness/cli/exported_symbols.hpp"
#include "harness/cli/stack_probe.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

LibraryContents contents_of(const StackLibrary& library) {
  return {.name = library.name,
          .version = library.version,
          .path = library.path,
          .sha256 = library.sha256.empty() ? sha256_of_file(library.path) : library.sha256,
          .size = Bytes{static_cast<std::int64_t>(fs::file_size(library.path))},
          .symbols = exported_symbols(library.path)};
}

/// Tells whether a library is part of what a stack is about: the libraries it names and their
/// sub-libraries ("libcudnn_ops"), all where it names none. A C library's forty files are not.
bool is_measured(const Stack& stack, const std::string& name) {
  return stack.libraries.empty() ||
         std::any_of(stack.libraries.begin(), stack.libraries.end(), [&](const fs::path& library) {
           const std::string file = library.filename().string();
           return name.rfind(file.substr(0, file.find(".so")), 0) == 0;
         });
}

/// Adds the libraries of the stack's folders that no worker has mapped yet: sub-libraries load
/// late.
void add_unmapped(const Stack& stack, std::vector<StackLibrary>& libraries) {
  std::set<std::string> known;
  for (const StackLibrary& library : libraries) {
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

}  // namespace

StackContents stack_contents(const WorkerOptions& options, std::span<const LayerKey> keys) {
  WorkerProcess worker(options);
  StackReport report = probe_worker(worker, options.stack);
  add_unmapped(options.stack, report.libraries);
  StackContents contents;
  contents.name = options.stack.name;
  for (const StackLibrary& library : report.libraries) {
    contents.libraries.push_back(contents_of(library));
  }
  for (const LayerKey& key : keys) {
    LayerOffers& offers = contents.layers.emplace_back();
    offers.key = key;
    const std::vector<Variant> variants = worker.variants(key);
    for (const Variant& variant : variants) {
      offers.variants.push_back(variant.text);
    }
    offers.reference_only =
        !variants.empty() &&
        std::all_of(variants.begin(), variants.end(), [](const Variant& variant) {
          return variant.reference_implementation;
        });
  }
  return contents;
}

}  // namespace plumb
