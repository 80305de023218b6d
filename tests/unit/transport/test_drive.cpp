// SPDX-License-Identifier: Apache-2.0
//
// Endpoint::drive(): a thread that does the I/O thread's work, and how that gets it back.
#include <atomic>
#include <stop_token>
#include <thread>
#include <utility>

#include "bed.hpp"

namespace tfd::transport {
namespace {

constexpr Duration kLong = std::chrono::minutes(1);

}  // namespace

EVERY_TRANSPORT("who drives gets its answers on its own thread, one after another") {
  auto server = bed.serve(echo);
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  REQUIRE(client->wait_up(std::vector{peer}, soon()).has_value());
  for (int i = 0; i < 200; ++i) {
    std::optional<std::string> answer;
    std::thread::id by;
    const auto ask = [&] {
      client->request(peer, text_message(std::to_string(i)), soon(), [&](const Result<Message>& got) {
        answer = got ? got->meta : got.error().message;
        by = std::this_thread::get_id();
      });
    };
    // It asks once it drives: the I/O thread may take the work back before, and would then have the answer.
    bool is_asked = false;
    const auto is_answered = [&] {
      if (!std::exchange(is_asked, true)) ask();
      return answer.has_value();
    };
    REQUIRE(client->drive(is_answered, {}, kLong));
    CHECK(*answer == std::to_string(i));
    CHECK(by == std::this_thread::get_id());
  }
}

EVERY_TRANSPORT("a server is driven as well: its handler runs there, and its answers leave") {
  std::atomic<int> served = 0;
  std::thread::id by;
  auto server = bed.serve([&](const Caller&, Message request, Responder responder) {
    by = std::this_thread::get_id();
    responder.reply(std::move(request));
    ++served;
  });
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  REQUIRE(client->wait_up(std::vector{peer}, soon()).has_value());
  std::thread asks;
  Result<Message> answer;
  std::atomic<bool> is_driven = false;
  const auto begin = [&] {
    asks = std::thread([&] {
      is_driven.wait(false);
      answer = client->call(peer, text_message("x"), soon());
    });
  };
  CHECK(!server->drive([] { return false; }, {}, Duration::zero()));
  begin();
  const auto is_served = [&] {
    is_driven = true;
    is_driven.notify_all();
    return served == 1;
  };
  CHECK(server->drive(is_served, {}, kLong));
  CHECK(by == std::this_thread::get_id());
  asks.join();  // the answer leaves although nobody drives
  CHECK(answer->meta == "x");
  begin();
  asks.join();  // served by the I/O thread again
  CHECK(served == 2);
  CHECK(by != std::this_thread::get_id());
}

EVERY_TRANSPORT("what other threads ask is answered while one drives, and after it") {
  auto server = bed.serve(echo);
  auto client = bed.client();
  const PeerId peer = client->add_peer("worker:0", server->address());
  std::atomic<bool> is_over = false;
  std::atomic<int> answers = 0;
  {
    std::jthread driver([&] { client->drive([&] { return is_over.load() || answers >= 300; }, {}, kLong); });
    std::vector<std::jthread> askers;
    for (int i = 0; i < 3; ++i)
      askers.emplace_back([&] {
        for (int asked = 0; asked < 100; ++asked) {
          const auto answer = client->call(peer, text_message("x"), soon());
          CHECK(answer.has_value());
          ++answers;
          // One that drives already is enough: nothing is done.
          if (asked == 50) client->drive([] { return false; }, {}, Duration::zero());
        }
      });
    askers.clear();
    is_over = true;
    CHECK(client->call(peer, text_message("the last"), soon()).has_value());
  }
  CHECK(client->call(peer, text_message("after it"), soon()).has_value());
}

EVERY_TRANSPORT("a drive ends when it is to stop, and after its time") {
  auto client = bed.client();
  CHECK(!client->drive([] { return false; }, {}, 5ms));
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  CHECK(!client->drive([] { return false; }, stop.get_token(), kLong));
  CHECK(client->drive([] { return true; }, stop.get_token(), kLong));
}

EVERY_TRANSPORT("threads that take turns in driving lose nothing, and the end comes at any moment") {
  auto server = bed.serve(echo);
  for (int round = 0; round < 10; ++round) {
    auto client = bed.client();
    const PeerId peer = client->add_peer("worker:0", server->address());
    std::atomic<int> answers = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
          for (int asked = 0; asked < 40; ++asked) {
            std::atomic<bool> is_answered = false;
            client->request(peer, text_message("x"), soon(), [&](const Result<Message>& answer) {
              CHECK(answer.has_value());
              ++answers;
              is_answered = true;
              is_answered.notify_all();
            });
            if ((asked + i) % 3 != 0) client->drive([&] { return is_answered.load(); }, {}, 1ms * (asked % 4));
            is_answered.wait(false);
          }
        });
    }
    CHECK(answers == 120);
    client->drive([] { return true; }, {}, Duration::zero());  // and then its end
  }
}

}  // namespace tfd::transport
