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
constexpr std::string_view kMember = "member";

std::string member_text(std::int64_t step) { return fmt::format("{} {}\n", kMember, step); }

}  // namespace

MemberState load_member_state(const std::string& path) {
  const auto text = load_file(path, kMostBytes);
  if (!text) return {};
  if (!text->starts_with(kMember)) return {.standing = Standing::kJoining};
  MemberState out{.standing = Standing::kMember};
  const char* at = text->c_str() + kMember.size();
  while (is_space(*at)) ++at;
  std::int64_t step = 0;
  if (std::from_chars(at, text->c_str() + text->size(), step).ec == std::errc() && step >= 0) out.step = step;
  return out;
}

void MemberFile::say(std::optional<std::int64_t> step) {
  file_.reset();
  if (!save_file(path_, step ? member_text(*step) : "joining\n") || !step) return;
  file_ = process::Fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
}

void MemberFile::note_step(std::int64_t step) {
  if (!file_) return;
  const std::string text = member_text(step);  // no shorter than before: steps grow
  (void)!::pwrite(file_.get(), text.data(), text.size(), 0);
}

}  // namespace tfd::launch
