// SPDX-License-Identifier: Apache-2.0
#include "tfd/hlo/for_cpu.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "convolution.hpp"
#include "lexer.hpp"
#include "operation_text.hpp"
#include "text.hpp"
#include "window.hpp"

namespace tfd::hlo {
namespace {

using tensor::DType;
using tensor::TensorSpec;

/// Operations that XLA computes element by element in the loop of what uses them.
constexpr std::array<std::string_view, 30> kInLoops{
    "abs",         "add",   "and",      "broadcast_in_dim", "clamp",   "compare",  "concatenate", "convert", "divide",
    "exponential", "log",   "logistic", "maximum",          "minimum", "multiply", "negate",      "not",     "or",
    "pad",         "power", "reshape",  "reverse",          "rsqrt",   "select",   "sign",        "slice",   "sqrt",
    "subtract",    "tanh",  "transpose"};

bool is_wide_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

class CpuRewriter {
 public:
  explicit CpuRewriter(std::string_view text) : text_(text) {
    while (text.find("%" + prefix_) != std::string_view::npos) prefix_ += '_';
  }

  void run() {
    Token before[2];  // "%5", "="
    for (Lexer lexer(text_); lexer.peek().kind != TokenKind::kEnd;) {
      const Token token = lexer.take();
      if (token.is_word("func.func")) {
        defined_.clear();
        in_loops_.clear();
      }
      const bool names_one = token.kind == TokenKind::kWord || token.kind == TokenKind::kString;
      if (names_one && token.text.starts_with(kStableHlo) && before[1].is('=') && before[0].kind == TokenKind::kValue)
        see(token.text.substr(kStableHlo.size()), text_.substr(before[0].at, 1 + before[0].text.size()), lexer);
      before[0] = before[1];
      before[1] = token;
    }
  }

  std::vector<RewrittenOperation> operations() && { return std::move(done_); }
  std::string text() const {
    std::string out;
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      out += text_.substr(at, edit.begin - at);
      out += edit.text;
      at = edit.end;
    }
    return out += text_.substr(at);
  }

 private:
  void see(std::string_view kind, std::string_view result, const Lexer& behind) {
    if (std::ranges::find(kInLoops, kind) != kInLoops.end()) in_loops_.emplace(result);
    const bool is_source = kind == "constant" || kind == "pad" || kind == "broadcast_in_dim";
    const bool is_rewritten = kind == "convolution" || kind == "reduce_window" || kind == "select_and_scatter";
    if (!is_source && !is_rewritten) return;
    auto operation = read_operation(text_, kind, result, behind);
    if (!operation) return;
    // Constants may be large: only what can be a pool's zero is kept.
    if (is_source && (kind == "pad" || operation->spec.shape.empty()))
      defined_.insert_or_assign(std::string(result), *operation);
    if (is_rewritten) rewrite(*operation);
  }

  void rewrite(const OperationText& operation) {
    if (!edits_.empty() && operation.begin < edits_.back().end) return;  // within another one
    Builder builder("operations", fmt::format("{}{}_", prefix_, edits_.size()));
    auto rewritten = operation.kind == "convolution"     ? convolution(builder, operation)
                     : operation.kind == "reduce_window" ? reduce_window(builder, operation)
                                                         : select_and_scatter(builder, operation);
    if (!rewritten || rewritten->value.spec() != operation.spec) return;
    RewrittenOperation done{std::string(operation.kind), {}, std::move(rewritten->how)};
    for (const OperandText& operand : operation.operands)
      if (!operand.spec.shape.empty())
        done.from += fmt::format("{}{}", done.from.empty() ? "" : ", ", tensor::format_spec(operand.spec));
    done_.push_back(std::move(done));
    edits_.push_back({operation.begin, operation.end, builder.take_operations(rewritten->value, operation.result)});
  }

  /// An operand, which the rewritten operation uses several times: one that XLA would compute in the loop of each of
  /// these is computed before.
  Value take(Builder& builder, const OperandText& operand) const {
    const Value value = builder.outer(operand.name, operand.spec);
    return in_loops_.contains(operand.name) && !operand.spec.shape.empty() ? builder.fence(value) : value;
  }

  std::optional<RewrittenValue> convolution(Builder& builder, const OperationText& operation) const {
    const auto read = read_convolution(operation);
    if (!read || !is_wide_float(operation.spec.dtype)) return std::nullopt;
    return rewrite_convolution(builder, take(builder, operation.operands[0]), take(builder, operation.operands[1]),
                               *read);
  }

  std::optional<RewrittenValue> reduce_window(Builder& builder, const OperationText& operation) {
    if (operation.operands.size() != 2) return std::nullopt;
    auto windows = read_windows(operation);
    const auto region = read_region(operation.region);
    if (!windows || !region) return std::nullopt;
    if (region->operation != "add" && region->operation != "maximum" && region->operation != "minimum")
      return std::nullopt;
    OperandText operand = operation.operands[0];
    // A pad of zeros before it, as JAX writes the gradient of an average pool: the windows' own.
    const OperationText* const pad = find(operand.name, "pad");
    const bool is_sum_from_zero = region->operation == "add" && is_zero(operation.operands[1].name);
    if (pad != nullptr && is_sum_from_zero && pad->operands.size() == 2 && is_zero(pad->operands[1].name))
      if (take_padding(*pad, *windows)) operand = pad->operands[0];
    const bool is_dilated = std::ranges::any_of(windows->base_dilation, [](std::int64_t one) { return one > 1; });
    if (is_dilated && !is_sum_from_zero) return std::nullopt;
    return rewrite_reduce_window(builder, take(builder, operand), take(builder, operation.operands[1]), *windows,
                                 region->operation);
  }

  std::optional<RewrittenValue> select_and_scatter(Builder& builder, const OperationText& operation) const {
    if (operation.operands.size() != 3) return std::nullopt;
    const auto windows = read_windows(operation);
    const auto chooses = read_region(operation.region), adds = read_region(second_region(operation.region));
    if (!windows || !chooses || !adds || chooses->operation != "compare" || chooses->direction.empty() ||
        adds->operation != "add")
      return std::nullopt;
    return rewrite_select_and_scatter(builder, take(builder, operation.operands[0]),
                                      take(builder, operation.operands[1]), take(builder, operation.operands[2]),
                                      *windows, *chooses);
  }

  /// Makes a pad's padding the windows' own; false where it isn't read, or the windows have a dilation already.
  static bool take_padding(const OperationText& pad, Windows& windows) {
    const std::size_t rank = windows.size.size();
    const auto low = read_integers(pad.attributes, "low", rank), high = read_integers(pad.attributes, "high", rank),
               interior = read_integers(pad.attributes, "interior", rank);
    if (!low || !high || !interior || low->size() != rank || high->size() != rank || interior->size() != rank)
      return false;
    for (std::size_t i = 0; i < rank; ++i)
      if (windows.base_dilation[i] != 1 || (*low)[i] < 0 || (*high)[i] < 0) return false;
    for (std::size_t i = 0; i < rank; ++i) {
      windows.base_dilation[i] = (*interior)[i] + 1;
      windows.low[i] += (*low)[i];
      windows.high[i] += (*high)[i];
    }
    return true;
  }

  const OperationText* find(const std::string& name, std::string_view kind) const {
    const auto found = defined_.find(name);
    return found == defined_.end() || found->second.kind != kind ? nullptr : &found->second;
  }
  /// Whether the scalar is the constant zero.
  bool is_zero(const std::string& name) const {
    const OperationText* const wide = find(name, "broadcast_in_dim");
    const bool is_copy = wide != nullptr && wide->operands.size() == 1;
    const OperationText* const constant = find(is_copy ? wide->operands[0].name : name, "constant");
    if (constant == nullptr) return false;
    Lexer lexer(constant->attributes);
    if (!lexer.take().is_word("dense") || !lexer.peek().is('<')) return false;
    const std::string_view value = lexer.take_angles();
    return value == "0.000000e+00" || value == "0";
  }

  std::string_view text_;
  std::string prefix_ = "tfd.cpu";                             // of names that the text doesn't have
  std::map<std::string, OperationText, std::less<>> defined_;  // in this function
  std::set<std::string, std::less<>> in_loops_;                // names of this function's values
  std::vector<Edit> edits_;
  std::vector<RewrittenOperation> done_;
};

}  // namespace

RewrittenModule for_cpu(const Module& module) {
  RewrittenModule out{module, {}};
  if (!module.is_text) return out;
  CpuRewriter rewriter(module.code);
  rewriter.run();
  out.module.code = rewriter.text();
  out.operations = std::move(rewriter).operations();
  return out;
}

}  // namespace tfd::hlo
