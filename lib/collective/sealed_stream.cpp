// SPDX-License-Identifier: Apache-2.0
//
// Records: size of the text u32 (authenticated), the encrypted text, a tag of 16 bytes. Source: NIST SP 800-38D.
#include <openssl/evp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "stream.hpp"
#include "tfd/base/crypto_library.hpp"

namespace tfd::collective {
namespace {

constexpr std::size_t kRecordBytes = 64 << 10, kSizeBytes = 4, kTagBytes = 16;

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
      "which encrypts collectives", CryptoSymbol{"EVP_CIPHER_CTX_new", out.new_context},
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
  SealedStream(process::Fd socket, const Cipher& cipher, const std::array<std::byte, 32>& to_send,
               const std::array<std::byte, 32>& to_receive)
      : socket_(make_plain_stream(std::move(socket))),
        cipher_(cipher),
        sends_(cipher_, to_send, true),
        receives_(cipher_, to_receive, false),
        out_(kSizeBytes + kRecordBytes + kTagBytes),
        in_(kSizeBytes + kRecordBytes + kTagBytes),
        text_(kRecordBytes) {}

  Result<std::size_t> send(std::span<const std::byte> first, std::span<const std::byte> second) override {
    TFD_TRY(flush());
    if (has_unsent()) return 0;
    first = first.first(std::min(first.size(), kRecordBytes));
    second = second.first(std::min(second.size(), kRecordBytes - first.size()));
    const std::size_t size = first.size() + second.size();
    if (size == 0) return 0;
    for (std::size_t i = 0; i < kSizeBytes; ++i) out_[i] = static_cast<std::byte>(size >> (8 * i));
    sends_.begin(out_.data());
    sends_.move(first, out_.data() + kSizeBytes);
    sends_.move(second, out_.data() + kSizeBytes + first.size());
    if (!sends_.seal(out_.data() + kSizeBytes + size)) return fail(Code::kInternal, "libcrypto doesn't encrypt");
    out_at_ = 0;
    out_end_ = kSizeBytes + size + kTagBytes;
    TFD_TRY(flush());
    return size;
  }
  bool has_unsent() const override { return out_at_ < out_end_; }

  Result<std::size_t> receive(std::span<std::byte> to) override {
    if (text_at_ == text_end_ && !TFD_TRY(take_record())) return 0;
    const std::size_t size = std::min(to.size(), text_end_ - text_at_);
    std::memcpy(to.data(), text_.data() + text_at_, size);
    text_at_ += size;
    return size;
  }
  int fd() const override { return socket_->fd(); }

 private:
  Result<void> flush() {
    while (has_unsent()) {
      const std::size_t sent = TFD_TRY(socket_->send(std::span(out_).subspan(out_at_, out_end_ - out_at_), {}));
      if (sent == 0) break;
      out_at_ += sent;
    }
    return {};
  }
  /// True: a record has come whole, and is true.
  Result<bool> take_record() {
    std::size_t size = 0;
    for (;;) {
      for (std::size_t i = 0; i < kSizeBytes && in_end_ >= kSizeBytes; ++i)
        size |= std::to_integer<std::size_t>(in_[i]) << (8 * i);
      if (in_end_ >= kSizeBytes && (size == 0 || size > kRecordBytes))
        return fail(Code::kInvalidArgument, "a false record");
      const std::size_t whole = in_end_ < kSizeBytes ? kSizeBytes : kSizeBytes + size + kTagBytes;
      if (in_end_ == whole && size > 0) break;
      const std::size_t got = TFD_TRY(socket_->receive(std::span(in_).subspan(in_end_, whole - in_end_)));
      if (got == 0) return false;
      in_end_ += got;
    }
    receives_.begin(in_.data());
    receives_.move({in_.data() + kSizeBytes, size}, text_.data());
    if (!receives_.open(in_.data() + kSizeBytes + size)) return fail(Code::kInvalidArgument, "a false record");
    in_end_ = text_at_ = 0;
    text_end_ = size;
    return true;
  }

  std::unique_ptr<Stream> socket_;
  const Cipher cipher_;
  Direction sends_, receives_;
  std::vector<std::byte> out_, in_, text_;  // a record to send, one that comes, the text of the last one
  std::size_t out_at_ = 0, out_end_ = 0, in_end_ = 0, text_at_ = 0, text_end_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stream>> make_sealed_stream(process::Fd socket, const std::array<std::byte, 32>& key_to_send,
                                                   const std::array<std::byte, 32>& key_to_receive) {
  const Cipher cipher = TFD_TRY(load_cipher());
  return std::make_unique<SealedStream>(std::move(socket), cipher, key_to_send, key_to_receive);
}

}  // namespace tfd::collective
