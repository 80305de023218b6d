#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What came of closures that have ids, for the fetches of a closure stream: kept until a line releases them, or with
// `forget` not at all. Fetches of closures that still run wait here. Private to the room.
// Thread rule: thread-safe.
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "answers.hpp"
#include "closure_values.hpp"

namespace tfd::coordinator {

class RetainedValues {
  struct Named;
  struct Known;

 public:
  /// A fetch line. With the closures that it waits for.
  struct Fetch {
    AnswerLabel asker;
    std::string name;  // of files for it
    nlohmann::ordered_json of;

    /// The value of what it names, once all of it is there.
    const RemoteValue& value(const std::string& id) const;
    /// The first error among them.
    const Error* error() const;

   private:
    friend class RetainedValues;
    std::map<std::string, std::shared_ptr<Named>> named_;  // by the id's JSON text
    std::size_t missing_ = 0;
  };
  using Fetches = std::vector<std::shared_ptr<Fetch>>;

  /// A closure whose value is to be kept. An empty one has no id.
  class Place {
    friend class RetainedValues;
    Known* known_ = nullptr;
    std::shared_ptr<Named> named_;
  };

  explicit RetainedValues(bool forget) : forget_(forget) {}

  /// The id of a line. False: it was used before.
  bool add(const std::string& id);
  /// For a closure under that id, which has so many results.
  Place expect(const std::optional<std::string>& id, std::size_t results);
  /// It wasn't scheduled after all.
  void withdraw(const Place& place);
  /// The closure is done; the fetches that have all that they wait for now.
  Fetches put(const Place& place, const RemoteValue& value);

  /// Whether all is there already; else put() returns it. kInvalidArgument: what it names was never scheduled, or has
  /// no such result. kFailedPrecondition: it was released.
  Result<bool> add_fetch(const std::shared_ptr<Fetch>& fetch);
  /// All of them, or none where one isn't known. One that still runs has its value dropped when that is there: only its
  /// line and the fetches before this one get it.
  Result<void> release(const std::vector<std::string>& ids, std::uint64_t line);
  /// kFailedPrecondition: one of them was released.
  Result<void> check_kept(const std::vector<RemoteRef>& refs);

 private:
  /// A closure that can be fetched: its value, and the fetches that wait for it.
  struct Named {
    std::size_t results = 0;  // that its function has
    std::optional<RemoteValue> value;
    Fetches waiting;
  };

  /// What stays of an id, of which there may be many millions.
  struct Known {
    static constexpr std::uint64_t kForgotten = ~std::uint64_t{0};  // by --forget, not by a line
    std::shared_ptr<Named> named;   // with its closure while that runs, and with its fetches until they are answered
    std::uint64_t released_by = 0;  // a line
    bool is_closure() const { return named || released_by > 0; }
  };

  Result<void> check_kept(const std::string& id) const;  // under the lock

  const bool forget_;
  std::mutex mutex_;                              // for what follows, and for what it points to
  std::unordered_map<std::string, Known> known_;  // every id seen; its elements stay where they are
  std::shared_ptr<Named> nothing_;                // with every id whose closure had no results
};

}  // namespace tfd::coordinator
