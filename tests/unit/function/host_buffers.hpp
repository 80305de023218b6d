#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Buffers as bytes, and back, for clients that send each other their arguments. Thread rule: free functions.
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "wrapped_plugin.hpp"

namespace wrapped_plugin {

inline PJRT_Error* wait_for(PJRT_Event* event) {
  if (event == nullptr) return nullptr;
  auto await = ARGS(PJRT_Event_Await_Args);
  await.event = event;
  PJRT_Error* const error = g_real->PJRT_Event_Await(&await);
  auto gone = ARGS(PJRT_Event_Destroy_Args);
  gone.event = event;
  (void)g_real->PJRT_Event_Destroy(&gone);
  return error;
}
inline void append(std::string& out, const void* data, size_t size) {
  out.append(static_cast<const char*>(data), size);
}

struct Layout {
  explicit Layout(size_t rank) : minor_to_major(rank) {
    std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
    layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout.tiled.minor_to_major = minor_to_major.data();
    layout.tiled.minor_to_major_size = rank;
  }
  std::vector<std::int64_t> minor_to_major;
  PJRT_Buffer_MemoryLayout layout{};
};

/// Type, rank, dimensions, size, bytes.
inline PJRT_Error* pack(PJRT_Buffer* buffer, std::string& out) {
  auto type = ARGS(PJRT_Buffer_ElementType_Args);
  type.buffer = buffer;
  TRY(g_real->PJRT_Buffer_ElementType(&type));
  auto dims = ARGS(PJRT_Buffer_Dimensions_Args);
  dims.buffer = buffer;
  TRY(g_real->PJRT_Buffer_Dimensions(&dims));
  const Layout layout(dims.num_dims);
  PJRT_Buffer_MemoryLayout host_layout = layout.layout;
  auto read = ARGS(PJRT_Buffer_ToHostBuffer_Args);
  read.src = buffer;
  read.host_layout = &host_layout;
  TRY(g_real->PJRT_Buffer_ToHostBuffer(&read));
  std::string bytes(read.dst_size, '\0');
  read.dst = bytes.data();
  TRY(g_real->PJRT_Buffer_ToHostBuffer(&read));
  TRY(wait_for(read.event));
  const std::uint64_t head[] = {static_cast<std::uint64_t>(type.type), dims.num_dims, bytes.size()};
  append(out, head, sizeof head);
  append(out, dims.dims, dims.num_dims * sizeof(std::int64_t));
  out += bytes;
  return nullptr;
}
inline PJRT_Error* unpack(PJRT_Client* client, PJRT_Device* device, const char*& at, PJRT_Buffer** out) {
  std::uint64_t head[3];
  std::memcpy(head, at, sizeof head);
  at += sizeof head;
  std::vector<std::int64_t> dims(head[1]);
  if (head[1] > 0) std::memcpy(dims.data(), at, head[1] * sizeof(std::int64_t));
  at += head[1] * sizeof(std::int64_t);
  auto make = ARGS(PJRT_Client_BufferFromHostBuffer_Args);
  make.client = client;
  make.data = at;
  make.type = static_cast<PJRT_Buffer_Type>(head[0]);
  make.dims = dims.data();
  make.num_dims = dims.size();
  make.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  make.device = device;
  TRY(g_real->PJRT_Client_BufferFromHostBuffer(&make));
  *out = make.buffer;
  at += head[2];
  return wait_for(make.done_with_host_buffer);
}
inline void destroy_buffer(PJRT_Buffer* buffer) {
  auto args = ARGS(PJRT_Buffer_Destroy_Args);
  args.buffer = buffer;
  (void)g_real->PJRT_Buffer_Destroy(&args);
}

}  // namespace wrapped_plugin
