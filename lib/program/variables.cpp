// SPDX-License-Identifier: Apache-2.0
#include "draft.hpp"
#include "tfd/variable/initializer.hpp"

namespace tfd::program {
namespace {

constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kMaxNameLength = 256;

Result<void> check_name(const std::string& name, const Node& node) {
  if (name.empty()) return node.fail("a variable needs a name");
  if (name.size() > kMaxNameLength) return node.fail("the name is longer than {} bytes", kMaxNameLength);
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '*')
      return node.fail("a variable's name has no '*' and no control characters");
  // "w/.optimizer/momentum" and ".iterations" are tfd's own in checkpoints.
  if (name.front() == '.' || name.find("/.") != std::string::npos)
    return node.fail("no part of a variable's name may start with '.'");
  return {};
}

Result<tensor::Shape> parse_shape(const Node& node) {
  if (!node.is_list()) return node.fail_type("a list of dimensions");
  tensor::Shape shape;
  for (const Node& dimension : node.elements()) shape.push_back(TFD_TRY(dimension.integer(0)));
  if (shape.size() > kMaxRank) return node.fail("more than {} dimensions", kMaxRank);
  return shape;
}

Result<VariableDef> parse_variable(const std::string& name, const Node& node) {
  TFD_TRY(check_name(name, node));
  TFD_TRY(node.expect_object({"shape", "dtype", "init", "trainable"},
                             {{"aggregation", "aggregations of variables"},
                              {"synchronization", "synchronizations of variables"},
                              {"partitioner", "partitioned variables"},
                              {"colocate_with", "placements beside other variables"}}));
  VariableDef variable;
  variable.name = name;
  const Node shape = TFD_TRY(node.member("shape"));
  variable.spec.shape = TFD_TRY(parse_shape(shape));
  if (const auto dtype = node.find("dtype"))
    variable.spec.dtype = TFD_TRY(tensor::parse_dtype(TFD_TRY(dtype->text())), dtype->path());
  TFD_TRY(tensor::checked_byte_size(variable.spec.dtype, variable.spec.shape), shape.path());

  const Node init = TFD_TRY(node.member("init"));
  auto checked = variable::check_initializer(init.json(), variable.spec);
  if (!checked) return fail(continue_path(init.path(), std::move(checked).error()));
  variable.init = init.dump();

  variable.trainable = tensor::is_floating(variable.spec.dtype);
  if (const auto trainable = node.find("trainable")) {
    const bool wanted = TFD_TRY(trainable->boolean());
    if (wanted && !variable.trainable)
      return trainable->fail("an {} variable cannot be trainable", tensor::dtype_name(variable.spec.dtype));
    variable.trainable = wanted;
  }
  return variable;
}

}  // namespace

Result<std::vector<VariableDef>> parse_variables(const Node& node) {
  if (!node.is_object()) return node.fail_type("an object");
  std::vector<VariableDef> variables;
  for (const auto& [name, child] : node.members()) variables.push_back(TFD_TRY(parse_variable(name, child)));
  return variables;
}

}  // namespace tfd::program
