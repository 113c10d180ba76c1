// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/stack.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 20;
constexpr std::array<std::string_view, 5> kKeys{
    "backend", "folders", "libraries", "loader", "variables"};

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<std::string> stack_names(const fs::path& stacks_folder) {
  std::vector<std::string> names{"default"};
  std::error_code error;
  for (fs::directory_iterator entry(stacks_folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_there(entry->path() / "stack.toml")) {
      names.push_back(entry->path().filename().string());
    }
  }
  std::sort(names.begin() + 1, names.end());
  return names;
}

/// Returns where a bundle (ci/package) has its library. Elsewhere that path does not exist.
fs::path bundled_library() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib/plumb/libdnnl.so.3";
}

/// Returns where the default stack's library should be: PLUMB_ONEDNN_LIBRARY, else the bundle's,
/// else what the build found.
fs::path default_library() {
  const char* const asked = std::getenv("PLUMB_ONEDNN_LIBRARY");
  if (asked != nullptr && *asked != '\0') {
    return asked;
  }
  const fs::path bundled = bundled_library();
  return is_there(bundled) ? bundled : fs::path(PLUMB_ONEDNN_LIBRARY);
}

/// Reader of one stack.toml. Every message names the file and the line.
class StackReader {
 public:
  StackReader(std::string name, fs::path folder)
      : folder_(std::move(folder)), file_(folder_ / "stack.toml") {
    stack_.name = std::move(name);
  }

  Stack read() {
    const toml::table table = parse();
    for (const auto& [key, node] : table) {
      read_entry(key.str(), node);
    }
    if (const toml::node* const libraries = table.get("libraries")) {  // after the folders
      stack_.libraries = read_list("libraries", *libraries, &StackReader::library);
    }
    return std::move(stack_);
  }

 private:
  [[noreturn]] void fail(const toml::source_region& where, const std::string& text) const {
    throw Error(Error::Kind::kUser,
                fmt::format("{}:{}: {}", file_.string(), where.begin.line, text));
  }

  toml::table parse() const {
    std::error_code error;
    if (fs::file_size(file_, error) > kLargestFile || error) {
      throw Error(Error::Kind::kUser,
                  fmt::format("cannot use '{}': {}",
                              file_.string(),
                              error ? error.message() : "it is larger than 1 MiB"));
    }
    try {
      std::ifstream stream(file_, std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      if (const std::optional<std::size_t> line = find_deep_toml_key(text)) {
        throw Error(Error::Kind::kUser,
                    fmt::format("{}:{}: a dotted key has more than {} parts",
                                file_.string(),
                                *line,
                                kMaxTomlKeyParts));
      }
      return toml::parse(text, file_.string());
    } catch (const toml::parse_error& problem) {
      fail(problem.source(), std::string(problem.description()));
    }
  }

  void read_entry(std::string_view key, const toml::node& node) {
    if (key == "backend") {
      stack_.backend = text(key, node);
      if (stack_.backend.empty() ||
          stack_.backend.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") !=
              std::string::npos) {
        fail(node.source(),
             fmt::format("backend '{}' is not a name; use lower-case letters and digits",
                         stack_.backend));
      }
    } else if (key == "folders") {
      stack_.folders = read_list(key, node, &StackReader::path);
    } else if (key == "loader") {
      stack_.loader = path(key, node);
    } else if (key == "variables") {
      read_variables(node);
    } else if (key != "libraries") {
      fail(node.source(),
           fmt::format("unknown key '{}'; known keys are {}", key, fmt::join(kKeys, ", ")));
    }
  }

  std::string text(std::string_view key, const toml::node& node) const {
    const auto value = node.value_exact<std::string>();
    if (!value || value->find('\0') != std::string::npos) {
      fail(node.source(), fmt::format("'{}' must be a text", key));
    }
    return *value;
  }

  fs::path path(std::string_view key, const toml::node& node) const {
    fs::path full = (folder_ / text(key, node)).lexically_normal();
    if (!is_there(full)) {
      fail_missing(node, full.string(), "does not exist; correct the path or");
    }
    return full;
  }

  [[noreturn]] void fail_missing(const toml::node& node,
                                 const std::string& name,
                                 const std::string& problem) const {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("stack '{}' names '{}' (line {} of '{}'), which {} install what is "
                            "missing",
                            stack_.name,
                            name,
                            node.source().begin.line,
                            file_.string(),
                            problem));
  }

  /// Finds a library by its path, or one without a folder also in the stack's folders and in that
  /// of the default stack's library.
  fs::path library(std::string_view key, const toml::node& node) const {
    const fs::path name = text(key, node);
    if (name.has_parent_path() || is_there(folder_ / name)) {
      return path(key, node);
    }
    std::vector<fs::path> places{folder_};
    places.insert(places.end(), stack_.folders.begin(), stack_.folders.end());
    places.push_back(default_library().parent_path());
    std::vector<std::string> looked;
    for (const fs::path& place : places) {
      if (is_there(place / name)) {
        return place / name;
      }
      looked.push_back(fmt::format("'{}'", place.string()));
    }
    fail_missing(node,
                 name.string(),
                 fmt::format("was not found in {}; correct the name, give a path, or",
                             fmt::join(looked, ", ")));
  }

  using PathReader = fs::path (StackReader::*)(std::string_view, const toml::node&) const;
  std::vector<fs::path> read_list(std::string_view key,
                                  const toml::node& node,
                                  PathReader read_path) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      fail(node.source(), fmt::format("'{}' must be a list of paths", key));
    }
    std::vector<fs::path> result;
    for (const toml::node& entry : *list) {
      result.push_back((this->*read_path)(key, entry));
    }
    return result;
  }

  void read_variables(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      fail(node.source(), "'variables' must be a table of texts");
    }
    for (const auto& [key, entry] : *table) {
      const std::string name(key.str());
      if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
        fail(entry.source(), fmt::format("'{}' is not the name of a variable", name));
      }
      stack_.variables[name] = text("variables." + name, entry);
    }
  }

  fs::path folder_;
  fs::path file_;
  Stack stack_;
};

/// Finds the first file that is called so, with anything behind. Empty: there is none.
fs::path find_library(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix) && is_there(entry->path())) {
      found.push_back(entry->path());
    }
  }
  return found.empty() ? fs::path() : *std::min_element(found.begin(), found.end());
}

/// Makes a stack of the PyTorch among the packages of a Python (site-packages), with the
/// interpreter of the virtual environment that they belong to. Empty: there is none.
std::optional<Stack> pytorch_stack(const fs::path& packages) {
  const fs::path library = packages / "torch/lib/libtorch_cpu.so";
  if (!is_there(library)) {
    return std::nullopt;
  }
  Stack stack;
  stack.name = packages.string();
  stack.backend = "pytorch";
  stack.libraries = {library};
  stack.folders = {library.parent_path()};
  stack.variables["PYTHONPATH"] = packages.string();
  const fs::path environment = packages.parent_path().parent_path().parent_path();
  if (is_there(environment / "pyvenv.cfg") && is_there(environment / "bin/python3")) {
    stack.variables["PLUMB_PYTHON"] = (environment / "bin/python3").string();
  }
  return stack;
}

/// Makes a stack of the libraries that lie in a folder, as a build leaves them.
Stack plain_stack(const fs::path& folder) {
  if (std::optional<Stack> stack = pytorch_stack(folder)) {
    return *std::move(stack);
  }
  Stack stack;
  stack.name = folder.string();
  std::vector<std::string> looked;
  for (const char* const below : {"", "lib", "lib64", "src"}) {
    const fs::path place = *below == '\0' ? folder : folder / below;
    looked.push_back(fmt::format("'{}'", place.string()));
    for (const auto& [backend, library] : {std::pair{"onednn", "libdnnl.so.3"},
                                           {"cuda", "libcudnn.so."},
                                           {"cuda", "libcublasLt.so."},
                                           {"onnxruntime", "libonnxruntime.so."}}) {
      if (const fs::path found = find_library(place, library); !found.empty()) {
        stack.backend = backend;
        stack.libraries = {found};
        stack.folders = {place};
        return stack;
      }
    }
  }
  throw Error(Error::Kind::kUser,
              fmt::format("the folder '{}' is no stack: it has no stack.toml, and there is no "
                          "libdnnl.so.3, libcudnn.so.*, libcublasLt.so.* or libonnxruntime.so.* in "
                          "{}, and no PyTorch",
                          folder.string(),
                          fmt::join(looked, ", ")));
}

Stack stack_in(const fs::path& given) {
  fs::path folder = fs::absolute(given).lexically_normal();
  if (!folder.has_filename()) {
    folder = folder.parent_path();
  }
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw Error(Error::Kind::kUser,
                fmt::format("there is no folder '{}': a stack's name with a '/' is the path of a "
                            "folder",
                            folder.string()));
  }
  return is_there(folder / "stack.toml") ? StackReader(folder.string(), folder).read()
                                         : plain_stack(folder);
}

}  // namespace

bool names_folder(const std::string& stack) {
  return stack.find('/') != std::string::npos;
}

std::string file_name_of(const std::string& stack) {
  return names_folder(stack)
             ? fs::path(stack).filename().string() + "-" + sha256(stack).substr(0, 8)
             : stack;
}

Stack default_stack() {
  const fs::path library = default_library();
  if (!is_there(library)) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format(
            "the oneDNN library '{}' does not exist; run ci/setup, or name another 3.x with "
            "PLUMB_ONEDNN_LIBRARY",
            library.string()));
  }
  Stack stack;
  stack.libraries = {library};
  return stack;
}

Stack load_stack(const std::string& name, const fs::path& stacks_folder) {
  if (name == "default") {
    return default_stack();
  }
  const bool is_text = name.find('\0') == std::string::npos;
  if (is_text && names_folder(name)) {
    return stack_in(name);
  }
  const bool is_name = !name.empty() && name.front() != '.' && is_text;
  if (!is_name || !is_there(stacks_folder / name / "stack.toml")) {
    throw Error(Error::Kind::kUser,
                fmt::format("there is no stack '{}' in '{}'; the stacks are: {}; a path with a '/' "
                            "names a folder",
                            name,
                            stacks_folder.string(),
                            fmt::join(stack_names(stacks_folder), ", ")));
  }
  return StackReader(name, fs::absolute(stacks_folder / name)).read();
}

}  // namespace plumb::worker
