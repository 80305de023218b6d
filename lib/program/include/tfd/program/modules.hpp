#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The modules of a function: one for each of several batch sizes, or a template for any size. Thread rule: immutable,
// except for the cache of a template's expansions, which copies share; thread-safe.
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

  /// The modules known without a batch size: those of a list; for a template its two examples.
  auto begin() const { return stated_.begin(); }
  auto end() const { return stated_.end(); }
  const hlo::Module& front() const { return stated_.front(); }
  const hlo::Module& operator[](std::size_t i) const { return stated_[i]; }
  std::size_t size() const { return stated_.size(); }
  bool empty() const { return stated_.empty(); }
  /// Applies a change to all of them, such as shardings, while the program is read; later expansions of a template copy
  /// it from the first.
  Result<void> change(const std::function<Result<void>(hlo::Module&)>& change_one);
  /// The template; null for a list.
  const hlo::Template* any_size() const;

  /// Modules that can be called: those of a list, or a template's expansions so far, in that order; references stay
  /// valid.
  const hlo::Module& called(std::size_t i) const;
  std::size_t called_size() const;
  /// The modules of a list; for a template called(), or its first example as long as no size is known.
  std::vector<const hlo::Module*> expected() const;
  /// Dimensions and dtype of an argument; null if they don't matter.
  using SpecOf = std::function<const tensor::TensorSpec*(std::size_t argument)>;
  /// Finds the module of called() that takes these arguments; nullopt if none can. A template is expanded if necessary,
  /// which may fail as hlo::Template::expand() does.
  Result<std::optional<std::size_t>> find(const SpecOf& spec_of) const;
  /// True if some module can take this as argument `i`, whatever the others are.
  bool may_take(std::size_t i, const tensor::TensorSpec& spec) const;

 private:
  struct Any;
  std::vector<hlo::Module> stated_;
  std::shared_ptr<Any> any_;
};

}  // namespace tfd::program
