#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// fetch() of any structure: RemoteValues are replaced by their values, everything else is kept. Thread rule:
// thread-safe; blocks the caller. Source: tf.distribute.coordinator.ClusterCoordinator.fetch, 2.21.
//
//   auto [loss, rest] = TFD_TRY(fetch(std::pair(value, std::vector{other, another}), Deadline::after(60s)));
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

namespace detail {

/// Type of a fetched T, and how to fetch it.
template <class T>
struct Fetched {
  using Type = T;
  static Result<Type> of(const T& value, Deadline) { return value; }
};

template <>
struct Fetched<RemoteValue> {
  using Type = task::ClosureOutcome;
  static Result<Type> of(const RemoteValue& value, Deadline deadline) { return value.fetch(deadline); }
};

template <class T>
struct Fetched<std::vector<T>> {
  using Type = std::vector<typename Fetched<T>::Type>;
  static Result<Type> of(const std::vector<T>& values, Deadline deadline) {
    Type out;
    out.reserve(values.size());
    for (const T& value : values) out.push_back(TFD_TRY(Fetched<T>::of(value, deadline)));
    return out;
  }
};

template <class T>
struct Fetched<std::optional<T>> {
  using Type = std::optional<typename Fetched<T>::Type>;
  static Result<Type> of(const std::optional<T>& value, Deadline deadline) {
    if (!value) return Type{};
    auto fetched = TFD_TRY(Fetched<T>::of(*value, deadline));
    return Type(std::move(fetched));
  }
};

template <class Key, class T>
struct Fetched<std::map<Key, T>> {
  using Type = std::map<Key, typename Fetched<T>::Type>;
  static Result<Type> of(const std::map<Key, T>& values, Deadline deadline) {
    Type out;
    for (const auto& [key, value] : values) {
      auto fetched = TFD_TRY(Fetched<T>::of(value, deadline));
      out.emplace(key, std::move(fetched));
    }
    return out;
  }
};

/// Fetches the elements of a tuple, a pair or an array in order.
template <class Type, class Values, std::size_t... Is>
Result<Type> fetch_each(const Values& values, Deadline deadline, std::index_sequence<Is...>) {
  std::tuple<std::optional<std::tuple_element_t<Is, Type>>...> out;
  std::optional<Error> error;
  const auto fetch_one = [&](const auto& value, auto& into) {
    auto fetched = Fetched<std::decay_t<decltype(value)>>::of(value, deadline);
    if (!fetched) {
      error = std::move(fetched).error();
      return false;
    }
    into.emplace(std::move(*fetched));
    return true;
  };
  (void)(fetch_one(std::get<Is>(values), std::get<Is>(out)) && ...);
  if (error) return fail(std::move(*error));
  return Type{std::move(*std::get<Is>(out))...};
}

template <class... Ts>
struct Fetched<std::tuple<Ts...>> {
  using Type = std::tuple<typename Fetched<Ts>::Type...>;
  static Result<Type> of(const std::tuple<Ts...>& values, Deadline deadline) {
    return fetch_each<Type>(values, deadline, std::index_sequence_for<Ts...>{});
  }
};

template <class First, class Second>
struct Fetched<std::pair<First, Second>> {
  using Type = std::pair<typename Fetched<First>::Type, typename Fetched<Second>::Type>;
  static Result<Type> of(const std::pair<First, Second>& values, Deadline deadline) {
    return fetch_each<Type>(values, deadline, std::make_index_sequence<2>{});
  }
};

template <class T, std::size_t N>
struct Fetched<std::array<T, N>> {
  using Type = std::array<typename Fetched<T>::Type, N>;
  static Result<Type> of(const std::array<T, N>& values, Deadline deadline) {
    return fetch_each<Type>(values, deadline, std::make_index_sequence<N>{});
  }
};

}  // namespace detail

/// Fetches a structure: vectors, maps, optionals, tuples, pairs and arrays, however deep, keep their form; a
/// RemoteValue is waited for and becomes its outcome; anything else is returned unchanged. Returns the first Error in
/// the structure's order, as RemoteValue::fetch(). All share one deadline.
template <class Structure>
Result<typename detail::Fetched<Structure>::Type> fetch(const Structure& structure, Deadline deadline) {
  return detail::Fetched<Structure>::of(structure, deadline);
}

}  // namespace tfd::coordinator
