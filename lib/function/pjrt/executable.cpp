// SPDX-License-Identifier: Apache-2.0
#include "executable.hpp"

#include <cstddef>

#include "buffer.hpp"
#include "proto.hpp"
#include "tfd/base/text.hpp"

namespace tfd::function {
namespace {

std::vector<tensor::TensorSpec> specs_of(const std::vector<hlo::Parameter>& parameters) {
  std::vector<tensor::TensorSpec> specs;
  for (const hlo::Parameter& parameter : parameters) specs.push_back(parameter.spec);
  return specs;
}

/// MLIR's "-:3:8: error: use of …" as "line 3: use of …"; any other text as it is.
std::string compiler_words(const std::string& text) {
  constexpr std::string_view kError = " error: ";
  const std::size_t error = text.find(kError);
  if (!text.starts_with("-:") || error == std::string::npos) return text;
  return fmt::format("line {}: {}", text.substr(2, text.find(':', 2) - 2), text.substr(error + kError.size()));
}

/// As XLA says it of the one and of the other kind of them.
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

}  // namespace

Executable::Executable(std::shared_ptr<const Client> client, const hlo::Module& module, PJRT_LoadedExecutable* loaded)
    : client_(std::move(client)),
      name_(printable(module.name)),
      signature_(module.signature),
      may_donate_(module.may_donate),
      loaded_(loaded) {
  const Api& api = client_->api();
  TFD_PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, args);
  args.loaded_executable = loaded_;
  if (api.check(api->PJRT_LoadedExecutable_GetExecutable(&args), "executable")) executable_ = args.executable;
}

Executable::~Executable() {
  const Api& api = client_->api();
  if (executable_ != nullptr) {
    TFD_PJRT_ARGS(PJRT_Executable_Destroy_Args, args);
    args.executable = executable_;
    (void)api.check(api->PJRT_Executable_Destroy(&args), "executable");
  }
  TFD_PJRT_ARGS(PJRT_LoadedExecutable_Destroy_Args, args);
  args.executable = loaded_;
  (void)api.check(api->PJRT_LoadedExecutable_Destroy(&args), "executable");
}

Result<std::shared_ptr<Executable>> Executable::compile(std::shared_ptr<const Client> client, const hlo::Module& module,
                                                        const std::string& options) {
  const Api& api = client->api();
  constexpr std::string_view kFormat = "mlir";
  std::string code = module.code;  // the API takes a pointer that isn't const
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = code.data();
  program.code_size = code.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  TFD_PJRT_ARGS(PJRT_Client_Compile_Args, args);
  args.client = client->handle();
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  if (const auto compiled = api.check(api->PJRT_Client_Compile(&args), ""); !compiled) {
    const bool out_of_memory = compiled.error().code == Code::kResourceExhausted;
    if (lacks_custom_call(compiled.error().message))
      return fail(Code::kInvalidArgument, "{} needs a custom call that the plug-in for {} doesn't have: {}",
                  printable(module.name), client->platform(), compiler_words(compiled.error().message));
    return fail(out_of_memory ? Code::kResourceExhausted : Code::kInvalidArgument, "{} does not compile: {}",
                printable(module.name), compiler_words(compiled.error().message));
  }
  return std::shared_ptr<Executable>(new Executable(std::move(client), module, args.executable));
}

std::shared_ptr<Executable> Executable::load(std::shared_ptr<const Client> client, const hlo::Module& module,
                                             const std::string& bytes) {
  const Api& api = client->api();
  if (!api.has(offsetof(PJRT_Api, PJRT_Executable_DeserializeAndLoad))) return nullptr;
  TFD_PJRT_ARGS(PJRT_Executable_DeserializeAndLoad_Args, args);
  args.client = client->handle();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  if (!api.check(api->PJRT_Executable_DeserializeAndLoad(&args), "cannot load an executable")) return nullptr;
  return std::shared_ptr<Executable>(new Executable(std::move(client), module, args.loaded_executable));
}

std::optional<std::string> Executable::serialize() const {
  const Api& api = client_->api();
  if (executable_ == nullptr || !api.has(offsetof(PJRT_Api, PJRT_Executable_Serialize))) return std::nullopt;
  TFD_PJRT_ARGS(PJRT_Executable_Serialize_Args, args);
  args.executable = executable_;
  if (!api.check(api->PJRT_Executable_Serialize(&args), "cannot serialize")) return std::nullopt;
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

Result<std::vector<tensor::TensorSpec>> Executable::result_specs() const {
  const Api& api = client_->api();
  TFD_PJRT_ARGS(PJRT_Executable_OutputElementTypes_Args, types);
  types.executable = executable_;
  TFD_TRY(api.check(api->PJRT_Executable_OutputElementTypes(&types), name_));
  TFD_PJRT_ARGS(PJRT_Executable_OutputDimensions_Args, dimensions);
  dimensions.executable = executable_;
  TFD_TRY(api.check(api->PJRT_Executable_OutputDimensions(&dimensions), name_));
  std::vector<tensor::TensorSpec> specs;
  const std::int64_t* next = dimensions.dims;
  for (std::size_t i = 0; i < types.num_output_types && i < dimensions.num_outputs; ++i) {
    tensor::TensorSpec spec;
    spec.dtype = TFD_TRY(dtype_of(types.output_types[i]), name_);
    spec.shape.assign(next, next + dimensions.dim_sizes[i]);
    next += dimensions.dim_sizes[i];
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::optional<std::string> Executable::optimized_program() const {
  const Api& api = client_->api();
  if (!api.has(offsetof(PJRT_Api, PJRT_Executable_OptimizedProgram))) return std::nullopt;
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  TFD_PJRT_ARGS(PJRT_Executable_OptimizedProgram_Args, args);
  args.executable = executable_;
  args.program = &program;
  std::string bytes;
  for (int pass = 0; pass < 2; ++pass) {  // its size, then its bytes
    if (!api.check(api->PJRT_Executable_OptimizedProgram(&args), "program")) return std::nullopt;
    if (pass > 0) break;
    bytes.resize(program.code_size);
    program.code = bytes.data();
  }
  return bytes;
}

// Counted first: a call writes that many results into memory of ours.
Result<void> Executable::check_result_count() const {
  if (executable_ == nullptr) return fail(Code::kInternal, "{}: the plug-in compiled it to nothing", name_);
  TFD_PJRT_ARGS(PJRT_Executable_NumOutputs_Args, count);
  count.executable = executable_;
  TFD_TRY(client_->api().check(client_->api()->PJRT_Executable_NumOutputs(&count), name_));
  if (count.num_outputs != signature_.results.size())
    return fail(Code::kInvalidArgument, "{}: the signature states {} results, but the compiled program has {}", name_,
                signature_.results.size(), count.num_outputs);
  return {};
}

Result<void> Executable::check_signature() const {
  TFD_TRY(check_result_count());
  const auto outputs = TFD_TRY(result_specs());
  TFD_TRY(compare("result", signature_.results, outputs), name_);
  const auto program = optimized_program();
  if (!program) return {};
  const auto shapes = TFD_TRY(decode_program_shapes(*program), name_);
  if (!shapes) return {};
  TFD_TRY(compare("argument", signature_.arguments, shapes->arguments), name_);
  return {};
}

Result<Executable::Specs> Executable::specs() const {
  TFD_TRY(check_result_count());
  Specs out;
  out.results = TFD_TRY(result_specs());
  const auto program = optimized_program();
  const auto shapes = program ? TFD_TRY(decode_program_shapes(*program), name_) : std::nullopt;
  if (!shapes || shapes->arguments.size() != signature_.arguments.size())
    return fail(Code::kUnimplemented, "{}: the plug-in doesn't say what a partition takes", name_);
  out.arguments = shapes->arguments;
  return out;
}

std::optional<ProgramMemory> Executable::memory() const {
  const Api& api = client_->api();
  if (executable_ == nullptr || !api.has(offsetof(PJRT_Api, PJRT_Executable_GetCompiledMemoryStats)))
    return std::nullopt;
  TFD_PJRT_ARGS(PJRT_Executable_GetCompiledMemoryStats_Args, args);
  args.executable = executable_;
  if (!api.check(api->PJRT_Executable_GetCompiledMemoryStats(&args), "memory")) return std::nullopt;
  return ProgramMemory{.arguments = args.argument_size_in_bytes,
                       .results = args.output_size_in_bytes,
                       .aliased = args.alias_size_in_bytes,
                       .temporary = args.temp_size_in_bytes};
}

std::optional<double> Executable::flops() const {
  const Api& api = client_->api();
  if (executable_ == nullptr || !api.has(offsetof(PJRT_Api, PJRT_Executable_GetCostAnalysis))) return std::nullopt;
  TFD_PJRT_ARGS(PJRT_Executable_GetCostAnalysis_Args, args);
  args.executable = executable_;
  if (!api.check(api->PJRT_Executable_GetCostAnalysis(&args), "cost")) return std::nullopt;
  for (std::size_t i = 0; i < args.num_properties; ++i) {
    const PJRT_NamedValue& value = args.properties[i];
    if (std::string_view(value.name, value.name_size) == "flops" && value.type == PJRT_NamedValue_kFloat)
      return value.float_value;
  }
  return std::nullopt;
}

}  // namespace tfd::function
