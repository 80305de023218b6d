// SPDX-License-Identifier: Apache-2.0
//
// Records: size of the text u32 (authenticated), the encrypted text, a tag of 16 bytes. Source: NIST SP 800-38D.
#include <openssl/evp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tfd/base/crypto_library.hpp"
#include "tfd/process/stream.hpp"

namespace tfd::process {
namespace {

constexpr std::size_t kSizeBytes = 4, kTagBytes = 16;
// The text of a record: as much as a tile of a sum of collectives, so that it is decrypted where it is added up. Head
// and body of little go in one.
constexpr std::size_t kRecordBytes = 32 << 10, kJoinedBytes = 8 << 10;
// Amount to encrypt, and to take from the socket, at a time: records, and a head before them; little enough to
// stay in the L2 cache on its way.
constexpr std::size_t kRecordsAtATime = 4;
constexpr std::size_t kBufferBytes = kRecordsAtATime * (kSizeBytes + kRecordBytes + kTagBytes) + 256;

struct Cipher {
  decltype(&::EVP_CIPHER_CTX_new) new_context = nullptr;
  decltype(&::EVP_CIPHER_CTX_free) free_context = nullptr;
  decltype(&::EVP_CIPHER_CTX_ctrl) control = nullptr;
  decltype(&::EVP_aes_256_gcm) aes_256_gcm = nullptr;
  decltype(&::EVP_CipherInit_ex) init = nullptr;
  decltype(&::EVP_CipherUpdate) update = nullptr;
  decltype(&::EVP_CipherFinal_ex) finish = nullptr;
};

Result<Cipher> load_cipher() {
  Cipher out;
  TFD_TRY(load_crypto_symbols(
      "which encrypts connections", CryptoSymbol{"EVP_CIPHER_CTX_new", out.new_context},
      CryptoSymbol{"EVP_CIPHER_CTX_free", out.free_context}, CryptoSymbol{"EVP_CIPHER_CTX_ctrl", out.control},
      CryptoSymbol{"EVP_aes_256_gcm", out.aes_256_gcm}, CryptoSymbol{"EVP_CipherInit_ex", out.init},
      CryptoSymbol{"EVP_CipherUpdate", out.update}, CryptoSymbol{"EVP_CipherFinal_ex", out.finish}));
  return out;
}

unsigned char* as_uchar(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* as_uchar(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

/// One direction: the key, and how many records it has seen.
class Direction {
 public:
  Direction(const Cipher& cipher, const std::array<std::byte, 32>& key, bool encrypts)
      : cipher_(cipher), context_(cipher.new_context(), cipher.free_context) {
    is_good_ = context_ != nullptr && cipher_.init(context_.get(), cipher_.aes_256_gcm(), nullptr, as_uchar(key.data()),
                                                   nullptr, encrypts ? 1 : 0) == 1;
  }
  /// Begins the next record.
  void begin(const std::byte* size) {
    std::array<std::byte, 12> nonce{};
    for (std::size_t i = 0; i < 8; ++i) nonce[i] = static_cast<std::byte>(records_ >> (8 * i));
    ++records_;
    is_good_ = is_good_ && cipher_.init(context_.get(), nullptr, nullptr, nullptr, as_uchar(nonce.data()), -1) == 1;
    move({size, kSizeBytes}, nullptr);
  }
  /// Encrypts or decrypts; null `to`: only authenticates.
  void move(std::span<const std::byte> from, std::byte* to) {
    int size = 0;
    if (from.empty()) return;
    is_good_ = is_good_ && cipher_.update(context_.get(), to == nullptr ? nullptr : as_uchar(to), &size,
                                          as_uchar(from.data()), static_cast<int>(from.size())) == 1;
  }
  /// Ends a record that is sent: writes its tag.
  bool seal(std::byte* tag) { return end() && control(EVP_CTRL_GCM_GET_TAG, tag); }
  /// Ends a record that came. False: it is false.
  bool open(std::byte* tag) { return control(EVP_CTRL_GCM_SET_TAG, tag) && end(); }

 private:
  bool control(int what, std::byte* tag) {
    return is_good_ && cipher_.control(context_.get(), what, static_cast<int>(kTagBytes), tag) == 1;
  }
  bool end() {
    std::array<unsigned char, 16> nothing;
    int size = 0;
    return is_good_ && cipher_.finish(context_.get(), nothing.data(), &size) == 1;
  }

  const Cipher& cipher_;
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&::EVP_CIPHER_CTX_free)> context_;
  std::uint64_t records_ = 0;
  bool is_good_ = false;
};

class SealedStream : public Stream {
 public:
  SealedStream(Fd socket, const Cipher& cipher, const std::array<std::byte, 32>& to_send,
               const std::array<std::byte, 32>& to_receive)
      : socket_(make_plain_stream(std::move(socket))),
        cipher_(cipher),
        sends_(cipher_, to_send, true),
        receives_(cipher_, to_receive, false),
        out_(kBufferBytes),
        in_(kBufferBytes),
        text_(kRecordBytes) {}

  Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) override {
    TFD_TRY(flush());
    if (has_unsent()) return 0;
    out_at_ = out_end_ = 0;
    std::size_t taken = first.size() + second.size();
    if (taken <= kJoinedBytes) {
      TFD_TRY(seal(first, second));
    } else {
      // The head has records of its own, so that the body's fit where they go.
      taken = TFD_TRY(seal_all(first));
      if (taken == first.size()) taken += TFD_TRY(seal_all(second));
    }
    TFD_TRY(flush());
    return taken;
  }
  bool has_unsent() const override { return out_at_ < out_end_; }

  Result<std::size_t> receive(std::span<std::byte> to) override {
    if (to.empty()) return 0;
    if (text_at_ == text_end_) {
      const std::size_t size = TFD_TRY(wait_for_record());
      if (size == 0) return 0;
      if (size <= to.size()) {
        TFD_TRY(open(size, to.data()));
        return size;
      }
      TFD_TRY(open(size, text_.data()));
      text_at_ = 0;
      text_end_ = size;
    }
    const std::size_t size = std::min(to.size(), text_end_ - text_at_);
    std::memcpy(to.data(), text_.data() + text_at_, size);
    text_at_ += size;
    return size;
  }
  int fd() const override { return socket_->fd(); }

 private:
  /// Appends as many records of these bytes as there is room for, and returns how many bytes they have.
  Result<std::size_t> seal_all(std::span<const std::byte> bytes) {
    std::size_t taken = 0;
    while (taken < bytes.size()) {
      const std::size_t size = std::min(bytes.size() - taken, kRecordBytes);
      if (out_.size() - out_end_ < kSizeBytes + size + kTagBytes) break;
      TFD_TRY(seal(bytes.subspan(taken, size), {}));
      taken += size;
    }
    return taken;
  }
  /// Appends a record to what leaves next, which has room for it.
  Result<void> seal(std::span<const std::byte> first, std::span<const std::byte> second) {
    const std::size_t size = first.size() + second.size();
    if (size == 0) return {};
    std::byte* const at = out_.data() + out_end_;
    for (std::size_t i = 0; i < kSizeBytes; ++i) at[i] = static_cast<std::byte>(size >> (8 * i));
    sends_.begin(at);
    sends_.move(first, at + kSizeBytes);
    sends_.move(second, at + kSizeBytes + first.size());
    if (!sends_.seal(at + kSizeBytes + size)) return fail(Code::kInternal, "libcrypto doesn't encrypt");
    out_end_ += kSizeBytes + size + kTagBytes;
    return {};
  }
  Result<void> flush() {
    while (has_unsent()) {
      const std::size_t sent = TFD_TRY(socket_->send(std::span(out_).subspan(out_at_, out_end_ - out_at_), {}));
      if (sent == 0) break;
      out_at_ += sent;
    }
    return {};
  }

  /// The bytes of text of the next record, once it has come whole; else 0.
  Result<std::size_t> wait_for_record() {
    for (;;) {
      const std::size_t there = in_end_ - in_at_;
      std::size_t size = 0;
      for (std::size_t i = 0; i < kSizeBytes && there >= kSizeBytes; ++i)
        size |= std::to_integer<std::size_t>(in_[in_at_ + i]) << (8 * i);
      if (is_false_ || (there >= kSizeBytes && (size == 0 || size > kRecordBytes))) return false_record();
      const std::size_t whole = kSizeBytes + size + kTagBytes;
      if (there >= kSizeBytes && there >= whole) return size;
      if (in_.size() - in_at_ < kSizeBytes + kRecordBytes + kTagBytes) {
        std::memmove(in_.data(), in_.data() + in_at_, there);
        in_at_ = 0;
        in_end_ = there;
      }
      const std::size_t got = TFD_TRY(socket_->receive(std::span(in_).subspan(in_end_)));
      if (got == 0) return 0;
      in_end_ += got;
    }
  }
  /// Decrypts the next record, of `size` bytes of text, into `to`. Nothing there is valid before it returns; an error
  /// ends the stream.
  Result<void> open(std::size_t size, std::byte* to) {
    std::byte* const at = in_.data() + in_at_;
    receives_.begin(at);
    receives_.move({at + kSizeBytes, size}, to);
    if (!receives_.open(at + kSizeBytes + size)) return false_record();
    in_at_ += kSizeBytes + size + kTagBytes;
    if (in_at_ == in_end_) in_at_ = in_end_ = 0;
    return {};
  }
  tl::unexpected<Error> false_record() {
    is_false_ = true;
    return fail(Code::kInvalidArgument, "a false record");
  }

  const std::unique_ptr<Stream> socket_;
  const Cipher cipher_;
  Direction sends_, receives_;
  std::vector<std::byte> out_, in_, text_;  // records to send, records that come, a text that nobody had room for
  std::size_t out_at_ = 0, out_end_ = 0, in_at_ = 0, in_end_ = 0, text_at_ = 0, text_end_ = 0;
  bool is_false_ = false;  // a record was
};

}  // namespace

Result<std::unique_ptr<Stream>> make_sealed_stream(Fd socket, const std::array<std::byte, 32>& key_to_send,
                                                   const std::array<std::byte, 32>& key_to_receive) {
  const Cipher cipher = TFD_TRY(load_cipher());
  return std::make_unique<SealedStream>(std::move(socket), cipher, key_to_send, key_to_receive);
}

bool can_seal() { return load_cipher().has_value(); }

}  // namespace tfd::process
