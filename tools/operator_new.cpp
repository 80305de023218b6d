// SPDX-License-Identifier: Apache-2.0
//
// mimalloc's memory for C++, in place of mimalloc's own operators, which end the process where no memory is left: here
// std::bad_alloc is thrown, which tools answer with one line.
#include <mimalloc.h>

#include <cstddef>
#include <new>

namespace {

template <class Allocate>
void* allocate_or_throw(const Allocate& allocate) {
  for (;;) {
    if (void* const memory = allocate()) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw([&] { return mi_malloc(bytes); });
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw([&] { return mi_malloc_aligned(bytes, static_cast<std::size_t>(alignment)); });
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }

void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept { return mi_malloc(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept { return mi_malloc(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*unused*/) noexcept {
  return mi_malloc_aligned(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*unused*/) noexcept {
  return mi_malloc_aligned(bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { mi_free(memory); }
void operator delete[](void* memory) noexcept { mi_free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { mi_free(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { mi_free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { mi_free(memory); }
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { mi_free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept { mi_free(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  mi_free(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*unused*/) noexcept { mi_free(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*unused*/) noexcept { mi_free(memory); }
