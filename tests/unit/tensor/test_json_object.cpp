// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tfd/tensor/json_object.hpp"

using namespace tfd;
using namespace tfd::tensor;

namespace {

using Json = nlohmann::ordered_json;

/// The error of a reader that asks for "size", "seed" and the flag "drop_remainder".
std::string error_of(const char* text) {
  const Json program = Json::parse(text);
  JsonObject options(program, "batch");
  options.required_integer("size", 1);
  options.seed("seed");
  options.flag("drop_remainder", false);
  const auto read = options.finish();
  return read ? "" : read.error().message;
}

/// The error of one call for the key "x".
template <class Call>
std::string error_of(const char* text, const Call& call) {
  const Json program = Json::parse(text);
  JsonObject object(program, "");
  call(object);
  const auto read = object.finish();
  return read ? "" : read.error().message;
}

}  // namespace

TEST_CASE("JSON object: the first error, with its path") {
  CHECK(error_of(R"({"size": 2, "seed": 18446744073709551615})").empty());
  CHECK(error_of("3") == "batch: must be an object, not a number");
  CHECK(error_of("{}") == "batch.size: is missing");
  CHECK(error_of(R"({"size": 0, "drop_remainder": 1})") == "batch.size: must be positive, not 0");
  CHECK(error_of(R"({"size": 1, "drop_remainder": 1})") == "batch.drop_remainder: must be true or false, not a number");
  CHECK(error_of(R"({"size": 1, "seed": -1})") == "batch.seed: must be a whole number >= 0");
  CHECK(error_of(R"({"size": 1, "seed": 0.5})") == "batch.seed: must be a whole number >= 0");
}

TEST_CASE("JSON object: an unknown key comes before other errors, and names what was meant") {
  CHECK(error_of(R"({"sise": 2})") == "batch.sise: unknown key, did you mean 'size'?");
  CHECK(error_of(R"({"size": 2, "dr": true})") == "batch.dr: unknown key, did you mean 'drop_remainder'?");
  CHECK(error_of(R"({"size": 0, "rows\u001b": 2})") == "batch.rows?: unknown key");
  const Json program = Json::parse(R"({"factor": 2})");
  JsonObject object(program, "sgd");
  object.refuse("factor", Code::kUnimplemented, "is called scale here");
  CHECK(object.finish().error().message == "sgd.factor: is called scale here");
}

TEST_CASE("JSON object: whole numbers") {
  const auto of = [](const char* text) { return error_of(text, [](JsonObject& object) { object.integer("x", 2); }); };
  CHECK(of(R"({"x": 2})").empty());
  CHECK(of(R"({"x": 1e3})").empty());
  CHECK(of("{}").empty());
  CHECK(of(R"({"x": 1})") == "x: must be at least 2, not 1");
  CHECK(of(R"({"x": 2.5})") == "x: must be a whole number, not 2.5");
  CHECK(of(R"({"x": "2"})") == "x: must be a whole number, not a string");
  CHECK(of(R"({"x": null})") == "x: must be a whole number, not null");
  CHECK(of(R"({"x": 18446744073709551615})") == "x: 18446744073709551615 is too large");
  CHECK(error_of(R"({"x": null})", [](JsonObject& object) { CHECK(!object.nullable_integer("x", 2)); }).empty());
  CHECK(integer_of(Json(9007199254740992.0)) == 9007199254740992);
  CHECK(!integer_of(Json(18014398509481984.0)));
  CHECK(!integer_of(Json("1")));
}

TEST_CASE("JSON object: numbers within a range") {
  const auto of = [](const char* text) {
    return error_of(text, [](JsonObject& object) { object.number("x", kBelowOne); });
  };
  CHECK(of(R"({"x": 0})").empty());
  CHECK(of(R"({"x": 1})") == "x: must be within [0, 1), not 1");
  CHECK(of(R"({"x": "much"})") == R"(x: must be within [0, 1), not "much")");
  CHECK(of(R"({"x": [0.5]})") == "x: must be within [0, 1), not a list");
  const auto numbers = [](JsonObject& object) { object.required_numbers("x", kNotNegative); };
  CHECK(error_of(R"({"x": [1, 2]})", numbers).empty());
  for (const char* wrong : {R"({"x": [1, -2]})", R"({"x": 1})", R"({"x": {"a": 1}})", R"({"x": "s"})"})
    CHECK(error_of(wrong, numbers) == "x: must be a list, each of it a finite number >= 0");
}

TEST_CASE("JSON object: texts") {
  const auto choice = [](JsonObject& object) { object.choice("x", "stop", {"stop", "skip", "continue"}); };
  CHECK(error_of("{}", choice).empty());
  CHECK(error_of(R"({"x": "skip"})", choice).empty());
  CHECK(error_of(R"({"x": "skp"})", choice) ==
        R"(x: must be "stop", "skip" or "continue", not "skp", did you mean 'skip'?)");
  CHECK(error_of(R"({"x": 1})", choice) == R"(x: must be "stop", "skip" or "continue", not a number)");
  const auto text = [](JsonObject& object) { object.required_text("x"); };
  CHECK(error_of(R"({"x": ""})", text) == "x: must not be empty");
  CHECK(error_of(R"({"x": 1})", text) == "x: must be a string, not a number");
  CHECK(error_of(R"({"x": ["a", 1]})", [](JsonObject& object) { object.texts("x"); }) ==
        "x: must be a list of strings");
  CHECK(error_of(R"({"x": 1})", [](JsonObject& object) { object.members("x"); }) ==
        "x: must be an object, not a number");
}

TEST_CASE("JSON value: members and their paths") {
  const Json program = Json::parse(R"({"adam": {"rates": [1, 2]}})");
  const JsonValue value(program, "optimizer");
  const auto [name, body] = *value.only_member(R"({"sgd": {}})");
  CHECK(name == "adam");
  CHECK(body.path() == "optimizer.adam");
  CHECK(body.find("rates")->elements()[1].path() == "optimizer.adam.rates[1]");
  CHECK(body.only_member("")->first == "rates");
  CHECK(body.member("decay").error().message == "optimizer.adam: needs 'decay'");
  CHECK(body.find("rates")->only_member(R"({"sgd": {}})").error().message ==
        R"(optimizer.adam.rates: must be an object with one key, such as {"sgd": {}})");
}
