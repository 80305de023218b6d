// SPDX-License-Identifier: Apache-2.0
//
// Rules of every transport: TCP, ipc, and the in-process twin.
#include <algorithm>
#include <atomic>
#include <map>
#include <stop_token>
#include <thread>

#include "bed.hpp"

namespace tfd::transport {

EVERY_TRANSPORT("a request gets its answer, with metadata and tensors of every size") {
  auto server = bed.serve(echo);
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  REQUIRE(client->wait_up(std::vector{peer}, soon()).has_value());
  CHECK(client->state(peer) == PeerState::kUp);
  CHECK(client->incarnation_of(peer) == server->incarnation());
  for (const std::size_t meta : {std::size_t{0}, std::size_t{10}, std::size_t{64 * 1024}, std::size_t{1024 * 1024}}) {
    Message message{7, std::string(meta, 'm'), {}};
    for (const std::int64_t size : {0, 1, 100, 4096, 4097, 20000, 65536, 65537, 1000003})
      message.tensors.push_back(ramp(size));
    message.tensors.push_back(tensor::Tensor::scalar<std::int64_t>(tensor::DType::kS64, -5));
    message.tensors.push_back(tensor::Tensor::zeros(tensor::DType::kBF16, {3, 0, 2}));
    message.tensors.push_back(ramp(64).slice_rows(3, 5));
    const Message sent = message;
    Result<Message> answer = client->call(peer, std::move(message), soon());
    REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().message));
    CHECK(answer->kind == 7);
    CHECK(answer->meta == sent.meta);
    REQUIRE(answer->tensors.size() == sent.tensors.size());
    for (std::size_t i = 0; i < sent.tensors.size(); ++i) {
      CHECK(tensor::same_bytes(answer->tensors[i], sent.tensors[i]));
      CHECK(reinterpret_cast<std::uintptr_t>(answer->tensors[i].data()) % tensor::kAlignment == 0);
      CHECK(answer->tensors[i].is_sole_owner());
    }
  }
}

EVERY_TRANSPORT("an error of the handler comes back with code, message and task") {
  auto server = bed.serve([](const Caller& caller, Message request, Responder responder) {
    CHECK(caller.name == "coordinator");
    if (request.meta == "ps")
      responder.reply(fail(Error{Code::kUnavailable, "ps:1 is lost", "ps:1"}));
    else if (request.meta == "none")
      Responder dropped = std::move(responder);
    else
      responder.reply(fail(Code::kOutOfRange, "end of '{}'", request.meta));
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:3", server->address());
  Result<Message> answer = client->call(peer, text_message("train"), soon());
  REQUIRE(!answer);
  CHECK(answer.error().code == Code::kOutOfRange);
  CHECK(answer.error().message == "end of 'train'");
  CHECK(answer.error().task == "worker:3");
  CHECK(client->call(peer, text_message("ps"), soon()).error().task == "ps:1");
  CHECK(client->call(peer, text_message("none"), soon()).error().code == Code::kInternal);
}

EVERY_TRANSPORT("an endpoint without a handler says that it serves nothing") {
  auto server = bed.serve({});
  auto client = bed.client();
  const Result<Message> answer = client->call(client->add_peer("ps:0", server->address()), text_message("x"), soon());
  REQUIRE(!answer);
  CHECK(answer.error().code == Code::kUnimplemented);
}

EVERY_TRANSPORT("replies may be made on another thread, in another order, and after the caller has gone") {
  Seen<std::pair<std::string, std::shared_ptr<Responder>>> kept;
  auto server = bed.serve([&](const Caller&, Message request, Responder responder) {
    kept.add({request.meta, std::make_shared<Responder>(std::move(responder))});
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  Seen<std::string> answers;
  for (const char* text : {"a", "b"})
    client->request(peer, text_message(text), soon(),
                    [&](Result<Message> answer) { answers.add(answer ? answer->meta : answer.error().message); });
  const auto requests = kept.wait(2);
  REQUIRE(requests.size() == 2);
  std::thread([&] {
    requests[1].second->reply(text_message("for " + requests[1].first));
    requests[0].second->reply(text_message("for " + requests[0].first));
  }).join();
  CHECK(answers.wait(2) == std::vector<std::string>{"for b", "for a"});
  client->request(peer, text_message("c"), soon(), [](Result<Message>) {});
  const auto last = kept.wait(3);
  client.reset();
  last[2].second->reply(text_message("for nobody"));
  auto other = bed.client();
  CHECK(other->wait_up(std::vector{other->add_peer("worker:0", server->address())}, soon()).has_value());
  other->request(other->add_peer("worker:0", server->address()), text_message("d"), soon(), [](Result<Message>) {});
  const auto after = kept.wait(4);
  server.reset();
  after[3].second->reply(text_message("after the server"));  // goes nowhere, harmlessly
}

EVERY_TRANSPORT("a deadline ends a request in time, once, and the late answer is dropped") {
  Seen<std::shared_ptr<Responder>> kept;
  auto server = bed.serve([&](const Caller& caller, Message request, Responder responder) {
    if (request.meta == "echo") return responder.reply(std::move(request));
    CHECK(!caller.deadline.is_never());
    CHECK(caller.deadline.remaining() < 1s);
    kept.add(std::make_shared<Responder>(std::move(responder)));
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  REQUIRE(client->wait_up(std::vector{peer}, soon()).has_value());
  const auto begin = Clock::now();
  const Result<Message> answer = client->call(peer, text_message("slow"), Deadline::after(150ms));
  REQUIRE(!answer);
  CHECK(answer.error().code == Code::kDeadlineExceeded);
  CHECK(answer.error().task == "worker:0");
  CHECK(answer.error().message.find("no answer from worker:0 within") == 0);
  CHECK(Clock::now() - begin >= 150ms);
  CHECK(Clock::now() - begin < 5s);
  kept.wait(1)[0]->reply(text_message("late"));
  CHECK(client->call(peer, text_message("echo"), soon())->meta == "echo");
  CHECK(client->call(peer, text_message("echo"), Deadline::after(0ms)).error().code == Code::kDeadlineExceeded);
}

EVERY_TRANSPORT("a request whose deadline passes before the server gets to it is not executed") {
  Flag blocked, go_on;
  Seen<std::string> executed;
  auto server = bed.serve([&](const Caller&, Message request, Responder responder) {
    executed.add(request.meta);
    if (request.meta == "block") {
      blocked.raise();
      go_on.wait();
    }
    responder.reply(std::move(request));
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  client->request(peer, text_message("block"), soon(), [](Result<Message>) {});
  blocked.wait();
  // It waits in the server's queue of frames; its time is counted from when its frame is read.
  CHECK(client->call(peer, text_message("in vain"), Deadline::after(50ms)).error().code == Code::kDeadlineExceeded);
  go_on.raise();
  CHECK(client->call(peer, text_message("after"), soon()).has_value());
  CHECK(executed.now().front() == "block");
  CHECK(executed.now().back() == "after");
}

EVERY_TRANSPORT("requests wait for a peer that isn't there yet") {
  auto probe = bed.serve(echo);
  const std::string address = probe->address();
  probe.reset();
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", address);
  Seen<std::string> answers;
  for (int i = 0; i < 3; ++i)
    client->request(peer, text_message(std::to_string(i)), soon(),
                    [&](Result<Message> answer) { answers.add(answer ? answer->meta : answer.error().message); });
  const Result<Message> none = client->call(peer, text_message("x"), Deadline::after(50ms));
  CHECK(none.error().code == Code::kDeadlineExceeded);
  CHECK(client->state(peer) == PeerState::kConnecting);
  auto server = bed.serve(echo, "worker:0", address);
  CHECK(answers.wait(3) == std::vector<std::string>{"0", "1", "2"});
}

EVERY_TRANSPORT("wait_up names who isn't up, and why") {
  auto server = bed.serve(echo);
  auto gone = bed.serve(echo);
  const std::string address = gone->address();
  gone.reset();
  auto client = bed.client();
  const std::vector<PeerId> peers{client->add_peer("ps:0", server->address()), client->add_peer("worker:1", address)};
  const Result<void> up = client->wait_up(peers, Deadline::after(300ms));
  REQUIRE(!up);
  INFO(up.error().message);
  CHECK(up.error().code == Code::kDeadlineExceeded);
  CHECK(up.error().message.find("for worker:1 (") != std::string::npos);
  CHECK((up.error().message.find("(connection refused)") != std::string::npos ||
         up.error().message.find("(no such file or directory)") != std::string::npos));
  CHECK(client->wait_up(std::vector{peers[0]}, soon()).has_value());
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const Result<void> stopped = client->wait_up(peers, soon(), stop.get_token());
  REQUIRE(!stopped);
  CHECK(stopped.error().code == Code::kCancelled);
}

EVERY_TRANSPORT("a lost peer fails what is in flight at once, and what comes after, until its successor is up") {
  Seen<PeerEvent> events;
  EndpointOptions options;
  options.name = "coordinator";
  options.on_peer = [&](const PeerEvent& event) { events.add(event); };
  Seen<std::shared_ptr<Responder>> kept;
  const auto keep = [&](const Caller&, Message, Responder responder) {
    kept.add(std::make_shared<Responder>(std::move(responder)));
  };
  auto server = bed.serve(keep);
  const std::string address = server->address();
  const Incarnation first = server->incarnation();
  auto client = bed.make(std::move(options));
  const PeerId peer = client->add_peer("worker:0", address);
  constexpr int kCount = 1000;
  std::vector<std::atomic<int>> calls(kCount);
  Seen<Error> errors;
  for (int i = 0; i < kCount; ++i)
    client->request(peer, text_message("never"), Deadline::never(), [&, i](Result<Message> answer) {
      ++calls[static_cast<std::size_t>(i)];
      errors.add(answer ? Error{Code::kInternal, "an answer", ""} : answer.error());
    });
  kept.wait(kCount);
  const auto begin = Clock::now();
  server.reset();
  const std::vector<Error> failed = errors.wait(kCount);
  CHECK(Clock::now() - begin < 5s);
  for (const Error& error : failed) {
    REQUIRE(error.code == Code::kUnavailable);
    REQUIRE(error.task == "worker:0");
  }
  const Result<Message> refused = client->call(peer, text_message("x"), Deadline::never());
  CHECK(refused.error().code == Code::kUnavailable);
  CHECK(client->state(peer) == PeerState::kLost);

  auto successor = bed.serve(echo, "worker:0", address);
  CHECK(client->wait_up(std::vector{peer}, soon()).has_value());
  CHECK(client->incarnation_of(peer) == successor->incarnation());
  CHECK(client->call(peer, text_message("hello"), soon())->meta == "hello");
  for (const auto& count : calls) REQUIRE(count == 1);
  const std::vector<PeerEvent> seen = events.wait(3);
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].state == PeerState::kUp);
  CHECK(seen[0].incarnation == first);
  CHECK(seen[1].state == PeerState::kLost);
  CHECK(!seen[1].reason.empty());
  CHECK(seen[2].state == PeerState::kUp);
  CHECK(seen[2].incarnation > first);
}

EVERY_TRANSPORT("destruction with requests in flight is prompt, and each gets kCancelled") {
  Seen<std::shared_ptr<Responder>> kept;
  auto server = bed.serve([&](const Caller&, Message, Responder responder) {
    kept.add(std::make_shared<Responder>(std::move(responder)));
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  const PeerId nobody = client->add_peer("worker:1", bed.any_address() + "1");
  std::atomic<int> cancelled{0}, others{0};
  for (int i = 0; i < 100; ++i)
    client->request(i % 2 ? peer : nobody, text_message("x"), Deadline::never(), [&](Result<Message> answer) {
      ++(!answer && answer.error().code == Code::kCancelled ? cancelled : others);
    });
  kept.wait(50);
  const auto begin = Clock::now();
  client.reset();
  CHECK(Clock::now() - begin < 10s);
  CHECK(cancelled == 100);
  CHECK(others == 0);
}

EVERY_TRANSPORT("a reply made just before destruction arrives") {
  for (int round = 0; round < 20; ++round) {
    Flag replied;
    auto server = bed.serve([&](const Caller&, Message request, Responder responder) {
      responder.reply(std::move(request));
      replied.raise();
    });
    auto client = bed.client();
    const PeerId peer = client->add_peer("worker:0", server->address());
    Seen<std::string> answers;
    client->request(peer, text_message("goodbye"), soon(),
                    [&](Result<Message> answer) { answers.add(answer ? answer->meta : answer.error().message); });
    replied.wait();
    server.reset();
    REQUIRE(answers.wait(1)[0] == "goodbye");
  }
}

EVERY_TRANSPORT("small requests arrive in the order they were made, from callbacks too") {
  Seen<std::string> arrived;
  auto server = bed.serve([&](const Caller&, Message request, Responder responder) {
    arrived.add(request.meta);
    responder.reply(std::move(request));
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  constexpr std::size_t kCount = 5000;
  for (std::size_t i = 0; i < kCount; ++i)
    client->request(peer, text_message(std::to_string(i)), soon(), [](Result<Message>) {});
  const std::vector<std::string> seen = arrived.wait(kCount);
  for (std::size_t i = 0; i < kCount; ++i) REQUIRE(seen[i] == std::to_string(i));

  Seen<int> done;
  std::function<void(int)> ask = [&](int left) {
    client->request(peer, text_message("again"), soon(), [&, left](Result<Message> answer) {
      CHECK(answer.has_value());
      if (left == 0)
        done.add(1);
      else
        ask(left - 1);
    });
  };
  ask(100);
  done.wait(1);
}

EVERY_TRANSPORT("50 000 replies to a slow reader all arrive") {
  constexpr int kCount = 50000;
  std::vector<Responder> asked;
  Flag all_asked, reader_stops, all_answered;
  auto server = bed.serve([&](const Caller&, Message, Responder responder) {
    asked.push_back(std::move(responder));
    if (asked.size() == kCount) all_asked.raise();
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  REQUIRE(client->wait_up(std::vector{peer}, soon()).has_value());
  Seen<int> finished;
  std::atomic<int> good{0}, bad{0};
  for (int i = 0; i < kCount; ++i)
    client->request(peer, text_message(""), Deadline::never(), [&](Result<Message> answer) {
      ++(answer && answer->meta.size() == 1000 ? good : bad);
      if (good + bad == kCount) finished.add(1);
    });
  all_asked.wait();
  // The reader takes nothing until the server has made all replies, three times what is let onto the wire.
  client->post([&] {
    reader_stops.raise();
    all_answered.wait();
  });
  reader_stops.wait();
  server->post([&] {
    for (Responder& responder : asked) responder.reply(text_message(std::string(1000, 'r')));
    all_answered.raise();
  });
  finished.wait(1);
  CHECK(good == kCount);
  CHECK(bad == 0);
}

EVERY_TRANSPORT("large requests don't hold up small ones, and many at once arrive whole") {
  std::atomic<int> wrong{0};
  auto server = bed.serve([&](const Caller&, Message request, Responder responder) {
    for (const tensor::Tensor& tensor : request.tensors)
      if (!tensor::same_bytes(tensor, ramp(tensor.size()))) ++wrong;
    responder.reply(std::move(request));
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("ps:0", server->address());
  Seen<bool> large, small;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const tensor::Tensor value = ramp(500000);  // 2 MB: every element is looked at
#else
  const tensor::Tensor value = ramp(5000000);  // 20 MB
#endif
  for (int i = 0; i < 4; ++i)
    client->request(peer, {1, "large", {value, ramp(i)}}, soon(), [&](Result<Message> answer) {
      large.add(answer && tensor::same_bytes(answer->tensors[0], value));
    });
  for (int i = 0; i < 100; ++i)
    client->request(peer, text_message("small"), soon(),
                    [&](Result<Message> answer) { small.add(answer.has_value()); });
  const auto smalls = small.wait(100);
  CHECK(std::count(smalls.begin(), smalls.end(), true) == 100);
  const auto larges = large.wait(4);
  CHECK(std::count(larges.begin(), larges.end(), true) == 4);
  CHECK(wrong == 0);
}

EVERY_TRANSPORT("a message above the limits is refused before it is taken") {
  EndpointOptions options;
  options.name = "ps:0";
  options.handler = echo;
  options.bind = bed.any_address();
  options.max_message_bytes = 1 << 20;
  auto server = bed.make(std::move(options));
  auto client = bed.client();
  const PeerId peer = client->add_peer("ps:0", server->address());
  const Result<Message> large = client->call(peer, {1, "", {ramp(300000)}}, soon());
  REQUIRE(!large);
  CHECK(large.error().code == Code::kResourceExhausted);
  CHECK(large.error().task == "ps:0");
  CHECK(client->call(peer, {1, "", {ramp(200000)}}, soon()).has_value());
  const Result<Message> meta = client->call(peer, text_message(std::string((1 << 20) + 1, 'x')), soon());
  CHECK(meta.error().code == Code::kInvalidArgument);
}

EVERY_TRANSPORT("peers can be removed, named again, and moved") {
  auto one =
      bed.serve([](const Caller&, Message, Responder responder) { responder.reply(text_message("one")); }, "ps:0");
  auto two =
      bed.serve([](const Caller&, Message, Responder responder) { responder.reply(text_message("two")); }, "ps:0");
  auto client = bed.client();
  const PeerId peer = client->add_peer("ps:0", one->address());
  CHECK(client->add_peer("ps:0", one->address()) == peer);
  CHECK(client->call(peer, text_message(""), soon())->meta == "one");
  CHECK(client->add_peer("ps:0", two->address()) == peer);
  CHECK(client->wait_up(std::vector{peer}, soon()).has_value());
  CHECK(client->call(peer, text_message(""), soon())->meta == "two");
  const PeerId same_place = client->add_peer("ps:1", two->address());
  CHECK(same_place != peer);
  CHECK(client->call(same_place, text_message(""), soon())->meta == "two");
  client->remove_peer(peer);
  CHECK(!client->call(peer, text_message(""), soon()).has_value());
  CHECK(client->wait_up(std::vector{peer}, soon()).error().code == Code::kNotFound);
  CHECK(client->call(same_place, text_message(""), soon())->meta == "two");
  const PeerId again = client->add_peer("ps:0", two->address());
  CHECK(again != peer);
  CHECK(client->call(again, text_message(""), soon())->meta == "two");
}

EVERY_TRANSPORT("actions run on the I/O thread, in their order and at their time") {
  auto endpoint = bed.client();
  Seen<std::pair<int, std::thread::id>> ran;
  const auto begin = Clock::now();
  endpoint->post_at(begin + 60ms, [&] {
    CHECK(Clock::now() >= begin + 60ms);
    ran.add({3, std::this_thread::get_id()});
  });
  endpoint->post_at(begin + 30ms, [&] { ran.add({2, std::this_thread::get_id()}); });
  endpoint->post([&] { ran.add({1, std::this_thread::get_id()}); });
  const auto seen = ran.wait(3);
  REQUIRE(seen.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(seen[static_cast<std::size_t>(i)].first == i + 1);
    CHECK(seen[static_cast<std::size_t>(i)].second == seen[0].second);
  }
  CHECK(seen[0].second != std::this_thread::get_id());
  endpoint->post_at(Clock::now() + 1h, [] { FAIL("dropped at destruction"); });
}

EVERY_TRANSPORT("two endpoints that are bound ask each other") {
  auto one = bed.serve(echo, "worker:0");
  auto two = bed.serve(echo, "worker:1");
  const PeerId to_two = one->add_peer("worker:1", two->address());
  const PeerId to_one = two->add_peer("worker:0", one->address());
  std::thread other([&] {
    for (int i = 0; i < 200; ++i)
      REQUIRE(two->call(to_one, text_message(std::to_string(i)), soon())->meta == std::to_string(i));
  });
  for (int i = 0; i < 200; ++i)
    REQUIRE(one->call(to_two, text_message(std::to_string(i)), soon())->meta == std::to_string(i));
  other.join();
}

}  // namespace tfd::transport
