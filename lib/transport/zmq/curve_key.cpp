// SPDX-License-Identifier: Apache-2.0
#include "tfd/transport/curve_key.hpp"

#include <zmq.h>

#include <array>

#include "zmq/gate.hpp"

namespace tfd::transport {
namespace {

using Z85 = std::array<char, kKeyText + 1>;  // with the 0 at its end

tl::unexpected<Error> fail_without_curve() {
  return fail(Code::kUnimplemented, "no keys: this libzmq was built without CURVE");
}

}  // namespace

Result<CurveKey> make_curve_key() {
  Z85 open{}, secret{};
  if (zmq_curve_keypair(open.data(), secret.data()) != 0) return fail_without_curve();
  return CurveKey{open.data(), secret.data()};
}

Result<void> check_curve_key(const CurveKey& key) {
  std::array<std::uint8_t, kKeyBytes> bytes{};
  for (const std::string* half : {&key.public_key, &key.secret_key})
    if (half->size() != kKeyText || zmq_z85_decode(bytes.data(), half->c_str()) == nullptr)
      return fail(Code::kInvalidArgument, "not 40 characters of Z85");
  Z85 open{};
  if (zmq_curve_public(open.data(), key.secret_key.c_str()) != 0) return fail_without_curve();
  if (key.public_key != open.data()) return fail(Code::kInvalidArgument, "its halves don't belong together");
  return {};
}

}  // namespace tfd::transport
