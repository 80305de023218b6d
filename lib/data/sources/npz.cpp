// SPDX-License-Identifier: Apache-2.0
#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <memory>

#include "../files/file_stamp.hpp"
#include "arrays.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

using tensor::Tensor;
using tensor::TensorSpec;

constexpr std::string_view kNpySuffix = ".npy";
constexpr unsigned kMostZipPiece = 1U << 30;

struct CloseZip {
  void operator()(void* file) const { unzClose(file); }
};
using ZipFile = std::unique_ptr<void, CloseZip>;

Result<ZipFile> open_zip(const std::string& path) {
  const FileStamp stamp = TFD_TRY(load_stamp(path));
  ZipFile file(unzOpen64(path.c_str()));
  if (file) return file;
  if (stamp.size == 0) return fail(Code::kInvalidArgument, "{} is empty", path);
  return fail(Code::kInvalidArgument, "{} is not an .npz file, or is cut off: it doesn't end as a zip file", path);
}

/// The entry that the zip file is positioned at.
struct ZipEntry {
  std::string name;
  std::uint64_t bytes = 0, packed_bytes = 0;
};
Result<ZipEntry> entry_of(const ZipFile& file, const std::string& path) {
  std::array<char, 4096> name{};
  unz_file_info64 info{};
  if (unzGetCurrentFileInfo64(file.get(), &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) != UNZ_OK)
    return fail(Code::kDataLoss, "{} is corrupt: its directory can't be read", path);
  if ((info.flag & 1U) != 0) return fail(Code::kInvalidArgument, "{}: encrypted", path);
  return ZipEntry{name.data(), info.uncompressed_size, info.compressed_size};
}

/// Calls visit(entry) for one after the other, until it says true: whether it did.
template <class Visit>
Result<bool> visit_entries(const ZipFile& file, const std::string& path, const Visit& visit) {
  for (int outcome = unzGoToFirstFile(file.get()); outcome != UNZ_END_OF_LIST_OF_FILE;
       outcome = unzGoToNextFile(file.get())) {
    if (outcome != UNZ_OK) return fail(Code::kDataLoss, "{} is corrupt: its directory can't be read", path);
    if (visit(TFD_TRY(entry_of(file, path)))) return true;
  }
  return false;
}

std::string key_of(const std::string& name) {
  return name.ends_with(kNpySuffix) ? name.substr(0, name.size() - kNpySuffix.size()) : name;
}

/// The bytes of one array. Borrows the file.
Result<tensor::ByteStream> stream_of_array(const ZipFile& file, const std::string& path, const std::string& key) {
  ZipEntry found;
  std::vector<std::string> names;
  const bool is_there = TFD_TRY(visit_entries(file, path, [&](ZipEntry entry) {
    names.push_back(key_of(entry.name));
    found = std::move(entry);
    return names.back() == key;
  }));
  if (!is_there)
    return fail(Code::kNotFound, "{}: no array '{}' (there: {})", path, printable(key), printable(join_words(names)));
  const std::string name = fmt::format("{}: array '{}'", path, printable(key));
  // No size is believed that deflate can't reach. Source: https://zlib.net/zlib_tech.html
  if (found.bytes / 1032 > found.packed_bytes) return fail(Code::kDataLoss, "{} has a size that can't be", name);
  if (unzOpenCurrentFile(file.get()) != UNZ_OK)
    return fail(Code::kDataLoss,
                "{} can't be read: the zip file is corrupt, or compressed by something else than deflate", name);
  const auto read = [zip = file.get(), name](std::span<std::byte> out) -> Result<void> {
    while (!out.empty()) {
      const auto wanted = static_cast<unsigned>(std::min<std::size_t>(out.size(), kMostZipPiece));
      const int got = unzReadCurrentFile(zip, out.data(), wanted);
      if (got <= 0) return fail(Code::kDataLoss, "{} is {}", name, got == 0 ? "cut off" : "corrupt");
      out = out.subspan(static_cast<std::size_t>(got));
    }
    return {};
  };
  return tensor::ByteStream{name, found.bytes, read};
}

}  // namespace

Result<Tensor> load_npz(const std::string& path, const std::string& key) {
  const ZipFile file = TFD_TRY(open_zip(path));
  const FileStamp before = TFD_TRY(load_stamp(path));
  const tensor::ByteStream stream = TFD_TRY(stream_of_array(file, path, key));
  Tensor tensor = TFD_TRY(tensor::read_npy(stream));
  std::array<std::byte, 4096> beyond{};
  while (unzReadCurrentFile(file.get(), beyond.data(), beyond.size()) > 0) continue;  // the checksum is that of all
  if (unzCloseCurrentFile(file.get()) == UNZ_CRCERROR)
    return fail(Code::kDataLoss, "{} is corrupt: its checksum is wrong", stream.name);
  if (TFD_TRY(load_stamp(path)) != before) return fail(Code::kDataLoss, "{} has changed while it was read", path);
  return tensor;
}

Result<TensorSpec> load_npz_spec(const std::string& path, const std::string& key) {
  const ZipFile file = TFD_TRY(open_zip(path));
  return tensor::read_npy_spec(TFD_TRY(stream_of_array(file, path, key)));
}

Result<std::vector<std::string>> load_npz_names(const std::string& path) {
  const ZipFile file = TFD_TRY(open_zip(path));
  std::vector<std::string> names;
  TFD_TRY(visit_entries(file, path, [&](const ZipEntry& entry) {
    if (entry.name.ends_with(kNpySuffix)) names.push_back(key_of(entry.name));
    return false;
  }));
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) != name)
      return fail(Code::kDataLoss, "{}: two arrays are called '{}'", path, printable(*name));
  return names;
}

}  // namespace tfd::data
