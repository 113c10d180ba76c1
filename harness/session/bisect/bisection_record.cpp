// SPDX-License-Identifier: Apache-2.0
#include "harness/session/bisect/bisection_record.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "harness/analysis/report/bisection_json.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{16} << 20;
constexpr std::size_t kMaxRecords = 64;  // of searches that were never continued

/// Removes the oldest files beyond kMaxRecords.
void remove_old(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") {
      std::error_code none;
      files.emplace_back(fs::last_write_time(entry->path(), none), entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i + kMaxRecords < files.size(); ++i) {
    fs::remove(files[i].second, error);
  }
}

}  // namespace

BisectionRecord::BisectionRecord(fs::path folder, const std::string& question)
    : folder_(std::move(folder)), file_(folder_ / (sha256(question).substr(0, 24) + ".json")) {}

std::vector<analysis::BisectionStep> BisectionRecord::read() const {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file_, error);
  if (error) {
    return {};
  }
  std::vector<analysis::BisectionStep> steps;
  try {
    if (size > kLargestFile) {
      throw Error(Error::Kind::kUser, "it is larger than 16 MiB");
    }
    std::ifstream in(file_, std::ios::binary);
    const auto document = nlohmann::json::parse(in);
    for (const nlohmann::json& step : document.at("steps")) {
      steps.push_back(analysis::step_from_json(step));
    }
  } catch (const std::exception& fault) {
    spdlog::warn("the record '{}' of an earlier search cannot be read, so it begins again: {}",
                 file_.string(),
                 fault.what());
    return {};
  }
  return steps;
}

void BisectionRecord::write(const analysis::Bisection& bisection) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  remove_old(folder_);
  write_whole_file(file_, [&](std::ostream& out) {
    out << analysis::document_text(analysis::bisection_document(bisection));
  });
}

void BisectionRecord::remove() const {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

}  // namespace plumb::session
