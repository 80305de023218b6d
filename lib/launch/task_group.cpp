// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/task_group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "process_group.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/process/orphans.hpp"

namespace tfd::launch {
namespace {

constexpr int kOthersLoss = 69;  // how members of a group end because another one is lost
constexpr int kTryAgain = 75;
constexpr int kUsage = 64, kOtherKey = 77;
constexpr std::array kRefused{kUsage, 65, kOtherKey};   // wrong options, another program, another key
constexpr auto kCauseDelay = std::chrono::seconds(1);   // time for the lost one itself to be seen
constexpr auto kUnkillable = std::chrono::seconds(10);  // after SIGKILL
constexpr auto kGroupCheck = std::chrono::milliseconds(20);

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<process::Fd> open_output(const std::string& path, bool is_first) {
  process::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (is_first ? O_TRUNC : 0), 0666));
  if (!file) return fail_errno(errno, fmt::format("cannot open {}", path));
  return file;
}

}  // namespace

bool Standings::may_refuse(int code) const { return members > 0 || (code == kOtherKey && running > 1); }

struct TaskGroup::Task {
  explicit Task(Member given) : member(std::move(given)), name(cluster::format_task(member.id)) {}
  bool is_left() const { return child || group != 0; }

  Member member;
  std::string name;
  std::optional<process::Child> child;
  pid_t group = 0;                        // after the child's end: its process group, if others of it are waited for
  bool has_failed = false;                // its last start
  bool is_refused = false;                // which isn't worth another one (TaskFailure)
  bool is_elastic = false;                // it said so in an earlier start, or others take it in
  process::EventLoop::TimerId again = 0;  // of its next start alone
  int pid = 0;                            // of the last start
  int starts = 0;
};

TaskGroup::TaskGroup(process::EventLoop& loop, OutputRelay& relay, ErrorFiles files, TaskGroupOptions options,
                     std::vector<Member> members, std::function<void(const std::string&)> say)
    : loop_(loop), relay_(relay), files_(std::move(files)), options_(std::move(options)), say_(std::move(say)) {
  for (Member& member : members) tasks_.push_back(std::make_unique<Task>(std::move(member)));
  if (options_.on_standings) watch_standings();
}

TaskGroup::~TaskGroup() {
  kill();
  for (const auto timer : {decide_timer_, kill_timer_, check_timer_, restart_timer_}) loop_.cancel(timer);
  cancel_replacements();
  if (standing_changes_) loop_.forget(standing_changes_.get());
  for (const auto& task : tasks_)
    if (task->child) loop_.forget(task->child->end_fd());
}

Result<void> TaskGroup::start() {
  TFD_TRY(process::adopt_orphans());
  if (options_.max_failures && !restarts_) restarts_.emplace(*options_.max_failures, Clock::now());
  auto started = start_all();
  if (started) return {};
  kill();
  check_end();
  return started;
}

Result<void> TaskGroup::start_all() {
  for (const auto& task : tasks_) TFD_TRY(start_task(*task));
  return {};
}

Result<void> TaskGroup::start_task(Task& task) {
  process::ChildOptions child{.argv = options_.command, .environment = task.member.environment};
  OutputRelay::TaskEnds ends;
  if (options_.output_directory.empty()) {
    ends = TFD_TRY(relay_.open(task.name));
  } else {
    const std::string path = options_.output_directory + "/" + file_name_of(task.member.id);
    ends.out = TFD_TRY(open_output(path + ".out", task.starts == 0));
    ends.err = TFD_TRY(open_output(path + ".err", task.starts == 0));
  }
  child.stdout_fd = ends.out.get();
  child.stderr_fd = ends.err.get();
  if (options_.shows_text && options_.output_directory.empty())
    child.environment.set("TFD_TEXT_STREAM", process::name_of_stream(ends.out.get()));
  files_.clear(task.member.id);
  files_.clear_standing(task.member.id);
  if (task.member.has_rank) {
    child.environment.set("TFD_GENERATION", std::to_string(generation_));
    child.environment.set("TFD_RESTARTS", std::to_string(task.starts));
    child.environment.set("TFD_ERROR_FILE", files_.path_of(task.member.id));
    child.environment.set("TORCHELASTIC_ERROR_FILE", files_.path_of(task.member.id));
    if (restarts_ || options_.on_standings)
      child.environment.set("TFD_MEMBER_FILE", files_.member_path_of(task.member.id));
  }
  for (const Fault& fault : options_.faults_at_steps)
    if (fault.task == task.member.id && task.starts == 0) child.environment.set("TFD_FAULT", format_fault(fault));
  task.child = TFD_TRY(process::Child::start(child));
  task.pid = task.child->pid();
  task.has_failed = task.is_refused = false;
  ++task.starts;
  options_.log.info("{}: process {}", task.name, task.pid);
  loop_.watch(task.child->end_fd(), POLLIN, [this, it = &task](short) { on_exit(*it); });
  return {};
}

void TaskGroup::on_exit(Task& task) {
  const auto status = task.child->poll();
  if (!status) return;
  loop_.forget(task.child->end_fd());
  relay_.task_ended(task.name);  // its last lines come before ours about it
  task.child.reset();
  options_.log.info("{} {}", task.name, describe_end(*status));
  task.has_failed = status->code != 0;
  if ((task.has_failed || ending_) && group_lives(task.pid)) task.group = task.pid;
  const Standing last = standing_of(task);
  const std::optional<std::int64_t> step = files_.member_state_of(task.member.id).step;
  const bool was_member = last == Standing::kMember;
  task.is_elastic = last != Standing::kAlone;
  task.is_refused = status->code == kUsage ||
                    (last == Standing::kJoining && std::ranges::find(kRefused, status->code) != kRefused.end());
  files_.clear_standing(task.member.id);
  if (was_member && !task.has_failed) ++done_;
  tell_standings();
  if (task.has_failed) on_failure(note(task, *status, step));
  if (was_member && !task.has_failed && is_done()) finish();
  if (decide_timer_ != 0 && running().empty()) decide();
  check_end();
}

/// Writes the task's error file, and keeps the earliest.
TaskGroup::Failure TaskGroup::note(Task& task, const process::ExitStatus& status, std::optional<std::int64_t> step) {
  TaskError own{task.name, status.code, "", host_name(), task.pid, status.signal, wall_seconds()};
  if (step) own.step = std::to_string(*step);
  TaskError error = files_.complete(task.member.id, own);
  Failure failure{&task, status, error.message, error.time, step};
  if (error.message.empty()) error.message = describe_end(status);
  if (const auto saved = files_.save(task.member.id, error); !saved) say_(saved.error().message);
  // One that ends because another one is lost is never before that one, whatever clocks say.
  const auto order = [](const Failure& one) { return std::pair(one.status.code == kOthersLoss, one.time); };
  if (!earliest_ || order(failure) < order(*earliest_)) earliest_ = failure;
  return failure;
}

/// "worker:1 exited with 7: no such shard".
std::string TaskGroup::line_of(const Failure& failure) {
  std::string line = fmt::format("{} {}", failure.task->name, describe_end(failure.status));
  return failure.message.empty() ? line : line + ": " + failure.message;
}

void TaskGroup::on_failure(Failure failure) {
  if (options_.on_failure)
    return options_.on_failure({failure.task->name, failure.status, line_of(failure), failure.message, failure.time,
                                failure.step, failure.task->is_refused});
  if (ending_) {
    // One that somebody else kills isn't ended by us: several may be out of memory at once.
    if (asked_signal_ == 0 && failure.status.signal == SIGKILL && !kills_) say_(line_of(failure));
    // Where a signal asked for the end, the first to fail isn't ended by us.
    if (cause_ || asked_signal_ == 0) return;
    cause_ = std::move(failure);
    if (cause_->status.signal != asked_signal_)
      say_(fmt::format("{} {}", cause_->task->name, describe_end(cause_->status)));
    return;
  }
  if (failure.task->is_refused && restarts_) {
    const Standings left = standings();
    if (left.go_on() && left.may_refuse(failure.status.code) && left.running >= options_.least) {
      if (earliest_ && earliest_->task == failure.task) earliest_.reset();
      return say_(line_of(failure) + "; the others go on without it");
    }
  }
  // None of those who end because another one is lost is the cause, though one may be seen first.
  const bool is_consequence = failure.status.code == kOthersLoss;
  if (!cause_ || (!is_consequence && cause_->status.code == kOthersLoss)) cause_ = std::move(failure);
  // Several tasks of a group that goes on may die of one cause, or all.
  if ((!is_consequence && !goes_on()) || cause_->task->is_refused || is_unread(*cause_) || running().empty())
    return decide();
  if (decide_timer_ == 0) decide_timer_ = loop_.at(Clock::now() + kCauseDelay, [this] { decide(); });
}

/// The cause is known: the others are ended.
void TaskGroup::decide() {
  loop_.cancel(std::exchange(decide_timer_, 0));
  if (ending_) return;
  std::string line = line_of(*cause_);
  if (restarts_ && !cause_->task->is_refused && !is_unread(*cause_)) {
    const bool counts = !Restarts::is_preemption(cause_->status);
    if (const auto wait = restarts_->on_failure(Clock::now(), counts, cause_->task->name, cause_->step))
      return goes_on() ? replace_later(line, *wait, counts) : start_again_later(line, *wait, counts);
    line += "; " + restarts_->too_many();
  }
  if (!is_unread(*cause_)) say_(line);
  end_all(SIGTERM, options_.stop_grace);
}

/// What a task says of itself; one that said before that it goes on when others die will say so again.
Standing TaskGroup::standing_of(const Task& task) const {
  const Standing said = files_.member_state_of(task.member.id).standing;
  return said == Standing::kAlone && task.is_elastic ? Standing::kJoining : said;
}

/// Tells those who decide what tasks say, each time that one says something else.
void TaskGroup::watch_standings() {
  standing_changes_ = process::Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!standing_changes_ ||
      ::inotify_add_watch(standing_changes_.get(), files_.directory().c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
    return say_(fail_errno(errno, "cannot watch what tasks say, so a failure starts all again: " + files_.directory())
                    .value()
                    .message);
  loop_.watch(standing_changes_.get(), POLLIN, [this](short) {
    std::array<char, 4096> events;  // which of them it was doesn't matter
    while (::read(standing_changes_.get(), events.data(), events.size()) > 0) {
    }
    tell_standings();
  });
}

Standings TaskGroup::standings() const {
  Standings now{.done = done_};
  for (const auto& task : tasks_) {
    if (!task->child || !task->member.has_rank) continue;
    ++now.running;
    const Standing standing = standing_of(*task);
    now.alone += standing == Standing::kAlone ? 1 : 0;
    now.members += standing == Standing::kMember ? 1 : 0;
  }
  return now;
}

void TaskGroup::tell_standings() {
  if (!options_.on_standings) return;
  const Standings now = standings();
  if (told_ == now) return;
  told_ = now;
  options_.on_standings(now);
}

/// Starts only those that failed again, after a while. Returns their names.
std::vector<std::string> TaskGroup::schedule_failed(Duration wait) {
  std::vector<std::string> names;
  for (const auto& task : tasks_) {
    if (!task->has_failed || task->is_refused || task->child || task->again != 0) continue;
    names.push_back(task->name);
    task->again = loop_.at(Clock::now() + wait, [this, it = task.get()] { replace(*it); });
  }
  return names;
}

void TaskGroup::replace_failed(int generation, std::vector<Member> members, Duration wait) {
  for (std::size_t i = 0; i < std::min(members.size(), tasks_.size()); ++i)
    if (!tasks_[i]->child) tasks_[i]->member = std::move(members[i]);
  generation_ = generation;
  earliest_.reset();
  // Where a signal came meanwhile, nothing is started any more.
  if (!ending_ && stops_ == 0 && !schedule_failed(wait).empty()) idle_ = false;
  if (idle_) options_.on_idle(generation_);
}

void TaskGroup::replace_later(const std::string& failure, Duration wait, bool counts) {
  const std::vector<std::string> names = schedule_failed(wait);
  cause_.reset();
  earliest_.reset();
  ++generation_;
  say_(fmt::format("{}; starting {} again in {} ({})", failure, join_words(names), format_duration(wait),
                   restarts_->describe(counts)));
}

void TaskGroup::replace(Task& task) {
  task.again = 0;
  const auto started = start_task(task);
  tell_standings();
  if (started) return;
  if (options_.on_failure) {
    const int code = process::exit_code_of_start_error(started.error());
    options_.on_failure({task.name, {.code = code}, started.error().message, "", wall_seconds()});
    return check_end();
  }
  cause_ = Failure{&task, {.code = process::exit_code_of_start_error(started.error())}, "", wall_seconds()};
  say_(started.error().message);
  end_all(SIGTERM, options_.stop_grace);
}

void TaskGroup::cancel_replacements() {
  for (const auto& task : tasks_) loop_.cancel(std::exchange(task->again, 0));
}

/// True if a group that goes on has come to its end: no member runs any more, and the last one ended well.
bool TaskGroup::is_done() const {
  return restarts_ && !ending_ && std::ranges::none_of(tasks_, [this](const auto& task) {
           return task->child && task->member.has_rank &&
                  files_.member_state_of(task->member.id).standing == Standing::kMember;
         });
}

/// Those that failed aren't needed any more, nor those that would join now.
void TaskGroup::finish() {
  loop_.cancel(std::exchange(decide_timer_, 0));
  if (cause_) say_(line_of(*cause_) + "; the others ended without it");  // there was no time to start it again
  cause_.reset();
  earliest_.reset();
  ending_ = true;
  cancel_replacements();
  for (const auto& task : tasks_)
    if (task->child && task->member.has_rank) ::kill(-task->pid, SIGTERM);
  kill_timer_ = loop_.at(Clock::now() + options_.stop_grace, [this] { kill(); });
}

/// A program that doesn't join a group by itself is started again as a whole at every change.
void TaskGroup::start_again_later(const std::string& failure, Duration wait, bool counts) {
  restart_at_ = Clock::now() + wait;
  say_(fmt::format("{}; starting all again in {} ({})", failure, format_duration(wait), restarts_->describe(counts)));
  end_all(SIGTERM, options_.stop_grace);
}

void TaskGroup::restart() {
  restart_at_.reset();
  restart_timer_ = 0;
  cause_.reset();
  earliest_.reset();
  ending_ = kills_ = false;
  ++generation_;
  const auto started = start();
  if (started) return;
  say_(started.error().message);
  conclude({.code = process::exit_code_of_start_error(started.error())});
}

void TaskGroup::start_again(int generation, std::vector<Member> members, bool joins) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto task = std::make_unique<Task>(std::move(members[i]));
    task->is_elastic = joins;
    if (i < tasks_.size()) {
      task->starts = tasks_[i]->starts;
      task->is_elastic = joins || tasks_[i]->is_elastic;
      tasks_[i] = std::move(task);
    } else {
      tasks_.push_back(std::move(task));
    }
  }
  generation_ = generation;
  ending_ = kills_ = idle_ = false;
  earliest_.reset();
  told_.reset();
  done_ = 0;
  const auto started = start_all();
  tell_standings();
  if (started) return;
  const int code = process::exit_code_of_start_error(started.error());
  options_.on_failure({tasks_.front()->name, {.code = code}, started.error().message, "", wall_seconds()});
  kill();
  check_end();
}

void TaskGroup::signal(const cluster::TaskId& task, int number) {
  for (const auto& one : tasks_)
    if (one->member.id == task && one->child) ::kill(-one->pid, number);
}

void TaskGroup::signal(int number) {
  for (const auto& task : tasks_) {
    const pid_t group = task->child ? task->child->pid() : task->group;
    if (group != 0) ::kill(-group, number);
  }
}

void TaskGroup::end_all(int number, Duration grace) {
  ending_ = true;
  cancel_replacements();
  signal(number);
  signal(SIGCONT);  // a stopped one ends, too
  loop_.cancel(kill_timer_);
  kill_timer_ = loop_.at(Clock::now() + grace, [this] { kill(); });
  check_end();
}

void TaskGroup::stop(int number) {
  ++stops_;
  if (ended_ || (options_.on_idle && idle_)) return;
  if (restart_at_) {  // all are ending, or have ended
    restart_at_.reset();
    loop_.cancel(restart_timer_);
    asked_signal_ = number;
    cut_short_ = true;
    signal(number);
    return check_end();
  }
  if (stops_ > 2 || (ending_ && asked_signal_ == 0)) return kill();
  if (ending_) return signal(number);
  asked_signal_ = number;
  end_all(number, options_.grace);
}

void TaskGroup::expire(const std::string& why) {
  if ((ending_ && !restart_at_) || ended_) return;
  expired_ = true;
  restart_at_.reset();
  loop_.cancel(restart_timer_);
  say_(why);
  end_all(SIGTERM, options_.stop_grace);
}

void TaskGroup::kill() {
  loop_.cancel(kill_timer_);
  ending_ = kills_ = true;
  signal(SIGKILL);
  kill_timer_ = loop_.at(Clock::now() + kUnkillable, [this] { leave_behind(); });
}

/// Gives up on processes that not even SIGKILL ends.
void TaskGroup::leave_behind() {
  for (const auto& task : tasks_) {
    if (!task->is_left()) continue;
    say_(fmt::format("{}: process {} (state {}) can't be killed and is left behind", task->name, task->pid,
                     state_of(task->pid)));
    if (task->child) {
      loop_.forget(task->child->end_fd());
      // Left, not destroyed: ~Child would wait for it.
      [[maybe_unused]] const auto* left = std::make_unique<process::Child>(std::move(*task->child)).release();
    }
    task->child.reset();
    task->group = 0;
  }
  conclude();
}

void TaskGroup::check_end() {
  if (ended_) return;
  bool lingers = false;
  for (const auto& task : tasks_) {
    if (task->child || (options_.on_idle && task->again != 0)) return;
    if (task->group != 0 && !group_lives(task->group)) task->group = 0;
    lingers = lingers || task->group != 0;
  }
  if (decide_timer_ != 0) return;
  if (!lingers) return conclude();
  loop_.cancel(check_timer_);
  check_timer_ = loop_.at(Clock::now() + kGroupCheck, [this] { check_end(); });
}

/// Nothing runs any more.
void TaskGroup::conclude() {
  loop_.cancel(kill_timer_);
  if (options_.on_idle) {
    if (!std::exchange(idle_, true)) options_.on_idle(generation_);
    return;
  }
  if (cause_ && earliest_ && earliest_->task != cause_->task && !earliest_->message.empty())
    say_(fmt::format("{} failed before that: {}", earliest_->task->name, earliest_->message));
  earliest_.reset();  // it is said once
  if (restart_at_) {
    if (restart_timer_ == 0) restart_timer_ = loop_.at(*restart_at_, [this] { restart(); });
    return;
  }
  if (expired_) return conclude({.code = kTryAgain});
  if (cut_short_) return conclude({.code = 128 + asked_signal_, .signal = asked_signal_});
  if (!cause_) return conclude({.code = 0});
  const bool by_signal = asked_signal_ != 0 && cause_->status.signal == asked_signal_;
  conclude({.code = cause_->status.code, .signal = by_signal ? asked_signal_ : 0});
}

void TaskGroup::conclude(GroupEnd end) {
  cancel_replacements();
  ended_ = true;
  end_ = end;
}

std::vector<std::string> TaskGroup::running() const {
  std::vector<std::string> names;
  for (const auto& task : tasks_)
    if (task->child) names.push_back(task->name);
  return names;
}

}  // namespace tfd::launch
