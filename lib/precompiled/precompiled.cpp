// SPDX-License-Identifier: Apache-2.0
// Nothing: the target that makes the precompiled header needs a source.
