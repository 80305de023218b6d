// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <random>

#include "tfd/resolve/fetcher.hpp"

namespace tfd::resolve {
namespace {

constexpr std::array<int, 6> kRepeated{408, 429, 500, 502, 503, 504};
constexpr std::int64_t kLongestRetryAfter_s = 24 * 60 * 60;

bool may_pass(const Result<Response>& result) {
  if (!result) return result.error().code == Code::kUnavailable;
  return std::find(kRepeated.begin(), kRepeated.end(), result->status) != kRepeated.end();
}

/// An HTTP date, "Sun, 06 Nov 1994 08:49:37 GMT"; nullopt for anything else.
std::optional<std::int64_t> parse_date(const std::string& text) {
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&parts);
}

/// Zero where the answer doesn't say. A date is compared with the server's own clock where it tells that.
Duration retry_after(const Response& response) {
  const std::string* const text = response.find_header("Retry-After");
  if (text == nullptr) return Duration::zero();
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  const bool is_number = !text->empty() && end == text->data() + text->size();
  if (is_number && error == std::errc::result_out_of_range) seconds = kLongestRetryAfter_s;
  if (!is_number) {
    const std::optional<std::int64_t> when = parse_date(*text);
    const std::string* const date = response.find_header("Date");
    const std::optional<std::int64_t> server_now = date != nullptr ? parse_date(*date) : std::nullopt;
    if (when) seconds = *when - server_now.value_or(static_cast<std::int64_t>(std::time(nullptr)));
  }
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kLongestRetryAfter_s));
}

/// A pause between nothing and the bound of this attempt (full jitter), so that many clients don't come back at once.
Duration jittered(const RetryPolicy& policy, int attempt, std::minstd_rand& random) {
  Duration bound = policy.first_pause;
  for (int i = 1; i < attempt && bound < policy.longest_pause; ++i) bound *= 2;
  bound = std::min(bound, policy.longest_pause);
  return Duration(std::uniform_int_distribution<Duration::rep>(0, std::max<Duration::rep>(bound.count(), 0))(random));
}

Result<Response> noted(Result<Response> result, const std::string& note) {
  if (!result) {
    result.error().message += " (" + note + ")";
  } else {
    result->note = note;
  }
  return result;
}

}  // namespace

const std::string* Response::find_header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key.size() == name.size() && ::strncasecmp(key.data(), name.data(), name.size()) == 0) return &value;
  return nullptr;
}

Pause real_pause() {
  return [](Duration duration, Deadline deadline) {
    const Deadline end = Deadline::after(duration).earlier_of(deadline);
    while (!end.expired()) ::poll(nullptr, 0, end.poll_ms());
    return !deadline.expired();
  };
}

Result<Response> fetch_with_retries(Fetcher& fetcher, const Request& request, const RetryPolicy& policy,
                                    const Pause& pause, Deadline deadline) {
  std::minstd_rand random(std::random_device{}());
  std::string before;  // what the attempt before said
  for (int attempt = 1;; ++attempt) {
    Result<Response> result = fetcher.fetch(request, deadline);
    if (!result && result.error().code == Code::kDeadlineExceeded && attempt > 1)
      return noted(std::move(result), fmt::format("attempt {}; the one before: {}", attempt, before));
    if (!may_pass(result)) return result;
    if (attempt >= policy.most_attempts)
      return attempt == 1 ? std::move(result) : noted(std::move(result), fmt::format("tried {} times", attempt));
    const Duration wait = std::max(jittered(policy, attempt, random), result ? retry_after(*result) : Duration::zero());
    const std::string tried = attempt == 1 ? "tried once" : fmt::format("tried {} times", attempt);
    if (wait >= deadline.remaining() || !pause(wait, deadline))
      return noted(std::move(result), tried + ", the deadline leaves no time for another attempt");
    before = result ? fmt::format("status {}", result->status) : result.error().message;
  }
}

}  // namespace tfd::resolve
