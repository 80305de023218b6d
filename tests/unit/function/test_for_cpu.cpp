// SPDX-License-Identifier: Apache-2.0
//
// Operations that are rewritten for CPUs, against the plug-in's own and against float64: those that JAX, Keras and
// torchax export, and random ones. TFD_RANDOM_CASES=500 makes more of these.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "engines.hpp"
#include "tfd/function/kernels.hpp"
#include "tfd/hlo/for_cpu.hpp"

using namespace tfd;
using namespace tfd::function;
using namespace tfd::function::test;
using tensor::Shape;

namespace {

using Random = std::mt19937;

/// Both kinds of engines of this process.
std::shared_ptr<Engine> engine_with(std::string_view kernels) {
  static std::map<std::string, std::shared_ptr<Engine>> engines;
  auto& engine = engines[std::string(kernels)];
  if (engine == nullptr) {
    EngineOptions options;
    options.plugin = plugin_path();
    options.kernels = kernels;
    engine = make_engine(options).value();
  }
  return engine;
}

std::string type(const Shape& shape, const std::string& element = "TYPE") {
  std::string out = "tensor<";
  for (const std::int64_t size : shape) out += fmt::format("{}x", size);
  return out + element + ">";
}

/// Operations on arguments of a module: %a0, %a1, …
struct Case {
  std::vector<Shape> arguments;
  std::string operations;  // the last defines %r; TYPE: the element type
  Shape result;
};

hlo::Module module_of(const Case& one, const std::string& element) {
  std::string arguments;
  for (std::size_t i = 0; i < one.arguments.size(); ++i)
    arguments += fmt::format("{}%a{}: {}", i > 0 ? ", " : "", i, type(one.arguments[i]));
  std::string text =
      fmt::format("module @m {{\n  func.func public @main({}) -> ({}) {{\n{}    return %r : {}\n  }}\n}}\n", arguments,
                  type(one.result), one.operations, type(one.result));
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, element);
  return hlo::make_module("case", text, std::nullopt).value();
}

/// Values that are numbers of few bits, some of them equal; or any.
std::vector<double> values_for(const Shape& shape, Random& random, bool has_ties, bool has_odd_ones) {
  std::vector<double> out(static_cast<std::size_t>(tensor::element_count(shape)));
  std::normal_distribution<float> normal;
  for (double& value : out) {
    value = has_ties ? static_cast<double>(static_cast<int>(random() % 5)) - 2 : static_cast<double>(normal(random));
    if (has_ties && value == 0 && random() % 2 == 0) value = -0.0;
    if (has_odd_ones && random() % 16 == 0)
      value = std::array{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity()}[random() % 3];
  }
  return out;
}

template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<double>& values) {
  Tensor out = Tensor::uninitialized(std::is_same_v<T, float> ? DType::kF32 : DType::kF64, shape);
  std::ranges::transform(values, out.mutable_as<T>(), [](double value) { return static_cast<T>(value); });
  return out;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  if (tensor.spec().dtype == DType::kF32)
    for (const float value : tensor.as<float>()) out.push_back(static_cast<double>(value));
  else
    for (const double value : tensor.as<double>()) out.push_back(value);
  return out;
}

struct Answers {
  std::vector<double> own, xla, exact;
};
Answers run(const Case& one, const std::vector<std::vector<double>>& values) {
  Answers out;
  const auto call = [&](const hlo::Module& module, std::string_view kernels, auto number) {
    std::vector<Tensor> arguments;
    for (std::size_t i = 0; i < values.size(); ++i)
      arguments.push_back(tensor_of<decltype(number)>(one.arguments[i], values[i]));
    const auto function = engine_with(kernels)->compile(module);
    REQUIRE_MESSAGE(function, (function ? "" : function.error().message + "\n" + module.code));
    return numbers((*function)->call(arguments).value().front());
  };
  const hlo::Module module = module_of(one, "f32");
  out.own = call(module, kOwnKernels, 0.0F);
  out.xla = call(module, kXlaKernels, 0.0F);
  out.exact = call(module_of(one, "f64"), kXlaKernels, 0.0);
  return out;
}

double largest(const std::vector<double>& values) {
  double out = 0;
  for (const double value : values) out = std::max(out, std::abs(value));
  return out;
}
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(a[i] - b[i]));
  return out;
}

/// Sums: as near to float64 as XLA's own, or within some bits of the largest one.
void check_sums(const Case& one, Random& random) {
  std::vector<std::vector<double>> values;
  for (const Shape& shape : one.arguments) values.push_back(values_for(shape, random, false, false));
  const Answers answers = run(one, values);
  const double scale = largest(answers.exact), own = difference(answers.own, answers.exact),
               xla = difference(answers.xla, answers.exact);
  INFO(one.operations);
  INFO("own ", own / scale, " xla ", xla / scale);
  CHECK(own <= std::max(4 * xla, 4e-6 * scale));
}

std::vector<hlo::RewrittenOperation> rewritten(const Case& one) {
  auto done = hlo::for_cpu(module_of(one, "f32"));
  return done ? std::move(done->operations) : std::vector<hlo::RewrittenOperation>();
}

std::string list(const Shape& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

// ---- convolutions

/// One spatial dimension of a convolution.
struct Axis {
  std::int64_t size = 8, taps = 3, stride = 1, low = 1, high = 1, dilation = 1, kernel_dilation = 1;
  bool is_reversed = false;
  std::int64_t result() const {
    const std::int64_t padded = (size - 1) * dilation + 1 + low + high, reach = (taps - 1) * kernel_dilation + 1;
    return padded < reach ? 0 : (padded - reach) / stride + 1;
  }
};
/// Sizes are given by role; layouts by names as in the text: "b01f", "01io", "b01f".
struct Convolved {
  std::int64_t batch = 4, features = 8, outputs = 8, feature_groups = 1, batch_groups = 1;
  std::vector<Axis> axes{2};
  std::string left = "b01f", kernel = "01io", result = "b01f";
};

Case convolution(const Convolved& c) {
  const auto shape = [&](const std::string& layout, const auto& size) {
    Shape out;
    for (const char name : layout) out.push_back(size(name));
    return out;
  };
  const auto axis = [&](char name) -> const Axis& { return c.axes[static_cast<std::size_t>(name - '0')]; };
  Case out;
  out.arguments = {shape(c.left, [&](char n) { return n == 'b'   ? c.batch
                                                      : n == 'f' ? c.features
                                                                 : axis(n).size; }),
                   shape(c.kernel, [&](char n) {
                     return n == 'i' ? c.features / c.feature_groups : n == 'o' ? c.outputs : axis(n).taps;
                   })};
  out.result = shape(c.result, [&](char n) {
    return n == 'b' ? c.batch / c.batch_groups : n == 'f' ? c.outputs : axis(n).result();
  });
  const auto names = [](const std::string& layout) {
    std::string text;
    for (const char name : layout) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    return "[" + text + "]";
  };
  Shape strides, dilations, kernel_dilations;
  std::string pads, reverses;
  for (const Axis& one : c.axes) {
    strides.push_back(one.stride);
    dilations.push_back(one.dilation);
    kernel_dilations.push_back(one.kernel_dilation);
    pads += fmt::format("{}[{}, {}]", pads.empty() ? "" : ", ", one.low, one.high);
    reverses += fmt::format("{}{}", reverses.empty() ? "" : ", ", one.is_reversed);
  }
  out.operations = fmt::format(
      "    %r = stablehlo.convolution(%a0, %a1) dim_numbers = {}x{}->{}, window = {{stride = {}, pad = [{}], "
      "lhs_dilate = "
      "{}, rhs_dilate = {}, reverse = [{}]}} {{batch_group_count = {} : i64, feature_group_count = {} : i64, "
      "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}} : ({}, {}) -> {}\n",
      names(c.left), names(c.kernel), names(c.result), list(strides), pads, list(dilations), list(kernel_dilations),
      reverses, c.batch_groups, c.feature_groups, type(out.arguments[0]), type(out.arguments[1]), type(out.result));
  return out;
}

Convolved random_convolution(Random& random) {
  const auto upto = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  Convolved c;
  const std::size_t rank = random() % 6 == 0 ? 1 : random() % 4 == 0 ? 3 : 2;
  const bool is_gradient = random() % 2 == 0;  // of a kernel: a large window, few results
  c.axes.assign(rank, {});
  for (Axis& axis : c.axes) {
    axis.size = upto(is_gradient ? 5 : 1, 12);
    axis.dilation = random() % 3 == 0 ? upto(2, 3) : 1;
    axis.kernel_dilation = random() % 3 == 0 ? 2 : 1;
    axis.stride = random() % 3 == 0 ? upto(2, 3) : 1;
    const std::int64_t whole = (axis.size - 1) * axis.dilation + 1;
    axis.taps = is_gradient ? std::max<std::int64_t>(1, (whole - upto(0, 2)) / axis.kernel_dilation) : upto(1, 5);
    axis.low = upto(-1, 3);
    axis.high = upto(-1, 3);
    axis.is_reversed = random() % 5 == 0;
  }
  const std::int64_t groups = random() % 3 == 0 ? 1 : upto(2, 8), per_group = random() % 3 == 0 ? 1 : upto(2, 9);
  const bool groups_batch = random() % 2 == 0;
  c.batch = upto(1, 8);
  c.features = upto(1, 16);
  c.outputs = groups * upto(1, 6);
  (groups_batch ? c.batch_groups : c.feature_groups) = groups;
  (groups_batch ? c.batch : c.features) = groups * per_group;
  std::string spatial = std::string("012").substr(0, rank);
  const auto layout = [&](char a, char b) {
    std::string out = random() % 2 == 0   ? std::string(1, a) + spatial + b
                      : random() % 2 == 0 ? std::string{a, b} + spatial
                                          : spatial + a + b;
    if (random() % 4 == 0) std::ranges::shuffle(out, random);
    return out;
  };
  c.left = layout('b', 'f');
  c.kernel = layout('i', 'o');
  c.result = layout('b', 'f');
  return c;
}

// ---- windows

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Calls `body` with each index, in row-major order.
void for_each(const Shape& shape, const std::function<void(const Shape&)>& body) {
  Shape index(shape.size(), 0);
  for (std::int64_t count = tensor::element_count(shape); count > 0; --count) {
    body(index);
    for (std::size_t i = shape.size(); i > 0 && ++index[i - 1] == shape[i - 1]; --i) index[i - 1] = 0;
  }
}

struct Pooled {
  Shape shape, size, stride, dilation, base, low, high;
  Shape count() const {
    Shape out;
    for (std::size_t i = 0; i < shape.size(); ++i)
      out.push_back(((shape[i] - 1) * base[i] + 1 + low[i] + high[i] - (size[i] - 1) * dilation[i] - 1) / stride[i] +
                    1);
    return out;
  }
  /// The element at a position of a window; nullopt: padding.
  std::optional<std::size_t> element(const Shape& window, const Shape& position) const {
    std::size_t out = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::int64_t at = window[i] * stride[i] + position[i] * dilation[i] - low[i];
      if (at < 0 || at >= shape[i]) return std::nullopt;
      out = out * static_cast<std::size_t>(shape[i]) + static_cast<std::size_t>(at);
    }
    return out;
  }
  std::string padding() const {
    std::string out;
    for (std::size_t i = 0; i < low.size(); ++i) out += fmt::format("{}[{}, {}]", i > 0 ? ", " : "", low[i], high[i]);
    return fmt::format("dense<[{}]> : tensor<{}x2xi64>", out, low.size());
  }
};

std::string reduction(const std::string& operation) {
  return fmt::format(
      "({{\n    ^bb0(%x: tensor<TYPE>, %y: tensor<TYPE>):\n      %z = stablehlo.{} %x, %y : tensor<TYPE>\n      "
      "stablehlo.return %z : tensor<TYPE>\n    }}",
      operation);
}

Case reduce_window(const Pooled& p, const std::string& operation, const std::string& initial) {
  Case out{{p.shape}, {}, p.count()};
  out.operations = fmt::format(
      "    %i = stablehlo.constant dense<{}> : tensor<TYPE>\n    %r = \"stablehlo.reduce_window\"(%a0, %i) "
      "<{{base_dilations = array<i64: {}>, padding = {}, window_dilations = array<i64: {}>, window_dimensions = "
      "array<i64: {}>, window_strides = array<i64: {}>}}> {}) : ({}, tensor<TYPE>) -> {}\n",
      initial, fmt::join(p.base, ", "), p.padding(), fmt::join(p.dilation, ", "), fmt::join(p.size, ", "),
      fmt::join(p.stride, ", "), reduction(operation), type(p.shape), type(out.result));
  return out;
}

Case select_and_scatter(const Pooled& p, const std::string& direction) {
  Case out{{p.shape, p.count()}, {}, p.shape};
  out.operations = fmt::format(
      "    %i = stablehlo.constant dense<0.000000e+00> : tensor<TYPE>\n    %r = \"stablehlo.select_and_scatter\"(%a0, "
      "%a1, %i) <{{padding = {}, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}}> ({{\n    "
      "^bb0(%x: tensor<TYPE>, %y: tensor<TYPE>):\n      %z = stablehlo.compare  {}, %x, %y,  FLOAT : (tensor<TYPE>, "
      "tensor<TYPE>) -> tensor<i1>\n      stablehlo.return %z : tensor<i1>\n    }}, {}) : ({}, {}, tensor<TYPE>) -> "
      "{}\n",
      p.padding(), fmt::join(p.size, ", "), fmt::join(p.stride, ", "), direction, reduction("add").substr(1),
      type(p.shape), type(out.arguments[1]), type(p.shape));
  return out;
}

Pooled random_pool(Random& random) {
  Pooled p;
  const auto upto = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  const std::size_t features = random() % 2 == 0 ? 3 : 1;
  for (std::size_t i = 0; i < 4; ++i) {
    const bool is_spatial = i != 0 && i != features;
    p.size.push_back(is_spatial ? upto(1, 4) : 1);
    p.stride.push_back(is_spatial ? upto(1, 3) : 1);
    p.dilation.push_back(is_spatial && random() % 4 == 0 ? 2 : 1);
    p.base.push_back(1);
    p.low.push_back(is_spatial && random() % 2 == 0 ? upto(0, p.size.back() - 1) : 0);
    p.high.push_back(is_spatial && random() % 2 == 0 ? upto(0, p.size.back() - 1) : 0);
    p.shape.push_back(is_spatial ? upto(9, 20) : i == 0 ? upto(1, 4) : upto(8, 24));
  }
  return p;
}

std::size_t random_cases(std::size_t otherwise) {
  const char* const stated = std::getenv("TFD_RANDOM_CASES");
  return stated != nullptr ? static_cast<std::size_t>(std::atoi(stated)) : otherwise;
}

}  // namespace

TEST_CASE("for_cpu: convolutions as JAX and Keras export them, and their gradients") {
  Random random(1);
  struct Named {
    std::string what;
    Convolved c;
    const char* how;
  };
  const Axis same, stride{.size = 8, .stride = 2, .low = 0}, gradient{.size = 8, .taps = 8},
      dilated{.size = 4, .stride = 1, .low = 2, .high = 1, .dilation = 2},
      transposed_gradient{.size = 4, .taps = 8, .low = 2, .high = 1, .dilation = 2},
      strided_gradient{.size = 8, .taps = 4, .low = 0, .high = 1, .kernel_dilation = 2};
  const std::string plane = "b01f", gradient_left = "f01b", gradient_kernel = "i01o", gradient_result = "01bf";
  const Named all[] = {
      {"grouped", {.features = 16, .outputs = 24, .feature_groups = 4, .axes = {same, stride}}, "4 convolutions"},
      {"depthwise", {.features = 16, .outputs = 16, .feature_groups = 16, .axes = {same, stride}}, "9 shifted"},
      {"depthwise, two outputs a feature",
       {.features = 16, .outputs = 32, .feature_groups = 16, .axes = {same, same}},
       "9 shifted"},
      {"data gradient of a depthwise one with a stride",
       {.features = 32, .outputs = 32, .feature_groups = 32, .axes = {dilated, dilated}, .kernel = "01oi"},
       "between"},
      {"kernel gradient of a depthwise one",
       {.batch = 16,
        .features = 8,
        .outputs = 16,
        .batch_groups = 16,
        .axes = {gradient, strided_gradient},
        .left = gradient_left,
        .kernel = gradient_kernel,
        .result = gradient_result},
       "9 sums"},
      {"kernel gradient of a depthwise one, two outputs a feature",
       {.batch = 16,
        .features = 8,
        .outputs = 32,
        .batch_groups = 16,
        .axes = {gradient, gradient},
        .left = gradient_left,
        .kernel = gradient_kernel,
        .result = gradient_result},
       "9 sums"},
      {"kernel gradient of a grouped one",
       {.batch = 16,
        .features = 8,
        .outputs = 24,
        .batch_groups = 4,
        .axes = {gradient, gradient},
        .left = gradient_left,
        .kernel = gradient_kernel,
        .result = gradient_result},
       "4 convolutions"},
      {"transposed", {.features = 16, .outputs = 8, .axes = {dilated, dilated}}, "between"},
      {"kernel gradient of a transposed one",
       {.batch = 16,
        .features = 8,
        .outputs = 16,
        .axes = {transposed_gradient, transposed_gradient},
        .left = gradient_left,
        .kernel = gradient_kernel,
        .result = gradient_result},
       "9 dots"},
      {"in three dimensions",
       {.axes = {same, stride, same}, .left = "b012f", .kernel = "012io", .result = "b012f"},
       "of planes"},
      {"in three dimensions, features first",
       {.axes = {same, stride, same}, .left = "bf012", .kernel = "oi012", .result = "bf012"},
       "of planes"},
      {"kernel gradient in three dimensions",
       {.batch = 8,
        .features = 4,
        .axes = {gradient, gradient, gradient},
        .left = "f012b",
        .kernel = "i012o",
        .result = "012bf"},
       "3 convolutions of planes"},
      {"grouped, in three dimensions, with a dilated side",
       {.features = 16,
        .outputs = 16,
        .feature_groups = 2,
        .axes = {dilated, same, dilated},
        .left = "b012f",
        .kernel = "012io",
        .result = "b012f"},
       "2 convolutions"}};
  for (const Named& one : all) {
    INFO(one.what);
    const Case made = convolution(one.c);
    const auto done = rewritten(made);
    REQUIRE(done.size() == 1);
    CHECK(done[0].operation == "convolution");
    CHECK_MESSAGE(done[0].how.find(one.how) != std::string::npos, done[0].how);
    check_sums(made, random);
  }
  // XLA has kernels for these.
  CHECK(rewritten(convolution({.features = 32, .outputs = 32})).empty());
  CHECK(rewritten(convolution({.batch = 64,
                               .features = 32,
                               .axes = {gradient, gradient},
                               .left = gradient_left,
                               .kernel = gradient_kernel,
                               .result = gradient_result}))
            .empty());
}

TEST_CASE("for_cpu: random convolutions") {
  Random random(2);
  int count = 0;
  for (std::size_t i = 0; i < random_cases(24);) {
    const Convolved c = random_convolution(random);
    const Case one = convolution(c);
    if (std::ranges::any_of(one.result, [](std::int64_t size) { return size < 1; }) ||
        tensor::element_count(one.result) > 1 << 16)
      continue;
    ++i;
    count += rewritten(one).empty() ? 0 : 1;
    check_sums(one, random);
  }
  CHECK(count * 5 > static_cast<int>(random_cases(24)));
}

TEST_CASE("for_cpu: random pools, with ties, infinities and NaN") {
  Random random(3);
  const std::pair<const char*, const char*> reductions[] = {
      {"maximum", "0xFF800000"}, {"minimum", "0x7F800000"}, {"add", "0.000000e+00"}};
  for (std::size_t i = 0; i < random_cases(24); ++i) {
    const Pooled p = random_pool(random);
    const auto& [operation, initial] = reductions[i % 3];
    const Case one = reduce_window(p, operation, initial);
    const auto values = values_for(p.shape, random, true, i % 2 == 0 && i % 3 != 2);
    const auto own = numbers((*engine_with(kOwnKernels)->compile(module_of(one, "f32")))
                                 ->call({tensor_of<float>(p.shape, values)})
                                 .value()
                                 .front());
    INFO(one.operations);
    std::size_t at = 0;
    for_each(p.count(), [&](const Shape& window) {
      double expected = i % 3 == 2 ? 0 : i % 3 == 1 ? kInfinity : -kInfinity;
      bool has_nan = false;  // XLA:CPU's own maximum may drop it (xla_cpu_enable_fast_min_max)
      for_each(p.size, [&](const Shape& position) {
        const auto element = p.element(window, position);
        const double value = element ? values[*element] : expected;
        has_nan = has_nan || std::isnan(value);
        if (i % 3 == 2) expected += element ? value : 0;
        if (i % 3 == 1) expected = std::min(expected, value);
        if (i % 3 == 0) expected = std::max(expected, value);
      });
      INFO(at, ": ", own[at], " ", expected);
      if (!has_nan) REQUIRE(own[at] == expected);
      ++at;
    });
  }
}

TEST_CASE("for_cpu: the gradient of a maximum goes to the first of several, and past NaN") {
  Random random(4);
  int count = 0;
  for (std::size_t i = 0; i < random_cases(24); ++i) {
    Pooled p = random_pool(random);
    std::ranges::fill(p.dilation, 1);
    const bool takes_last = i % 4 == 3;  // GT: an equal one replaces the one before
    const Case one = select_and_scatter(p, takes_last ? "GT" : "GE");
    if (rewritten(one).empty()) continue;  // XLA:CPU's own order is not always that of the elements
    ++count;
    const auto values = values_for(p.shape, random, true, i % 2 == 0);
    // Numbers whose sums are exact, so that their order doesn't matter.
    const auto source = values_for(one.arguments[1], random, true, false);
    const auto own = numbers((*engine_with(kOwnKernels)->compile(module_of(one, "f32")))
                                 ->call({tensor_of<float>(p.shape, values), tensor_of<float>(one.arguments[1], source)})
                                 .value()
                                 .front());
    std::vector<double> expected(own.size(), 0);
    std::size_t at = 0;
    for_each(p.count(), [&](const Shape& window) {
      std::optional<std::size_t> selected;
      for_each(p.size, [&](const Shape& position) {
        const auto element = p.element(window, position);
        if (!element) return;
        const bool stays =
            selected && (takes_last ? values[*selected] > values[*element] : values[*selected] >= values[*element]);
        if (!stays) selected = element;
      });
      expected[selected.value()] += source[at++];
    });
    INFO(one.operations);
    for (std::size_t j = 0; j < own.size(); ++j) {
      INFO(j, ": ", own[j], " ", expected[j]);
      REQUIRE(own[j] == expected[j]);
    }
  }
  CHECK(count * 5 > static_cast<int>(random_cases(24)));
}

TEST_CASE("for_cpu: the gradient of an average pool, as JAX writes it") {
  Random random(5);
  const Case one{{{2, 10, 9, 16}},
                 "    %c = stablehlo.constant dense<0.000000e+00> : tensor<TYPE>\n"
                 "    %p = stablehlo.pad %a0, %c, low = [0, 2, 1, 0], high = [0, 1, 3, 0], interior = [0, 1, 2, 0] : "
                 "(tensor<2x10x9x16xTYPE>, tensor<TYPE>) -> tensor<2x22x29x16xTYPE>\n"
                 "    %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<TYPE>) -> tensor<TYPE>\n"
                 "    %r = \"stablehlo.reduce_window\"(%p, %b) <{window_dimensions = array<i64: 1, 3, 4, 1>}> " +
                     reduction("add") + ") : (tensor<2x22x29x16xTYPE>, tensor<TYPE>) -> tensor<2x20x26x16xTYPE>\n",
                 {2, 20, 26, 16}};
  const auto done = rewritten(one);
  REQUIRE(done.size() == 1);
  CHECK(done[0].how.find("blocks") != std::string::npos);
  check_sums(one, random);
}
