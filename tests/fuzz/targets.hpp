#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Readers of foreign bytes, each as a function of those bytes: run by libFuzzer (main.cpp, tests/fuzz/run.sh) and, on
// every file of tests/fuzz/corpus/NAME, by a unit test. A target aborts where a promise is broken.
// Thread rule: one thread.
#include <span>
#include <string_view>

namespace tfd::fuzz {

struct Target {
  std::string_view name;  // also the folder of its corpus
  void (*run)(std::string_view bytes);
};

/// All of them.
std::span<const Target> targets();

/// Aborts and says what doesn't hold, so that both libFuzzer and the unit test see it.
void expect(bool holds, std::string_view what);

void hostlist(std::string_view bytes);
void tasks_per_node(std::string_view bytes);
void slurm(std::string_view bytes);
void tf_config(std::string_view bytes);
void kubeconfig(std::string_view bytes);
void exec_credential(std::string_view bytes);
void pods(std::string_view bytes);
void watch_event(std::string_view bytes);
void tpu_node(std::string_view bytes);
void gce_pages(std::string_view bytes);
void token(std::string_view bytes);
void credentials_file(std::string_view bytes);
void module(std::string_view bytes);
void program(std::string_view bytes);
void closure_line(std::string_view bytes);
void frames(std::string_view bytes);
void assemblies(std::string_view bytes);
void task_messages(std::string_view bytes);
void group_messages(std::string_view bytes);
void collectives(std::string_view bytes);
void rings(std::string_view bytes);
void streams(std::string_view bytes);
void csv(std::string_view bytes);
void jsonl(std::string_view bytes);
void tfrecord(std::string_view bytes);
void tf_example(std::string_view bytes);
void npy(std::string_view bytes);
void idx(std::string_view bytes);
void npz(std::string_view bytes);

}  // namespace tfd::fuzz
