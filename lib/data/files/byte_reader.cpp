// SPDX-License-Identifier: Apache-2.0
#include "byte_reader.hpp"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>
#include <vector>

#include "tfd/base/stalls.hpp"
#include "tfd/command/command.hpp"

namespace tfd::data {
namespace {

constexpr std::size_t kPackedPiece = std::size_t{256} << 10;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // what fits the counters of read() and of igzip
constexpr std::array<unsigned char, 2> kGzipMagic{0x1f, 0x8b};

// Fills `out` as far as there are bytes: how many; fewer only at the end, or before an error.
Result<std::size_t> read_fully(const OpenFile& file, std::span<char> out) {
  const StallGuard guard(file.path());
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::read(file.fd(), out.data() + done, std::min(out.size() - done, kMostAtOnce));
    if (got == 0) break;
    if (got > 0)
      done += static_cast<std::size_t>(got);
    else if (done > 0 && errno != EINTR)
      break;
    else if (errno != EINTR)
      return fail_errno(errno, "cannot read " + file.path());
  }
  return done;
}

const char* describe(int igzip_code) {
  switch (igzip_code) {
    case ISAL_INVALID_WRAPPER:
      return "invalid header";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "incorrect data check";
    case ISAL_INVALID_LOOKBACK:
      return "invalid distance";
    default:
      return "invalid code";
  }
}

}  // namespace

Result<OpenFilePtr> OpenFile::open(const std::string& path) {
  // O_NONBLOCK: the open of a FIFO would wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "cannot open " + path);
  const std::shared_ptr<OpenFile> file(new OpenFile(path, fd));
  file->stamp_ = TFD_TRY(load_stamp(fd, path));
  return file;
}

OpenFilePtr OpenFile::named(const std::string& name) { return OpenFilePtr(new OpenFile(name, -1)); }

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> OpenFile::check_unchanged() const {
  if (fd_ < 0 || TFD_TRY(load_stamp(fd_, path_)) == stamp_) return {};
  return fail(Code::kDataLoss, "{} has changed while it was read", path_);
}

// Members of a gzip file behind one another; zeros that follow them are passed over, as gzip(1) does.
class ByteReader::Inflater {
 public:
  explicit Inflater(OpenFilePtr file) : file_(std::move(file)), packed_(kPackedPiece) { begin_member(); }

  Result<std::size_t> read(std::span<char> out, std::string_view unit, std::int64_t units) {
    std::size_t done = 0;
    while (done < out.size() && code_ >= 0) {
      const auto refilled = refill();
      if (!refilled && done == 0) return fail(refilled.error());
      if (!refilled) return done;
      if (state_.block_state == ISAL_BLOCK_FINISH) {
        if (!is_member()) {
          if (done == 0 && !is_padding()) return fail(corrupt(unit, units, "the bytes after it are not gzip"));
          return done;
        }
        begin_member();
      }
      const std::size_t got = inflate(out.subspan(done));
      if (got == 0 && is_stuck_) break;
      done += got;
    }
    if (done > 0 || out.empty()) return done;
    TFD_TRY(file_->check_unchanged());
    if (code_ >= 0) return fail(Code::kDataLoss, "{} is cut off after {} {}", file_->path(), unit, units);
    return fail(corrupt(unit, units, describe(code_)));
  }

 private:
  Error corrupt(std::string_view unit, std::int64_t units, std::string_view why) const {
    return {Code::kDataLoss, fmt::format("{} is corrupt after {} {}: {}", file_->path(), unit, units, why)};
  }
  void begin_member() {
    const auto left = std::pair(state_.next_in, state_.avail_in);
    isal_inflate_init(&state_);
    std::tie(state_.next_in, state_.avail_in) = left;
    state_.crc_flag = ISAL_GZIP;
  }
  std::size_t inflate(std::span<char> out) {
    const std::size_t wanted = std::min(out.size(), kMostAtOnce);
    state_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_.avail_out = static_cast<std::uint32_t>(wanted);
    const std::uint32_t left = state_.avail_in;
    code_ = isal_inflate(&state_);
    is_stuck_ = state_.avail_in == left && state_.block_state != ISAL_BLOCK_FINISH;
    return wanted - state_.avail_out;
  }
  bool is_member() const {
    return state_.avail_in >= kGzipMagic.size() && std::equal(kGzipMagic.begin(), kGzipMagic.end(), state_.next_in);
  }
  bool is_padding() const {
    return std::all_of(state_.next_in, state_.next_in + state_.avail_in, [](auto byte) { return byte == 0; });
  }
  // Enough is read to tell whether a member begins, as far as there are bytes.
  Result<void> refill() {
    if (at_end_ || state_.avail_in >= kGzipMagic.size()) return {};
    if (state_.avail_in > 0) packed_.front() = static_cast<char>(*state_.next_in);
    const std::size_t got = TFD_TRY(read_fully(*file_, std::span(packed_).subspan(state_.avail_in)));
    at_end_ = got < packed_.size() - state_.avail_in;
    state_.next_in = reinterpret_cast<std::uint8_t*>(packed_.data());
    state_.avail_in += static_cast<std::uint32_t>(got);
    return {};
  }

  OpenFilePtr file_;
  std::vector<char> packed_;
  inflate_state state_{};
  int code_ = ISAL_DECOMP_OK;  // below zero: corrupt
  bool is_stuck_ = false;      // whether the last call took nothing in
  bool at_end_ = false;
};

ByteReader::ByteReader(OpenFilePtr file, std::unique_ptr<Inflater> inflater,
                       std::unique_ptr<command::CommandOutput> output)
    : file_(std::move(file)), inflater_(std::move(inflater)), output_(std::move(output)) {}
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;
ByteReader::~ByteReader() = default;

Result<ByteReader> ByteReader::open(const std::string& path) {
  OpenFilePtr file = TFD_TRY(OpenFile::open(path));
  std::array<unsigned char, kGzipMagic.size()> begin{};
  if (::pread(file->fd(), begin.data(), begin.size(), 0) < 0) return fail_errno(errno, "cannot read " + path);
  auto inflater = begin == kGzipMagic ? std::make_unique<Inflater>(file) : nullptr;
  return ByteReader(std::move(file), std::move(inflater), nullptr);
}

ByteReader ByteReader::of_command(const std::string& name, std::unique_ptr<command::CommandOutput> output) {
  return {OpenFile::named(name), nullptr, std::move(output)};
}

Result<std::size_t> ByteReader::read(std::span<char> out, std::string_view unit, std::int64_t units) {
  if (output_) return output_->read(out);
  return inflater_ ? inflater_->read(out, unit, units) : read_fully(*file_, out);
}

std::uint64_t ByteReader::most_bytes() const { return file_->stamp().size * (inflater_ ? 1032 : 1); }

}  // namespace tfd::data
