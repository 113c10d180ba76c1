// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/stack_fetch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <regex>
#include <string_view>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"

namespace plumb::stacks {
namespace {

namespace fs = std::filesystem;

/// A folder that is removed at the end of its scope. What is to stay is moved out before.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    remove_abandoned(parent);
    std::string name = (parent / fmt::format("{}{}-XXXXXX", kPrefix, ::getpid())).string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format("cannot make a folder in '{}': {}; check its permissions and the disk",
                      parent.string(),
                      std::strerror(errno)));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(ScratchFolder&&) = delete;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  static constexpr std::string_view kPrefix = ".fetch-";

  /// Removes the folders of fetches that were killed. A folder's name has the id of its process.
  static void remove_abandoned(const fs::path& parent) {
    std::error_code ignored;
    for (fs::directory_iterator entry(parent, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      const std::string name = entry->path().filename().string();
      if (name.rfind(kPrefix, 0) != 0) {
        continue;
      }
      const pid_t owner = std::atoi(name.c_str() + kPrefix.size());
      if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) {
        std::error_code kept;
        fs::remove_all(entry->path(), kept);
      }
    }
  }

  fs::path path_;
};

std::string stack_name(const FetchRequest& request) {
  const std::regex package_pattern("[A-Za-z0-9][A-Za-z0-9._+-]*==[A-Za-z0-9][A-Za-z0-9.!+_:~-]*");
  if (!std::regex_match(request.debian_release, std::regex("([a-z][a-z0-9-]*)?"))) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is not a release of Debian: write its name, such as trixie or sid",
                    request.debian_release));
  }
  const std::regex name_pattern("[A-Za-z0-9][A-Za-z0-9._+-]*");
  for (const std::string& package : request.packages) {
    if (!std::regex_match(package, package_pattern)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' does not name a package and a version: write PACKAGE==VERSION, "
                              "such as onednn-cpu-gomp==2023.2.0",
                              package));
    }
  }
  std::string name = request.name;
  if (name.empty()) {
    name = request.packages.front();
    name.replace(name.find("=="), 2, "-");
  }
  if (!std::regex_match(name, name_pattern) || name == "default") {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "a stack cannot be called '{}': give a --name of letters, digits, '.', '_', '-'",
            name));
  }
  return name;
}

/// Lists the shared libraries below a folder, relative to it.
std::vector<fs::path> libraries_below(const fs::path& folder) {
  std::vector<fs::path> result;
  const std::regex name(R"(lib.+\.so(\.[0-9.]+)?)");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && std::regex_match(entry.path().filename().string(), name)) {
      result.push_back(entry.path().lexically_relative(folder));
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// Replaces equal files of one folder by symbolic links to the first. Wheels cannot contain links.
void link_equal_files(const fs::path& folder, const std::vector<fs::path>& libraries) {
  std::map<std::pair<fs::path, std::string>, fs::path> first;
  for (const fs::path& library : libraries) {
    const fs::path file = folder / library;
    if (fs::is_symlink(file)) {
      continue;
    }
    const auto [known, fresh] =
        first.emplace(std::pair(file.parent_path(), sha256_of_file(file)), file);
    if (!fresh) {
      fs::remove(file);
      fs::create_symlink(known->second.filename(), file);
    }
  }
}

/// Replaces libraries that another stack has too by hard links to its files. Versions of PyTorch
/// share gigabytes.
void share_files(const fs::path& folder,
                 const std::vector<fs::path>& libraries,
                 const fs::path& stacks_folder) {
  std::error_code error;
  for (fs::directory_iterator stack(stacks_folder, error), end; !error && stack != end;
       stack.increment(error)) {
    if (!fs::exists(stack->path() / "stack.toml", error)) {
      continue;
    }
    for (const fs::path& library : libraries) {
      const fs::path ours = folder / library;
      const fs::path theirs = stack->path() / library;
      std::error_code none;
      if (!fs::is_symlink(ours, none) && fs::is_regular_file(fs::symlink_status(theirs, none)) &&
          fs::file_size(ours, none) == fs::file_size(theirs, none) &&
          sha256_of_file(ours) == sha256_of_file(theirs)) {
        const fs::path linked = ours.string() + ".shared";
        fs::create_hard_link(theirs, linked, none);
        if (!none) {  // another file system keeps its own copy
          fs::rename(linked, ours, none);
        }
      }
    }
  }
}

/// Finds the program loader (ld-linux) of a C library below a folder, relative to the folder.
std::optional<fs::path> loader_below(const fs::path& folder) {
  std::optional<fs::path> loader;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename().string().rfind("ld-linux", 0) == 0) {
      const fs::path found = fs::relative(fs::canonical(entry.path()), fs::canonical(folder));
      loader = loader ? std::min(*loader, found) : found;
    }
  }
  return loader;
}

/// Writes stack.toml, which load_stack() reads. Texts were checked or are file names, and are
/// quoted. `target` is where the folder will lie. Throws Error{kUser} if no library is one that a
/// worker measures.
void write_stack_file(const fs::path& folder,
                      const fs::path& target,
                      const FetchRequest& request,
                      const std::vector<std::string>& files,
                      const std::vector<fs::path>& libraries) {
  const auto quoted = [](const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        result += '\\';
      }
      result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
    return result + "\"";
  };
  const auto first_called = [&](std::initializer_list<std::string_view> beginnings) {
    return std::find_if(libraries.begin(), libraries.end(), [&](const fs::path& library) {
      const std::string file = library.filename().string();
      return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
        return file.starts_with(beginning);
      });
    });
  };
  const auto dnnl = first_called({"libdnnl.so"});
  const auto runtime = first_called({"libonnxruntime.so"});
  const auto torch = first_called({"libtorch_cpu.so"});
  const auto cudnn = first_called({"libcudnn.so"});
  const auto none = libraries.end();
  if (dnnl == none && runtime == none && torch == none &&
      first_called({"libcudnn", "libcublas"}) == none) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} do not contain a library that a worker measures (libdnnl, "
                            "libonnxruntime, libtorch_cpu, libcudnn, libcublas); their libraries: "
                            "{}",
                            fmt::join(request.packages, ", "),
                            libraries.empty() ? "none" : libraries.front().string() + "…"));
  }
  // ONNX Runtime's and PyTorch's CUDA packages lie beside cuDNN.
  const auto measured = dnnl != none      ? dnnl
                        : runtime != none ? runtime
                        : torch != none   ? torch
                                          : cudnn;
  std::vector<std::string> folders;
  for (const fs::path& library : libraries) {
    const std::string parent = quoted(library.parent_path().string());
    if (measured == torch && library.parent_path() != torch->parent_path()) {
      continue;  // PyTorch finds the other packages' libraries itself
    }
    if (std::find(folders.begin(), folders.end(), parent) == folders.end()) {
      folders.push_back(parent);
    }
  }
  std::ofstream out(folder / "stack.toml");
  const std::string source =
      request.debian_release.empty() ? "" : "Debian " + request.debian_release + ": ";
  out << fmt::format("# fetched: {}{}\n", source, fmt::join(request.packages, " "));
  for (const std::string& file : files) {
    out << "# sha256 " << file << '\n';
  }
  out << fmt::format("backend = \"{}\"\n",
                     dnnl != none      ? "onednn"
                     : runtime != none ? "onnxruntime"
                     : torch != none   ? kPyTorchBackend
                                       : "cuda");
  if (measured != none) {
    out << fmt::format("libraries = [{}]\n", quoted(measured->string()));
  }
  out << fmt::format("folders = [{}]\n", fmt::join(folders, ", "));
  if (const std::optional<fs::path> loader = loader_below(folder)) {
    out << fmt::format("loader = {}\n", quoted(loader->string()));
  }
  std::map<std::string, std::string> variables;
  if (measured == torch) {
    variables = python_variables(target);
  }
  // oneDNN's SYCL builds find the CPU through OpenCL. OpenCL finds its driver by this variable.
  const auto opencl = std::find_if(libraries.begin(), libraries.end(), [](const fs::path& library) {
    return library.filename() == "libintelocl.so";
  });
  if (opencl != libraries.end()) {
    variables["OCL_ICD_FILENAMES"] = (target / *opencl).string();
  }
  if (!variables.empty()) {
    out << "[variables]\n";
  }
  for (const auto& [variable, value] : variables) {
    out << fmt::format("{} = {}\n", variable, quoted(value));
  }
  out.close();
  if (!out) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot write '{}': check the space on the disk",
                            (folder / "stack.toml").string()));
  }
}

}  // namespace

std::string fetch_stack(const FetchRequest& request,
                        const fs::path& stacks_folder,
                        const std::function<void(const std::string&)>& log) {
  std::string name = stack_name(request);
  const fs::path target = stacks_folder / name;
  if (fs::exists(target)) {
    throw Error(Error::Kind::kUser,
                fmt::format("the stack '{}' exists: give another --name, or remove '{}' first",
                            name,
                            target.string()));
  }
  const ScratchFolder scratch(stacks_folder);
  const FetchRequest::Target unpacked{scratch.path(), scratch.path() / "stack"};
  const fs::path& content = unpacked.content;
  std::vector<std::string> files =
      request.debian_release.empty()
          ? unpack_wheels(wheel_requirements(request.packages), request.dependencies, unpacked, log)
          : unpack_debian_packages(request.debian_release, request.packages, unpacked, log);
  std::sort(files.begin(), files.end(), [](const std::string& left, const std::string& right) {
    return left.substr(left.find(' ')) < right.substr(right.find(' '));
  });
  const std::vector<fs::path> libraries = libraries_below(content);
  link_equal_files(content, libraries);
  share_files(content, libraries, stacks_folder);
  write_stack_file(content, target, request, files, libraries);
  std::error_code error;
  // One rename at the end: others see the whole stack or none.
  fs::rename(content, target, error);
  if (error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot put the stack at '{}': {}", target.string(), error.message()));
  }
  return name;
}

}  // namespace plumb::stacks
