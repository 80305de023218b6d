// SPDX-License-Identifier: Apache-2.0
#include "tfd/step/compile_ahead.hpp"

namespace tfd::step {

void CompileAhead::begin(std::vector<CompileOne> work) {
  end();
  has_begun_ = true;
  stop_ = false;
  if (work.empty()) return;
  done_ = std::async(std::launch::async, [this, all = std::move(work)]() -> Result<void> {
    for (const CompileOne& one : all) {
      if (stop_) break;
      TFD_TRY(one());
    }
    return {};
  });
}

Result<void> CompileAhead::check() {
  if (!done_.valid() || done_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
  return done_.get();
}

void CompileAhead::end() {
  stop_ = true;
  if (done_.valid()) done_.wait();
}

}  // namespace tfd::step
