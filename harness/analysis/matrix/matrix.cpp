// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <unordered_map>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

constexpr std::array kAllAxes{Axis::kModel,
                              Axis::kRuntime,
                              Axis::kStack,
                              Axis::kSystem,
                              Axis::kThreads,
                              Axis::kBatch,
                              Axis::kType,
                              Axis::kMode,
                              Axis::kBound};

bool is_of_installation(Axis axis) {
  return axis == Axis::kRuntime || axis == Axis::kStack || axis == Axis::kSystem;
}

/// Returns whether every place on `key` has one place on `axis`.
bool is_determined(std::span<const Matrix::Sample> samples, Axis axis, Axis key) {
  std::unordered_map<std::string, std::string> found;
  return std::all_of(samples.begin(), samples.end(), [&](const Matrix::Sample& sample) {
    const auto entry = found.emplace(at(sample.place, key), at(sample.place, axis)).first;
    return entry->second == at(sample.place, axis);
  });
}

/// Places on one axis, with their order.
class Places {
 public:
  Places(std::span<const Matrix::Sample> samples, Axis axis)
      : axis_(axis), names_(list_places(samples, axis)) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      index_.emplace(names_[i], i);
    }
  }
  [[nodiscard]] std::size_t index(const Matrix::Sample& sample) const {
    return index_.at(at(sample.place, axis_));
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] Axis axis() const { return axis_; }

 private:
  Axis axis_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// Places that make a row, on the axis of the rows and all that differ beside.
using RowKey = std::vector<std::size_t>;

/// Builds one matrix from its samples.
class MatrixBuilder {
 public:
  MatrixBuilder(std::span<const Matrix::Run> runs, Matrix::Query query)
      : runs_(runs), samples_(collect_samples(runs, query)) {
    matrix_.query = std::move(query);
    choose_axes();
  }

  Matrix build() && {
    const Places columns(samples_, *matrix_.query.columns);
    matrix_.columns = columns.names();
    find_reference();
    group(columns);
    explain_absences(columns);
    for (const auto& [key, cells] : groups_) {
      matrix_.rows.push_back(make_row(key, cells));
    }
    if (matrix_.query.rows == Axis::kModel) {
      add_means();
    }
    return std::move(matrix_);
  }

 private:
  using Samples = std::vector<const Matrix::Sample*>;

  [[nodiscard]] bool varies(Axis axis) const { return list_places(samples_, axis).size() > 1; }

  void choose_axes() {
    Matrix::Query& query = matrix_.query;
    const auto taken = [&](Axis axis) {
      return axis == query.rows || (query.mean_over_models && axis == Axis::kModel);
    };
    if (!query.rows) {
      query.rows =
          query.mean_over_models || query.columns == Axis::kModel ? Axis::kSystem : Axis::kModel;
    }
    for (const Axis axis : kAllAxes) {
      if (!query.columns && !taken(axis) && varies(axis)) {
        query.columns = axis;
      }
    }
    if (!query.columns) {
      query.columns = taken(Axis::kStack) ? Axis::kRuntime : Axis::kStack;
    }
    if (query.rows == query.columns) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("rows and columns are both the {}: choose two axes", to_text(*query.rows)));
    }
    if (taken(Axis::kModel) &&
        (query.mean_over_models && (query.rows == Axis::kModel || query.columns == Axis::kModel))) {
      throw Error(Error::Kind::kUser,
                  "a mean over the models has no row or column for each: choose other axes");
    }
    for (const Axis axis : kAllAxes) {
      if (axis == query.rows) {
        row_places_.emplace_back(samples_, axis);
      } else if (axis != query.columns && !(query.mean_over_models && axis == Axis::kModel)) {
        place_beside(axis);
      }
    }
    std::stable_partition(row_places_.begin(), row_places_.end(), [&](const Places& places) {
      return places.axis() == *query.rows;
    });
  }

  /// Makes an axis that is neither that of rows nor of columns part of the rows' names, if results
  /// differ on it. What a runtime, a stack or a system brings with it belongs to it instead.
  void place_beside(Axis axis) {
    std::vector<std::string> places = list_places(samples_, axis);
    const auto belongs_to = [&](Axis other) {
      return is_of_installation(axis) && is_of_installation(other) &&
             is_determined(samples_, axis, other);
    };
    if (places.size() == 1) {
      matrix_.common.emplace_back(axis, std::move(places.front()));
    } else if (belongs_to(*matrix_.query.rows) || belongs_to(*matrix_.query.columns)) {
      matrix_.along.push_back(axis);
    } else {
      row_places_.emplace_back(samples_, axis);
    }
  }

  void find_reference() {
    const std::string& name = matrix_.query.relative_to;
    if (name.empty()) {
      return;
    }
    const auto found = name == kFirstColumn
                           ? matrix_.columns.begin()
                           : std::find(matrix_.columns.begin(), matrix_.columns.end(), name);
    if (found == matrix_.columns.end()) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "no column is named '{}': there are {}", name, fmt::join(matrix_.columns, "; ")));
    }
    matrix_.reference = static_cast<std::size_t>(found - matrix_.columns.begin());
  }

  void group(const Places& columns) {
    const Places models(samples_, Axis::kModel);
    models_ = matrix_.query.mean_over_models ? models.names().size() : 1;
    for (const Matrix::Sample& sample : samples_) {
      RowKey key;
      std::transform(row_places_.begin(),
                     row_places_.end(),
                     std::back_inserter(key),
                     [&](const Places& places) { return places.index(sample); });
      std::vector<Samples>& cells = groups_[key];
      cells.resize(matrix_.columns.size() * models_);
      const std::size_t model = matrix_.query.mean_over_models ? models.index(sample) : 0;
      cells[columns.index(sample) * models_ + model].push_back(&sample);
    }
  }

  Matrix::Row make_row(const RowKey& key, std::span<const Samples> groups) {
    Matrix::Row row;
    for (std::size_t i = 0; i < key.size(); ++i) {
      const Places& places = row_places_[i];
      row.name += (i == 0 ? "" : ", ") + describe(places.axis(), places.names()[key[i]]);
    }
    std::vector<Matrix::Cell> cells;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      cells.push_back(groups[i].empty() ? absent_cell(i / models_) : make_cell(groups[i]));
    }
    divide_by_reference(cells);
    for (std::size_t i = 0; i < matrix_.columns.size(); ++i) {
      const auto part = std::span(cells).subspan(i * models_, models_);
      row.cells.push_back(matrix_.query.mean_over_models ? mean_cell(part) : part.front());
    }
    return row;
  }

  /// Makes a cell of what each run found for it.
  Matrix::Cell make_cell(Samples samples) {
    std::stable_sort(samples.begin(), samples.end(), [&](const auto* one, const auto* other) {
      return runs_[one->run].header.started < runs_[other->run].header.started;
    });
    matrix_.shared = matrix_.shared || samples.size() > 1;
    if (matrix_.query.shared == Matrix::Query::SharedCells::kNewest) {
      samples.erase(samples.begin(), samples.end() - 1);
    }
    std::vector<const Matrix::Value*> values;
    std::transform(
        samples.begin(), samples.end(), std::back_inserter(values), [](const auto* sample) {
          return &sample->value;
        });
    return middle_cell(values);
  }

  [[nodiscard]] Matrix::Cell absent_cell(std::size_t column) const {
    Matrix::Cell cell;
    cell.missing = {Matrix::Value::Missing::Kind::kNotInSuite,
                    "not in suite",
                    absence_reasons_[column],
                    {},
                    {},
                    {}};
    return cell;
  }

  /// Writes for each column which suites have no result of a row that has none.
  void explain_absences(const Places& columns) {
    std::vector<std::vector<std::size_t>> runs(matrix_.columns.size());
    for (const Matrix::Sample& sample : samples_) {  // in order of runs
      std::vector<std::size_t>& known = runs[columns.index(sample)];
      if (known.empty() || known.back() != sample.run) {
        known.push_back(sample.run);
      }
    }
    constexpr std::size_t kShown = 2;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::vector<std::string> suites;
      for (std::size_t j = 0; j < std::min(kShown, runs[i].size()); ++j) {
        const results::RunHeader& run = runs_[runs[i][j]].header;
        suites.push_back(fmt::format("{} of run {}", run.suite, run.id));
      }
      const std::size_t more = runs[i].size() - suites.size();
      absence_reasons_.push_back(fmt::format("not in the suite of the runs with {}: {}{}",
                                             describe(columns.axis(), matrix_.columns[i]),
                                             fmt::join(suites, ", "),
                                             more > 0 ? fmt::format(" and {} more", more) : ""));
    }
  }

  /// Divides a row's cells by those of the reference, model by model.
  void divide_by_reference(std::vector<Matrix::Cell>& cells) const {
    if (!matrix_.reference) {
      return;
    }
    const std::vector<Matrix::Cell> before = cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i / models_ == *matrix_.reference) {
        cells[i].value = cells[i].value ? std::optional(Estimate{1.0, {}, {}}) : std::nullopt;
      } else {
        cells[i] = relative_cell(std::move(cells[i]),
                                 before[*matrix_.reference * models_ + i % models_],
                                 matrix_.columns[*matrix_.reference]);
      }
    }
  }

  void add_means() {
    std::vector<bool> has_values(matrix_.columns.size());
    for (const Matrix::Row& row : matrix_.rows) {
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        has_values[i] = has_values[i] || row.cells[i].value;
      }
    }
    const auto in_all = [&](const Matrix::Row& row) {
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (has_values[i] && !row.cells[i].value) {
          return false;
        }
      }
      return true;
    };
    const bool is_ratio = unit_of(matrix_.query.quantity) == "ratio" || matrix_.reference;
    for (std::size_t i = 0; i < matrix_.columns.size(); ++i) {
      std::vector<double> own;
      std::vector<double> common;
      for (const Matrix::Row& row : matrix_.rows) {
        if (row.cells[i].value) {
          own.push_back(row.cells[i].value->value);
          if (in_all(row)) {
            common.push_back(own.back());
          }
        }
      }
      Matrix::Mean mean{stats::geometric_mean(own), stats::geometric_mean(common)};
      if (!is_ratio) {
        // Times of unlike rows have no mean that could be compared with another column's. Their
        // spread is that of the models' sizes.
        mean.own.reset();
        if (mean.common) {
          mean.common->low = mean.common->high = std::nullopt;
        }
      }
      matrix_.means.push_back(mean);
    }
  }

  std::span<const Matrix::Run> runs_;
  std::vector<Matrix::Sample> samples_;
  std::vector<Places> row_places_;                 ///< that of the rows first
  std::map<RowKey, std::vector<Samples>> groups_;  ///< by column, then by model
  std::size_t models_ = 1;                         ///< in a column
  std::vector<std::string> absence_reasons_;       ///< one a column
  Matrix matrix_;
};

}  // namespace

Matrix make_matrix(std::span<const Matrix::Run> runs, Matrix::Query query) {
  return MatrixBuilder(runs, std::move(query)).build();
}

namespace {

std::int64_t read_batch(const std::string& column) {
  std::int64_t batch = 0;
  const char* const end = column.data() + column.size();
  PLUMB_CHECK(std::from_chars(column.data(), end, batch).ptr == end);
  return batch;
}

MatrixReport::Front::Verdict judge(const Estimate& seconds, double limit) {
  if (seconds.high.value_or(seconds.value) <= limit) {
    return MatrixReport::Front::Verdict::kKept;
  }
  return seconds.low.value_or(seconds.value) > limit ? MatrixReport::Front::Verdict::kMissed
                                                     : MatrixReport::Front::Verdict::kUncertain;
}

/// Returns whether one point is as good as another in both, and better in one.
bool dominates(const MatrixReport::Front::Point& one, const MatrixReport::Front::Point& other) {
  const double faster = other.seconds.value - one.seconds.value;
  const double more = one.inputs_per_second.value - other.inputs_per_second.value;
  return faster >= 0.0 && more >= 0.0 && (faster > 0.0 || more > 0.0);
}

MatrixReport::Front front_of(const Matrix& times,
                             const Matrix::Row& row,
                             std::optional<Seconds> limit) {
  MatrixReport::Front front{.name = row.name, .points = {}, .absent = {}, .best = {}};
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const std::int64_t batch = read_batch(times.columns[i]);
    const Matrix::Cell& cell = row.cells[i];
    if (!cell.value) {
      front.absent.push_back({batch, cell.missing});
      continue;
    }
    const double inputs = static_cast<double>(std::max<std::int64_t>(batch, 1));
    MatrixReport::Front::Point point{.batch = batch,
                                     .seconds = *cell.value,
                                     .inputs_per_second = rate_of(inputs, *cell.value),
                                     .on_front = false,
                                     .limit = {}};
    if (limit) {
      point.limit = judge(*cell.value, limit->count());
    }
    front.points.push_back(point);
  }
  for (std::size_t i = 0; i < front.points.size(); ++i) {
    MatrixReport::Front::Point& point = front.points[i];
    point.on_front = std::none_of(
        front.points.begin(), front.points.end(), [&](const MatrixReport::Front::Point& other) {
          return dominates(other, point);
        });
    if (point.limit == MatrixReport::Front::Verdict::kKept &&
        (!front.best ||
         point.inputs_per_second.value > front.points[*front.best].inputs_per_second.value)) {
      front.best = i;
    }
  }
  return front;
}

}  // namespace

std::string_view to_text(MatrixReport::Front::Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames{"kept", "uncertain", "missed"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::vector<MatrixReport::Front> pareto_fronts(const Matrix& times, std::optional<Seconds> limit) {
  PLUMB_CHECK(times.query.columns == Axis::kBatch && !times.reference);
  std::vector<MatrixReport::Front> fronts;
  for (const Matrix::Row& row : times.rows) {
    fronts.push_back(front_of(times, row, limit));
  }
  return fronts;
}

}  // namespace plumb::analysis
