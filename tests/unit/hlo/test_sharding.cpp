// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <numeric>

#include "tfd/hlo/module.hpp"
#include "tfd/hlo/partition.hpp"
#include "tfd/hlo/sharding.hpp"

namespace tfd::hlo {
namespace {

using Kind = OpSharding::Kind;
using tensor::DType;
using tensor::Tensor;

Tensor counting(tensor::Shape shape) {
  Tensor out = Tensor::uninitialized(DType::kS32, std::move(shape));
  std::int32_t* const at = out.mutable_as<std::int32_t>();
  std::iota(at, at + out.size(), 0);
  return out;
}

std::vector<std::int32_t> numbers(const Tensor& tensor) {
  return {tensor.as<std::int32_t>().begin(), tensor.as<std::int32_t>().end()};
}

TEST_CASE("sharding: XLA's text and back") {
  for (const auto& [text, rank, expected] : std::vector<std::tuple<std::string, std::size_t, OpSharding>>{
           {"{replicated}", 2, {}},
           {"{devices=[2,1]<=[2]}", 2, {Kind::kSplit, {2, 1}, 0, {}}},
           {"{devices=[2,1]0,1}", 2, {Kind::kSplit, {2, 1}, 0, {}}},
           {"{devices=[2]1,0}", 1, {Kind::kSplit, {2}, 0, {1, 0}}},
           {"{devices=[1,2]<=[2]}", 2, {Kind::kSplit, {1, 2}, 0, {}}},
           {"{devices=[1,1,4]<=[4] last_tile_dim_replicate}", 2, {}},
           // Devices 0 and 2 have the first rows: the mesh [2, 2] transposed.
           {"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", 2, {Kind::kSplit, {2, 1}, 0, {0, 1, 0, 1}}},
           {"{devices=[2,1,2]<=[4] last_tile_dim_replicate}", 2, {Kind::kSplit, {2, 1}, 0, {0, 0, 1, 1}}}}) {
    CAPTURE(text);
    const auto sharding = parse_sharding_text(text, rank);
    REQUIRE_MESSAGE(sharding, (sharding ? "" : sharding.error().message));
    CHECK(*sharding == expected);
    CHECK(parse_sharding_text(format_sharding(*sharding), rank).value() == expected);
  }
  for (const char* wrong :
       {"", "replicated", "{replicated", "{devices}", "{devices=[2]<=[2]}", "{devices=[2,1]0}", "{devices=[2,1]0,0}",
        "{devices=[2,1]0,2}", "{devices=[2,1]<=[2]T(1)}", "{devices=[0,1]<=[0]}", "{devices=[2,1]<=[65537]}",
        "{devices=[2,1", "{devices=[2,1]<=[2,2]T(0,0)}", "{other}"})
    CHECK_MESSAGE(!parse_sharding_text(wrong, 2), wrong);
  CHECK(parse_sharding_text("{maximal device=1}", 2).error().code == Code::kUnimplemented);
}

TEST_CASE("sharding: Shardy's axes of a mesh, major to minor") {
  const std::map<std::string, Mesh, std::less<>> meshes{{"mesh", parse_mesh(R"(["data"=2, "model"=2])").value()}};
  const auto read = [&](std::string_view text) { return parse_shardy(text, meshes, 2); };
  CHECK(read(R"(@mesh, [{"data"}, {"model"}])").value() == OpSharding{Kind::kSplit, {2, 2}, 0, {}});
  CHECK(read(R"(@mesh, [{"model"}, {}])").value() == OpSharding{Kind::kSplit, {2, 1}, 0, {0, 1, 0, 1}});
  CHECK(read(R"(@mesh, [{}, {"data"}])").value() == OpSharding{Kind::kSplit, {1, 2}, 0, {0, 0, 1, 1}});
  CHECK(read(R"(@mesh, [{"model", "data"}, {}p1])").value() == OpSharding{Kind::kSplit, {4, 1}, 0, {0, 2, 1, 3}});
  CHECK(read(R"(@mesh, [{}, {?}], replicated={"data"})").value() == OpSharding{});
  for (const char* wrong :
       {"", "@other, [{}, {}]", "@mesh", "@mesh, [{}]", R"(@mesh, [{"x"}, {}])", R"(@mesh, [{"data":(1)2}, {}])",
        R"(@mesh, [{"data"}, {"data"}])", "@mesh, [{}, {}, {}]", "@mesh, [{}, {"})
    CHECK_MESSAGE(!read(wrong), wrong);
  CHECK_FALSE(parse_mesh(R"(["a"=0])"));
  CHECK_FALSE(parse_mesh(R"(["a"=65536, "b"=2])"));
  CHECK_FALSE(parse_mesh(R"(["a"=2], device_ids=[1, 0])"));
}

TEST_CASE("sharding: the pieces of a value make it again") {
  const Tensor value = counting({4, 2, 6});
  for (const OpSharding& sharding :
       {OpSharding{}, OpSharding{Kind::kSplit, {2, 1, 1}, 0, {}}, OpSharding{Kind::kSplit, {1, 1, 3}, 0, {}},
        OpSharding{Kind::kSplit, {2, 1, 3}, 0, {}}, OpSharding{Kind::kSplit, {4, 2, 2}, 0, {}},
        OpSharding{Kind::kSplit, {1, 2, 1}, 0, {1, 0}}, OpSharding{Kind::kSplit, {2, 1, 1}, 0, {0, 0, 1, 1}}}) {
    CAPTURE(format_sharding(sharding));
    std::vector<Tensor> pieces;
    const std::int64_t devices = sharding.kind == Kind::kReplicate ? 3 : sharding.devices();
    for (int device = 0; device < devices; ++device) pieces.push_back(piece_of(value, sharding, device));
    CHECK(pieces[0].shape() == shape_of_piece(sharding, value.shape()));
    CHECK(numbers(join_pieces(pieces, sharding, value.spec())) == numbers(value));
  }
  const OpSharding columns{Kind::kSplit, {1, 2}, 0, {}};
  CHECK(numbers(piece_of(counting({2, 4}), columns, 1)) == std::vector<std::int32_t>{2, 3, 6, 7});
  CHECK(piece_of(counting({0, 4}), columns, 1).shape() == tensor::Shape{0, 2});
}

TEST_CASE("sharding: a module's own are read, and what isn't known is told to who needs it") {
  const auto module = make_module("m.mlir", R"(
module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]> {stablehlo.mesh = {axes = []}} loc(#loc)
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>} loc("x"), %y: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}", tf.aliasing_output = 0 : i32}, %z: tensor<f32>) -> (tensor<8x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}, tensor<f32> {mhlo.sharding = "{maximal device=0}"}) {
    return %y, %z : tensor<8x4xf32>, tensor<f32>
  }
})",
                                  std::nullopt)
                          .value();
  const auto& arguments = module.signature.arguments;
  CHECK(arguments[0].sharding == OpSharding{Kind::kSplit, {2, 2}, 0, {}});
  CHECK(arguments[1].sharding == OpSharding{Kind::kSplit, {4, 1}, 0, {}});
  CHECK(arguments[1].aliases_output == 0);
  CHECK_FALSE(arguments[2].sharding);
  CHECK(module.signature.results[0].sharding == OpSharding{Kind::kSplit, {1, 2}, 0, {0, 0, 1, 1}});
  CHECK_FALSE(module.signature.results[1].sharding);
  CHECK(module.sharding_problem == "the sharding of 'result1': maximal");
  CHECK(module.signature.results[0].name == "result");
}

TEST_CASE("sharding: what a module doesn't state is made whole on each device, in its own spelling") {
  const std::string body = " {\n    return %y : tensor<8x4xf32>\n  }\n}\n";
  const auto stated = [](const std::string& text) {
    const auto module = make_module("m.mlir", text, std::nullopt).value();
    const auto made = with_all_shardings(module).value();
    const auto again = make_module("m.mlir", made.code, std::nullopt).value();
    CHECK(same_specs(again.signature, module.signature));
    for (const auto* parameters : {&again.signature.arguments, &again.signature.results})
      for (const Parameter& one : *parameters) CHECK(one.sharding);
    CHECK(with_all_shardings(again).value().code == made.code);
    return made.code;
  };
  const std::string mesh = "module @m attributes {mhlo.num_partitions = 2 : i32} {\n  sdy.mesh @mesh = <[\"i\"=2]>\n";
  CHECK(stated(mesh +
               "  func.func public @main(%x: tensor<f32>, %y: tensor<8x4xf32> {} loc(\"y\")) -> (tensor<8x4xf32> "
               "{jax.result_info = \"r\"})" +
               body)
            .find("%x: tensor<f32> {sdy.sharding = #sdy.sharding<@\"mesh\", []>} , %y: tensor<8x4xf32> {sdy.sharding = "
                  "#sdy.sharding<@\"mesh\", [{}, {}]>} loc(\"y\")) -> (tensor<8x4xf32> {sdy.sharding = "
                  "#sdy.sharding<@\"mesh\", [{}, {}]>, jax.result_info = \"r\"})") != std::string::npos);
  CHECK(stated("module @m attributes {mhlo.num_partitions = 2 : i32} {\n  func.func public @main(%y: tensor<8x4xf32> "
               "{mhlo.sharding = \"{devices=[2,1]<=[2]}\"}) -> tensor<8x4xf32>" +
               body)
            .find("-> (tensor<8x4xf32>  {mhlo.sharding = \"{replicated}\"})") != std::string::npos);
}

}  // namespace
}  // namespace tfd::hlo
