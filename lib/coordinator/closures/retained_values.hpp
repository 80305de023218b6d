#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Results of closures with ids, for the fetches of a closure stream: kept until a line releases them, or with `forget`
// not at all. Fetches of running closures wait here. Private to the room. Thread rule: thread-safe.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "answers.hpp"
#include "closure_values.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::coordinator {

class RetainedValues {
  struct Named;
  struct Known;

 public:
  /// A fetch line, shared with the closures that it waits for.
  struct Fetch {
    AnswerLabel asker;
    std::string name;  // of files for it
    nlohmann::ordered_json of;

    /// The value of a referenced closure, once all are ready.
    const RemoteValue& value(const std::string& id) const;
    /// The first error among its closures.
    const Error* error() const;

   private:
    friend class RetainedValues;
    std::map<std::string, std::shared_ptr<Named>> named_;  // by the id's JSON text
    std::size_t missing_ = 0;
  };
  using Fetches = std::vector<std::shared_ptr<Fetch>>;

  /// Slot of a closure whose value will be kept; empty if it has no id.
  class Place {
    friend class RetainedValues;
    Known* known_ = nullptr;
    std::shared_ptr<Named> named_;
  };

  explicit RetainedValues(bool forget) : forget_(forget) {}

  /// Registers a line's id. False: it was used before.
  bool add(const std::string& id);
  /// Makes a slot for a closure with this id and number of results.
  Place expect(const std::optional<std::string>& id, std::size_t results);
  /// Removes the slot of a closure that wasn't scheduled after all.
  void withdraw(const Place& place);
  /// Stores a finished closure's value; returns the fetches that are complete now.
  Fetches put(const Place& place, const RemoteValue& value);

  /// Adds a fetch; true if it is complete already, else put() returns it later. kInvalidArgument: a referenced closure
  /// was never scheduled, or has no such result. kFailedPrecondition: it was released.
  Result<bool> add_fetch(const std::shared_ptr<Fetch>& fetch);
  /// Releases all of these ids, or none if one is unknown. The value of a running closure is dropped when it is ready:
  /// only its line and earlier fetches get it.
  Result<void> release(const std::vector<std::string>& ids, std::uint64_t line);
  /// Checks references. kFailedPrecondition: one of them was released.
  Result<void> check_kept(const std::vector<RemoteRef>& refs);

 private:
  /// Value of a closure that can be fetched, and the fetches that wait for it.
  struct Named {
    std::size_t results = 0;  // that its function has
    std::optional<RemoteValue> value;
    Fetches waiting;
  };

  /// Permanent record of an id, of which there may be many millions.
  struct Known {
    static constexpr std::uint64_t kForgotten = ~std::uint64_t{0};  // released by --forget, not by a line
    std::shared_ptr<Named> named;   // shared with its closure while that runs, and with unanswered fetches
    std::uint64_t released_by = 0;  // a line
    bool is_closure() const { return named || released_by > 0; }
  };

  Result<void> check_kept(const std::string& id) const TFD_REQUIRES(mutex_);

  const bool forget_;
  Mutex mutex_;  // guards what follows and what it points to
  /// Every id seen; references to elements stay valid.
  std::unordered_map<std::string, Known> known_ TFD_GUARDED_BY(mutex_);
  std::shared_ptr<Named> nothing_ TFD_GUARDED_BY(mutex_);  // shared by all ids whose closures had no results
};

}  // namespace tfd::coordinator
