// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "harness/base/error.hpp"
#include "tests/unit/model/model_text.hpp"

namespace plumb::model {
namespace {

namespace fs = std::filesystem;
using test::error_of_text;
using test::graph_of_text;
using testing::AllOf;
using testing::HasSubstr;

/// Offers an empty folder that goes with the test.
class HostileModel : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("plumb_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "model");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static std::string error_of(const fs::path& path) {
    try {
      static_cast<void>(read_model(path));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
      return error.what();
    }
    return "no error";
  }

  /// Makes a model of one MatMul whose weight's data lies at `location`.
  static onnx::ModelProto external_model(const std::string& location,
                                         const std::string& offset = "0",
                                         const std::string& length = "64") {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    onnx::GraphProto& graph = *model.mutable_graph();
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name("x");
    input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    for (int i = 0; i < 2; ++i) {
      input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
    }
    onnx::TensorProto& weight = *graph.add_initializer();
    weight.set_name("w");
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(4);
    weight.add_dims(4);
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair("location", location), {"offset", offset}, {"length", length}}) {
      onnx::StringStringEntryProto& entry = *weight.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("MatMul");
    node.add_input("x");
    node.add_input("w");
    node.add_output("y");
    graph.add_output()->set_name("y");
    return model;
  }

  std::string external_error(const std::string& location,
                             const std::string& offset = "0",
                             const std::string& length = "64") const {
    return error_of(
        write("model/m.onnx", external_model(location, offset, length).SerializeAsString()));
  }

  fs::path folder_;
};

TEST_F(HostileModel, is_refused_when_missing_empty_or_not_onnx) {
  EXPECT_THAT(error_of(folder_ / "absent.onnx"), HasSubstr("absent.onnx"));
  EXPECT_THAT(error_of(folder_), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of(write("empty.onnx", "")), HasSubstr("empty"));
  EXPECT_NE(error_of(write("text.onnx", "this is no model")), "no error");
  EXPECT_NE(error_of(write("text.onnxtxt", "this is no model")), "no error");
  EXPECT_THAT(error_of(write("text.textproto", "graph { node { op_type: 5 } }")),
              HasSubstr("line 1"));
}

TEST_F(HostileModel, is_read_from_both_text_forms) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[4] x) => (float[4] y) { y = Relu(x) }";
  EXPECT_EQ(read_model(write("m.onnxtxt", text)).layers.size(), 1U);
  const std::string proto =
      "opset_import { version: 17 } graph { node { op_type: 'Relu' input: 'x' output: 'y' } "
      "input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } } } } } "
      "output { name: 'y' } }";
  EXPECT_EQ(read_model(write("m.textproto", proto)).layers.at(0).key.text,
            "v1:eltwise;in=f32[4];out=f32[4];acc=f32;math=strict;fn=relu;parameters=[]");
}

TEST_F(HostileModel, never_crashes_when_cut_off_or_damaged) {
  const std::string whole = external_model("w.bin").SerializeAsString();
  write("model/w.bin", std::string(64, '\0'));
  EXPECT_EQ(error_of(write("model/m.onnx", whole)), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(write("model/m.onnx", whole.substr(0, size))), "") << size;
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    for (std::uint64_t edits = random() % 8 + 1; edits > 0; --edits) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    static_cast<void>(error_of(write("model/m.onnx", damaged)));
  }
}

TEST_F(HostileModel, may_read_external_data_only_inside_its_folder) {
  write("outside.bin", std::string(64, '\0'));
  write("model/w.bin", std::string(100, '\0'));
  fs::create_symlink(folder_ / "outside.bin", folder_ / "model" / "link.bin");
  fs::create_directory_symlink(folder_, folder_ / "model" / "up");
  EXPECT_EQ(external_error("w.bin"), "no error");
  EXPECT_EQ(external_error("w.bin", "36"), "no error");
  EXPECT_THAT(external_error("../outside.bin"),
              AllOf(HasSubstr("'w'"), HasSubstr("../outside.bin")));
  EXPECT_THAT(external_error("sub/../../outside.bin"), HasSubstr("inside the model's folder"));
  EXPECT_THAT(external_error((folder_ / "outside.bin").string()),
              HasSubstr("inside the model's folder"));
  EXPECT_THAT(external_error("link.bin"), HasSubstr("leads out"));
  EXPECT_THAT(external_error("up/outside.bin"), HasSubstr("leads out"));
  EXPECT_THAT(external_error(""), HasSubstr("location"));
  EXPECT_THAT(external_error("absent.bin"), HasSubstr("cannot find"));
  EXPECT_THAT(external_error("."), HasSubstr("regular file"));
}

TEST_F(HostileModel, may_not_read_beyond_its_external_data) {
  write("model/w.bin", std::string(100, '\0'));
  EXPECT_THAT(external_error("w.bin", "37"), HasSubstr("beyond the end"));
  EXPECT_THAT(external_error("w.bin", "18446744073709551615"), HasSubstr("beyond the end"));
  EXPECT_THAT(external_error("w.bin", "18446744073709551616"), HasSubstr("not a number"));
  EXPECT_THAT(external_error("w.bin", "-1"), HasSubstr("not a number"));
  EXPECT_THAT(external_error("w.bin", "0", "60"), HasSubstr("64 bytes"));
  EXPECT_THROW(static_cast<void>(read_graph(external_model("w.bin"))), Error);
}

TEST_F(HostileModel, cannot_have_impossible_dimensions) {
  EXPECT_THAT(error_of_text("g (float[-1,4] x) => (y) { y = Relu(x) }"), HasSubstr("negative"));
  EXPECT_THAT(error_of_text("g (float[9223372036854775807,4] x) => (y) { y = Relu(x) }"),
              HasSubstr("2^40"));
  onnx::ModelProto model = external_model("w.bin");
  onnx::TensorProto& weight = *model.mutable_graph()->mutable_initializer(0);
  weight.clear_data_location();
  weight.clear_external_data();
  weight.set_dims(0, -4);
  EXPECT_THROW(static_cast<void>(read_graph(model)), Error);
  weight.set_dims(0, 4);
  weight.set_raw_data("three");
  EXPECT_THROW(static_cast<void>(read_graph(model)), Error);
}

TEST_F(HostileModel, cannot_contradict_itself) {
  EXPECT_THAT(error_of_text("g (float[4] x) => (y) { a = Relu(b) b = Relu(a) y = Add(a, x) }"),
              HasSubstr("cycle"));
  EXPECT_THAT(error_of_text("g (float[4] x) => (y) { y = Relu(x) y = Tanh(x) }"),
              HasSubstr("written twice"));
  EXPECT_THAT(error_of_text("g (float[4] x) => (y) { x = Relu(x) y = Tanh(x) }"),
              testing::AnyOf(HasSubstr("cycle"), HasSubstr("twice")));
  EXPECT_THAT(error_of_text("g (float[4] x) => (y) { y = Relu(z) }"),
              HasSubstr("'z', which nothing produces"));
  EXPECT_THAT(error_of_text("g (float[4] x) => (y) { z = Relu(x) }"), HasSubstr("output 'y'"));
  EXPECT_THAT(error_of_text("g (float[1,3,4,4] x) => (y) <float[8,4,3,3] w> { y = Conv(x, w) }"),
              HasSubstr("no error"));
  EXPECT_THAT(error_of_text("g (float[4] x) => (y) { y = Relu(x) }", 0), HasSubstr("opset 0"));
  EXPECT_THAT(error_of_text("g (float[4] x) => (y) { y = Relu(x) }", 99), HasSubstr("opset 99"));
  EXPECT_THROW(static_cast<void>(read_graph(onnx::ModelProto())), Error);
}

TEST_F(HostileModel, cannot_make_a_rule_of_the_library_run_for_ever) {
  const auto reason_of = [](const std::string& equation) {
    return graph_of_text("g (float[2,3,4] x) => (y) { y = Einsum<equation = \"" + equation +
                         "\">(x) }")
        .layers.at(0)
        .reason;
  };
  for (const char* const hostile :
       {"...i...->...", "i1->i", "a-b", "....", "ijk;", "i,", "i->j->k", "...", "i...j,..k"}) {
    EXPECT_THAT(reason_of(hostile), HasSubstr("Einsum has no layer key")) << hostile;
  }
  const Graph known = graph_of_text(
      "g (float[2,3,4] x) => (y) { t = Einsum<equation = \"... i -> i ...\">(x) y = Relu(t) }");
  EXPECT_THAT(known.layers.at(1).key.text, HasSubstr("in=f32[4,2,3]"));
}

TEST_F(HostileModel, cannot_say_another_number_of_outputs_than_it_has) {
  EXPECT_THAT(
      error_of_text("g (float[200000000] x) => (a, b) { a, b = Split<num_outputs = 100000000>(x) }",
                    18),
      HasSubstr("num_outputs is 100000000, and the node has 2 outputs"));
  EXPECT_THAT(error_of_text("g (float[4] x) => (a, b) { a, b = Split<num_outputs = 1>(x) }", 18),
              HasSubstr("2 outputs"));
  EXPECT_THAT(error_of_text("g (float[4] x) => (a, b) { a, b = Split<num_outputs = 2>(x) }", 18),
              HasSubstr("no error"));
}

TEST_F(HostileModel, cannot_be_nested_without_limit) {
  const auto nested = [](int depth) {
    std::string text = "y = Relu(x)";
    for (int i = 0; i < depth; ++i) {
      text = "y = If(c) <then_branch = t () => (y) { " + text +
             " }, else_branch = e () => (y) { y = Neg(x) }>";
    }
    return "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[4] x, bool[1] c) => (y) { " +
           text + " }";
  };
  EXPECT_EQ(error_of(write("m.onnxtxt", nested(50))), "no error");
  EXPECT_THAT(error_of(write("m.onnxtxt", nested(5200))), HasSubstr("brackets are nested"));
  std::string proto;
  for (int i = 0; i < 100000; ++i) {
    proto += "graph { node { attribute { g { node { attribute { ";
  }
  EXPECT_THAT(error_of(write("m.textproto", proto)), HasSubstr("line 1"));
  EXPECT_EQ(
      error_of(write("m.onnxtxt",
                     "<ir_version: 8, opset_import: [\"\" : 17]>\n# " + std::string(500, '(') +
                         "\ng (float[4] x) => (y) { y = Cast<to = 1, s = \"" +
                         std::string(500, '{') + "\\\"\">(x) }")),
      "no error");
}

TEST_F(HostileModel, cannot_be_larger_than_seconds_allow) {
  onnx::ModelProto model = external_model("w.bin");
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < 100'000; ++i) {
    graph.add_node()->set_op_type("Relu");
  }
  EXPECT_THAT(error_of(write("m.onnx", model.SerializeAsString())), HasSubstr("100001 nodes"));
  graph.clear_node();
  onnx::NodeProto& node = *graph.add_node();
  for (int i = 0; i < 1'000'001; ++i) {
    node.add_output();
  }
  EXPECT_THAT(error_of(write("m.onnx", model.SerializeAsString())), HasSubstr("at most 1000000"));
}

TEST_F(HostileModel, cannot_compute_constants_without_limit) {
  std::string text =
      "g (float[4] x) => (y) <int64[1] one = {1}, int64[1] big = {60000}> { c0 = Expand(one, big)";
  for (int i = 1; i < 1000; ++i) {
    text += " c" + std::to_string(i) + " = Add(c" + std::to_string(i - 1) + ", one)";
  }
  EXPECT_THAT(error_of_text(text + " y = Relu(x) }"), HasSubstr("33554432 elements"));
}

TEST_F(HostileModel, cannot_have_any_number_of_dimensions) {
  std::string dims = "1";
  for (int i = 1; i < 65; ++i) {
    dims += ",1";
  }
  EXPECT_THAT(error_of_text("g (float[" + dims + "] x) => (y) { y = Relu(x) }"),
              HasSubstr("65 dimensions"));
}

TEST_F(HostileModel, may_have_large_strings) {
  onnx::ModelProto model = external_model("w.bin");
  onnx::TensorProto& weight = *model.mutable_graph()->mutable_initializer(0);
  weight.clear_data_location();
  weight.clear_external_data();
  model.mutable_graph()->mutable_node(0)->set_name(std::string(std::size_t{1} << 24, 'n'));
  model.mutable_graph()->mutable_node(0)->set_input(1, std::string(std::size_t{1} << 24, 'i'));
  try {
    static_cast<void>(read_graph(model));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 1000U);
  }
}

}  // namespace
}  // namespace plumb::model
