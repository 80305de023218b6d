// SPDX-License-Identifier: Apache-2.0
#include "ring_order.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "tfd/tensor/ring_sum.hpp"

namespace tfd::strategy {

using tensor::Tensor;

RingOrder::RingOrder(const program::Program& program) {
  const program::FunctionDef& function = *program.find_function(program.train->function);
  for (std::size_t i = program.variables.size(); i-- > 0;) {
    const program::VariableDef& variable = program.variables[i];
    const bool has_gradient = std::ranges::any_of(function.outputs, [&](const program::OutputBinding& one) {
      return one.kind == program::OutputKind::kGradient && one.name == variable.name;
    });
    if (!has_gradient) continue;
    std::int64_t& elements = elements_[variable.spec.dtype];
    first_[i] = elements;
    elements += tensor::element_count(variable.spec.shape);
  }
}

Result<Tensor> RingOrder::sum(const program::Program& program, const Pack& pack,
                              const std::vector<Tensor>& by_replica) const {
  const std::int64_t total = elements_.at(pack.spec.dtype);
  if (pack.variables.size() == 1) return tensor::ring_sum(by_replica, first_.at(pack.variables.front()), total);
  Tensor out = Tensor::zeros(pack.spec.dtype, pack.spec.shape);  // between variables there may be padding
  std::int64_t at = 0;
  for (std::size_t k = 0; k < pack.variables.size(); ++k) {
    const std::int64_t count = tensor::element_count(program.variables[pack.variables[k]].spec.shape);
    std::vector<Tensor> parts;
    for (const Tensor& one : by_replica) parts.push_back(one.has_value() ? one.slice_rows(at, count) : Tensor());
    const Tensor sum = TFD_TRY(tensor::ring_sum(parts, first_.at(pack.variables[k]), total));
    if (count > 0)
      std::memcpy(out.mutable_data() + static_cast<std::size_t>(at) * tensor::dtype_size(pack.spec.dtype), sum.data(),
                  sum.byte_size());
    at += pack.sizes[k];
  }
  return out;
}

}  // namespace tfd::strategy
