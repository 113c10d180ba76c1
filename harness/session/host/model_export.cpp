// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/model_export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <system_error>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/session/host/host.hpp"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".py:";
constexpr Seconds kTimeLimit{600.0};
constexpr std::size_t kDigits = 16;  // of the digests that name folders

bool is_function_name(std::string_view text) {
  const auto is_word = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_';
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), is_word);
}

[[noreturn]] void fail_writing(const fs::path& path, const std::string& reason) {
  throw Error(Error::Kind::kEnvironment,
              fmt::format("cannot write below '{}': {}", path.string(), reason));
}

/// New folder for one export, which is removed again.
class ExportFolder {
 public:
  explicit ExportFolder(const fs::path& parent) {
    std::error_code fault;
    fs::create_directories(parent, fault);
    std::string name = (parent / "new-XXXXXX").string();
    if (fault || ::mkdtemp(name.data()) == nullptr) {
      fail_writing(parent, "check its permissions");
    }
    path_ = name;
  }
  ~ExportFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;
  ExportFolder(ExportFolder&&) = delete;
  ExportFolder& operator=(ExportFolder&&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Asks the stacks in turn. Returns whether one of them wrote the file.
bool write_with_one_of(const std::vector<std::string>& stacks,
                       const worker::WorkerService::ExportRequest& request,
                       const std::atomic<bool>& stop) {
  return std::any_of(stacks.begin(), stacks.end(), [&](const std::string& stack) {
    worker::WorkerProcess worker(worker_options({stack}));
    try {
      return worker.export_model(request, kTimeLimit, [&] { return !stop.load(); });
    } catch (const worker::WorkerDied& death) {
      if (death.outcome().kind == results::Outcome::Kind::kSkipped) {
        throw Error(Error::Kind::kTryAgain, "stopped while the model was exported");
      }
      throw Error(Error::Kind::kUser,
                  fmt::format("the code of '{}' ended its worker: {}",
                              name_of(request.code),
                              death.outcome().reason));
    }
  });
}

/// Moves the file into a folder that is named by its content, and returns its new path.
fs::path keep(const fs::path& written, const fs::path& parent) {
  const fs::path folder = parent / sha256_of_file(written).substr(0, kDigits);
  std::error_code fault;
  fs::create_directories(folder, fault);
  const fs::path kept = folder / written.filename();
  if (!fault) {
    fs::rename(written, kept, fault);
  }
  if (fault) {
    fail_writing(folder, fault.message());
  }
  return kept;
}

}  // namespace

std::optional<results::ModelCode> parse_model_code(std::string_view text) {
  const std::size_t at = text.rfind(kExtension);
  if (at == std::string_view::npos || at == 0) {
    return std::nullopt;
  }
  const std::string_view function = text.substr(at + kExtension.size());
  const fs::path file(text.substr(0, at + kExtension.size() - 1));
  if (!is_function_name(function) || file.stem().empty()) {
    return std::nullopt;
  }
  return results::ModelCode{file, std::string(function)};
}

std::string name_of(const results::ModelCode& code) {
  return fmt::format("{}:{}", path_text(code.file.filename()), code.function);
}

ExportedModel export_model(const results::ModelCode& code,
                           const std::vector<std::string>& stacks,
                           const std::atomic<bool>& stop) {
  ExportedModel exported{.name = name_of(code), .code = code, .path = {}};
  std::error_code gone;
  if (!fs::is_regular_file(code.file, gone)) {
    throw Error(Error::Kind::kUser,
                fmt::format("there is no file '{}' with a function '{}': check its path",
                            code.file.string(),
                            code.function));
  }
  exported.code.file = fs::absolute(code.file).lexically_normal();
  exported.code.sha256 = sha256_of_file(exported.code.file);
  const fs::path parent = data_folder() / "exported";
  const ExportFolder folder(parent);
  const worker::WorkerService::ExportRequest request{
      .code = exported.code, .path = folder.path() / (code.function + ".onnx")};
  spdlog::info("{}: exporting it to ONNX", exported.name);
  if (!write_with_one_of(stacks, request, stop)) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is a function of a Python file, which {} '{}' cannot run: name a "
                            "stack that can with --stack, such as one of `plumb stacks fetch "
                            "pytorch==2.15.0`",
                            exported.name,
                            stacks.size() == 1 ? "the stack" : "the stacks",
                            fmt::join(stacks, "', '")));
  }
  if (!fs::is_regular_file(fs::symlink_status(request.path, gone))) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the worker wrote no file '{}'", request.path.string()));
  }
  exported.path = keep(request.path, parent);
  return exported;
}

}  // namespace plumb::session
