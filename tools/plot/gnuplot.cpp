// SPDX-License-Identifier: Apache-2.0
#include "gnuplot.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "tfd/base/text.hpp"
#include "tfd/process/child.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::plot {
namespace {

constexpr auto kPatience = std::chrono::minutes(1);
constexpr std::size_t kMostOutput = std::size_t{1} << 28;
constexpr std::size_t kLowRows = 14;              // charts of fewer have no label of the axis, and no empty lines
constexpr int kSvgWidth = 800, kSvgHeight = 360;  // of each chart

/// A string of gnuplot's in which nothing is special; texts come from files.
std::string as_literal(std::string_view text) {
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

bool has_several_runs(const std::vector<Chart>& charts) {
  for (const Chart& chart : charts)
    for (const Curve& curve : chart.curves)
      if (curve.run != charts.front().curves.front().run) return true;
  return false;
}

/// Charts of characters without what printers need: form feeds, and blanks at the ends of lines.
std::string trimmed(std::string_view drawn) {
  std::string out;
  for (std::string line : split(drawn, '\n')) {
    std::erase(line, '\f');
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) out += line + '\n';
  }
  return out;
}

/// A file in memory, at its beginning.
Result<process::Fd> in_memory(const std::string& text) {
  process::Fd fd(::memfd_create("gnuplot", MFD_CLOEXEC));
  if (!fd) return fail_errno(errno, "cannot make a file in memory");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::pwrite(fd.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, "cannot write to a file in memory");
    done += static_cast<std::size_t>(written);
  }
  return fd;
}

}  // namespace

std::string script_of(const std::vector<Chart>& charts, const Drawing& drawing) {
  std::string out = drawing.is_svg ? fmt::format(
                                         "set terminal svg size {},{} noenhanced background 'white'\n"
                                         "set multiplot layout {},1\n",
                                         kSvgWidth, kSvgHeight * static_cast<int>(charts.size()), charts.size())
                                   : fmt::format("set terminal dumb size {},{} noenhanced {}\n", drawing.columns,
                                                 drawing.rows, drawing.has_color ? "ansi" : "mono");
  const bool several = has_several_runs(charts);
  out += several ? "set key below\n" : "set key top right\n";  // long names would lie on the curves
  const bool is_low = !drawing.is_svg && drawing.rows < kLowRows;
  out += is_low ? "set tmargin 1\n" : "set xlabel 'step'\n";
  if (is_low && !several) out += "set bmargin 1\n";
  out += "set autoscale xfix\nset offsets graph 0.02, graph 0.02, 0, 0\n";
  if (drawing.has_log_scale) out += "set logscale y\n";
  for (const Chart& chart : charts) {
    out += fmt::format("set title {}\nplot ", as_literal(chart.metric));
    std::string data;
    for (const Curve& curve : chart.curves) {
      const std::string_view kind = curve.is_eval ? "eval" : "train";
      const std::string title = several ? fmt::format("{} {}", curve.run, kind) : std::string(kind);
      const bool is_line = curve.points.size() > 1;
      const bool has_marks = drawing.is_svg ? curve.is_eval : several;  // of characters, lines alone are all alike
      out += fmt::format("{}'-' using 1:2 with {} title {}", data.empty() ? "" : ", ",
                         is_line ? (has_marks ? "linespoints" : "lines") : "points", as_literal(title));
      for (const auto& [step, value] : curve.points) data += fmt::format("{} {:.9g}\n", step, value);
      data += "e\n";
    }
    out += "\n" + data;
  }
  return out + (drawing.is_svg ? "unset multiplot\n" : "");
}

Result<std::string> draw(const std::vector<Chart>& charts, const Drawing& drawing, const Environment& env) {
  const process::Fd script = TFD_TRY(in_memory(script_of(charts, drawing)));
  process::Pipe out = TFD_TRY(process::make_pipe());
  const process::Fd err(::memfd_create("errors", MFD_CLOEXEC));
  if (!err) return fail_errno(errno, "cannot make a file in memory");
  auto child = process::Child::start({.argv = {"gnuplot", "--default-settings"},
                                      .environment = env,
                                      .stdin_fd = script.get(),
                                      .stdout_fd = out.write.get(),
                                      .stderr_fd = err.get(),
                                      .new_group = false});
  if (!child && child.error().code == Code::kNotFound)
    return fail(Code::kFailedPrecondition, "gnuplot draws, and isn't here: apt-get install gnuplot-nox, or the like");
  if (!child) return fail(std::move(child).error());
  out.write.reset();
  const Deadline deadline = Deadline::after(kPatience);
  std::string drawn = TFD_TRY(process::read_all(out.read.get(), deadline, kMostOutput), "gnuplot");
  const process::ExitStatus status = TFD_TRY(child->wait(deadline), "gnuplot");
  if (status.code == 0) return drawing.is_svg ? drawn : trimmed(drawn);
  ::lseek(err.get(), 0, SEEK_SET);
  const std::string said = process::read_all(err.get(), deadline, 1 << 16).value_or("");
  return fail(Code::kInternal, "gnuplot {}: {}", process::describe(status), printable(said));
}

}  // namespace tfd::plot
