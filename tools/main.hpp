#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The name of a tool's main function: TFD_MAIN(tfd_run) is tfd_run_main where all tools are in one file (multi.cpp),
// else main. Thread rule: a macro.
#ifdef TFD_IN_ONE_FILE
#define TFD_MAIN(tool) tool##_main
#else
#define TFD_MAIN(tool) main
#endif
