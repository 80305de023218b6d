// SPDX-License-Identifier: Apache-2.0
//
// In the place of a plug-in built by mpicc: its processes are threads of this one. FAKE_MPI chooses what is wrong with
// it.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#define TFD_MPI_INTERFACE_ONLY
#include "tfd-mpi.c"

#define FAKE_GOOD 0
#define FAKE_VERSION 1   // of another interface
#define FAKE_NOTHING 2   // no table
#define FAKE_NO_ENTRY 3  // no symbol
#define FAKE_ALONE 4     // each process was started by itself
#define FAKE_STUCK 5     // starting it never ends
#define FAKE_NEVER 6     // nothing that was begun ends
#define FAKE_FAILS 7     // rank 1 can't add up

namespace fake {

/// A sum or a broadcast, of which each member gives its memory.
struct Collective {
  int kind = -1, count = 0;
  std::vector<void*> data;  // by rank
  std::size_t came = 0;
};

struct World {
  explicit World(int of) : size(static_cast<std::size_t>(of)) {}
  std::size_t size, opened = 0;
  std::vector<std::unique_ptr<Collective>> begun;
};

}  // namespace fake

struct tfd_mpi_group {
  std::shared_ptr<fake::World> world;  // shared with the other members
  int rank;
  std::size_t next = 0;
};
struct tfd_mpi_request {
  std::shared_ptr<fake::World> world;
  fake::Collective* collective;
};

namespace {

using fake::Collective;
using fake::World;

std::mutex mutex;                     // guards all that follows, and the memory that members have given
std::shared_ptr<World> newest_world;  // shared with its groups

template <class T>
void add_up(const Collective& all) {
  std::vector<T> sum(static_cast<std::size_t>(all.count));
  // The last one first: not tfd's order.
  for (auto data = all.data.rbegin(); data != all.data.rend(); ++data)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<T>(sum[i] + static_cast<const T*>(*data)[i]);
  for (void* data : all.data) std::memcpy(data, sum.data(), sum.size() * sizeof(T));
}

/// `kind`: a tfd_mpi_number, or 100 + the root of a broadcast.
void complete(const Collective& all) {
  switch (all.kind) {
    case TFD_MPI_U8:
      return add_up<std::uint8_t>(all);
    case TFD_MPI_U16:
      return add_up<std::uint16_t>(all);
    case TFD_MPI_U32:
      return add_up<std::uint32_t>(all);
    case TFD_MPI_U64:
      return add_up<std::uint64_t>(all);
    case TFD_MPI_F32:
      return add_up<float>(all);
    case TFD_MPI_F64:
      return add_up<double>(all);
    default:
      for (void* data : all.data)
        if (data != all.data[static_cast<std::size_t>(all.kind - 100)])
          std::memcpy(data, all.data[static_cast<std::size_t>(all.kind - 100)], static_cast<std::size_t>(all.count));
  }
}

int fail(const char* text, char* why, std::size_t room, int code = TFD_MPI_FAILED) {
  std::snprintf(why, room, "%s", text);
  return code;
}

const char* library() { return "Fake MPI 1.0"; }

int open(int rank, int size, tfd_mpi_group** group, char* why, std::size_t room) {
  if (FAKE_MPI == FAKE_ALONE) return fail("Fake MPI 1.0 has this process alone", why, room, TFD_MPI_UNFIT);
  while (FAKE_MPI == FAKE_STUCK) ::pause();
  const std::scoped_lock lock(mutex);
  if (!newest_world || newest_world->opened == newest_world->size) newest_world = std::make_shared<World>(size);
  ++newest_world->opened;
  *group = new tfd_mpi_group{newest_world, rank};  // as in MPI, it stays
  return TFD_MPI_OK;
}

int begin(tfd_mpi_group* group, int kind, void* data, int count, tfd_mpi_request** request, char* why,
          std::size_t room) {
  const std::scoped_lock lock(mutex);
  World& world = *group->world;
  if (group->next == world.begun.size()) {
    world.begun.push_back(std::make_unique<Collective>(Collective{kind, count, {}}));
    world.begun.back()->data.resize(world.size);
  }
  Collective& one = *world.begun[group->next++];
  if (one.kind != kind || one.count != count) return fail("the members' collectives differ", why, room);
  one.data[static_cast<std::size_t>(group->rank)] = data;
  if (++one.came == world.size) complete(one);
  *request = new tfd_mpi_request{group->world, &one};
  return TFD_MPI_OK;
}

int sum(tfd_mpi_group* group, int number, void* data, int count, tfd_mpi_request** request, char* why,
        std::size_t room) {
  if (FAKE_MPI == FAKE_FAILS && group->rank == 1) return fail("MPI_Iallreduce: the fabric is broken", why, room);
  return begin(group, number, data, count, request, why, room);
}

int broadcast(tfd_mpi_group* group, int root, void* data, int bytes, tfd_mpi_request** request, char* why,
              std::size_t room) {
  return begin(group, 100 + root, data, bytes, request, why, room);
}

int test(tfd_mpi_request* request, int* is_done, char*, std::size_t) {
  const std::scoped_lock lock(mutex);
  *is_done = FAKE_MPI != FAKE_NEVER && request->collective->came == request->world->size ? 1 : 0;
  if (*is_done != 0) delete request;
  return TFD_MPI_OK;
}

int close(char*, std::size_t) { return TFD_MPI_OK; }

}  // namespace

#if FAKE_MPI == FAKE_NO_ENTRY
#define tfd_mpi_plugin another_symbol
#endif
const tfd_mpi* tfd_mpi_plugin() {
  static const tfd_mpi plugin = {
      FAKE_MPI == FAKE_VERSION ? TFD_MPI_INTERFACE + 1 : TFD_MPI_INTERFACE, library, open, sum, broadcast, test, close};
  return FAKE_MPI == FAKE_NOTHING ? nullptr : &plugin;
}
