// SPDX-License-Identifier: Apache-2.0
//
// Records that a command prints. Nothing is read ahead of who asks for it, and nothing is kept: every pass runs it.
#include "tfd/function/command.hpp"

#include "sources.hpp"

namespace tfd::data {
namespace {

RowDatasetPtr make_records(const CsvSource& source, FileRowsOptions options) {
  return make_csv(source, std::move(options));
}
RowDatasetPtr make_records(const JsonlSource& source, FileRowsOptions options) {
  return make_jsonl(source, std::move(options));
}
RowDatasetPtr make_records(const TextSource& source, FileRowsOptions options) {
  return make_text(source, std::move(options));
}
RowDatasetPtr make_records(const TfrecordSource& source, FileRowsOptions options) {
  return make_tfrecord(source, std::move(options));
}

/// What one pass reads.
class CommandRecords {
 public:
  CommandRecords(CommandSource source, FileRowsOptions options, std::shared_ptr<const function::CommandPlace> place)
      : source_(std::move(source)), options_(std::move(options)), place_(std::move(place)) {
    options_.cache_bytes = 0;
    options_.parsing.threads = 0;
  }
  /// `stop`: the reader's.
  RowDatasetPtr make(const std::stop_token& stop) const {
    FileRowsOptions options = options_;
    return std::visit(
        [&](const auto& records) {
          options.files = records.files;
          if constexpr (requires { records.skip_errors; }) options.skip_errors = records.skip_errors;
          options.open = [argv = source_.argv, place = place_, stop,
                          name = records.files.paths.front()]() -> Result<ByteReader> {
            if (!place) return fail(Code::kFailedPrecondition, "{}: commands can't be run here", name);
            return ByteReader::of_command(
                name, std::make_unique<function::CommandOutput>(function::CommandDef{.argv = argv}, *place, stop));
          };
          return make_records(records, std::move(options));
        },
        source_.records);
  }

 private:
  const CommandSource source_;
  FileRowsOptions options_;
  const std::shared_ptr<const function::CommandPlace> place_;
};

class CommandDataset final : public RowDataset {
 public:
  explicit CommandDataset(CommandRecords records)
      : RowDataset(records.make({})->spec()), records_(std::move(records)) {}
  Result<RowStreamPtr> rows(const Order& order) const override { return records_.make(order.stop)->rows(order); }
  std::optional<std::int64_t> cardinality() const override { return std::nullopt; }

 private:
  CommandRecords records_;
};

}  // namespace

RowDatasetPtr make_command(const CommandSource& source, FileRowsOptions options,
                           std::shared_ptr<const function::CommandPlace> place) {
  return std::make_shared<CommandDataset>(CommandRecords(source, std::move(options), std::move(place)));
}

}  // namespace tfd::data
