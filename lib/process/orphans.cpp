// SPDX-License-Identifier: Apache-2.0
#include "tfd/process/orphans.hpp"

#include <sys/prctl.h>

#include <cerrno>

namespace tfd::process {

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return fail_errno(errno, "cannot adopt orphaned processes");
  return {};
}

}  // namespace tfd::process
