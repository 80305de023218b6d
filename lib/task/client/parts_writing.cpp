// SPDX-License-Identifier: Apache-2.0
//
// How ParameterServers have their state written to disk, each its own: a probe of the directory, a snapshot, the parts.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "messages/state_messages.hpp"
#include "server_operation.hpp"
#include "sharded_state.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"
#include "tfd/variable/unfinished_checkpoint.hpp"

namespace tfd::task {
namespace {

namespace fs = std::filesystem;

constexpr Duration kFetch = std::chrono::minutes(5);
constexpr Duration kHurry = std::chrono::minutes(1);
constexpr Duration kWrite = std::chrono::hours(1);  // of one part, however slow the disk is
constexpr std::size_t kMostAnswer = 64 * 1024;

/// A directory as other processes name it.
Result<std::string> absolute(const std::string& directory) {
  std::error_code error;
  auto out = fs::absolute(directory, error).lexically_normal().string();
  if (error) return fail_errno(error.value(), directory);
  return out;
}

void hurry(ServerClient& task) {
  task.hurry_parts(Deadline::after(kHurry), [](const Result<void>&) {});
}

bool is_full(const Error& error) { return error.code == Code::kResourceExhausted; }

bool is_count(const StateEntry& entry) { return entry.spec == tensor::TensorSpec{tensor::DType::kS64, {}}; }

/// Finds out which entries are shards of what.
class Planner {
 public:
  Planner(const Placement& placement, const std::vector<ExportedState>& exports) : exports_(exports) {
    plan_.servers.resize(exports.size());
    for (const auto& [name, placed] : placement.placed)
      for (std::size_t i = 0; placed.ps.size() > 1 && i < placed.ps.size(); ++i)
        shards_.emplace(stored_name(placed, i), std::pair(&placed, i));
  }

  Result<PartsPlan> plan() {
    for (std::size_t server = 0; server < exports_.size(); ++server)
      for (std::size_t i = 0; i < exports_[server].entries.size(); ++i)
        TFD_TRY(add(server, static_cast<std::uint32_t>(i), exports_[server].entries[i]));
    for (auto& [name, value] : values_) {
      if (value.places.size() != value.placed->ps.size()) continue;  // the very first update reached only some shards
      for (const auto& [server, position] : value.places) plan_.servers[server].written.push_back(position);
      plan_.sharded.push_back({name, value.placed->sharding.shape(), value.placed->sharding.count()});
    }
    return std::move(plan_);
  }

 private:
  struct Value {
    const variable::PlacedVariable* placed = nullptr;
    std::vector<std::pair<std::size_t, std::uint32_t>> places = {};
  };

  Result<void> add(std::size_t server, std::uint32_t position, const StateEntry& entry) {
    const std::string base = variable_of(entry.name);
    const auto shard = shards_.find(base);
    const bool is_iterations = entry.name == kIterations;
    if (shard == shards_.end() && !is_iterations) {
      plan_.servers[server].written.push_back(position);
      return {};
    }
    const auto* placed = is_iterations ? nullptr : shard->second.first;
    const std::string whole = is_iterations ? entry.name : placed->name + entry.name.substr(base.size());
    const bool is_counter = is_count(entry);
    if (!is_counter && is_iterations) return fail(Code::kInternal, "'{}' is not a count", printable(entry.name));
    if (kinds_.emplace(whole, is_counter).first->second != is_counter)
      return fail(Code::kInternal, "'{}' is a count on some parameter servers only", printable(whole));
    if (is_counter) {
      plan_.servers[server].counters.push_back(position);
      plan_.servers[server].counted.push_back(whole);
      return {};
    }
    Value& value = values_[whole];
    value.placed = placed;
    value.places.emplace_back(server, position);
    return {};
  }

  const std::vector<ExportedState>& exports_;
  std::map<std::string, std::pair<const variable::PlacedVariable*, std::size_t>> shards_;
  std::map<std::string, Value> values_;  // sharded ones
  std::map<std::string, bool> kinds_;    // whether it is a counter
  PartsPlan plan_;
};

}  // namespace

Result<PartsPlan> plan_parts(const Placement& placement, const std::vector<ExportedState>& exports) {
  return Planner(placement, exports).plan();
}

Result<void> ParameterServers::probe_directory(const std::string& directory, const std::string& run,
                                               Deadline deadline) {
  const auto unfinished = TFD_TRY(variable::UnfinishedCheckpoint::make(directory, 0, run));
  const fs::path here = unfinished.path();
  DirectoryProbe probe{.directory = TFD_TRY(absolute(directory)), .name = unfinished.name(), .token = random_text()};
  TFD_TRY(save_file((here / std::string(kProbeToken)).string(), probe.token));
  TFD_TRY(do_on(all(), [&](ServerClient& task, std::size_t i, auto done) {
    DirectoryProbe own = probe;
    own.part = static_cast<std::uint32_t>(i);
    task.probe(own, deadline, [name = task.name(), done = std::move(done)](Result<void> answer) {
      const bool may_pass = !answer && (answer.error().code == Code::kUnavailable || is_full(answer.error()));
      if (answer || may_pass) return done(std::move(answer));
      done(fail(Error{Code::kFailedPrecondition, fmt::format("{}: {}", name, answer.error().message), name}));
    });
  }));
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const auto left = load_file((here / probe_answer_name(static_cast<std::uint32_t>(i))).string(), kMostAnswer);
    if (!left || !left->starts_with(probe.token))
      return fail(Error{Code::kFailedPrecondition,
                        fmt::format("{}: what it writes to {} can't be read here", tasks_[i].name(), directory),
                        tasks_[i].name()});
  }
  return {};
}

/// A snapshot on each parameter server, until it is written.
class ParameterServers::Writing {
 public:
  Writing(ParameterServers& servers, std::vector<ExportedState> exports, PartsPlan plan)
      : servers_(servers), exports_(std::move(exports)), plan_(std::move(plan)) {}
  Writing(const Writing&) = delete;
  ~Writing() {
    if (!is_written_) end();
  }

  Result<variable::WrittenParts> write(const std::string& directory, const std::string& unfinished) {
    variable::WrittenParts out;
    out.sharded = std::move(plan_.sharded);
    out.counters = TFD_TRY(fetch_counters());
    out.parts = TFD_TRY(write_parts(TFD_TRY(absolute(directory)), unfinished));
    is_written_ = true;
    return out;
  }

 private:
  using Counters = std::vector<std::pair<std::string, std::int64_t>>;
  Result<Counters> fetch_counters();
  Result<void> fetch_counters(std::size_t first, std::map<std::string, std::int64_t>& largest);
  Result<std::vector<variable::CheckpointPart>> write_parts(const std::string& directory,
                                                            const std::string& unfinished);
  void end() {
    for (std::size_t i = 0; i < exports_.size(); ++i)
      servers_.tasks_[i].end_state(exports_[i].id, Deadline::after(kFetch), [](const Result<void>&) {});
  }

  ParameterServers& servers_;
  const std::vector<ExportedState> exports_;
  PartsPlan plan_;
  bool is_written_ = false;
};

/// The counters of all servers, of each name the largest, since each server counts what it applied.
Result<ParameterServers::Writing::Counters> ParameterServers::Writing::fetch_counters() {
  std::map<std::string, std::int64_t> largest;
  std::size_t most = 0;
  for (const auto& server : plan_.servers) most = std::max(most, server.counters.size());
  for (std::size_t first = 0; first < most; first += kMostPartTensors) TFD_TRY(fetch_counters(first, largest));
  return Counters(largest.begin(), largest.end());
}

Result<void> ParameterServers::Writing::fetch_counters(std::size_t first,
                                                       std::map<std::string, std::int64_t>& largest) {
  std::vector<std::vector<std::uint32_t>> positions(exports_.size());
  for (std::size_t i = 0; i < exports_.size(); ++i) {
    const auto& all = plan_.servers[i].counters;
    for (std::size_t n = first; n < std::min(all.size(), first + kMostPartTensors); ++n) positions[i].push_back(all[n]);
  }
  const auto values =
      std::make_shared<std::vector<std::vector<tensor::Tensor>>>(exports_.size());  // with the callbacks
  TFD_TRY(servers_.do_on(with_parts(positions), [&](ServerClient& task, std::size_t i, auto done) {
    task.export_part(exports_[i].id, positions[i], Deadline::after(kFetch),
                     [values, i, done = std::move(done)](Result<std::vector<tensor::Tensor>> part) {
                       if (!part) return done(fail(std::move(part).error()));
                       (*values)[i] = std::move(*part);
                       done({});
                     });
  }));
  for (std::size_t i = 0; i < values->size(); ++i)
    for (std::size_t n = 0; n < (*values)[i].size(); ++n) {
      const tensor::Tensor& value = (*values)[i][n];
      const std::string& name = plan_.servers[i].counted[first + n];
      if (value.spec() != tensor::TensorSpec{tensor::DType::kS64, {}})
        return fail(Code::kInternal, "'{}' differs from its announcement", printable(name));
      const std::int64_t count = value.as<std::int64_t>()[0];
      std::int64_t& kept = largest.emplace(name, count).first->second;
      kept = std::max(kept, count);
    }
  return {};
}

// Once one can't write its part, the others needn't either.
Result<std::vector<variable::CheckpointPart>> ParameterServers::Writing::write_parts(const std::string& directory,
                                                                                     const std::string& unfinished) {
  struct Answers {
    std::vector<variable::CheckpointPart> parts;
    std::optional<Error> first;  // set by callbacks, which run one after another
  };
  const auto answers = std::make_shared<Answers>();  // with the callbacks
  answers->parts.resize(exports_.size());
  std::vector<std::pair<ServerClient, std::uint64_t>> all;
  for (std::size_t i = 0; i < exports_.size(); ++i) all.emplace_back(servers_.tasks_[i], exports_[i].id);
  const auto written = servers_.do_on(servers_.all(), [&](ServerClient& task, std::size_t i, auto done) {
    const PartPlace place{directory, unfinished, static_cast<std::uint32_t>(i + 1),
                          static_cast<std::uint32_t>(exports_.size())};
    task.write_part(
        exports_[i].id, plan_.servers[i].written, place, Deadline::after(kWrite),
        [answers, all, i, name = task.name(), done = std::move(done)](auto part) mutable {
          if (part) {
            answers->parts[i] = *part;
            return done({});
          }
          if (part.error().code != Code::kUnavailable && !answers->first) {
            answers->first = Error{part.error().code, fmt::format("{}: {}", name, part.error().message), {}};
            for (auto& [other, id] : all) other.end_state(id, Deadline::after(kFetch), [](const Result<void>&) {});
          }
          done(fail(std::move(part).error()));
        });
    if (servers_.hurries_) hurry(task);  // it was sent before there was anything to hurry
  });
  if (written) return std::move(answers->parts);
  const bool is_lost = written.error().code == Code::kUnavailable || written.error().code == Code::kPermissionDenied;
  Error error = !is_lost && answers->first ? *answers->first : written.error();
  if (error.code == Code::kAborted) error.code = Code::kFailedPrecondition;  // not another writer of the directory
  return fail(std::move(error));
}

// Due updates are made first: the client that should have made them may be gone.
Result<variable::WriteParts> ParameterServers::begin_writing(Deadline deadline) {
  hurries_ = false;
  TFD_TRY(make_due(std::nullopt, true, deadline, {}));
  const auto exports = std::make_shared<std::vector<ExportedState>>(tasks_.size());  // with the callbacks
  TFD_TRY(do_on(all(), [&](ServerClient& task, std::size_t i, auto done) {
    task.begin_parts(deadline, [exports, i, done = std::move(done)](Result<ExportedState> listed) {
      if (!listed) return done(fail(std::move(listed).error()));
      (*exports)[i] = std::move(*listed);
      done({});
    });
  }));
  auto plan = TFD_TRY(plan_parts(placement_, *exports));
  const auto writing = std::make_shared<Writing>(*this, std::move(*exports), std::move(plan));  // with the function
  return variable::WriteParts([writing](const std::string& directory, const std::string& unfinished) {
    return writing->write(directory, unfinished);
  });
}

void ParameterServers::hurry_writing() {
  hurries_ = true;
  for (ServerClient& task : tasks_) hurry(task);
}

}  // namespace tfd::task
