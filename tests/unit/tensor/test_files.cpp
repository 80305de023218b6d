// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tfd/base/file.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/safetensors.hpp"

#include "temporary_directory.hpp"

using namespace tfd;
using namespace tfd::tensor;

namespace {

constexpr DType kAll[] = {DType::kBool, DType::kS8,  DType::kS16, DType::kS32,  DType::kS64, DType::kU8, DType::kU16,
                          DType::kU32,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

Tensor counting(DType dtype, Shape shape) {
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  for (std::size_t i = 0; i < tensor.byte_size(); ++i)
    tensor.mutable_data()[i] = static_cast<std::byte>(dtype == DType::kBool ? i % 2 : i * 37 % 251);
  return tensor;
}

void write_raw(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string npy_bytes(const std::string& header, std::size_t data_size) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + std::string(data_size, '\0');
}

std::string safetensors_bytes(const std::string& header, std::size_t data_size) {
  std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + std::string(data_size, '\1');
}

}  // namespace

TEST_CASE("npy: every dtype and rank comes back as it was") {
  const test::TemporaryDirectory directory;
  for (const DType dtype : kAll)
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 5}, Shape{0, 4}, Shape{2, 1, 3, 2}}) {
      const Tensor tensor = counting(dtype, shape);
      REQUIRE(save_npy(directory / "x.npy", tensor));
      const Result<Tensor> back = load_npy(directory / "x.npy");
      REQUIRE(back);
      CHECK(same_bytes(*back, tensor));
      CHECK(reinterpret_cast<std::uintptr_t>(back->data()) % kAlignment == 0);
      CHECK(load_npy_spec(directory / "x.npy").value() == tensor.spec());
    }
  CHECK(directory.names() == std::vector<std::string>{"x.npy"});
}

TEST_CASE("npy: the header is NumPy's, and the data starts aligned") {
  const test::TemporaryDirectory directory;
  REQUIRE(save_npy(directory / "x.npy", counting(DType::kF32, {3})));
  const std::string bytes = load_file(directory / "x.npy", 1 << 20).value();
  CHECK(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }") == 10);
  CHECK(bytes.size() == 128 + 12);
  CHECK(bytes[127] == '\n');
}

TEST_CASE("npy: what tfd can't read is refused with the file's name and the reason") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "x.npy";
  const auto error = [&](const std::string& bytes) {
    write_raw(path, bytes);
    const Result<Tensor> tensor = load_npy(path);
    REQUIRE_FALSE(tensor);
    CHECK(tensor.error().message.find(path) != std::string::npos);
    return std::string(code_name(tensor.error().code)) + " " + tensor.error().message.substr(path.size());
  };
  CHECK(error("{'descr': '<f4'") == "INVALID_ARGUMENT  is not a .npy file");
  CHECK(error("") == "INVALID_ARGUMENT  is not a .npy file");
  CHECK(error(npy_bytes("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8)) ==
        "INVALID_ARGUMENT : big endian ('>f4') is not supported");
  CHECK(error(npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16)).find("Fortran order") !=
        std::string::npos);
  CHECK(error(npy_bytes("{'descr': '<c8', 'fortran_order': True, 'shape': (2, 2), }", 32)).find("Fortran order") !=
        std::string::npos);
  CHECK(error(npy_bytes("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 15)) ==
        "DATA_LOSS  is cut off: f32[2, 2] takes 16 bytes, but there are only 15");
  CHECK(error(npy_bytes("{'descr': '>c8', 'fortran_order': False, 'shape': (2,), }", 16)).find("big endian") !=
        std::string::npos);
  CHECK(error(npy_bytes("{'descr': '<c32', 'fortran_order': False, 'shape': (1,), }", 32)) ==
        "INVALID_ARGUMENT : dtype '<c32' is not supported (known: |b1, |i1, <i2, <i4, <i8, |u1, <u2, <u4, <u8, <f2, "
        "|V2, <f4, <f8, <c8 and <c16)");
  CHECK(error(npy_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8)).find("records") !=
        std::string::npos);
  CHECK(error(npy_bytes("{'descr': '<f4', 'shape': (2,), }", 8)).find("lacks") != std::string::npos);
  CHECK(error(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7)) ==
        "DATA_LOSS  is cut off: f32[2] takes 8 bytes, but there are only 7");
  CHECK(error(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", 7))
            .find("too large") != std::string::npos);
  CHECK(error(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (2), ", 7)).find("not a dictionary") !=
        std::string::npos);
  CHECK(error(std::string("\x93NUMPY\x09\x00\x10\x00", 10)).find("version 9.0") != std::string::npos);
  std::string bad_bool = npy_bytes("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", 0) + "\7";
  CHECK(error(bad_bool).find("neither 0 nor 1") != std::string::npos);
  CHECK(load_npy(directory / "none.npy").error().code == Code::kNotFound);
  CHECK(load_npy(directory.path()).error().message.find("not a regular file") != std::string::npos);
  REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
  CHECK(load_npy(directory / "fifo").error().code == Code::kInvalidArgument);
}

TEST_CASE("npy: a Fortran-ordered vector and a version 2 header are the same bytes") {
  const test::TemporaryDirectory directory;
  write_raw(directory / "x.npy", npy_bytes("{'descr': '<i2', 'fortran_order': True, 'shape': (1, 3), }", 6));
  CHECK(load_npy(directory / "x.npy").value().shape() == Shape{1, 3});
  const std::string header = "{\"shape\": (2L,), 'fortran_order': False, 'descr': '<V2'}\n";
  write_raw(directory / "y.npy", std::string("\x93NUMPY\x02\x00", 8) +
                                     std::string{static_cast<char>(header.size()), 0, 0, 0} + header + "abcd");
  CHECK(load_npy(directory / "y.npy").value().spec() == TensorSpec{DType::kBF16, {2}});
}

TEST_CASE("npy, safetensors: complex arrays are read as their parts, a last dimension of 2") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "z";
  const auto bytes_of = [](const auto& numbers) {
    return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0]));
  };
  const std::vector<float> single{1, -2, 3, -4};  // 1-2i, 3-4i
  const std::vector<double> twice{0.5, -1, 2, -0.25};
  for (const char* order : {"True", "False"}) {  // of a vector, they are the same bytes
    const auto header = [&](const char* dtype) {
      return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': (1, 2), }}", dtype, order);
    };
    write_raw(path, npy_bytes(header("<c8"), 0) + bytes_of(single));
    const Tensor read = load_npy(path).value();
    CHECK(read.spec() == TensorSpec{DType::kF32, {1, 2, 2}});
    CHECK(std::ranges::equal(read.as<float>(), single));
    CHECK(load_npy_spec(path).value() == read.spec());
    write_raw(path, npy_bytes(header("<c16"), 0) + bytes_of(twice));
    CHECK(load_npy(path).value().spec() == TensorSpec{DType::kF64, {1, 2, 2}});
    CHECK(std::ranges::equal(load_npy(path).value().as<double>(), twice));
  }
  write_raw(path, npy_bytes("{'descr': '<c8', 'fortran_order': False, 'shape': (), }", 8));
  CHECK(load_npy(path).value().spec() == TensorSpec{DType::kF32, {2}});
  write_raw(path,
            safetensors_bytes(R"({"z":{"dtype":"C64","shape":[2],"data_offsets":[0,16]}})", 0) + bytes_of(single));
  CHECK(load_safetensors(path).value().find("z")->spec() == TensorSpec{DType::kF32, {2, 2}});
  const SafetensorsReader reader = SafetensorsReader::open(path).value();
  CHECK(std::ranges::equal(reader.read("z").value().as<float>(), single));
  CHECK(reader.read_rows("z", 1, 1).value().as<float>()[1] == -4);
}

TEST_CASE("npy, safetensors: a file cut at any byte is an error, never a crash") {
  const test::TemporaryDirectory directory;
  REQUIRE(save_npy(directory / "x.npy", counting(DType::kF32, {2, 3})));
  REQUIRE(save_safetensors(
      directory / "x.st", {{{"w", counting(DType::kF32, {2, 3})}, {"b", counting(DType::kS8, {3})}}, {{"step", "7"}}}));
  for (const char* name : {"x.npy", "x.st"}) {
    const std::string whole = load_file(directory / name, 1 << 20).value();
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write_raw(directory / "cut", whole.substr(0, size));
      CHECK_FALSE(load_npy(directory / "cut"));
      CHECK_FALSE(load_safetensors(directory / "cut"));
    }
  }
}

TEST_CASE("safetensors: tensors come back in file order with their metadata") {
  const test::TemporaryDirectory directory;
  SafetensorsFile file;
  file.metadata["step"] = "200";
  for (const DType dtype : kAll)
    file.tensors.emplace_back(fmt::format("z/{}", 99 - static_cast<int>(dtype)), counting(dtype, {3, 2}));
  file.tensors.emplace_back("scalar", counting(DType::kF64, {}));
  REQUIRE(save_safetensors(directory / "x.st", file));
  const Result<SafetensorsFile> back = load_safetensors(directory / "x.st");
  REQUIRE(back);
  CHECK(back->metadata == file.metadata);
  REQUIRE(back->tensors.size() == file.tensors.size());
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    CHECK(back->tensors[i].first == file.tensors[i].first);
    CHECK(same_bytes(back->tensors[i].second, file.tensors[i].second));
    CHECK(back->tensors[i].second.is_sole_owner());
  }
  CHECK(back->find("scalar") != nullptr);
  CHECK(back->find("none") == nullptr);
}

TEST_CASE("safetensors: a file that is open gives one tensor after the other, or some of its rows") {
  const test::TemporaryDirectory directory;
  const Tensor w = counting(DType::kF32, {3, 2}), b = counting(DType::kBool, {2});
  REQUIRE(save_safetensors(directory / "x.st", {{{"w", w}, {"b", b}}, {{"step", "7"}}}));
  const auto file = SafetensorsReader::open(directory / "x.st");
  REQUIRE(file);
  CHECK(file->path() == directory / "x.st");
  CHECK(file->metadata().at("step") == "7");
  CHECK(file->specs() == std::map<std::string, TensorSpec>{{"b", b.spec()}, {"w", w.spec()}});
  CHECK(same_bytes(file->read("b").value(), b));
  CHECK(same_bytes(file->read("w").value(), w));
  CHECK(file->read("w")->is_sole_owner());
  CHECK(same_bytes(file->read_rows("w", 1, 2).value(), w.slice_rows(1, 2)));
  CHECK(same_bytes(file->read_rows("w", 3, 0).value(), w.slice_rows(3, 0)));
  CHECK(file->read("v").error().message == (directory / "x.st") + " has no tensor 'v'");
  CHECK(file->read_rows("v", 0, 1).error().code == Code::kNotFound);
  std::filesystem::resize_file(directory / "x.st", std::filesystem::file_size(directory / "x.st") - 20);
  CHECK(file->read("w").error().code == Code::kDataLoss);
}

TEST_CASE("safetensors: a tensor of a type that tfd lacks hurts nobody but whoever asks for it") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "x.st";
  for (const char* type : {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "C128"}) {
    CAPTURE(type);
    write_raw(path, safetensors_bytes(fmt::format(R"({{"q":{{"dtype":"{}","shape":[2],"data_offsets":[0,2]}},)", type) +
                                          R"("w":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})",
                                      5));
    const auto reader = SafetensorsReader::open(path);
    REQUIRE(reader);
    CHECK(reader->specs() == std::map<std::string, TensorSpec>{{"w", {DType::kU8, {3}}}});
    CHECK(describe_unsupported(reader->unsupported()) == fmt::format("q ({}[2])", type));
    CHECK(reader->names_in_order() == std::vector<std::string>{"w"});
    CHECK(reader->read("w")->size() == 3);
    CHECK(reader->read("q").error().message.starts_with(fmt::format("{}: tensor 'q' is {}[2], a type", path, type)));
  }
  write_raw(path, safetensors_bytes(R"({"q":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", 1));
  CHECK(SafetensorsReader::open(path).error().code == Code::kDataLoss);
}

TEST_CASE("safetensors: what isn't one, or lies about its offsets, is refused") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "x.st";
  const auto error = [&](const std::string& bytes) {
    write_raw(path, bytes);
    const Result<SafetensorsFile> file = load_safetensors(path);
    REQUIRE_FALSE(file);
    CHECK(file.error().message.find(path) != std::string::npos);
    return std::string(code_name(file.error().code)) + " " + file.error().message.substr(path.size());
  };
  const std::string w = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK(error(safetensors_bytes(w + "}", 7))
            .find("DATA_LOSS : cut off: tensor 'w' ends at byte 8 of the data, but there are only 7") == 0);
  CHECK(error(safetensors_bytes(w + R"(,"v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8)) ==
        "DATA_LOSS : tensor 'v' overlaps another");
  CHECK(error(safetensors_bytes(w + R"(,"w":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12)) ==
        "INVALID_ARGUMENT : two tensors are named 'w'");
  CHECK(error(safetensors_bytes(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8))
            .find("f32[3] takes 12 bytes") != std::string::npos);
  CHECK(error(safetensors_bytes(R"({"w":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}})", 8))
            .find(": tensor 'w' is F8_E4M3[3], a type that tfd does not have") == 17);
  CHECK(error("PK\x03\x04 and more").find("is not a safetensors file, but a zip file") != std::string::npos);
  CHECK(error("\x89HDF\r\n\x1a\n and more").find("is not a safetensors file, but an HDF5 file") != std::string::npos);
  CHECK(error(safetensors_bytes(R"({"w":{"dtype":"F32","shape":[-3],"data_offsets":[0,8]}})", 8)).find("not a size") !=
        std::string::npos);
  CHECK(error(safetensors_bytes(
                  R"({"w":{"dtype":"F32","shape":[281474976710656,281474976710656],"data_offsets":[0,8]}})", 8))
            .find("too large") != std::string::npos);
  CHECK(error(safetensors_bytes("[1]", 0)).find("not a JSON object") != std::string::npos);
  CHECK(error(safetensors_bytes("{", 0)).find("not a JSON object") != std::string::npos);
  CHECK(error(std::string(8, '\xff')).find("is not a safetensors file") != std::string::npos);
  CHECK(error("PK").find("cut off") != std::string::npos);
  CHECK_FALSE(save_safetensors(path, {{{"w", counting(DType::kS8, {})}, {"w", counting(DType::kS8, {})}}, {}}));
  CHECK_FALSE(save_safetensors(path, {{{"\xff", counting(DType::kS8, {})}}, {}}));
}

TEST_CASE("file: a full disk leaves the old file as it was and nothing else") {
  const test::TemporaryDirectory directory;
  // In a child: a file size limit binds the whole process. A mounted tmpfs of 64 KiB would need root.
  const pid_t child = ::fork();
  if (child == 0) {
    const Tensor small = counting(DType::kF32, {16});
    if (!save_safetensors(directory / "x.st", {{{"w", small}}, {}})) ::_exit(1);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{65536, 65536};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    if (save_safetensors(directory / "x.st", {{{"w", counting(DType::kF32, {1 << 20})}}, {}})) ::_exit(3);
    if (save_npy(directory / "y.npy", counting(DType::kF32, {1 << 20}))) ::_exit(4);
    if (!same_bytes(load_safetensors(directory / "x.st").value().tensors[0].second, small)) ::_exit(5);
    ::_exit(directory.names() == std::vector<std::string>{"x.st"} ? 0 : 6);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("file: no space left on a real file system is RESOURCE_EXHAUSTED") {
  const test::TemporaryDirectory directory;
  if (::mount("none", directory.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    MESSAGE("skipped: mounting a small tmpfs needs root");
    return;
  }
  const Tensor small = counting(DType::kF32, {16});
  CHECK(save_safetensors(directory / "x.st", {{{"w", small}}, {}}));
  const Result<void> saved = save_safetensors(directory / "x.st", {{{"w", counting(DType::kF32, {1 << 20})}}, {}});
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == Code::kResourceExhausted);
  CHECK(saved.error().message.find("cannot write " + directory / "x.st") == 0);
  CHECK(same_bytes(load_safetensors(directory / "x.st").value().tensors[0].second, small));
  CHECK(directory.names() == std::vector<std::string>{"x.st"});
  CHECK(::umount(directory.path().c_str()) == 0);
}
