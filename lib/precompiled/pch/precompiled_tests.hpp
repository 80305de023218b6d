// SPDX-License-Identifier: Apache-2.0
//
// For tests: what precompiled.hpp has, and doctest.
#include <doctest/doctest.h>

#include "precompiled.hpp"
