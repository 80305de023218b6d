// SPDX-License-Identifier: Apache-2.0
#include "compiled.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "buffer.hpp"
#include "proto.hpp"
#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"
#include "tfd/hlo/source_line.hpp"

namespace tfd::function {
namespace {

std::vector<tensor::TensorSpec> specs_of(const std::vector<hlo::Parameter>& parameters) {
  std::vector<tensor::TensorSpec> specs;
  for (const hlo::Parameter& parameter : parameters) specs.push_back(parameter.spec);
  return specs;
}

/// Rewrites MLIR's "-:3:8: error: use of …" as "line 3: use of …", with the line of the user's own file if that is
/// embedded in the module; other text is unchanged.
std::string compiler_words(const hlo::Module& module, const std::string& text) {
  constexpr std::string_view kError = " error: ";
  const std::size_t error = text.find(kError);
  if (!text.starts_with("-:") || error == std::string::npos) return text;
  const std::string number = text.substr(2, text.find(':', 2) - 2), words = text.substr(error + kError.size());
  const auto line = parse_integer(number, 1, 1 << 30);
  const auto source = line ? hlo::source_of_line(module.code, static_cast<int>(*line)) : std::nullopt;
  if (!source) return fmt::format("line {}: {}", number, words);
  if (!source->file.empty()) return fmt::format("line {} of {}: {}", source->line, source->file, words);
  std::string_view written = source->text;
  written.remove_prefix(std::min(written.find_first_not_of(' '), written.size()));
  return fmt::format("line {} of what tfd wrote around it ('{}'): {}", number, printable(written.substr(0, 80)), words);
}

/// True for XLA's messages about missing custom calls of either API.
bool lacks_custom_call(std::string_view text) {
  for (const std::string_view words : {"No registered implementation for", "No FFI handler registered for"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

Result<void> compare(const char* what, const std::vector<hlo::Parameter>& stated,
                     const std::vector<tensor::TensorSpec>& real) {
  const std::vector<tensor::TensorSpec> specs = specs_of(stated);
  if (specs.size() != real.size())
    return fail(Code::kInvalidArgument, "the signature states {} {}s, but the compiled program has {}", specs.size(),
                what, real.size());
  for (std::size_t i = 0; i < real.size(); ++i)
    if (specs[i] != real[i])
      return fail(Code::kInvalidArgument, "the signature states {} {} as {}, but the compiled program has {}", what, i,
                  tensor::format_spec(specs[i]), tensor::format_spec(real[i]));
  return {};
}

/// The error for bytecode; in a text, @main's complex values were replaced by their parts before.
tl::unexpected<Error> fail_complex(const std::string& name) {
  return fail(Code::kInvalidArgument,
              "{} is bytecode with complex arguments or results, which tfd only reads from text: save it as text",
              name);
}

}  // namespace

ModuleCode::ModuleCode(const hlo::Module& module) : code_(module.code) {
  static constexpr std::string_view kFormat = "mlir";
  program_.struct_size = PJRT_Program_STRUCT_SIZE;
  program_.code = code_.data();
  program_.code_size = code_.size();
  program_.format = kFormat.data();
  program_.format_size = kFormat.size();
}

Error compile_error(const hlo::Module& module, const std::string& platform, const Error& why) {
  const std::string words = compiler_words(module, why.message);
  if (lacks_custom_call(why.message))
    return {Code::kInvalidArgument,
            fmt::format("{} needs a custom call that the plug-in for {} doesn't have: {}", printable(module.name),
                        platform, words),
            {}};
  return {why.code == Code::kResourceExhausted ? why.code : Code::kInvalidArgument,
          fmt::format("{} does not compile: {}", printable(module.name), words),
          {}};
}

Result<void> check_assignment(const std::vector<std::vector<int>>& assignment, std::size_t devices) {
  if (assignment.empty() || assignment.front().empty())
    return fail(Code::kInvalidArgument, "a device assignment without devices");
  std::set<int> seen;
  for (const auto& replica : assignment) {
    if (replica.size() != assignment.front().size())
      return fail(Code::kInvalidArgument, "a device assignment with {} for one replica and {} for another",
                  counted(assignment.front().size(), "device"), replica.size());
    for (const int device : replica) {
      if (device < 0 || static_cast<std::size_t>(device) >= devices)
        return fail(Code::kInvalidArgument, "a device assignment with device {}: there are {}", device, devices);
      if (!seen.insert(device).second)
        return fail(Code::kInvalidArgument, "a device assignment that has device {} twice", device);
    }
  }
  return {};
}

Result<void> check_system(const std::vector<std::vector<int>>& ids, const std::vector<std::vector<int>>& own,
                          const std::vector<DeviceInfo>& system, int process_index) {
  std::vector<std::vector<int>> positions = ids, here;
  for (auto& replica : positions)
    for (int& id : replica) id = static_cast<int>(std::ranges::find(system, id, &DeviceInfo::id) - system.begin());
  TFD_TRY(check_assignment(positions, system.size()), "the system");
  for (std::size_t replica = 0; replica < ids.size(); ++replica)
    if (std::ranges::any_of(positions[replica], [&](int position) {
          return system[static_cast<std::size_t>(position)].process_index == process_index;
        }))
      here.push_back(ids[replica]);
  if (here == own) return {};
  return fail(Code::kInvalidArgument, "a device assignment without this host's devices, or in another order");
}

Result<void> check_counts(const hlo::Module& module, const std::vector<std::vector<int>>& assignment) {
  const std::size_t replicas = assignment.size(), partitions = assignment.front().size();
  const auto fits = [](std::int64_t stated, std::size_t asked) {
    return stated == 1 || static_cast<std::size_t>(stated) == asked;
  };
  if (fits(module.partitions, partitions) && fits(module.replicas, replicas)) return {};
  return fail(Code::kInvalidArgument, "{} is for {} partitions and {} replicas, not for {} and {}",
              printable(module.name), module.partitions, module.replicas, partitions, replicas);
}

Compiled::Compiled(const Api& api, const std::string& platform, const hlo::Module& module, PJRT_Executable* handle)
    : api_(api),
      is_read_in_place_(has_host_memory(platform)),
      name_(printable(module.name)),
      signature_(module.signature),
      may_donate_(module.may_donate),
      handle_(handle) {}

Compiled::~Compiled() {
  if (handle_ == nullptr) return;
  TFD_PJRT_ARGS(PJRT_Executable_Destroy_Args, args);
  args.executable = handle_;
  (void)api_.check(api_->PJRT_Executable_Destroy(&args), "executable");
}

std::optional<std::string> Compiled::serialize() const {
  if (handle_ == nullptr || !api_.has(offsetof(PJRT_Api, PJRT_Executable_Serialize))) return std::nullopt;
  TFD_PJRT_ARGS(PJRT_Executable_Serialize_Args, args);
  args.executable = handle_;
  if (!api_.check(api_->PJRT_Executable_Serialize(&args), "cannot serialize")) return std::nullopt;
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

Result<std::vector<tensor::TensorSpec>> Compiled::result_specs() const {
  TFD_PJRT_ARGS(PJRT_Executable_OutputElementTypes_Args, types);
  types.executable = handle_;
  TFD_TRY(api_.check(api_->PJRT_Executable_OutputElementTypes(&types), name_));
  TFD_PJRT_ARGS(PJRT_Executable_OutputDimensions_Args, dimensions);
  dimensions.executable = handle_;
  TFD_TRY(api_.check(api_->PJRT_Executable_OutputDimensions(&dimensions), name_));
  std::vector<tensor::TensorSpec> specs;
  const std::int64_t* next = dimensions.dims;
  for (std::size_t i = 0; i < types.num_output_types && i < dimensions.num_outputs; ++i) {
    if (types.output_types[i] == PJRT_Buffer_Type_C64 || types.output_types[i] == PJRT_Buffer_Type_C128)
      return fail_complex(name_);
    tensor::TensorSpec spec;
    spec.dtype = TFD_TRY(dtype_of(types.output_types[i]), name_);
    spec.shape.assign(next, next + dimensions.dim_sizes[i]);
    next += dimensions.dim_sizes[i];
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::optional<std::string> Compiled::optimized_program() const {
  if (!api_.has(offsetof(PJRT_Api, PJRT_Executable_OptimizedProgram))) return std::nullopt;
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  TFD_PJRT_ARGS(PJRT_Executable_OptimizedProgram_Args, args);
  args.executable = handle_;
  args.program = &program;
  std::string bytes;
  for (int pass = 0; pass < 2; ++pass) {  // its size, then its bytes
    if (!api_.check(api_->PJRT_Executable_OptimizedProgram(&args), "program")) return std::nullopt;
    if (pass > 0) break;
    bytes.resize(program.code_size);
    program.code = bytes.data();
  }
  return bytes;
}

Result<std::optional<ProgramShapes>> Compiled::program_shapes() const {
  const auto program = optimized_program();
  auto shapes = program ? decode_program_shapes(*program) : std::nullopt;
  if (shapes && shapes->has_complex) return fail_complex(name_);
  if (is_read_in_place_ && shapes && shapes->not_row_major)
    return fail(Code::kUnimplemented, "{}: a layout of {} that isn't row-major is not supported", name_,
                tensor::format_spec(*shapes->not_row_major));
  return shapes;
}

// Checked first: a call writes that many results into our memory.
Result<void> Compiled::check_result_count() const {
  if (handle_ == nullptr) return fail(Code::kInternal, "{}: the plug-in compiled it to nothing", name_);
  TFD_PJRT_ARGS(PJRT_Executable_NumOutputs_Args, count);
  count.executable = handle_;
  TFD_TRY(api_.check(api_->PJRT_Executable_NumOutputs(&count), name_));
  if (count.num_outputs != signature_.results.size())
    return fail(Code::kInvalidArgument, "{}: the signature states {} results, but the compiled program has {}", name_,
                signature_.results.size(), count.num_outputs);
  return {};
}

Result<void> Compiled::check_results() const {
  TFD_TRY(check_result_count());
  TFD_TRY(compare("result", signature_.results, TFD_TRY(result_specs())), name_);
  return {};
}

Result<void> Compiled::check_signature() const {
  TFD_TRY(check_results());
  const auto shapes = TFD_TRY(program_shapes());
  if (!shapes) return {};
  TFD_TRY(compare("argument", signature_.arguments, shapes->arguments), name_);
  return {};
}

Compiled::Specs Compiled::stated_specs() const {
  return {specs_of(signature_.arguments), specs_of(signature_.results)};
}

Result<Compiled::Specs> Compiled::specs() const {
  TFD_TRY(check_result_count());
  Specs out;
  out.results = TFD_TRY(result_specs());
  const auto shapes = TFD_TRY(program_shapes());
  if (!shapes || shapes->arguments.size() != signature_.arguments.size())
    return fail(Code::kUnimplemented, "{}: the plug-in doesn't report the arguments of a partition", name_);
  out.arguments = shapes->arguments;
  return out;
}

std::optional<ProgramMemory> Compiled::memory() const {
  if (handle_ == nullptr || !api_.has(offsetof(PJRT_Api, PJRT_Executable_GetCompiledMemoryStats))) return std::nullopt;
  TFD_PJRT_ARGS(PJRT_Executable_GetCompiledMemoryStats_Args, args);
  args.executable = handle_;
  if (!api_.check(api_->PJRT_Executable_GetCompiledMemoryStats(&args), "memory")) return std::nullopt;
  return ProgramMemory{.arguments = args.argument_size_in_bytes,
                       .results = args.output_size_in_bytes,
                       .aliased = args.alias_size_in_bytes,
                       .temporary = args.temp_size_in_bytes};
}

std::optional<double> Compiled::flops() const {
  if (handle_ == nullptr || !api_.has(offsetof(PJRT_Api, PJRT_Executable_GetCostAnalysis))) return std::nullopt;
  TFD_PJRT_ARGS(PJRT_Executable_GetCostAnalysis_Args, args);
  args.executable = handle_;
  if (!api_.check(api_->PJRT_Executable_GetCostAnalysis(&args), "cost")) return std::nullopt;
  for (std::size_t i = 0; i < args.num_properties; ++i) {
    const PJRT_NamedValue& value = args.properties[i];
    if (std::string_view(value.name, value.name_size) == "flops" && value.type == PJRT_NamedValue_kFloat)
      return value.float_value;
  }
  return std::nullopt;
}

}  // namespace tfd::function
