// SPDX-License-Identifier: Apache-2.0
//
// Systems that aren't here: their names, and the accelerators that a PCI bus has.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "pjrt/system_name.hpp"
#include "temporary_directory.hpp"
#include "tfd/function/accelerators.hpp"
#include "tfd/function/topology.hpp"

using namespace tfd;
using function::parse_system_name;
using function::parse_topology_name;

namespace {

std::string name_of(std::string_view text) {
  const auto name = parse_topology_name(text);
  return name ? *name : "error: " + name.error().message;
}

void add_pci_device(const std::string& bus, const std::string& at, const std::string& vendor, const std::string& kind) {
  std::filesystem::create_directory(bus + "/" + at);
  std::ofstream(bus + "/" + at + "/vendor") << vendor << "\n";
  std::ofstream(bus + "/" + at + "/class") << kind << "\n";
}

}  // namespace

TEST_CASE("systems: a TPU v4 has one device a chip, as its runtime has; others are as libtpu has them") {
  for (const char* name : {"v4:2x2x4", "V4:2x2x4", "TPU v4:2x2x4", "v4_2x2x4", "v4-32"}) {
    CAPTURE(name);
    const auto system = parse_system_name(name);
    REQUIRE(system);
    CHECK(system->name == "v4:2x2x4");
    REQUIRE(system->options.size() == 1);
    CHECK(system->options.front().name == "chip_config_name");
    CHECK(std::get<std::string>(system->options.front().value) == "megacore");
  }
  for (const char* name : {"v3:2x2", "v5p:2x2x1", "v5e:2x2", "tpu7x:2x2x1", "v5p-8"})
    CHECK(parse_system_name(name)->options.empty());
}

TEST_CASE("systems: an accelerator type is the default topology of its size") {
  CHECK(name_of("v5litepod-1") == "v5e:1x1");
  CHECK(name_of("v5litepod-8") == "v5e:2x4");
  CHECK(name_of("v5e-256") == "v5e:16x16");
  CHECK(name_of("v6e-16") == "v6e:4x4");
  CHECK(name_of("v6e-32") == "v6e:4x8");
  CHECK(name_of("v2-8") == "v2:2x2");
  CHECK(name_of("v3-32") == "v3:4x4");
  CHECK(name_of("v4-8") == "v4:2x2x1");
  CHECK(name_of("v4-64") == "v4:2x4x4");
  CHECK(name_of("v5p-16") == "v5p:2x2x2");
  CHECK(name_of("v5p-256") == "v5p:4x4x8");
  CHECK(name_of("tpu7x-2") == "tpu7x:1x1x1");
  CHECK(name_of("TPU7x-8") == "tpu7x:2x2x1");
  CHECK(name_of("v7x-128") == "tpu7x:4x4x4");
  CHECK(name_of("v6e-12") == "error: no accelerator type v6e-N has 12 chips: state the chips, as in v6e:2x4");
  CHECK(name_of("v4-7") == "error: no accelerator type v4-N has 7 cores: state the chips, as in v4:2x2x1");
  CHECK(name_of("v5p-") == "error: no accelerator type v5p-N has  cores: state the chips, as in v5p:2x2x1");
}

TEST_CASE("systems: names that people have are libtpu's; what isn't known is left to it") {
  CHECK(name_of("v7x:2x2x1") == "tpu7x:2x2x1");
  CHECK(name_of("v5litepod:2x4") == "v5e:2x4");
  CHECK(name_of("v4:4x4x8_untwisted") == "v4:4x4x8_untwisted");
  CHECK(name_of("v9:2x2") == "v9:2x2");
  CHECK(name_of("v5 lite:2x2") == "v5 lite:2x2");
  CHECK(name_of("another vendor's") == "another vendor's");
  CHECK(name_of("v5e") == "error: state its chips, as in v5e:2x4");
  CHECK(name_of("v9") == "error: must be a system and its chips, such as v6e:2x4, or a type such as v6e-8");
}

TEST_CASE("systems: a shape is two or three numbers of chips from 1 up, for no plug-in sees another one") {
  for (const char* shape : {"", "4", "0x2", "2x0x1", "2x", "x2", "2xx2", "2x2x1x2", "2x-1", "2 x2", "1048577x1",
                            "2x0_twisted", "65536x65536", "4294967296x4294967296x1", "99999999999999999999x1", "2x2x"})
    for (const char* system : {"v4", "v5e", "tpu7x", "v9", "TPU v4"}) {
      const std::string name = std::string(system) + ":" + shape;
      CAPTURE(name);
      const auto refused = parse_system_name(name);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == Code::kInvalidArgument);
      CHECK(refused.error().message.find("must be two or three numbers of chips from 1, such as 2x4 or 2x2x1") !=
            std::string::npos);
    }
  CHECK(name_of("v5e:1024x1024") == "v5e:1024x1024");
}

TEST_CASE("accelerators: GPUs and TPUs are counted, not their audio, nor a cloud's network cards and disks") {
  const tfd::test::TemporaryDirectory bus;
  CHECK_FALSE(function::find_accelerators(bus.path() + "/none"));
  CHECK(function::find_accelerators(bus.path())->nvidia == 0);
  add_pci_device(bus.path(), "0000:00:01.0", "0x10de", "0x030200");
  add_pci_device(bus.path(), "0000:00:01.1", "0x10de", "0x040300");
  add_pci_device(bus.path(), "0000:00:02.0", "0x1002", "0x038000");
  add_pci_device(bus.path(), "0000:00:03.0", "0x1ae0", "0x020000");
  add_pci_device(bus.path(), "0000:00:04.0", "0x1ae0", "0x010802");
  CHECK(function::find_accelerators(bus.path())->tpu == 0);
  add_pci_device(bus.path(), "0000:00:05.0", "0x1ae0", "0x120000");
  const auto found = function::find_accelerators(bus.path());
  REQUIRE(found);
  CHECK(found->nvidia == 1);
  CHECK(found->amd == 1);
  CHECK(found->tpu == 1);
}
