// SPDX-License-Identifier: Apache-2.0
#include "harness/session/bisect/bisection_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/analysis/bisect/bisection.hpp"
#include "harness/analysis/report/change_json.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/paired/paired_session.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

/// File that keeps the steps of an unfinished search, so that it can be continued.
class BisectionRecord {
 public:
  /// `question` is everything that decides what a step would find.
  BisectionRecord(std::filesystem::path folder, const std::string& question);

  /// Returns the steps kept so far. None: there is no such search, or its file is damaged.
  [[nodiscard]] std::vector<analysis::Bisection::Step> read() const;
  /// Replaces the steps by those of a search. Throws Error{kEnvironment} if it cannot be written.
  void write(const analysis::Bisection& bisection) const;
  /// Removes the file: the search has ended.
  void remove() const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
};

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

BisectionRecord::BisectionRecord(fs::path folder, const std::string& question)
    : folder_(std::move(folder)), file_(folder_ / (sha256(question).substr(0, 24) + ".json")) {}

std::vector<analysis::Bisection::Step> BisectionRecord::read() const {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file_, error);
  if (error) {
    return {};
  }
  std::vector<analysis::Bisection::Step> steps;
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

/// Progress of a search: its comparisons, and the time that those left will take.
class SearchProgress {
 public:
  SearchProgress(ProgressDisplay& display, const analysis::Bisection::Search& search)
      : stage_(display), search_(search), start_(steady_time()), step_start_(start_) {}

  void begin_step() { step_start_ = steady_time(); }
  void end_step() {
    ++measured_;
    spent_ += steady_time() - step_start_;
  }

  /// Shows what is done now, after `done` steps of this search, earlier sessions included.
  void show(std::size_t done, const std::string& current) {
    const std::size_t left = search_.left();
    ProgressDisplay::Progress progress;
    progress.done = done;
    progress.total = done + left;
    progress.unit = "comparisons";
    progress.current = current;
    progress.elapsed = steady_time() - start_;
    if (measured_ > 0) {
      const Seconds step = spent_ / static_cast<double>(measured_);
      const Seconds of_all = step * static_cast<double>(left);
      progress.left = std::max(of_all - (steady_time() - step_start_), Seconds(0.0));
    }
    stage_.show(progress);
  }

 private:
  ProgressDisplay::Stage stage_;
  const analysis::Bisection::Search& search_;
  Seconds start_;
  Seconds step_start_;
  Seconds spent_{};
  std::size_t measured_ = 0;
};

/// Search from its first comparison, or where it was interrupted, to its end.
class BisectionSession {
 public:
  BisectionSession(const SessionContext& context,
                   CandidateSource& source,
                   const BisectionQuestion& question,
                   const BisectionQuestion::Options& options)
      : context_(context),
        source_(source),
        question_(question),
        options_(options),
        search_(source.line().size()),
        record_(data_folder() / "bisections", identity()),
        progress_(context.progress, search_) {
    bisection_.what = question.what;
    bisection_.unit = source.unit();
    bisection_.line = source.line();
    if (question.work.models.empty() && question.work.layers.size() == 1) {
      bisection_.subject = analysis::Bisection::Subject{question.work.layers.front().text, ""};
    }
  }

  analysis::Bisection run() {
    if (options_.resume) {
      take_up();
    }
    while (const std::optional<analysis::Bisection::Search::Task> task = search_.next()) {
      const std::optional<analysis::Bisection::Step> step = measure(*task);
      if (!step) {
        break;
      }
      take(*step);
      say(*step);
      record_.write(bisection_);
    }
    bisection_.complete = !search_.next();
    if (bisection_.complete) {
      record_.remove();
    }
    return std::move(bisection_);
  }

 private:
  /// Returns everything that decides what the comparisons would find.
  [[nodiscard]] std::string identity() const {
    nlohmann::json line = nlohmann::json::array();
    for (const analysis::Bisection::Candidate& candidate : source_.line()) {
      line.push_back(candidate.name);
    }
    return json_text({question_.what,
                      sha256(suite_for_store(question_.suite, question_.models)),
                      question_.work.layers.size(),
                      to_text(source_.unit()),
                      source_.identity(),
                      line,
                      options_.paired.pairs,
                      options_.drift,
                      options_.paired.worker.threads,
                      options_.paired.worker.device,
                      read_system().id()});
  }

  /// Takes the steps of an interrupted search, as far as they are what this search wants.
  void take_up() {
    for (const analysis::Bisection::Step& step : record_.read()) {
      if (search_.next() != step.task) {
        break;
      }
      take(step);
    }
    spdlog::info("{}",
                 bisection_.steps.empty() ? "there is no unfinished search for this: it begins"
                                          : fmt::format("the search goes on after {} comparisons",
                                                        bisection_.steps.size()));
  }

  void take(const analysis::Bisection::Step& step) {
    search_.add(step.state);
    bisection_.steps.push_back(step);
    bisection_.builds += step.builds;
    bisection_.ends = search_.ends();
    bisection_.confirmation = search_.confirmation();
    bisection_.last_good = search_.last_good();
    bisection_.first_bad = search_.first_bad();
    if (step.task.purpose == analysis::Bisection::Search::Task::Purpose::kEnds &&
        step.state == analysis::Bisection::Search::State::kBad) {
      bisection_.subject = step.subject;
      change_ = {step.subject,
                 step.test.verdict == analysis::ComparisonVerdict::kBroken,
                 step.test.ratio.value_or(1.0)};
    }
  }

  void say(const analysis::Bisection::Step& step) const {
    std::string found(to_text(step.state));
    if (!step.problem.empty()) {
      found += ": " + step.problem;
    } else if (step.test.ratio) {
      found +=
          fmt::format(" ({:+.1f} % after {} pairs)", 100.0 * (*step.test.ratio - 1.0), step.pairs);
    }
    if (!step.tail.empty()) {
      found += fmt::format("; the log '{}' ends: {}", step.log, fmt::join(step.tail, " | "));
    }
    const std::string name = short_name(bisection_, step.task.candidate);
    context_.progress.end();
    spdlog::log(step.problem.empty() ? spdlog::level::info : spdlog::level::warn,
                "{} against {}: {}",
                name,
                short_name(bisection_, step.task.against),
                found);
  }

  /// Makes both candidates ready and compares them. Absent: the user stopped it.
  std::optional<analysis::Bisection::Step> measure(const analysis::Bisection::Search::Task& task) {
    progress_.begin_step();
    analysis::Bisection::Step step;
    step.task = task;
    if (bisection_.subject) {
      step.subject = *bisection_.subject;
    }
    const auto report = [&](const std::string& what) {
      progress_.show(bisection_.steps.size(), what);
    };
    report(short_name(bisection_, task.candidate));
    CandidateSource::Ready against = source_.prepare(task.against, report);
    CandidateSource::Ready candidate = against.problem.empty()
                                           ? source_.prepare(task.candidate, report)
                                           : CandidateSource::Ready{};
    if (against.stopped || candidate.stopped || context_.stop.load()) {
      return std::nullopt;
    }
    step.builds = (against.built ? 1U : 0U) + (candidate.built ? 1U : 0U);
    const bool first_is_at_fault = !against.problem.empty();
    const CandidateSource::Ready& fault = first_is_at_fault ? against : candidate;
    if (fault.problem.empty()) {
      return compare(against, candidate, std::move(step));
    }
    if (first_is_at_fault || task.purpose == analysis::Bisection::Search::Task::Purpose::kEnds) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("{} cannot be measured, and the search needs it: {}{}",
                      short_name(bisection_, first_is_at_fault ? task.against : task.candidate),
                      fault.problem,
                      fault.tail.empty() ? ""
                                         : fmt::format("; the log '{}' ends: {}",
                                                       fault.log,
                                                       fmt::join(fault.tail, " | "))));
    }
    step.state = analysis::Bisection::Search::State::kSkipped;
    step.problem = fault.problem;
    step.tail = fault.tail;
    step.log = fault.log;
    progress_.end_step();
    return step;
  }

  [[nodiscard]] PairedSession::Run side_of(const CandidateSource::Ready& candidate) const {
    PairedSession::Run run =
        paired_run(candidate.stack, question_.suite, question_.models, options_.paired);
    results::add_labels(candidate.labels, run.header.environment);
    return run;
  }

  /// Returns what a comparison measures: everything between the ends, then the one that is sought.
  [[nodiscard]] PairedRounds::Work work_of(const analysis::Bisection::Search::Task& task) const {
    if (task.purpose == analysis::Bisection::Search::Task::Purpose::kEnds) {
      return question_.work;
    }
    if (change_.subject.mode.empty()) {
      return {{{change_.subject.name}}, {}};
    }
    PairedRounds::Work work;
    for (PairedRounds::Work::Model model : question_.work.models) {
      if (model.subject == change_.subject.name) {
        std::erase_if(model.request.modes, [&](const worker::ModeRequest& mode) {
          return to_text(mode.mode) != change_.subject.mode;
        });
        work.models.push_back(std::move(model));
      }
    }
    return work;
  }

  [[nodiscard]] analysis::RoundComparison::Limits limits_of(
      const analysis::Bisection::Search::Task& task,
      const PairedSession::Run& baseline,
      const PairedSession::Run& candidate) const {
    analysis::RoundComparison::Limits limits;
    limits.control_drift = options_.drift;
    const PairedRounds::Work work = work_of(task);
    if (work.layers.size() + work.models.size() == 1) {
      limits.layers.change.level = limits.models.change.level;  // one metric alone
    }
    limits.floors = calibrated_floors(
        context_.store, baseline.header.environment, candidate.header.environment);
    return limits;
  }

  std::optional<analysis::Bisection::Step> compare(const CandidateSource::Ready& good,
                                                   const CandidateSource::Ready& other,
                                                   analysis::Bisection::Step step) {
    const PairedSession::Run baseline = side_of(good);
    const PairedSession::Run candidate = side_of(other);
    refuse_unlike(baseline, candidate);
    PairedSession session(context_.store, baseline, candidate);
    const BisectionQuestion::Judge judge(options_.paired.pairs,
                                         limits_of(step.task, baseline, candidate));
    const PairedRounds::Sequence measured = measure_rounds(session, judge, step.task);
    const std::vector<std::string> faults = session.stack_faults();
    session.finish(context_.stop.load() || !faults.empty() ? results::RunState::kInterrupted
                                                           : results::RunState::kFinished);
    if (!faults.empty()) {
      throw Error(
          Error::Kind::kEnvironment,
          "a stack changed while it was measured, so nothing is searched: " + faults.front());
    }
    if (context_.stop.load()) {
      return std::nullopt;
    }
    step.baseline_run = baseline.header.id;
    step.run = candidate.header.id;
    if (step.task.purpose == analysis::Bisection::Search::Task::Purpose::kEnds) {
      judge.conclude_ends(measured.comparison, step);
    } else {
      judge.conclude(measured.comparison, change_, step);
    }
    progress_.end_step();
    return step;
  }

  PairedRounds::Sequence measure_rounds(const PairedSession& session,
                                        const BisectionQuestion::Judge& judge,
                                        const analysis::Bisection::Search::Task& task) {
    PairedRounds pairs(context_.store,
                       session.baseline(),
                       session.candidate(),
                       options_.paired.row_timeout,
                       context_.stop);
    const PairedRounds::Sequence::Judge rounds =
        task.purpose == analysis::Bisection::Search::Task::Purpose::kEnds ? judge.of_ends()
        : task.purpose == analysis::Bisection::Search::Task::Purpose::kSearch
            ? judge.of_candidate(change_)
            : judge.of_confirmation();
    const std::string names = fmt::format("{} against {}",
                                          short_name(bisection_, task.candidate),
                                          short_name(bisection_, task.against));
    return measure_in_sequence(
        pairs, work_of(task), rounds, {}, [&](const ProgressDisplay::Progress& progress) {
          progress_.show(
              bisection_.steps.size(),
              fmt::format("{}: {} of at most {} pairs", names, progress.done, progress.total));
        });
  }

  const SessionContext& context_;
  CandidateSource& source_;
  const BisectionQuestion& question_;
  const BisectionQuestion::Options& options_;
  analysis::Bisection::Search search_;
  BisectionRecord record_;
  SearchProgress progress_;
  BisectionQuestion::Judge::Change change_;
  analysis::Bisection bisection_;
};

}  // namespace

BisectionQuestion question_of_layer(const std::string& key) {
  BisectionQuestion question;
  question.what = key;
  const model::LayerKey canonical = model::to_key(model::parse_key(model::LayerKey{key}));
  question.suite.name = "bisect";
  question.suite.caches = {results::CacheMode::kNone};
  question.suite.layers = {{.key = canonical, .count = 1, .file = ""}};
  question.work.layers = {canonical};
  return question;
}

BisectionQuestion question_of_suite(const ModelSource& source,
                                    std::string what,
                                    suite::ResolvedSuite suite,
                                    bool end_to_end_only) {
  BisectionQuestion question;
  question.what = std::move(what);
  question.suite = std::move(suite);
  question.models = prepare_models(source, question.suite);
  question.work = collect_work(source, question.suite, question.models, default_paired_modes());
  if (end_to_end_only) {
    question.work.layers.clear();
  }
  return question;
}

analysis::Bisection bisect(const SessionContext& context,
                           CandidateSource& source,
                           const BisectionQuestion& question,
                           const BisectionQuestion::Options& options) {
  return BisectionSession(context, source, question, options).run();
}

}  // namespace plumb::session
