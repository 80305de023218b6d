// SPDX-License-Identifier: Apache-2.0
//
// Bytes from another member of a group: frames of collectives, one after the other, until its connection ends.
#include <sys/eventfd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "checks.hpp"
#include "stream_communicator.hpp"
#include "targets.hpp"

namespace tfd::fuzz {
namespace {

using collective::Communicator;

/// A peer that takes everything and sends the input in pieces, then ends.
class ScriptedStream final : public collective::Stream {
 public:
  ScriptedStream(std::string_view bytes, std::size_t piece)
      : rest_(bytes), piece_(piece), wake_(::eventfd(1, EFD_CLOEXEC)) {}
  Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) override {
    return first.size() + second.size();
  }
  bool has_unsent() const override { return false; }
  Result<std::size_t> receive(std::span<std::byte> to) override {
    if (rest_.empty()) return fail(Code::kUnavailable, "its connection has ended");
    const std::size_t size = std::min({to.size(), rest_.size(), piece_});
    std::memcpy(to.data(), rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }
  int fd() const override { return wake_.get(); }  // always readable

 private:
  std::string_view rest_;
  const std::size_t piece_;
  const process::Fd wake_;
};

Result<void> make_collectives(Communicator& communicator) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(2));
  constexpr std::size_t kCount = 6;
  std::vector<float> values(kCount, 1);
  auto* const data = reinterpret_cast<std::byte*>(values.data());
  const tensor::SumPart part{.leaves = {0, 1}, .data = data};
  const collective::SumLayout layout{2, {{0, 1}, {1, 1}}, {}};
  const auto gathered = TFD_TRY(communicator.all_gather("notices", 1, "mine", deadline, 64));
  expect(gathered.size() == 2 && gathered[0] == "mine" && gathered[1].size() <= 64,
         "what is gathered is within bounds");
  TFD_TRY(communicator.all_reduce({"w", 1, {tensor::DType::kF32, {kCount}}}, layout, {&part, 1}, data, deadline));
  std::vector<std::byte> text(9);
  TFD_TRY(communicator.broadcast("state", 1, 1, text, deadline));
  return communicator.barrier("end", 1, deadline);
}

}  // namespace

/// Input: how many bytes come at a time; then the bytes.
void collectives(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto piece = static_cast<std::size_t>(static_cast<unsigned char>(bytes.front())) + 1;
  bytes.remove_prefix(1);
  collective::Members members{.generation = 1, .rank = 0, .all = {{"worker:0", "h", "a"}, {"worker:1", "h", "b"}}};
  std::vector<std::unique_ptr<collective::Stream>> streams;
  streams.push_back(nullptr);  // its own
  streams.push_back(std::make_unique<ScriptedStream>(bytes, piece));
  auto communicator = collective::StreamCommunicator::make(std::move(members), std::move(streams));
  expect(communicator.has_value(), "a communicator is made");
  const auto made = make_collectives(**communicator);
  if (made) return;
  expect(!made.error().message.empty(), "an error says what is wrong");
  const auto again = (*communicator)->barrier("later", 2, Deadline::after(std::chrono::seconds(2)));
  expect(!again && again.error().message == made.error().message, "after an error each call returns it again");
}

}  // namespace tfd::fuzz
