#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The slice that a TPU VM or a GKE pod is a worker of, by what libtpu itself reads: variables first, then the
// attributes of the metadata server.
//
//   TPU_WORKER_HOSTNAMES        every host of the slice, by worker id (set by GKE)
//   TPU_WORKER_ID               this one's place in it (set by GKE)
//   TPU_PROCESS_ADDRESSES       HOST:PORT of every process, where they were started one by one; "local": one process
//   CLOUD_TPU_TASK_ID           this process' place in those
//   TPU_PROCESS_BOUNDS          the grid of those processes, "2,2,1": their number must be the product
//   TPU_ACCELERATOR_TYPE, TPU_TOPOLOGY   "v5litepod-16", "4x4" (set by GKE)
//   MEGASCALE_NUM_SLICES, MEGASCALE_SLICE_ID, MEGASCALE_COORDINATOR_ADDRESS   one of several slices (GKE's JobSet)
//   attributes/worker-network-endpoints  "unknown:unknown:10.0.0.2,…": the third part is the address
//   attributes/agent-worker-number, attributes/accelerator-type
//   attributes/tpu-env          "KEY: 'value'" lines: TOPOLOGY, WORKER_ID, ACCELERATOR_TYPE, MEGASCALE_*
//
// A worker's index is its slice's number times the hosts of a slice plus its id there, as jax.distributed counts.
// Source: Google's "TPUs in GKE", "Multislice"; jax/_src/clusters/cloud_tpu_cluster.py. Thread rule: one thread.
#include <optional>
#include <string>
#include <vector>

#include "metadata_server.hpp"
#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve::google {

struct TpuSlice {
  std::string source;              // "TPU_WORKER_HOSTNAMES", "the metadata server …"
  std::vector<std::string> hosts;  // of all slices where they are known, else of this one; without ports
  int first_index = 0;             // the index of hosts[0]: above 0 where the slices before are not known
  std::optional<int> own_index;    // among all workers
  std::string no_index_reason;
  int hosts_per_slice = 0;
  int num_slices = 1, slice_id = 0;
  std::string coordinator;  // MEGASCALE_COORDINATOR_ADDRESS
  std::string accelerator_type, topology;
};

/// Reads the slice from TPU_PROCESS_ADDRESSES, or else TPU_WORKER_HOSTNAMES. kInvalidArgument names the variable.
Result<TpuSlice> read_tpu_slice(const Environment& env);
/// kNotFound: this machine is not a TPU VM. kUnavailable: there is no metadata server.
Result<TpuSlice> fetch_tpu_slice(MetadataServer& metadata, const Environment& env, Deadline deadline);

}  // namespace tfd::resolve::google
