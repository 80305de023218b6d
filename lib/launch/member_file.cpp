// SPDX-License-Identifier: Apache-2.0
#include "tfd/launch/member_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"

namespace tfd::launch {
namespace {

constexpr std::size_t kMostBytes = 4096;
constexpr std::string_view kMember = "member", kStep = "step", kDone = "done";

/// The number behind a word; nullopt if there is none.
std::optional<std::int64_t> number_behind(const std::string& text, std::string_view word) {
  const char* at = text.c_str() + word.size();
  while (is_space(*at)) ++at;
  std::int64_t step = 0;
  const bool is_step = std::from_chars(at, text.c_str() + text.size(), step).ec == std::errc() && step >= 0;
  return is_step ? std::optional(step) : std::nullopt;
}

}  // namespace

MemberState load_member_state(const std::string& path) {
  const auto text = load_file(path, kMostBytes);
  if (!text) return {};
  if (text->starts_with(kStep)) return {.step = number_behind(*text, kStep)};
  if (text->starts_with(kMember)) return {Standing::kMember, number_behind(*text, kMember)};
  if (text->starts_with(kDone)) return {.standing = Standing::kMember, .is_done = true};
  return {.standing = Standing::kJoining};
}

std::string MemberFile::text_of(std::int64_t step) const {
  return fmt::format("{} {}\n", goes_on_ ? kMember : kStep, step);
}

void MemberFile::say(std::optional<std::int64_t> step) {
  file_.reset();
  if (!goes_on_ && !step) return;
  if (!save_file(path_, step ? text_of(*step) : "joining\n") || !step) return;
  file_ = process::Fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
}

void MemberFile::say_done() {
  file_.reset();
  if (goes_on_) static_cast<void>(save_file(path_, fmt::format("{}\n", kDone)));
}

void MemberFile::note_step(std::int64_t step) {
  if (!file_) return;
  const std::string text = text_of(step);  // no shorter than before: steps grow
  (void)!::pwrite(file_.get(), text.data(), text.size(), 0);
}

}  // namespace tfd::launch
