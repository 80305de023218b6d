// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "contents.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

static_assert(std::endian::native == std::endian::little, "the file formats are little endian and are read in place");

namespace tfd::tensor {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint32_t kMostNpyHeader = 1 << 20;

constexpr NameTable<DType, 13> kDescriptors{{{{DType::kBool, "|b1"},
                                              {DType::kS8, "|i1"},
                                              {DType::kS16, "<i2"},
                                              {DType::kS32, "<i4"},
                                              {DType::kS64, "<i8"},
                                              {DType::kU8, "|u1"},
                                              {DType::kU16, "<u2"},
                                              {DType::kU32, "<u4"},
                                              {DType::kU64, "<u8"},
                                              {DType::kF16, "<f2"},
                                              {DType::kBF16, "|V2"},
                                              {DType::kF32, "<f4"},
                                              {DType::kF64, "<f8"}}}};

/// Dtype of the parts of a complex array, whose elements are stored as real, imaginary.
constexpr NameTable<DType, 2> kComplexDescriptors{{{{DType::kF32, "<c8"}, {DType::kF64, "<c16"}}}};

/// The header is a Python dictionary literal of three known keys; this reads no more of Python than that.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}
  /// Whether parse() failed for a dtype that tfd lacks.
  bool is_unsupported() const { return is_unsupported_; }

  Result<TensorSpec> parse() {
    std::optional<std::string> descriptor;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    TFD_TRY(expect('{'));
    while (!accept('}')) {
      const std::string key = TFD_TRY(parse_string());
      TFD_TRY(expect(':'));
      if (key == "descr") {
        is_unsupported_ = peek() == '[';
        if (peek() != '\'' && peek() != '"')
          return fail(Code::kInvalidArgument, "records (structured dtypes) are not supported");
        descriptor = TFD_TRY(parse_string());
      } else if (key == "fortran_order") {
        fortran_order = TFD_TRY(parse_bool());
      } else if (key == "shape") {
        shape = TFD_TRY(parse_shape());
      } else {
        return fail(Code::kInvalidArgument, "unknown key '{}' in the header", printable(key));
      }
      if (!accept(',') && peek() != '}') return broken();
    }
    if (peek() != '\0') return broken();
    if (!descriptor || !fortran_order || !shape)
      return fail(Code::kInvalidArgument, "the header lacks descr, fortran_order or shape");
    const auto parts = kComplexDescriptors.find(*descriptor);
    const DType dtype = parts ? *parts : TFD_TRY(parse_descriptor(*descriptor));
    // Both orders are the same bytes if at most one dimension isn't 1.
    const auto wide =
        std::count_if(shape->begin(), shape->end(), [](std::int64_t dimension) { return dimension != 1; });
    if (*fortran_order && wide > 1)
      return fail(Code::kInvalidArgument, "Fortran order is not supported: save numpy.ascontiguousarray(x)");
    if (parts) shape->push_back(2);
    return TensorSpec{dtype, std::move(*shape)};
  }

 private:
  Result<DType> parse_descriptor(std::string_view descriptor) {
    if (const auto dtype = kDescriptors.find(descriptor)) return *dtype;
    if (descriptor == "<V2") return DType::kBF16;  // written by numpy.save for an ml_dtypes.bfloat16 array
    if (descriptor.starts_with('>'))
      return fail(Code::kInvalidArgument, "big endian ('{}') is not supported", printable(descriptor));
    is_unsupported_ = true;
    return fail(Code::kInvalidArgument, "dtype '{}' is not supported (known: {}, {})", printable(descriptor),
                fmt::join(kDescriptors.names(), ", "), join_words(kComplexDescriptors.names()));
  }
  tl::unexpected<Error> broken() const {
    return fail(Code::kInvalidArgument,
                "the header is not a dictionary of descr, fortran_order and shape (at its byte {})", at_);
  }
  /// The next character that isn't white space; '\0' at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  Result<void> expect(char wanted) {
    if (!accept(wanted)) return broken();
    return {};
  }
  Result<std::string> parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return broken();
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return broken();
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  Result<bool> parse_bool() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    return broken();
  }
  Result<Shape> parse_shape() {
    Shape shape;
    TFD_TRY(expect('('));
    while (!accept(')')) {
      peek();
      const std::size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
      const std::string_view digits = text_.substr(at_, end - at_);
      if (digits.empty() || shape.size() >= 64) return broken();
      shape.push_back(TFD_TRY(parse_integer(digits, 0, std::int64_t{1} << 48), "shape"));
      at_ = end;
      accept('L');  // Python 2 wrote long integers so
      if (!accept(',') && peek() != ')') return broken();
    }
    return shape;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_unsupported_ = false;
};

/// Reads the header, up to the array's first byte.
Result<TensorSpec> read_header(const ByteStream& stream, bool* is_unsupported = nullptr) {
  const auto cut_off = [&] { return fail(Code::kDataLoss, "{} is cut off within its header", stream.name); };
  std::array<std::uint8_t, 12> start{};
  if (stream.most_bytes < kMagic.size()) return fail(Code::kInvalidArgument, "{} is not a .npy file", stream.name);
  const auto take = [&](std::size_t from, std::size_t count) -> Result<void> {
    if (stream.most_bytes < from + count) return cut_off();
    return stream.read(std::as_writable_bytes(std::span(start)).subspan(from, count));
  };
  TFD_TRY(take(0, kMagic.size()));
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(Code::kInvalidArgument, "{} is not a .npy file", stream.name);
  TFD_TRY(take(6, 2));
  const int major = start[6];
  if (major < 1 || major > 3)
    return fail(Code::kInvalidArgument, "{}: .npy version {}.{} is not supported", stream.name, major, start[7]);
  const std::size_t length_size = major == 1 ? 2 : 4;
  TFD_TRY(take(8, length_size));
  std::uint32_t length = 0;
  std::memcpy(&length, start.data() + 8, length_size);
  if (length > kMostNpyHeader)
    return fail(Code::kInvalidArgument, "{}: a header of {} bytes is too long", stream.name, length);
  const std::uint64_t data_offset = 8 + length_size + length;
  if (data_offset > stream.most_bytes) return cut_off();
  std::string text(length, '\0');
  TFD_TRY(stream.read(std::as_writable_bytes(std::span(text))));
  HeaderParser parser(text);
  auto parsed = parser.parse();
  if (is_unsupported != nullptr) *is_unsupported = parser.is_unsupported();
  TensorSpec spec = TFD_TRY(std::move(parsed), stream.name);
  const std::size_t bytes = TFD_TRY(checked_byte_size(spec.dtype, spec.shape), stream.name);
  if (bytes > stream.most_bytes - data_offset)
    return fail(Code::kDataLoss, "{} is cut off: {} takes {} bytes, but there are only {}", stream.name,
                format_spec(spec), bytes, stream.most_bytes - data_offset);
  return spec;
}

Result<void> check_bools(const Tensor& tensor, const std::string& name) {
  const auto bytes = tensor.bytes();
  if (tensor.dtype() != DType::kBool || std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; }))
    return {};
  return fail(Code::kDataLoss, "{} holds a bool that is neither 0 nor 1", name);
}

std::string format_header(const TensorSpec& spec) {
  std::string shape = "(";
  for (const std::int64_t dimension : spec.shape) shape += fmt::format("{}, ", dimension);
  if (spec.shape.size() > 1) shape.resize(shape.size() - 2);   // (64, 10)
  if (spec.shape.size() == 1) shape.resize(shape.size() - 1);  // (64,)
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}), }}", kDescriptors.name(spec.dtype), shape);
  const std::size_t unpadded = 10 + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string out = std::string(kMagic) + std::string("\x01\x00", 2);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace

ByteStream stream_of(const InputFile& file) {
  return {file.path(), file.size(), [&file, at = std::uint64_t{0}](std::span<std::byte> out) mutable -> Result<void> {
            TFD_TRY(file.read_at(at, out));
            at += out.size();
            return {};
          }};
}

Result<Tensor> read_tensor(const InputFile& file, std::uint64_t offset, const TensorSpec& spec) {
  Tensor tensor = Tensor::uninitialized(spec.dtype, spec.shape);
  TFD_TRY(file.read_at(offset, {tensor.mutable_data(), tensor.byte_size()}));
  TFD_TRY(check_bools(tensor, file.path()));
  return tensor;
}

Result<Tensor> read_tensor(const ByteStream& stream, const TensorSpec& spec) {
  Tensor tensor = Tensor::uninitialized(spec.dtype, spec.shape);
  TFD_TRY(stream.read({tensor.mutable_data(), tensor.byte_size()}));
  TFD_TRY(check_bools(tensor, stream.name));
  return tensor;
}

Result<Tensor> read_npy(const ByteStream& stream) { return read_tensor(stream, TFD_TRY(read_header(stream))); }

bool has_unsupported_dtype(const ByteStream& stream) {
  bool is_unsupported = false;
  return !read_header(stream, &is_unsupported) && is_unsupported;
}

Result<TensorSpec> read_npy_spec(const ByteStream& stream) { return read_header(stream); }

Result<Tensor> load_npy(const std::string& path) {
  const InputFile file = TFD_TRY(InputFile::open(path));
  return read_npy(stream_of(file));
}

Result<TensorSpec> load_npy_spec(const std::string& path) {
  const InputFile file = TFD_TRY(InputFile::open(path));
  return read_header(stream_of(file));
}

Result<void> save_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = format_header(tensor.spec());
  const std::array<std::span<const std::byte>, 2> pieces{std::as_bytes(std::span(header)), tensor.bytes()};
  return save_file(path, pieces);
}

}  // namespace tfd::tensor
