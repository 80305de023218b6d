// SPDX-License-Identifier: Apache-2.0
//
// Large tensors that are read where they lie in another process: which ones, for how long, and what liars get.
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>

#include "bed.hpp"
#include "message.hpp"
#include "ring/ring_link.hpp"
#include "ring/ring_loans.hpp"
#include "tfd/process/local_socket.hpp"

namespace tfd::transport {
namespace {

using process::SharedRings;
using tensor::DType;
using tensor::SharedHeap;
using tensor::Tensor;

constexpr std::int64_t kLarge = 100'000;  // floats

Tensor filled(float value, std::int64_t count = kLarge) {
  Tensor out = Tensor::uninitialized(DType::kF32, {count});
  std::fill_n(out.mutable_as<float>(), count, value);
  return out;
}

bool is_lent(const Tensor& tensor) { return tensor.storage()->writable() == nullptr; }

/// Both ends of one connection.
struct LentOver {
  LentOver() {
    SharedHeap::make();
    process::LocalPair ends = process::make_local_pair().value();
    const process::Fd memory = SharedRings::make_memory(RingLink::kRingBytes).value();
    const auto end = [&](process::Fd& socket, SharedRings::Side side) {
      return std::make_unique<RingLink>(LinkId{1}, std::move(socket),
                                        SharedRings::map(memory, RingLink::kRingBytes, side).value());
    };
    lender = end(ends.one, SharedRings::Side::kTaker);
    borrower = end(ends.other, SharedRings::Side::kMaker);
  }
  /// Lends, once the other side has the heap.
  std::optional<Loan> lend(const Tensor& value) {
    auto loan = lender->loans().lend(value.storage(), value.bytes());
    if (loan) return loan;
    borrower->answer_bell();
    return lender->loans().lend(value.storage(), value.bytes());
  }
  Tensor borrow(const Loan& loan, const Tensor& like) {
    return {like.dtype(), like.shape(), borrower->loans().borrow(loan, like.byte_size()).value()};
  }
  std::unique_ptr<RingLink> lender, borrower;
};

/// An endpoint that gives back what it is sent, and says whether that was lent.
struct Lenders {
  Lenders() {
    EndpointOptions serving, asking;
    serving.name = "ps:0";
    serving.bind = "127.0.0.1:0";
    serving.transport = asking.transport = Transport::kRing;
    serving.handler = [this](const Caller&, Message request, Responder responder) {
      was_lent = !request.tensors.empty() && is_lent(request.tensors[0]);
      request.tensors.emplace_back(own);
      responder.reply(std::move(request));
    };
    asking.name = "worker:0";
    server = std::move(*make_zmq_endpoint(std::move(serving)));
    client = std::move(*make_zmq_endpoint(std::move(asking)));
    peer = client->add_peer("ps:0", server->address());
  }
  Message call(std::vector<Tensor> tensors, bool may_lend) {
    Message message{1, "x", std::move(tensors)};
    message.may_lend = may_lend;
    Result<Message> answer = client->call(peer, std::move(message), soon());
    REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().message));
    return std::move(*answer);
  }
  /// Calls until both sides know each other's heap.
  void get_to_know() {
    own = filled(1);
    for (const Deadline end = soon(); !end.expired();)
      if (is_lent(call({filled(2)}, true).tensors.back()) && was_lent) return;
    FAIL("nothing is lent");
  }
  Tensor own;
  std::atomic<bool> was_lent = false;
  std::unique_ptr<Endpoint> server, client;
  PeerId peer{};
};

}  // namespace

TEST_CASE("loans: large tensors of floats are read where they lie, those of a request and those of its answer") {
  Lenders both;
  both.get_to_know();
  both.own = filled(7);
  for (const std::int64_t count : {kLarge, 3 * kLarge, std::int64_t{3'000'000}}) {
    const Tensor value = filled(static_cast<float>(count), count);
    const Message answer = both.call({value}, true);
    CHECK(both.was_lent);
    CHECK(is_lent(answer.tensors[0]));
    CHECK(tensor::same_bytes(answer.tensors[0], value));
    CHECK(tensor::same_bytes(answer.tensors[1], both.own));
  }
}

TEST_CASE("loans: nothing is lent that nobody allows, that is small, or that isn't of floats") {
  Lenders both;
  both.get_to_know();
  both.own = filled(1);
  bool may_lend = true;
  Tensor value = filled(1);
  SUBCASE("not allowed") { may_lend = false; }
  SUBCASE("small") { value = both.own = filled(1, 60'000); }
  SUBCASE("integers, which may be indices") { value = both.own = Tensor::zeros(DType::kS64, {kLarge}); }
  const Message answer = both.call({value}, may_lend);
  CHECK(!both.was_lent);
  CHECK(!is_lent(answer.tensors[1]));
  CHECK(tensor::same_bytes(answer.tensors[0], value));
}

TEST_CASE("loans: what lies elsewhere is copied once, and lent") {
  LentOver ends;
  struct Elsewhere final : tensor::Storage {
    std::vector<float> numbers = std::vector<float>(kLarge, 5);
    const std::byte* data() const override { return reinterpret_cast<const std::byte*>(numbers.data()); }
  };
  const Tensor value(DType::kF32, {kLarge}, std::make_shared<Elsewhere>());
  const auto loan = ends.lend(value);
  REQUIRE(loan);
  CHECK(tensor::same_bytes(ends.borrow(*loan, value), value));
  CHECK(value.storage().use_count() == 1);
}

TEST_CASE("loans: rows of a tensor arrive aligned, too") {
  Lenders both;
  both.get_to_know();
  Tensor table = Tensor::uninitialized(DType::kF32, {kLarge, 3});
  for (std::int64_t i = 0; i < 3 * kLarge; ++i) table.mutable_as<float>()[i] = static_cast<float>(i);
  for (const std::int64_t first : {0, 1, 16}) {
    const Tensor rows = table.slice_rows(first, kLarge - 16);
    const Message answer = both.call({rows}, true);
    CHECK(both.was_lent);
    CHECK(is_lent(answer.tensors[0]));
    CHECK(reinterpret_cast<std::uintptr_t>(answer.tensors[0].data()) % tensor::kAlignment == 0);
    CHECK(tensor::same_bytes(answer.tensors[0], rows));
  }
}

TEST_CASE("loans: the lender keeps a tensor until the borrower has let go of it") {
  LentOver ends;
  Tensor value = filled(3);
  const auto loan = ends.lend(value);
  REQUIRE(loan);
  {
    const Tensor borrowed = ends.borrow(*loan, value);
    ends.lender->loans().settle();
    CHECK(!value.is_sole_owner());
    CHECK(borrowed.as<float>()[kLarge - 1] == 3);
  }
  ends.lender->loans().settle();
  CHECK(value.is_sole_owner());
}

TEST_CASE("loans: a guard ends with the message, though what it guards is lent") {
  struct Guard final : tensor::StorageGuard {
    explicit Guard(std::shared_ptr<tensor::Storage> inner) : guards(std::move(inner)) {}
    const std::byte* data() const override { return guards->data(); }
    std::shared_ptr<const tensor::Storage> guarded() const override { return guards; }
    std::shared_ptr<tensor::Storage> guards;
  };
  Lenders both;
  both.get_to_know();
  const Tensor value = filled(4);
  const auto guard = std::make_shared<Guard>(value.storage());
  both.own = Tensor(DType::kF32, {kLarge}, guard);
  Message answer = both.call({}, true);
  both.own = Tensor();
  REQUIRE(is_lent(answer.tensors[0]));
  for (const Deadline end = soon(); guard.use_count() > 1 && !end.expired();) both.call({}, false);
  CHECK(guard.use_count() == 1);
  CHECK(value.storage().use_count() > 2);
  CHECK(answer.tensors[0].as<float>()[0] == 4);
}

TEST_CASE("loans: what was lent over a connection that has ended isn't used for anything else before it is let go of") {
  LentOver ends;
  std::optional<Tensor> borrowed;
  std::weak_ptr<tensor::Storage> kept;
  {
    Tensor value = filled(6);
    kept = value.storage();
    borrowed = ends.borrow(ends.lend(value).value(), value);
  }
  ends.lender->loans().leave_behind();
  ends.lender.reset();
  ends.borrower.reset();
  std::vector<Tensor> others;
  for (int i = 0; i < 20; ++i) others.push_back(filled(9));
  RingLoans::settle_left_behind();
  CHECK(borrowed->as<float>()[kLarge / 2] == 6);
  CHECK(!kept.expired());
  SUBCASE("the borrower lets go") { borrowed.reset(); }
  SUBCASE("the borrower lets go of a copy last") {
    const Tensor copy = *borrowed;
    borrowed.reset();
    CHECK(copy.as<float>()[0] == 6);
    CHECK(!kept.expired());
  }
  for (const Deadline end = soon(); !kept.expired() && !end.expired();) RingLoans::settle_left_behind();
  CHECK(kept.expired());
}

TEST_CASE("loans: who has ended reads nothing any more") {
  LentOver ends;
  std::weak_ptr<tensor::Storage> kept;
  {
    Tensor value = filled(6);
    kept = value.storage();
    REQUIRE(ends.lend(value));  // and nobody takes it
  }
  ends.lender->loans().leave_behind();
  ends.lender.reset();
  CHECK(!kept.expired());
  ends.borrower.reset();
  for (const Deadline end = soon(); !kept.expired() && !end.expired();) RingLoans::settle_left_behind();
  CHECK(kept.expired());
}

TEST_CASE("loans: of more than a connection has marks for the rest is sent") {
  LentOver ends;
  const Tensor value = filled(1);
  REQUIRE(ends.lend(value));
  for (std::size_t i = 1; i < SharedRings::kLoans; ++i) CHECK(ends.lend(value));
  CHECK(!ends.lend(value));
}

TEST_CASE("loans: a loan that can't be is an error") {
  LentOver ends;
  const Tensor value = filled(1);
  RingLoans& loans = ends.borrower->loans();
  CHECK(loans.borrow({0, 0}, 4).error().message == "4 bytes at 0 are lent, where there are none");  // no heap yet
  const Loan loan = ends.lend(value).value();
  CHECK(loans.borrow(loan, value.byte_size()).has_value());
  const std::uint64_t past = std::uint64_t{1} << 50;
  CHECK(!loans.borrow({loan.slot, past}, 4));
  CHECK(!loans.borrow({loan.slot, loan.offset}, past));
  CHECK(!loans.borrow({loan.slot, ~std::uint64_t{0}}, 4));
  CHECK(!loans.borrow({SharedRings::kLoans, loan.offset}, 4));
  CHECK(!loans.borrow({loan.slot, loan.offset + 4}, 4));  // not aligned
}

TEST_CASE("loans: what isn't another process's heap isn't mapped, and nothing is lent to who can't map it") {
  LentOver ends;
  process::Fd file;
  SUBCASE("memory that can be made smaller") {
    file = process::Fd(::memfd_create("test", MFD_CLOEXEC));
    REQUIRE(::ftruncate(file.get(), 1 << 20) == 0);
  }
  SUBCASE("a file") { file = process::Fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)); }
  SUBCASE("an empty one") {
    file = process::Fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  }
  ends.borrower->loans().take_heap(file);
  const Tensor value = filled(1);
  CHECK(!ends.lender->loans().lend(value.storage(), value.bytes()));
}

TEST_CASE("loans: a message says once for each tensor that it is lent") {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  Message message{1, "x", {filled(1), Tensor::zeros(DType::kS64, {kLarge}), filled(2)}};
  message.may_lend = true;
  const EncodedMessage encoded = encode_message({.type = FrameType::kRequest, .kind = 1, .id = 1}, message).value();
  std::span<const std::byte> bytes = as_bytes(encoded.head);
  Assembly assembly = Assembly::begin(take_frame(bytes).value(), 64 << 20, *pool).value();
  CHECK(!assembly.lent_bytes(0));
  CHECK(!assembly.lent_bytes(3));  // not the next one
  CHECK(assembly.lent_bytes(1).value() == message.tensors[0].byte_size());
  assembly.add_lent(1, message.tensors[0].storage());
  CHECK(!assembly.lent_bytes(1));
  CHECK(!assembly.lent_bytes(2));  // integers
  CHECK(assembly.add(2, 0, message.tensors[1].bytes()).has_value());
  CHECK(assembly.add(3, 0, message.tensors[2].bytes().first(100)).has_value());
  CHECK(!assembly.lent_bytes(3));  // begun
}

}  // namespace tfd::transport
