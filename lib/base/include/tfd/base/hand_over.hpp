#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tells ThreadSanitizer what it can't see: that what one thread did before handing_over() happened before what another
// one does after taking_over() of the same address, since a library without instrumentation, or memory that is mapped
// twice, brought the one to the other. Nothing in other builds. Thread rule: any thread.

namespace tfd {

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_release(void*);
extern "C" void __tsan_acquire(void*);
inline void handing_over(void* what) { __tsan_release(what); }
inline void taking_over(void* what) { __tsan_acquire(what); }
#else
inline void handing_over(void*) {}
inline void taking_over(void*) {}
#endif

}  // namespace tfd
