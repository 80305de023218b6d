#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Cloud TPU: names, the API, the metadata server, the variables of a TPU VM. Source: TPUClusterResolver and the Cloud
// TPU client of TensorFlow 2.21; facts/semantics section 9; Google's public documents.
// Thread rule: one thread.
#include <memory>
#include <string>
#include <vector>

#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve {

/// A port of this host that nobody uses: for a coordinator whose address isn't given.
using PortPicker = std::function<Result<int>()>;

struct TpuOptions {
  /// nullopt: found in the environment; "local"; a name; grpc://ADDRESSES. More than one: an error, as in TensorFlow.
  std::optional<std::vector<std::string>> tpu;
  /// Whether TensorFlow's argument was a list: ["local"] is a name then, and not the attached TPU.
  bool tpu_is_list = false;
  std::string zone;     // empty: the metadata server's
  std::string project;  // empty: the metadata server's
  std::string job_name = "worker";
  int port = 8470;  // of workers whose hosts alone are known: addresses without a port, a TPU VM's slice
  std::optional<std::string> coordinator_name;
  std::optional<std::string> coordinator_address;
  /// A template with {api} and {apiVersion}, of a discovery document. TPU_API_DISCOVERY_URL wins.
  std::string discovery_url;
  /// The API's own root where there is no discovery_url: empty is CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU, else
  /// https://tpu.googleapis.com.
  std::string api_url;
  std::string credentials;  // a file; empty: application-default credentials
  std::optional<cluster::TaskId> task;
  Compat compat = Compat::kNone;
  /// Whether running out of host memory, of TPU memory, makes a TPU that isn't recoverable. Source: TensorFlow's flags
  /// runtime_oom_exit and hbm_oom_exit.
  bool runtime_oom_exit = true;
  bool hbm_oom_exit = true;
  /// Picks the port of a coordinator_name without an address. Empty: bind, look, close. Whoever runs the coordinator
  /// binds it again; TensorFlow starts a server there at once, tfd-serve or the command that tfd-resolve becomes does
  /// it.
  PortPicker pick_port;
  /// Lists the devices that the master of the cluster sees. Empty (tfd speaks no TensorFlow): their number follows from
  /// the API's accelerator type.
  DeviceLister remote_devices;
};

/// Fields of get_tpu_system_metadata. `topology` is empty if unknown. A core is a device of the runtime:
/// two per chip for v2, v3 and v7x, one for the others.
struct TpuSystemMetadata {
  int num_cores = 0;
  int num_hosts = 0;
  int num_of_cores_per_host = 0;
  std::string topology;
  std::vector<std::string> devices;  // sorted by job, replica, task, type, index
};
/// kFailedPrecondition where hosts have different numbers of cores. No TPU: zeros. Names that leave out job, replica or
/// task, as those of an attached TPU may, are completed: by those of the first CPU, else as
/// /job:localhost/replica:0/task:0.
Result<TpuSystemMetadata> tpu_system_metadata(const std::vector<std::string>& devices);
/// TPU cores a host: devices ".../task:H/...device:TPU:C", grouped by H alone. kFailedPrecondition as above.
Result<int> tpu_cores_per_host(const std::vector<std::string>& devices);
/// The job whose tasks have the TPUs, "tpu_worker" without a cluster or jobs; nullopt for "" and "local".
/// kInvalidArgument: a job named tpu_worker, or none can be told. Source: tpu_system_metadata.master_job.
Result<std::optional<std::string>> tpu_master_job(const std::string& master,
                                                  const std::optional<cluster::ClusterSpec>& cluster);

struct TpuSymptom {
  std::string type, create_time, details, worker_id;
};
/// The API's description of a TPU; nullopt where it says nothing.
struct TpuNode {
  std::string path;  // projects/P/locations/Z/nodes/T
  std::optional<std::string> state, health, health_description, accelerator_type, topology, runtime_version;
  std::vector<TpuSymptom> symptoms;
};

class TpuResolver : public Resolver {
 public:
  /// The name, grpc:// addresses or "local"; where the slice of a TPU VM was found, from what.
  virtual const std::string& name() const = 0;
  /// Whether there is a name to ask the API for.
  virtual bool api_available() const = 0;
  /// --task, or this worker of a slice; absent if this machine is none of the workers (with compat: the first).
  virtual std::optional<cluster::TaskId> task() const = 0;
  /// The address that was given, or this host's with the port that was picked.
  virtual const std::optional<std::string>& coordinator_address() const = 0;
  /// kFailedPrecondition where no API is asked.
  virtual Result<TpuNode> node(Deadline deadline) = 0;
  /// The node's, or what the worker at the first address says on port 8475; nullopt where it doesn't.
  virtual Result<std::optional<std::string>> runtime_version(Deadline deadline) = 0;
  /// The master of a task, else of the first worker: grpc://ADDRESS whatever the RPC layer; "" for "local".
  virtual Result<std::string> master(const std::optional<cluster::TaskId>& task, Deadline deadline) = 0;

  /// {"TPU": cores per host}. local: the devices of this host; else remote_devices, else by the accelerator type.
  /// kFailedPrecondition: hosts differ, or the number is unknown; kNotFound, kUnimplemented of the lister.
  virtual Result<std::map<std::string, int>> num_accelerators(Deadline deadline) = 0;
  /// Errors as num_accelerators()'s. Without a lister the devices are those of the accelerator type.
  virtual Result<TpuSystemMetadata> system_metadata(Deadline deadline) = 0;
  /// The checks of TPUClusterResolver.connect() before it hands over to TensorFlow's runtime: the cluster resolves, its
  /// hosts have the same number of cores. tfd initializes nothing: its own runtime does when a function is compiled.
  /// kNotFound: there is no TPU device.
  virtual Result<TpuSystemMetadata> connect(Deadline deadline) = 0;
  /// True while the TPU can be used again; false when it was terminated or preempted, or ran out of memory less than
  /// 90 s ago. kFailedPrecondition where there is no API to ask.
  virtual Result<bool> recoverable(Deadline deadline) = 0;
  /// Polls until HEALTHY. kDeadlineExceeded (with compat kFailedPrecondition): names the TPU and its last health, as
  /// soon as the next poll would be too late. kFailedPrecondition where there is no API to ask, or it is terminated.
  virtual Result<void> wait_healthy(Duration interval, Deadline deadline) = 0;
};
/// Finds the name, project and zone; the API is asked by the calls above, each time.
/// kInvalidArgument: no TPU (says where a name was looked for), an empty list; kUnimplemented: more than one;
/// kFailedPrecondition: state or health isn't as it should be, says which. kNotFound: no such node.
Result<std::unique_ptr<TpuResolver>> make_tpu_resolver(TpuOptions options, const ResolverEnvironment& environment,
                                                       Deadline deadline);

}  // namespace tfd::resolve
