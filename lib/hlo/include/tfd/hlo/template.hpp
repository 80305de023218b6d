#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A module template for any batch size b: a text with expressions of b as numbers, "tensor<${2*b}x10xf32>". PJRT has no
// dynamic shapes, so it is expanded for each size that occurs. Its first line marks it as a template and states the
// size it was written for: "// tfd-template: b=64". Thread rule: immutable.
//
//   const Template any = TFD_TRY(Template::make("step.mlirt", text));
//   any.expand(7)  // the module for seven rows
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

/// True if the text is marked as a template.
bool is_template(std::string_view code);

class Template {
 public:
  /// kInvalidArgument names the line: an expression that isn't one, a first line without "b=64"; what make_module()
  /// refuses, for the size that it was written for and for one more; where those two have other dtypes or ranks, or no
  /// argument has b in its shape.
  static Result<Template> make(std::string name, std::string code);

  /// The module for this size, called "step.mlirt (b=7)". kInvalidArgument: a number that is negative, too large or
  /// none for this size; a text that is no module then, or one of other dtypes or ranks.
  Result<Module> expand(std::int64_t batch) const;
  /// The modules for the size that it was written for, and for one more.
  const std::vector<Module>& examples() const { return examples_; }
  std::int64_t size() const { return size_; }

  /// Dimensions of an argument, absent where they don't matter.
  using ShapeOf = std::function<const tensor::Shape*(std::size_t argument)>;
  /// The size at which the arguments can have these shapes, by a dimension that is b or a*b+c; nullopt: none of at
  /// least 1, or none of the arguments depends on it.
  std::optional<std::int64_t> find_size(const ShapeOf& shape_of) const;

 private:
  Template(std::string name, std::string code, std::int64_t size)
      : name_(std::move(name)), code_(std::move(code)), size_(size) {}

  std::string name_, code_;
  std::int64_t size_;
  std::vector<Module> examples_;
};

}  // namespace tfd::hlo
