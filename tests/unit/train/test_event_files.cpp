// SPDX-License-Identifier: Apache-2.0
//
// Files of events for TensorBoard, read back field by field.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "temporary_directory.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/protobuf.hpp"
#include "tfd/data/tfrecord.hpp"
#include "tfd/train/event_files.hpp"

namespace tfd::train {
namespace {

/// The records' bytes; fails where a checksum is wrong.
std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    REQUIRE(file.size() - at >= 12);
    std::memcpy(&size, file.data() + at, 8);
    std::memcpy(&crc, file.data() + at + 8, 4);
    CHECK(crc == data::masked_crc32c(std::string_view(file).substr(at, 8)));
    REQUIRE(file.size() - at - 12 >= size + 4);
    out.push_back(file.substr(at + 12, size));
    std::memcpy(&crc, file.data() + at + 12 + size, 4);
    CHECK(crc == data::masked_crc32c(out.back()));
    at += 16 + size;
  }
  return out;
}

struct Event {
  std::int64_t step = 0;
  std::string version;
  std::vector<std::pair<std::string, float>> scalars;
};
Event parse_event(std::string_view bytes) {
  Event event;
  for (protobuf::Reader reader(bytes); const auto field = reader.next();) {
    if (field->number == 2) event.step = static_cast<std::int64_t>(field->value);
    if (field->number == 3) event.version = field->bytes;
    if (field->number != 5) continue;
    for (protobuf::Reader summary(field->bytes); const auto value = summary.next();) {
      auto& scalar = event.scalars.emplace_back();
      for (protobuf::Reader fields(value->bytes); const auto one = fields.next();) {
        if (one->number == 1) scalar.first = one->bytes;
        if (one->number == 2) std::memcpy(&scalar.second, one->bytes.data(), sizeof(float));
      }
    }
  }
  return event;
}

std::string only_file_in(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return load_file(begin(files)->path()).value();
}

TEST_CASE("event files: checksums are those of RFC 3720") {
  CHECK(data::crc32c("123456789") == 0xE3069283U);
  CHECK(data::crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(data::crc32c("") == 0);
}

TEST_CASE("event files: a folder for each run, and every record can be read at once") {
  const tfd::test::TemporaryDirectory temp;
  const auto files = EventFiles::open(temp.path() + "/a/logs").value();
  REQUIRE(files->add("train", 3, {{"loss", 0.5}, {"steps_per_second", 1000}}));
  REQUIRE(files->add("eval", 4, {{"accuracy", 0.25}}));
  REQUIRE(files->add("train", std::int64_t{1} << 40, {{"loss", 0.125}}));
  const auto records = records_of(only_file_in(temp.path() + "/a/logs/train"));
  REQUIRE(records.size() == 3);
  CHECK(parse_event(records[0]).version == "brain.Event:2");
  const Event first = parse_event(records[1]);
  CHECK(first.step == 3);
  CHECK(first.scalars == decltype(first.scalars){{"loss", 0.5F}, {"steps_per_second", 1000}});
  CHECK(parse_event(records[2]).step == std::int64_t{1} << 40);
  CHECK(parse_event(records_of(only_file_in(temp.path() + "/a/logs/eval"))[1]).scalars[0].first == "accuracy");
}

TEST_CASE("event files: what can't be written is said") {
  const tfd::test::TemporaryDirectory temp;
  REQUIRE(save_file(temp.path() + "/file", std::string_view("x")));
  CHECK(EventFiles::open(temp.path() + "/file/logs").error().code == Code::kSystem);
  const auto files = EventFiles::open(temp.path() + "/logs").value();
  REQUIRE(save_file(temp.path() + "/logs/train", std::string_view("x")));
  CHECK(files->add("train", 1, {{"loss", 1}}).error().message.find("logs/train") != std::string::npos);
  CHECK(files->add("eval", 1, {{"loss", 1}}));
}

}  // namespace
}  // namespace tfd::train
