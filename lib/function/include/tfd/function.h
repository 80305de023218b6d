/* SPDX-License-Identifier: Apache-2.0
 *
 * Custom functions for tfd: a shared object with one entry point, tfd_plugin(), that returns a table. Plain C11,
 * nothing to link against. See tfd-functions(5), and examples/plugin in tfd's source.
 *
 * Thread rule: tfd makes one call at a time of one instance, from any thread; open, call and close of different
 * instances may overlap. With TFD_THREAD_SAFE in `flags` calls of one instance may overlap too.
 *
 *   cc -std=c11 -shared -fPIC -o scale.so scale.c
 */
#ifndef TFD_FUNCTION_H
#define TFD_FUNCTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TFD_FUNCTION_MAGIC UINT32_C(0x46646674) /* "tfdF" */
#define TFD_FUNCTION_ABI UINT32_C(1)            /* grows when existing parts change; additions grow struct_size */

typedef enum tfd_dtype {
  TFD_BOOL = 0, /* one byte: 0 or 1 */
  TFD_S8 = 1,
  TFD_S16 = 2,
  TFD_S32 = 3,
  TFD_S64 = 4,
  TFD_U8 = 5,
  TFD_U16 = 6,
  TFD_U32 = 7,
  TFD_U64 = 8,
  TFD_F16 = 9,   /* IEEE 754 binary16, as bits */
  TFD_BF16 = 10, /* the high half of binary32, as bits */
  TFD_F32 = 11,
  TFD_F64 = 12
} tfd_dtype;

/* A dense, row-major tensor. Its memory belongs to tfd and is valid during the call. */
typedef struct tfd_tensor {
  int32_t dtype; /* tfd_dtype */
  int32_t rank;
  const int64_t *shape; /* rank dimensions, outermost first */
  const void *data;     /* aligned to 64 bytes where tfd made it, at least to the element */
} tfd_tensor;

/* One call. */
typedef struct tfd_call tfd_call;
struct tfd_call {
  uint32_t struct_size;
  uint32_t input_count; /* as the signature says; dtypes and shapes have been checked */
  const tfd_tensor *inputs;
  uint32_t output_count; /* as the signature says */
  uint32_t reserved;
  /* Memory for output `index`, uninitialized and aligned to 64 bytes, to be filled before the call returns. Every output
   * is asked for once. NULL, with the failure already noted, where it isn't what the signature says. */
  void *(*output)(tfd_call *call, uint32_t index, int32_t dtype, int32_t rank, const int64_t *shape);
  /* Notes why the call fails, one line of UTF-8, copied. Then return something else than 0. */
  void (*fail)(tfd_call *call, const char *message);
  void *host; /* tfd's */
};

#define TFD_THREAD_SAFE UINT32_C(1)

typedef struct tfd_plugin_table {
  uint32_t magic;       /* TFD_FUNCTION_MAGIC */
  uint32_t abi;         /* TFD_FUNCTION_ABI */
  uint32_t struct_size; /* sizeof(tfd_plugin_table) */
  uint32_t flags;
  /* Arguments and results of the function, a line each: "arg f32 64,10 x", "result f32 - loss" (DTYPE, DIMENSIONS with -
   * for a scalar, NAME). NULL where there is no such function. The text stays valid. */
  const char *(*signature)(const char *function);
  /* 0, or anything else with call->fail() called before. */
  int (*call)(const char *function, void *instance, tfd_call *call);
  /* May be NULL, both or close alone: state that a function keeps between calls. Not 0: it can't be had. */
  int (*open)(const char *function, void **instance);
  void (*close)(const char *function, void *instance);
} tfd_plugin_table;

#if defined(__GNUC__)
#define TFD_EXPORT __attribute__((visibility("default")))
#else
#define TFD_EXPORT
#endif

/* The one symbol that tfd looks up. The table stays valid. */
TFD_EXPORT const tfd_plugin_table *tfd_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
