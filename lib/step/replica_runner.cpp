// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/replica_runner.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "tfd/base/sha256.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/step/step_runner.hpp"

namespace tfd::step {
namespace {

/// A share's number of rows, before and after padding for a module.
struct Padding {
  std::int64_t rows = 0, padded = 0;
};

/// Batch sizes of the modules, from their first argument bound to data.
std::set<std::int64_t> batch_sizes_of(const program::FunctionDef& def) {
  if (const auto* any = def.modules.any_size()) return {any->size()};
  std::set<std::int64_t> sizes;
  for (const hlo::Module& module : def.modules)
    for (std::size_t i = 0; i < def.inputs.size(); ++i) {
      using program::InputKind;
      const auto kind = def.inputs[i].kind;
      const auto& shape = module.signature.arguments[i].spec.shape;
      const bool is_data = kind == InputKind::kArg || kind == InputKind::kKwarg || kind == InputKind::kDataset;
      if (!is_data || shape.empty()) continue;
      sizes.insert(shape[0]);
      break;
    }
  return sizes;
}

/// Rows of a share for one call: batches of the largest module, then the smallest that holds the rest, padded with the
/// last row. A template's largest size is the one it was written for; the rest is expanded to its own size.
struct Piece {
  ReplicaShare share;
  Padding padding;
};
Result<std::vector<Piece>> cut(const ReplicaShare& share, const program::FunctionDef& def) {
  const auto sizes = batch_sizes_of(def);
  const std::int64_t rows = TFD_TRY(share.elements.row_count());
  if (rows > 0 && def.modules.any_size() != nullptr && rows < *sizes.begin())
    return std::vector<Piece>{
        {{share.elements.rows(0, rows, rows), share.replica, share.rows, share.batch}, {rows, rows}}};
  std::vector<Piece> out;
  for (std::int64_t first = 0; first < rows;) {
    Piece piece{share, {rows - first, rows - first}};
    if (!sizes.empty() && *sizes.begin() > 0) {
      const auto fits = sizes.lower_bound(rows - first);
      piece.padding.padded = fits == sizes.end() ? *sizes.rbegin() : *fits;
      piece.padding.rows = std::min(rows - first, piece.padding.padded);
    }
    piece.share.elements = share.elements.rows(first, piece.padding.rows, piece.padding.padded);
    piece.share.replica = share.replica;
    first += piece.padding.rows;
    out.push_back(std::move(piece));
  }
  return out;
}

tensor::Tensor without_padding(const tensor::Tensor& result, const Padding& padding) {
  const bool has_rows = !result.shape().empty() && result.shape()[0] == padding.padded;
  return has_rows && padding.padded > padding.rows ? result.slice_rows(0, padding.rows) : result;
}

class Runner final : public ReplicaRunner {
 public:
  Runner(std::unique_ptr<CompiledProgram> program, const ReplicaOptions& options, ReplicaCopies copies)
      : program_(std::move(program)),
        part_(options.has_all_data ? data::Shard() : data::Shard{options.input.pipelines, options.input.id}),
        replicas_(options.shared_replicas.value_or(ReplicaRange::whole(options.replicas))),
        has_own_data_(options.has_own_data),
        order_(options.order),
        steps_(*program_, std::move(copies),
               {replicas_, static_cast<std::uint32_t>(options.input.id * options.replicas), options.look_up,
                options.input.pipelines == 1 && replicas_.is_whole(), options.run_at_once, options.results_stay,
                options.gather_outputs}),
        gather_(options.gather_outputs) {}

  Result<StepOutcome> step(const std::string& name, const VariableValues& variables, std::int64_t step,
                           int most_elements) override {
    const FunctionCall call = call_of_step(name, step, most_elements);
    auto done = TFD_TRY(run_call(call, variables));  // a step's results are unused
    return StepOutcome{std::move(done.updates), std::move(done.metrics)};
  }

  bool has_diverged() const override { return steps_.has_diverged(); }

  Result<StepInputs> take_inputs(const std::string& name, std::int64_t step, int most_elements) override {
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    const FunctionCall call = call_of_step(name, step, most_elements);
    return steps_.bind(*function, call, TFD_TRY(take(*function, call), name));
  }

  Result<StepInputs> take_elements(const std::string& name, std::int64_t step, int most_elements) override {
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    const FunctionCall call = call_of_step(name, step, most_elements);
    auto shares = TFD_TRY(take(*function, call), name);
    StepInputs out;
    for (ReplicaShare& share : shares) {
      fill_up(*function->def, call, share.elements);
      out.replicas.push_back({.values = {}, .examples = share.elements.examples(), .replica = share.replica});
    }
    out.shares = std::make_shared<const std::vector<ReplicaShare>>(std::move(shares));
    return out;
  }

  Result<StepOutcome> step_on(const std::string& name, const StepInputs& elements, const VariableValues& variables,
                              std::int64_t step) override {
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    auto shares = elements.shares ? *elements.shares : std::vector<ReplicaShare>();
    auto done = TFD_TRY(steps_.run(*function, call_of_step(name, step, 0), std::move(shares), variables));
    return StepOutcome{std::move(done.updates), std::move(done.metrics)};
  }

  std::vector<CompileOne> left_to_compile(std::string_view besides) const override {
    return program_->left_to_compile(besides);
  }

  Result<std::vector<Metric>> metrics_of(const std::string& name, std::span<const tensor::Tensor> values,
                                         double examples) const override {
    return bind_metrics(*TFD_TRY(program_->find_function(name))->def, values, examples);
  }

  void begin_data(const data::Order& order) override {
    iterators_.clear();
    taken_.clear();
    before_steps_.clear();
    order_ = order;
  }

  Result<void> go_to(const std::string& function, std::int64_t step) override {
    const FunctionCall call = call_of_step(function, step, 0);
    const std::int64_t element = step * (call.replicas == program::Replicas::kEach ? replicas_.count : 1);
    const auto find = [this](const std::string& id) { return find_iterator(id); };
    for (const std::string& id : TFD_TRY(iterators_of(*TFD_TRY(program_->find_function(function))->def, call)))
      TFD_TRY(step::go_to(iterators_, find, id, element), function);
    return {};
  }

  DataPosition data_position() const override {
    DataPosition out{order_, {}};
    for (const auto& [name, elements] : taken())
      out.datasets[name] = {digest_of(name), before_steps(name) + of_all(elements)};
    return out;
  }

  bool continue_data(const DataPosition& position) override {
    for (const auto& [name, dataset] : position.datasets)
      if (digest_of(name) != dataset.pipeline) return false;
    begin_data(position.order);
    for (const auto& [name, dataset] : position.datasets) {
      // Another number of replicas before may not have taken whole steps of as many as there are now.
      if (shares_elements()) before_steps_[name] = dataset.elements % replicas_.all;
      taken_[name] = of_own(dataset.elements - before_steps(name));
    }
    return true;
  }

  Result<std::shared_ptr<const data::Dataset>> find_dataset(const std::string& name) override {
    return program_->find_dataset(name, part_, replicas_.count);
  }
  Result<std::shared_ptr<const data::Dataset>> make_dataset(const std::string& name, const data::Plan& plan) override {
    return program_->make_dataset(name, plan, replicas_.count);
  }

  Result<RunOutcome> run(const std::string& name, const ReplicaArguments& arguments, const VariableValues& variables,
                         bool in_rows) override {
    const CompiledFunction* function = TFD_TRY(program_->find_function(name));
    FunctionCall call{.function = name, .args = arguments.args, .kwargs = arguments.kwargs, .step = runs_++};
    call.replicas = program::Replicas::kSplit;
    auto shares = TFD_TRY(shares_of(arguments), name);
    if (in_rows) return run_in_pieces(*function, call, shares, variables);
    auto done = TFD_TRY(steps_.run(*function, call, std::move(shares), variables));
    return RunOutcome{std::move(done.results), std::move(done.updates)};
  }

  Result<std::vector<ReplicaShare>> shares_of(const ReplicaArguments& arguments) const {
    std::optional<std::vector<ReplicaShare>> shares;
    const auto most = static_cast<std::size_t>(has_own_data_ ? replicas_.count : replicas_.all);
    const auto add = [&](const std::string& id, const ReplicaElements& elements) -> Result<void> {
      if (!shares) shares.emplace(elements.of.size());
      if (elements.of.size() > most)
        return fail(Code::kInvalidArgument, "'{}' has elements for {} replicas, and there are {}", id,
                    elements.of.size(), most);
      if (elements.of.size() != shares->size())
        return fail(Code::kInvalidArgument, "'{}' has elements for {} replicas, and another one for {}", id,
                    elements.of.size(), shares->size());
      for (std::size_t i = 0; i < shares->size(); ++i) {
        (*shares)[i].elements.put(id, elements.spec, elements.of[i]);
        (*shares)[i].replica = static_cast<int>(elements.places.empty() ? i : elements.places[i]);
      }
      return {};
    };
    for (const auto& [id, elements] : arguments.elements) TFD_TRY(add(id, elements));
    for (const auto& [dataset, elements] : arguments.datasets) TFD_TRY(add(own_iterator_id(dataset), elements));
    if (!shares) {
      shares.emplace(most);
      for (std::size_t i = 0; i < most; ++i) (*shares)[i].replica = static_cast<int>(i);
    }
    keep_own(*shares, has_own_data_ ? ReplicaRange::whole(replicas_.count) : replicas_);
    return std::move(*shares);
  }

  /// Runs the first pieces of all shares concurrently, then the second ones, …
  Result<RunOutcome> run_in_pieces(const CompiledFunction& function, const FunctionCall& call,
                                   const std::vector<ReplicaShare>& shares, const VariableValues& variables) {
    std::vector<std::vector<Piece>> pieces;
    std::size_t most = 0;
    for (const ReplicaShare& share : shares) {
      pieces.push_back(TFD_TRY(cut(share, *function.def), call.function));
      most = std::max(most, pieces.back().size());
    }
    std::vector<std::vector<std::vector<tensor::Tensor>>> results(pieces.size());  // by share and piece
    for (std::size_t i = 0; i < most; ++i) {
      std::vector<ReplicaShare> at_once;
      std::vector<std::size_t> shares_of_pieces;  // any may have fewer rows than another one
      for (std::size_t share = 0; share < pieces.size(); ++share) {
        if (i >= pieces[share].size()) continue;
        at_once.push_back(std::move(pieces[share][i].share));
        shares_of_pieces.push_back(share);
      }
      auto done = TFD_TRY(steps_.run_alone(function, call, std::move(at_once), variables));
      for (std::size_t k = 0; k < done.outputs.size(); ++k) {
        const std::size_t share = shares_of_pieces[k];
        auto& own = done.outputs[k].outcome.results;
        for (tensor::Tensor& one : own) one = without_padding(one, pieces[share][i].padding);
        results[share].push_back(std::move(own));
      }
    }
    ReplicaOutputs all;
    for (auto& of_share : results)
      for (auto& of_piece : of_share) all.outputs.push_back({.outcome = {std::move(of_piece), {}}, .updates = {}});
    all.examples.resize(all.outputs.size());
    if (gather_) all = TFD_TRY(gather_(std::move(all)), call.function);
    RunOutcome out;
    for (BoundOutputs& one : all.outputs) out.results.push_back(std::move(one.outcome.results));
    return out;
  }

  Result<std::vector<Metric>> evaluate(const std::string& name, const VariableValues& variables,
                                       std::optional<std::int64_t> steps, const std::function<bool()>& stop,
                                       const EvaluationPart& part) override {
    return steps_.evaluate(name, {part.count, part.index}, steps, part.order, variables, stop);
  }

 private:
  FunctionCall call_of_step(const std::string& function, std::int64_t step, int most_elements) const {
    const auto& train = program_->program().train;
    FunctionCall call{.function = function, .step = step};
    call.replicas = train ? train->replicas : program::Replicas::kEach;
    call.most_elements = most_elements;
    return call;
  }

  Result<StepResult> run_call(const FunctionCall& call, const VariableValues& variables) {
    const CompiledFunction* function = TFD_TRY(program_->find_function(call.function));
    auto shares = TFD_TRY(take(*function, call), call.function);
    return steps_.run(*function, call, std::move(shares), variables);
  }

  /// Takes the shares of a step. If its data were stopped nothing is taken: the step is repeated with the same
  /// elements.
  Result<std::vector<ReplicaShare>> take(const CompiledFunction& function, const FunctionCall& call) {
    auto before = taken();
    auto shares = steps_.take(*function.def, call, [this](const std::string& id) { return find_iterator(id); });
    if (!shares && shares.error().code == Code::kCancelled) {
      iterators_.clear();
      taken_ = std::move(before);
    }
    return shares;
  }

  /// Elements taken of each dataset, including those before the training was continued.
  std::map<std::string, std::int64_t> taken() const {
    auto out = taken_;
    for (const auto& [id, iterator] : iterators_) out[iterator.dataset] = iterator.elements;
    return out;
  }

  Result<WorkerIterator*> find_iterator(const std::string& id) {
    auto found = iterators_.find(id);
    if (found != iterators_.end()) return &found->second;
    const std::string name = id.substr(own_iterator_id("").size());
    WorkerIterator iterator = TFD_TRY(shares_elements() ? open_share(name) : steps_.open(name, part_, order_));
    if (const auto taken = taken_.find(name); taken != taken_.end())
      iterator.elements = TFD_TRY(iterator.iterator->skip(taken->second), "dataset '" + name + "'");
    return &iterators_.emplace(id, std::move(iterator)).first->second;
  }

  /// Whether the replicas of other processes take elements of the same step: a step takes as many as there are replicas
  /// in all, and these take their own.
  bool shares_elements() const {
    const auto& train = program_->program().train;
    return !replicas_.is_whole() && !has_own_data_ && !(train && train->replicas == program::Replicas::kSplit);
  }
  Result<WorkerIterator> open_share(const std::string& name) {
    const data::Plan& whole = program_->program().datasets.at(name);
    data::Plan own = data::shard(whole, {.count = replicas_.all, .index = replicas_.first, .width = replicas_.count});
    if (const std::int64_t before = before_steps(name); before > 0) {
      const auto is_shard = [](const data::Stage& stage) { return std::holds_alternative<data::Shard>(stage); };
      const auto at = std::ranges::find_if(own.stages.rbegin(), own.stages.rend(), is_shard);
      own.stages.insert(at.base() - 1, data::Skip{before});
    }
    const auto dataset = TFD_TRY(program_->make_dataset(name, own, replicas_.count));
    auto iterator = TFD_TRY(dataset->iterate(order_));
    return WorkerIterator{name, dataset->spec(), std::move(iterator)};
  }
  std::int64_t before_steps(const std::string& dataset) const {
    const auto found = before_steps_.find(dataset);
    return found == before_steps_.end() ? 0 : found->second;
  }
  /// Number of elements that these replicas take in whole steps in which all replicas take `elements`.
  std::int64_t of_own(std::int64_t elements) const {
    return shares_elements() ? elements / replicas_.all * replicas_.count : elements;
  }
  /// Number of elements that all replicas take in the steps in which these replicas take `elements`.
  std::int64_t of_all(std::int64_t elements) const {
    if (!shares_elements()) return elements;
    const std::int64_t rest = elements % replicas_.count;
    return elements / replicas_.count * replicas_.all + (rest > 0 ? replicas_.first + rest : 0);
  }

  /// Digest of a dataset's pipeline; empty if there is none of that name. Memoized: callers that prefetch ask in every
  /// step.
  const std::string& digest_of(const std::string& dataset) const {
    const auto [digest, is_new] = digests_.try_emplace(dataset);
    const program::Program& program = program_->program();
    const auto& datasets = program.whole_datasets.contains(dataset) ? program.whole_datasets : program.datasets;
    const auto found = datasets.find(dataset);
    if (!is_new || found == datasets.end()) return digest->second;
    Sha256 hash;
    hash.add(data::to_json(found->second).dump());
    return digest->second = hash.hex().substr(0, 16);
  }

  std::unique_ptr<CompiledProgram> program_;
  const data::Shard part_;
  const ReplicaRange replicas_;
  const bool has_own_data_;
  data::Order order_;                                   // of the data of steps
  mutable std::map<std::string, std::string> digests_;  // memoized digests
  std::int64_t runs_ = 0;
  StepRunner steps_;
  const GatherOutputs gather_;
  std::map<std::string, std::int64_t>
      before_steps_;                           // first elements of datasets, which steps of this many replicas skip
  std::map<std::string, std::int64_t> taken_;  // elements of datasets after these, before the iterators were opened
  std::map<std::string, WorkerIterator> iterators_;  // their maps call the program's functions
};

}  // namespace

Result<std::unique_ptr<ReplicaRunner>> ReplicaRunner::make(const program::Program& program,
                                                           const ReplicaOptions& options) {
  const int replicas = options.shared_replicas ? options.shared_replicas->all : options.replicas;
  auto copies = TFD_TRY(ReplicaCopies::make(program, replicas));
  std::shared_ptr<function::Engine> engine;  // shared with the functions it compiled
  if (program.has_kind(program::FunctionKind::kModule)) {
    if (!options.make_engine) return fail(Code::kFailedPrecondition, "no engine for functions");
    engine = TFD_TRY(options.make_engine());
  }
  const std::string directory = options.data_root.empty() ? program.directory : options.data_root;
  auto made = TFD_TRY(CompiledProgram::make(program, directory, engine, options.command_environment));
  made->stop_data_with(options.stop_data);
  made->set_log(options.log.for_room("data"));
  return std::make_unique<Runner>(std::move(made), options, std::move(copies));
}

}  // namespace tfd::step
