// SPDX-License-Identifier: Apache-2.0
//
// How a ServerClient moves the state of a parameter server, in parts.
#include <algorithm>

#include "messages/state_messages.hpp"
#include "reply.hpp"
#include "tfd/task/server_client.hpp"

namespace tfd::task {
namespace {

constexpr int kPartsAtOnce = 2;

/// Transfers parts of a state, a few at a time. Everything but the start runs on the endpoint's I/O thread.
class Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  Transfer(ServerClient client, Deadline deadline, std::uint64_t part_bytes)
      : client_(std::move(client)), deadline_(deadline), part_bytes_(part_bytes) {}
  virtual ~Transfer() = default;

 protected:
  virtual std::size_t count() const = 0;
  virtual std::uint64_t value_bytes(std::size_t entry) const = 0;
  /// Sends entries [first, end).
  virtual void send(std::size_t first, std::size_t end) = 0;
  virtual void finish() = 0;
  virtual void failed(Error error) = 0;

  void go_on() {
    while (!has_failed_ && in_flight_ < kPartsAtOnce && next_ < count()) {
      const std::size_t first = next_;
      std::uint64_t bytes = 0;
      do {
        bytes += value_bytes(next_);
        ++next_;
      } while (next_ < count() && next_ - first < kMostPartTensors && bytes + value_bytes(next_) <= part_bytes_);
      ++in_flight_;
      send(first, next_);
    }
    if (!has_failed_ && in_flight_ == 0) finish();
  }
  void arrived() {
    --in_flight_;
    go_on();
  }
  void give_up(Error error) {
    if (std::exchange(has_failed_, true)) return;
    if (id_ != 0) client_.end_state(id_, deadline_, [](const Result<void>&) {});
    failed(std::move(error));
  }

  ServerClient client_;
  const Deadline deadline_;
  std::uint64_t id_ = 0;

 private:
  const std::uint64_t part_bytes_;
  std::size_t next_ = 0;
  int in_flight_ = 0;
  bool has_failed_ = false;
};

class Download final : public Transfer {
 public:
  Download(ServerClient client, Deadline deadline, std::uint64_t part_bytes,
           ServerClient::Callback<tensor::NamedTensors> done)
      : Transfer(std::move(client), deadline, part_bytes), done_(std::move(done)) {}

  void start() {
    client_.begin_export(deadline_, [this, self = shared_from_this()](Result<ExportedState> listed) {
      if (!listed) return give_up(std::move(listed).error());
      id_ = listed->id;
      entries_ = std::move(listed->entries);
      values_.resize(entries_.size());
      go_on();
    });
  }

 private:
  std::size_t count() const override { return entries_.size(); }
  std::uint64_t value_bytes(std::size_t entry) const override {
    const tensor::TensorSpec& spec = entries_[entry].spec;
    return static_cast<std::uint64_t>(tensor::element_count(spec.shape)) * tensor::dtype_size(spec.dtype);
  }
  void send(std::size_t first, std::size_t end) override {
    std::vector<std::uint32_t> positions;
    for (std::size_t i = first; i < end; ++i) positions.push_back(static_cast<std::uint32_t>(i));
    client_.export_part(
        id_, positions, deadline_, [this, self = shared_from_this(), first](Result<std::vector<tensor::Tensor>> part) {
          if (!part) return give_up(std::move(part).error());
          for (std::size_t i = 0; i < part->size(); ++i) {
            if ((*part)[i].spec() != entries_[first + i].spec)
              return give_up(
                  {Code::kInternal, fmt::format("'{}' differs from its announcement", entries_[first + i].name), {}});
            values_[first + i] = std::move((*part)[i]);
          }
          arrived();
        });
  }
  void finish() override {
    client_.end_state(id_, deadline_, [](const Result<void>&) {});
    tensor::NamedTensors out;
    out.reserve(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i)
      out.emplace_back(std::move(entries_[i].name), std::move(values_[i]));
    done_(std::move(out));
  }
  void failed(Error error) override { done_(fail(std::move(error))); }

  ServerClient::Callback<tensor::NamedTensors> done_;
  std::vector<StateEntry> entries_;
  std::vector<tensor::Tensor> values_;
};

class Upload final : public Transfer {
 public:
  Upload(ServerClient client, Deadline deadline, std::uint64_t part_bytes, tensor::NamedTensors values,
         ServerClient::Callback<void> done)
      : Transfer(std::move(client), deadline, part_bytes), values_(std::move(values)), done_(std::move(done)) {}

  void start() {
    client_.begin_import(deadline_, [this, self = shared_from_this()](Result<std::uint64_t> id) {
      if (!id) return give_up(std::move(id).error());
      id_ = *id;
      go_on();
    });
  }

 private:
  std::size_t count() const override { return values_.size(); }
  std::uint64_t value_bytes(std::size_t entry) const override { return values_[entry].second.byte_size(); }
  void send(std::size_t first, std::size_t end) override {
    tensor::NamedTensors part;
    for (std::size_t i = first; i < end; ++i) part.push_back(std::move(values_[i]));
    client_.import_part(id_, part, deadline_, [this, self = shared_from_this()](Result<void> taken) {
      if (!taken) return give_up(std::move(taken).error());
      arrived();
    });
  }
  // Called once all parts have arrived: a small message would overtake them.
  void finish() override {
    client_.commit_import(id_, deadline_,
                          [this, self = shared_from_this()](Result<void> done) { done_(std::move(done)); });
  }
  void failed(Error error) override { done_(fail(std::move(error))); }

  tensor::NamedTensors values_;
  ServerClient::Callback<void> done_;
};

}  // namespace

void ServerClient::begin_export(Deadline deadline, Callback<ExportedState> done) {
  endpoint().request(peer(), encode_state(StateKind::kBeginExport, epoch()), deadline,
                     decoded(std::move(done), decode_exported_state));
}

void ServerClient::begin_parts(Deadline deadline, Callback<ExportedState> done) {
  endpoint().request(peer(), encode_state(StateKind::kBeginParts, epoch()), deadline,
                     decoded(std::move(done), decode_exported_state));
}

void ServerClient::export_part(std::uint64_t id, const std::vector<std::uint32_t>& positions, Deadline deadline,
                               Callback<std::vector<tensor::Tensor>> done) {
  endpoint().request(peer(), encode(ExportPart{id, positions}, epoch()), deadline,
                     of_count(positions.size(), std::move(done)));
}

void ServerClient::probe(const DirectoryProbe& probe, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode(probe, epoch()), deadline, acknowledged(std::move(done)));
}

void ServerClient::write_part(std::uint64_t id, const std::vector<std::uint32_t>& positions, const PartPlace& place,
                              Deadline deadline, Callback<variable::CheckpointPart> done) {
  endpoint().request(peer(), encode(WritePart{id, positions, place}, epoch()), deadline,
                     decoded(std::move(done), decode_written_part));
}

void ServerClient::hurry_parts(Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode_state(StateKind::kHurryParts, epoch()), deadline, acknowledged(std::move(done)));
}

void ServerClient::begin_import(Deadline deadline, Callback<std::uint64_t> done) {
  endpoint().request(peer(), encode_state(StateKind::kBeginImport, epoch()), deadline,
                     decoded(std::move(done), decode_state_id));
}

void ServerClient::import_part(std::uint64_t id, const tensor::NamedTensors& values, Deadline deadline,
                               Callback<void> done) {
  endpoint().request(peer(), encode(ImportPart{id, values}, epoch()), deadline, acknowledged(std::move(done)));
}

void ServerClient::commit_import(std::uint64_t id, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode_state_id(StateKind::kCommitImport, id, epoch()), deadline,
                     acknowledged(std::move(done)));
}

void ServerClient::end_state(std::uint64_t id, Deadline deadline, Callback<void> done) {
  endpoint().request(peer(), encode_state_id(StateKind::kEndState, id, epoch()), deadline,
                     acknowledged(std::move(done)));
}

void ServerClient::export_state(Deadline deadline, Callback<tensor::NamedTensors> done, std::uint64_t part_bytes) {
  std::make_shared<Download>(*this, deadline, part_bytes, std::move(done))->start();
}

void ServerClient::import_state(const tensor::NamedTensors& state, Deadline deadline, Callback<void> done,
                                std::uint64_t part_bytes) {
  std::make_shared<Upload>(*this, deadline, part_bytes, state, std::move(done))->start();
}

}  // namespace tfd::task
