// SPDX-License-Identifier: Apache-2.0
#include "sets.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/resolve/masters.hpp"

namespace tfd::vectors {
namespace {

using resolve::MasterQuery;

std::optional<int> read_id(const Json& value) {
  if (value.is_null()) return std::nullopt;
  const auto parsed = cluster::parse_json(value.dump(), "id");
  return parsed ? cluster::to_int(*parsed) : std::nullopt;
}

/// [], [type], [type, id], [type, id, layer], with nulls.
MasterQuery read_query(const Json& query) {
  MasterQuery out;
  if (query.size() > 0 && query[0].is_string()) out.task_type = query[0].get<std::string>();
  if (query.size() > 1) out.task_id = read_id(query[1]);
  if (query.size() > 2 && query[2].is_string()) out.rpc_layer = query[2].get<std::string>();
  return out;
}

void run_simple(const Json& input, const Json& expected, Report& report) {
  const Json& resolver = input.at("resolver");
  const Json master = resolver.value("master", Json(""));
  if (!master.is_string())
    return report.compare(expected,
                          error_record({Code::kInvalidArgument, "master must be a string", {}}, "constructor"), "case");
  const auto spec = cluster::cluster_spec_from_json(resolver.value("cluster", Json()).dump(), "case");
  if (!spec) return report.compare(expected, error_record(spec.error(), "constructor"), "case");
  const auto layer = optional_member<std::string>(resolver, "rpc_layer");
  Json actual{{"cluster_spec", Json::parse(cluster_spec_to_json(*spec))},
              {"task_type", resolver.value("task_type", Json())},
              {"task_id", resolver.value("task_id", Json())},
              {"rpc_layer", to_json(layer)},
              {"environment", resolver.value("environment", Json(""))},
              {"num_accelerators", resolver.value("num_accelerators", Json::object())},
              {"masters", Json::array()}};
  if (actual["num_accelerators"].is_null()) actual["num_accelerators"] = Json::object();
  if (input.contains("masters"))
    for (const Json& query : input.at("masters"))
      actual["masters"].push_back(
          to_json(resolve::simple_master(*spec, master.get<std::string>(), layer, read_query(query))));
  if (!expected.contains("masters")) actual.erase("masters");
  report.compare(expected, actual, "case");
}

Json spec_json(const Result<cluster::ClusterSpec>& spec) {
  return spec ? Json::parse(cluster_spec_to_json(*spec)) : error_record(spec.error());
}

void run_tf_config(const Json& input, const Json& expected, Report& report) {
  MasterQuery overrides;
  Json environment;
  for (const char* from : {"args", "set"}) {
    const Json given = input.value(from, Json::object());
    if (const auto type = optional_member<std::string>(given, "task_type")) overrides.task_type = type;
    if (given.contains("task_id") && !given.at("task_id").is_null()) overrides.task_id = read_id(given.at("task_id"));
    if (const auto layer = optional_member<std::string>(given, "rpc_layer")) overrides.rpc_layer = layer;
    if (given.contains("environment")) environment = given.at("environment");
  }
  const resolve::TfConfigView view(optional_member<std::string>(input, "TF_CONFIG"), overrides);
  Json actual{{"cluster_spec", spec_json(view.cluster_spec())},
              {"task_type", to_json(view.task_type())},
              {"task_id", to_json(view.task_id())},
              {"rpc_layer", to_json(view.rpc_layer())},
              {"environment", environment}};
  if (expected.contains("masters")) {
    actual["masters"] = Json::array();
    const Json queries = input.value("masters", Json::array({Json::array()}));
    for (const Json& query : queries) actual["masters"].push_back(to_json(view.master(read_query(query))));
  }
  if (expected.contains("num_accelerators")) {
    const auto devices = input.value("logical_devices", Json::array()).get<std::vector<std::string>>();
    actual["num_accelerators"] = Json::array();
    for (const Json& query : input.value("accelerator_queries", Json::array()))
      actual["num_accelerators"].push_back(to_json(view.num_accelerators(devices, read_query(query))));
  }
  report.compare(expected, actual, "case");
}

}  // namespace

Sets resolver_sets() { return {{"simple", run_simple}, {"tf_config", run_tf_config}}; }

}  // namespace tfd::vectors
