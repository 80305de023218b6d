// SPDX-License-Identifier: Apache-2.0
#include "subject.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "../plugin_options.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"
#include "tfd/command/command.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/program/names.hpp"
#include "tfd/program/program.hpp"
#include "tfd/step/program_data.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::data_tool {
namespace {

using nlohmann::ordered_json;

bool never_ends(const data::Plan& plan, const data::Dataset& dataset) {
  return dataset.cardinality() == data::Dataset::kInfinite || (!dataset.cardinality() && data::repeats_forever(plan));
}

Result<Subject> open_pipeline(const Request& request, const ordered_json& json, data::DatasetContext context,
                              const cli::Io& io) {
  if (!request.dataset.empty())
    return fail(Code::kUsage, "{} is a pipeline: it has no dataset '{}'", printable(request.file),
                printable(request.dataset));
  if (!request.overrides.empty())
    return fail(Code::kUsage, "--set is for programs, and {} is a pipeline", printable(request.file));
  if (request.file != "-") context.directory = std::filesystem::path(request.file).parent_path().string();
  if (!request.data_root.empty()) context.directory = request.data_root;
  context.commands = std::make_shared<const command::CommandPlace>(command::CommandPlace{context.directory, io.env});
  data::Plan plan = TFD_TRY(data::parse_plan(json), printable(request.file));
  Subject subject{std::move(plan), {}};
  subject.make = [file = printable(request.file),
                  context = std::move(context)](const data::Plan& one) -> Result<std::shared_ptr<const data::Dataset>> {
    return TFD_TRY(data::instantiate(one, context), file);
  };
  return subject;
}

/// Returns the dataset that was named, or the only one.
Result<std::string> choose_dataset(const program::Program& program, const Request& request) {
  std::vector<std::string> names;
  for (const auto& [name, plan] : program.datasets) names.push_back(name);
  const std::string file = printable(request.file);
  if (names.empty()) return fail(Code::kInvalidArgument, "{}: the program has no datasets", file);
  if (request.dataset.empty() && names.size() == 1) return names.front();
  if (request.dataset.empty())
    return fail(Code::kUsage, "{}: which of its datasets: {}?", file, printable(join_words(names)));
  if (program.datasets.contains(request.dataset)) return request.dataset;
  return fail(Code::kInvalidArgument, "{}: no dataset '{}'{} (there: {})", file, printable(request.dataset),
              did_you_mean(request.dataset, names), printable(join_words(names)));
}

Result<Subject> find_in_program(const Request& request, const data::DatasetContext& context, const cli::Io& io) {
  if (request.file == "-") return fail(Code::kUsage, "a program is a file: its modules are beside it");
  program::ProgramOptions options;
  options.overrides = request.overrides;
  options.ignore_shardings = true;  // functions' shardings may need devices that this host lacks
  options.data_root = request.data_root;
  options.has_data_root = !request.data_root.empty();
  program::Program program = TFD_TRY(program::load_program(request.file, options));
  const std::string name = TFD_TRY(choose_dataset(program, request));
  step::DataOptions with{.data_root = request.data_root,
                         .make_engine = [env = io.env] { return make_engine(env); },
                         .command_environment = io.env,
                         .skipped = context.skipped};
  Subject subject{program.datasets.at(name), {}};
  subject.make = [file = printable(request.file), program = std::move(program), name,
                  with](const data::Plan& one) -> Result<std::shared_ptr<const data::Dataset>> {
    program::Program with_plan = program;
    with_plan.datasets.at(name) = one;
    return TFD_TRY(step::open_dataset(with_plan, name, with), file);
  };
  return subject;
}

}  // namespace

Result<Subject> find_subject(Request request, std::function<void(const Error&)> skipped, const cli::Io& io) {
  request.file = program::program_file(request.file);
  const std::string text = request.file == "-" ? TFD_TRY(process::read_all(io.in_fd, Deadline::never()), "stdin")
                                               : TFD_TRY(load_file(request.file));
  const ordered_json json = TFD_TRY(tensor::parse_json(text), printable(request.file));
  data::DatasetContext context;
  context.skipped = std::move(skipped);
  if (json.is_array()) return open_pipeline(request, json, std::move(context), io);
  return find_in_program(request, context, io);
}

Result<OpenSubject> open(const Subject& subject) {
  auto dataset = TFD_TRY(subject.make(subject.plan));
  const bool is_endless = never_ends(subject.plan, *dataset);
  return OpenSubject{std::move(dataset), is_endless};
}

}  // namespace tfd::data_tool
