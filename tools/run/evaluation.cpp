// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "run/stdin_examples.hpp"
#include "tfd/base/text.hpp"
#include "tfd/strategy/function_run.hpp"

namespace tfd::run {
namespace {

/// Functions that can evaluate.
std::string evaluating_functions(const program::Program& program) {
  std::vector<std::string> names;
  for (const program::FunctionDef& function : program.functions)
    if (program::check_evaluation(program, function, 1)) names.push_back(function.name);
  return names.empty() ? "none can evaluate" : "there: " + join_words(names);
}

Result<std::string> function_of(const Asked& a, const program::Program& program) {
  if (!a.evaluates_by_default()) return a.evaluate;
  if (program.train && program.train->evaluate) return program.train->evaluate->function;
  return fail(Code::kUsage, "--evaluate: {} has no train.evaluate: name the function, --evaluate=FUNCTION ({})",
              printable(program.path), printable(evaluating_functions(program)));
}

/// Checks that the dataset has the fields that the function reads of `before`, which is its own.
Result<void> check_fields(const program::FunctionDef& function, const data::ElementSpec& before,
                          const data::ElementSpec& after) {
  const auto find = [](const data::ElementSpec& spec, const std::string& name) {
    const auto found = std::ranges::find(spec, name, &data::FieldSpec::name);
    return found == spec.end() ? nullptr : &*found;
  };
  const auto row = [](const data::FieldSpec& field) {
    return field.shape.empty() ? field.shape : tensor::Shape(field.shape.begin() + 1, field.shape.end());
  };
  for (const program::InputBinding& input : function.inputs) {
    if (input.kind != program::InputKind::kDataset || !input.field) continue;
    const data::FieldSpec *const own = find(before, *input.field), *const other = find(after, *input.field);
    if (other == nullptr)
      return fail(Code::kInvalidArgument, "--dataset: it has no field '{}', which '{}' reads", printable(*input.field),
                  function.name);
    if (own->dtype != other->dtype || row(*own) != row(*other))
      return fail(Code::kInvalidArgument, "--dataset: its '{}' is {}, but '{}' takes {}", printable(*input.field),
                  tensor::format_spec({other->dtype, other->shape}), function.name,
                  tensor::format_spec({own->dtype, own->shape}));
  }
  return {};
}

std::string path_of(const process::Fd& fd) { return fmt::format("/proc/self/fd/{}", fd.get()); }

/// The content of stdin.
struct CopiedLines {
  process::Fd copy;        // a file in memory, which a dataset reads as often as it must
  std::int64_t count = 0;  // lines that aren't empty
};

/// Puts the dataset that is asked for in the place of the function's own.
Result<void> replace_dataset(const Asked& a, const program::FunctionDef& function, program::Program& program,
                             const CopiedLines& lines) {
  const auto reads = [](const program::InputBinding& input) { return input.kind == program::InputKind::kDataset; };
  const auto input = std::ranges::find_if(function.inputs, reads);
  if (a.dataset.empty() || input == function.inputs.end()) return {};
  const std::string own = input->name;
  const data::ElementSpec before = program.dataset_specs.at(own);
  if (a.dataset != "-" && !a.dataset.starts_with('[')) {
    if (!program.datasets.contains(a.dataset)) {
      std::vector<std::string> names;
      for (const auto& [name, plan] : program.datasets) names.push_back(name);
      return fail(Code::kInvalidArgument, "--dataset: no dataset '{}'{} (there: {})", printable(a.dataset),
                  did_you_mean(a.dataset, names), printable(join_words(names)));
    }
    program.datasets[own] = program.datasets[a.dataset];
    program.dataset_specs[own] = program.dataset_specs[a.dataset];
    if (program.endless_datasets.contains(a.dataset)) program.endless_datasets.insert(own);
  } else {
    std::error_code error;  // ignored: paths then stay relative
    const auto here = a.common.data_root.empty() ? std::filesystem::current_path(error) : std::filesystem::path();
    const std::string pipeline =
        a.dataset == "-"
            ? TFD_TRY(pipeline_of_lines(path_of(lines.copy), lines.count, program, function, own), "--dataset -")
            : a.dataset;
    TFD_TRY(program::set_dataset(program, own, pipeline, here.string()), "--dataset");
  }
  if (program.endless_datasets.contains(own))
    return fail(Code::kInvalidArgument, "--dataset: it never ends: an evaluation needs one that does");
  return check_fields(function, before, program.dataset_specs.at(own));
}

/// Reads all that comes, whatever stdin is.
Result<CopiedLines> read_lines(int in_fd) {
  CopiedLines lines{.copy = process::Fd(::memfd_create("stdin", MFD_CLOEXEC))};
  if (!lines.copy) return fail_errno(errno, "cannot make a file in memory");
  std::array<char, std::size_t{64} << 10> buffer{};
  bool is_empty = true;  // the line so far
  for (;;) {
    const ssize_t got = ::read(in_fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "cannot read stdin");
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    for (const char byte : bytes) {
      if (byte == '\n')
        is_empty = true;
      else if (is_empty && !is_space(byte))
        is_empty = false, ++lines.count;
    }
    if (bytes.empty()) return lines;
    TFD_TRY(cli::Output(lines.copy.get()).write(bytes));
  }
}

}  // namespace

Error Evaluation::named(Error error) const {
  if (!lines) return error;
  const std::string path = path_of(lines);
  if (const auto at = error.message.find(path); at != std::string::npos)
    error.message.replace(at, path.size(), "stdin");
  return error;
}

Result<Evaluation> make_evaluation(const Asked& a, program::Program& program, int in_fd) {
  Evaluation out{.request = {.function = TFD_TRY(function_of(a, program)), .untrained = a.untrained}, .lines = {}};
  const auto& stated = program.train ? program.train->evaluate : std::nullopt;
  if (stated && stated->function == out.request.function && a.dataset.empty()) out.request.steps = stated->steps;
  const program::FunctionDef* const function = program.find_function(out.request.function);
  if (function == nullptr) TFD_TRY(strategy::check_request(program, {.function = out.request.function}));
  TFD_TRY(program::check_evaluation(program, *function, a.dataset.empty() ? out.request.steps : 1), program.path);
  CopiedLines lines;
  if (a.dataset == "-") lines = TFD_TRY(read_lines(in_fd), "--dataset -");
  TFD_TRY(replace_dataset(a, *function, program, lines));
  out.lines = std::move(lines.copy);
  return out;
}

}  // namespace tfd::run
