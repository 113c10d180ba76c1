// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/spec_check.hpp"

namespace plumb::model {
namespace {

constexpr std::size_t kLongestKey = std::size_t{64} * 1024;
constexpr std::size_t kMaxOperands = 1024;
constexpr std::size_t kHighestRank = 16;

/// Parser of one key, front to back. Each failure names the field that it is in.
class KeyParser {
 public:
  explicit KeyParser(std::string_view text) : whole_(text), rest_(text) {}

  LayerSpec parse() {
    if (whole_.size() > kLongestKey) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "a layer key of {} bytes is longer than the {} allowed", whole_.size(), kLongestKey));
    }
    field_ = "version";
    if (!take(kKeyVersion)) {
      fail(fmt::format("must start with '{}', the version of the key", kKeyVersion));
    }
    LayerSpec spec;
    field_ = "operator";
    spec.op = word();
    const OpSchema* schema = find_op_schema(spec.op);
    if (schema == nullptr) {
      fail(fmt::format("'{}' is not an operator of docs/reference/layer-keys.md", spec.op));
    }
    begin_field("in");
    spec.inputs = operands();
    begin_field("out");
    for (const std::optional<TensorType>& output : operands()) {
      if (!output) {
        fail("an output cannot be left out");
      }
      spec.outputs.push_back(*output);
    }
    begin_field("acc");
    spec.accumulate = data_type();
    begin_field("math");
    spec.math = math_class();
    attributes(spec, *schema);
    finish(spec, *schema);
    return spec;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(Error::Kind::kUser,
                fmt::format("layer key, field '{}' at byte {}: {}; key: '{}'",
                            field_,
                            whole_.size() - rest_.size(),
                            problem,
                            whole_.substr(0, 200)));
  }

  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) {
      return false;
    }
    rest_.remove_prefix(expected.size());
    return true;
  }

  void expect(std::string_view expected) {
    if (!take(expected)) {
      fail(fmt::format("expected '{}'", expected));
    }
  }

  void begin_field(std::string_view name) {
    field_ = name;
    expect(fmt::format(";{}=", name));
  }

  std::string word() {
    std::size_t size = 0;
    while (size < rest_.size() &&
           ((rest_[size] >= 'a' && rest_[size] <= 'z') ||
            (rest_[size] >= '0' && rest_[size] <= '9') || rest_[size] == '_')) {
      ++size;
    }
    if (size == 0) {
      fail("expected a word of a-z, 0-9 and _");
    }
    std::string result(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return result;
  }

  std::int64_t integer() {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (code != std::errc{}) {
      fail(code == std::errc::result_out_of_range ? "an integer does not fit in 64 bits"
                                                  : "expected an integer");
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  double real() {
    double value = 0.0;
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (code != std::errc{}) {
      fail(code == std::errc::result_out_of_range ? "a real number is out of range"
                                                  : "expected a real number");
    }
    const std::string_view digits = rest_.substr(0, static_cast<std::size_t>(end - rest_.data()));
    if (digits.find_first_of(".en") == std::string_view::npos) {
      fail(fmt::format("a real number has a '.' or an exponent: '{}'", digits));
    }
    rest_.remove_prefix(digits.size());
    return value;
  }

  template <typename Element>
  auto list(Element element) {
    std::vector<decltype(element())> result;
    expect("[");
    if (!take("]")) {
      do {
        result.push_back(element());
      } while (take(","));
      expect("]");
    }
    return result;
  }

  std::vector<std::int64_t> integers() {
    return list([this] { return integer(); });
  }

  DataType data_type() {
    const std::string name = word();
    const std::optional<DataType> type = parse_data_type(name);
    if (!type) {
      fail(fmt::format("'{}' is not a data type", name));
    }
    return *type;
  }

  LayerSpec::MathClass math_class() {
    const std::string name = word();
    for (const LayerSpec::MathClass math : {LayerSpec::MathClass::kStrict,
                                            LayerSpec::MathClass::kTf32,
                                            LayerSpec::MathClass::kDownConvert,
                                            LayerSpec::MathClass::kDeterministic}) {
      if (to_text(math) == name) {
        return math;
      }
    }
    fail(fmt::format("'{}' is not one of strict, tf32, downconvert, deterministic", name));
  }

  std::optional<TensorType> operand() {
    if (take("-")) {
      return std::nullopt;
    }
    TensorType type;
    type.dtype = data_type();
    type.dims = integers();
    if (type.dims.size() > kHighestRank) {
      fail(fmt::format("a rank of {} is above {}", type.dims.size(), kHighestRank));
    }
    if (take("%")) {
      type.strides = integers();
      if (type.strides.size() != type.dims.size()) {
        fail(fmt::format("{} strides for {} dimensions", type.strides.size(), type.dims.size()));
      }
    }
    for (const std::int64_t stride : type.strides) {
      if (stride < 0 || stride > (std::int64_t{1} << 40)) {
        fail(fmt::format("a stride of {} is out of range", stride));
      }
    }
    type.constant = take("c");
    static_cast<void>(element_count(type));  // throws when negative or too large
    return type;
  }

  std::vector<std::optional<TensorType>> operands() {
    std::vector<std::optional<TensorType>> result;
    do {
      if (result.size() == kMaxOperands) {
        fail(fmt::format("more than {} operands", kMaxOperands));
      }
      result.push_back(operand());
    } while (take(","));
    return result;
  }

  Attribute attribute(const OpSchema::Attribute& row) {
    switch (row.kind) {
      case OpSchema::Attribute::Kind::kInteger:
        return integer();
      case OpSchema::Attribute::Kind::kReal:
        return real();
      case OpSchema::Attribute::Kind::kWord:
        return word();
      case OpSchema::Attribute::Kind::kIntegers:
        return integers();
      case OpSchema::Attribute::Kind::kReals:
        return list([this] { return real(); });
    }
    fail("unknown kind of attribute");
  }

  void attributes(LayerSpec& spec, const OpSchema& schema) {
    while (take(";")) {
      field_ = "attribute name";
      const std::string name = word();
      field_ = name;
      expect("=");
      if (name == "epilogue") {
        epilogue(spec);
        break;
      }
      const OpSchema::Attribute* known = nullptr;
      for (const OpSchema::Attribute& row : schema.attributes) {
        known = row.name == name ? &row : known;
      }
      if (known == nullptr) {
        fail(fmt::format("operator '{}' has no such attribute", spec.op));
      }
      if (!spec.attributes.emplace(name, attribute(*known)).second) {
        fail("the attribute is given twice");
      }
    }
    if (!rest_.empty()) {
      fail("unexpected text after the value");
    }
  }

  void epilogue(LayerSpec& spec) {
    do {
      Epilogue step;
      step.fn = word();
      if (take("(")) {
        do {
          step.parameters.push_back(real());
        } while (take(","));
        expect(")");
      }
      if (take("@")) {
        const std::int64_t index = integer();
        if (index < 0) {
          fail(fmt::format("operand {} is negative", index));
        }
        step.operand = static_cast<std::size_t>(index);
      }
      spec.epilogue.push_back(std::move(step));
    } while (take(","));
  }

  void finish(const LayerSpec& spec, const OpSchema& schema) {
    for (std::size_t i = 0; i < schema.attribute_count(); ++i) {
      if (!spec.attributes.contains(std::string(schema.attributes[i].name))) {
        field_ = schema.attributes[i].name;
        fail("the attribute is missing");
      }
    }
    if (const std::optional<SpecProblem> problem = check_spec(spec)) {
      field_ = problem->field;
      fail(problem->text);
    }
    // A key has one text: "01", "+1.0" or attributes out of order would be second names for a
    // layer.
    const LayerKey canonical = to_key(spec);
    if (canonical.text != whole_) {
      field_ = "key";
      fail(fmt::format("not in canonical form, write '{}'", canonical.text));
    }
  }

  std::string_view whole_;
  std::string_view rest_;
  std::string field_;
};

}  // namespace

LayerSpec parse_key(const LayerKey& key) {
  return KeyParser(key.text).parse();
}

}  // namespace plumb::model
