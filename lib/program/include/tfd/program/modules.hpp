#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The modules of a function: one for each of several batch sizes, or a template, of which there is one for any size.
// Thread rule: immutable, but for the modules that a template was made into so far, which copies share; thread-safe.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/hlo/module.hpp"
#include "tfd/hlo/template.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::program {

class Modules {
 public:
  Modules() = default;
  /// All with the same number of arguments and results.
  Modules(std::vector<hlo::Module> list) : stated_(std::move(list)) {}  // NOLINT: a list is one way to have them
  explicit Modules(hlo::Template any);

  /// What can be said of the function without a batch: the modules of a list; of a template those for two sizes.
  auto begin() const { return stated_.begin(); }
  auto end() const { return stated_.end(); }
  const hlo::Module& front() const { return stated_.front(); }
  const hlo::Module& operator[](std::size_t i) const { return stated_[i]; }
  std::size_t size() const { return stated_.size(); }
  bool empty() const { return stated_.empty(); }
  /// What the program states of all of them, such as shardings. While it is read: modules that a template is made into
  /// later take it from the first.
  Result<void> change(const std::function<Result<void>(hlo::Module&)>& change_one);
  /// Null for a list.
  const hlo::Template* any_size() const;

  /// What is called: the modules of a list, or those for the sizes that came so far, in that order; which stay.
  const hlo::Module& called(std::size_t i) const;
  std::size_t called_size() const;
  /// The modules of a list; of a template called(), or as long as no size is known the first.
  std::vector<const hlo::Module*> expected() const;
  /// Dimensions and dtypes of the arguments; null where it doesn't matter.
  using SpecOf = std::function<const tensor::TensorSpec*(std::size_t argument)>;
  /// Which of called() takes these arguments; nullopt: none can. Of a template it is made where it isn't there, which
  /// may fail as hlo::Template::expand() does.
  Result<std::optional<std::size_t>> find(const SpecOf& spec_of) const;
  /// Whether a module can take this as argument `i`, whatever the others are.
  bool may_take(std::size_t i, const tensor::TensorSpec& spec) const;

 private:
  struct Any;
  std::vector<hlo::Module> stated_;
  std::shared_ptr<Any> any_;
};

}  // namespace tfd::program
