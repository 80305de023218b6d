/* SPDX-License-Identifier: Apache-2.0
 *
 * The plug-in of tfd-run's --collectives mpi: sums and broadcasts by MPI. tfd isn't linked with any MPI, since they
 * differ in their binary interfaces. Build it with the mpicc of the MPI whose mpirun, or srun --mpi, starts tfd-run:
 *
 *   mpicc -shared -fPIC -O2 -o libtfd-mpi.so tfd-mpi.c
 *   TFD_MPI_PLUGIN=$PWD/libtfd-mpi.so mpirun -n 4 tfd-run … --strategy multi-worker-mirrored --collectives mpi
 *
 * Only what MPI 3.0 has is called. Thread rule: tfd makes one call at a time, from two threads in turns
 * (MPI_THREAD_SERIALIZED): open() and close() are its first one's, which may wait for others; no other call waits.
 *
 * MPI_Abort is never called. A member that fails ends with an exit code of its own and the line that says why, without
 * MPI_Finalize, which would wait for members that are gone: mpirun then ends the rest.
 */
#include <stddef.h>

/* ---- The interface, which tfd includes too. TFD_MPI_INTERFACE grows with each change. */

#define TFD_MPI_INTERFACE 1

/* Numbers as they are added: integers wrap around, so that their signs don't matter. */
enum tfd_mpi_number {
  TFD_MPI_U8 = 0,
  TFD_MPI_U16 = 1,
  TFD_MPI_U32 = 2,
  TFD_MPI_U64 = 3,
  TFD_MPI_F32 = 4,
  TFD_MPI_F64 = 5
};

/* Results of functions. Unless it is TFD_MPI_OK, `why` has one line, cut off at `room` bytes. */
enum tfd_mpi_result {
  TFD_MPI_OK = 0,
  TFD_MPI_FAILED = 1, /* a call of MPI has */
  TFD_MPI_UNFIT = 2   /* this MPI, or how it was started, isn't what the group needs */
};

struct tfd_mpi_group;   /* the members, as an MPI communicator */
struct tfd_mpi_request; /* a request that has begun and not ended */

struct tfd_mpi {
  unsigned interface; /* TFD_MPI_INTERFACE; stays the first field */
  /* "Open MPI v4.1.4": valid forever. */
  const char *(*library)(void);
  /* Starts MPI, if it hasn't, and makes the group of all its processes, of which this one becomes `rank` of `size`.
   * Waits for the others. */
  int (*open)(int rank, int size, struct tfd_mpi_group **group, char *why, size_t room);
  /* Begin what all members begin in the same order. `data` belongs to MPI until test() says that it is done: then it
   * has the sum, or the root's bytes. */
  int (*sum)(struct tfd_mpi_group *group, int number, void *data, int count, struct tfd_mpi_request **request,
             char *why, size_t room);
  int (*broadcast)(struct tfd_mpi_group *group, int root, void *data, int bytes, struct tfd_mpi_request **request,
                   char *why, size_t room);
  /* Doesn't wait. When it is done, or has failed, the request is gone. */
  int (*test)(struct tfd_mpi_request *request, int *is_done, char *why, size_t room);
  /* Ends MPI, once all members call it, unless somebody else had started it. */
  int (*close)(char *why, size_t room);
};

/* The symbol that tfd looks up. */
#ifdef __cplusplus
extern "C"
#endif
const struct tfd_mpi *tfd_mpi_plugin(void);

/* ---- What implements it */

#ifndef TFD_MPI_INTERFACE_ONLY

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION < 3
#error "this MPI has no nonblocking collectives: MPI 3.0 is needed"
#endif

struct tfd_mpi_group {
  MPI_Comm members;
};

struct tfd_mpi_request {
  MPI_Request begun;
};

static int started_here; /* MPI */

/* Says what a call of MPI returned. */
static int check(int code, const char *call, char *why, size_t room) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return TFD_MPI_OK;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
  text[strcspn(text, "\n")] = '\0';
  snprintf(why, room, "%s: %s", call, text);
  return TFD_MPI_FAILED;
}

static const char *library(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "MPI";
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, ",\n")] = '\0'; /* the rest is about how it was built */
  return text;
}

static int start(char *why, size_t room) {
  int has_begun = 0, has_ended = 0, level = MPI_THREAD_SINGLE, code;
  if ((code = check(MPI_Finalized(&has_ended), "MPI_Finalized", why, room))) return code;
  if (has_ended) {
    snprintf(why, room, "MPI has ended in this process, and can't be started again");
    return TFD_MPI_UNFIT;
  }
  if ((code = check(MPI_Initialized(&has_begun), "MPI_Initialized", why, room))) return code;
  if (has_begun) {
    code = check(MPI_Query_thread(&level), "MPI_Query_thread", why, room);
  } else {
    code = check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread", why, room);
    started_here = code == TFD_MPI_OK;
  }
  if (code) return code;
  if (level >= MPI_THREAD_SERIALIZED) return TFD_MPI_OK;
  snprintf(why, room, "%s lets only the thread that started it call it, but MPI_THREAD_SERIALIZED is needed", library());
  return TFD_MPI_UNFIT;
}

static int open_group(int rank, int size, struct tfd_mpi_group **group, char *why, size_t room) {
  MPI_Comm members = MPI_COMM_NULL;
  int there = 0, own = 0, code;
  if ((code = start(why, room))) return code;
  /* Else an error would end the process before it is said. */
  if ((code = check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", why, room)))
    return code;
  if ((code = check(MPI_Comm_size(MPI_COMM_WORLD, &there), "MPI_Comm_size", why, room))) return code;
  if (there != size) {
    if (there == 1)
      snprintf(why, room, "%s has this process alone, but the group has %d: start them by its own mpirun, or srun --mpi",
               library(), size);
    else
      snprintf(why, room, "%s has %d processes, but the group has %d: start one for each member, and no others",
               library(), there, size);
    return TFD_MPI_UNFIT;
  }
  /* Ranks of the group, whatever MPI's are. */
  if ((code = check(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &members), "MPI_Comm_split", why, room))) return code;
  if ((code = check(MPI_Comm_set_errhandler(members, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", why, room)))
    return code;
  if ((code = check(MPI_Comm_rank(members, &own), "MPI_Comm_rank", why, room))) return code;
  if (own != rank) {
    snprintf(why, room, "two of %s's processes say that they are the same member", library());
    return TFD_MPI_UNFIT;
  }
  /* It stays until MPI ends: MPI_Comm_free waits for the others in some MPIs. */
  if ((*group = malloc(sizeof **group)) == NULL) {
    snprintf(why, room, "out of memory");
    return TFD_MPI_FAILED;
  }
  (*group)->members = members;
  return TFD_MPI_OK;
}

static MPI_Datatype type_of(int number) {
  switch (number) {
    case TFD_MPI_U8:
      return MPI_UINT8_T;
    case TFD_MPI_U16:
      return MPI_UINT16_T;
    case TFD_MPI_U32:
      return MPI_UINT32_T;
    case TFD_MPI_U64:
      return MPI_UINT64_T;
    case TFD_MPI_F32:
      return MPI_FLOAT;
    case TFD_MPI_F64:
      return MPI_DOUBLE;
    default:
      return MPI_DATATYPE_NULL;
  }
}

static int make_request(struct tfd_mpi_request **request, char *why, size_t room) {
  if ((*request = malloc(sizeof **request)) != NULL) return TFD_MPI_OK;
  snprintf(why, room, "out of memory");
  return TFD_MPI_FAILED;
}

/* Returns what the call that began it did. */
static int keep_if(int code, struct tfd_mpi_request **request) {
  if (code == TFD_MPI_OK) return code;
  free(*request);
  *request = NULL;
  return code;
}

static int sum(struct tfd_mpi_group *group, int number, void *data, int count, struct tfd_mpi_request **request,
               char *why, size_t room) {
  int code = make_request(request, why, room);
  if (code) return code;
  code = MPI_Iallreduce(MPI_IN_PLACE, data, count, type_of(number), MPI_SUM, group->members, &(*request)->begun);
  return keep_if(check(code, "MPI_Iallreduce", why, room), request);
}

static int broadcast(struct tfd_mpi_group *group, int root, void *data, int bytes, struct tfd_mpi_request **request,
                     char *why, size_t room) {
  int code = make_request(request, why, room);
  if (code) return code;
  code = MPI_Ibcast(data, bytes, MPI_BYTE, root, group->members, &(*request)->begun);
  return keep_if(check(code, "MPI_Ibcast", why, room), request);
}

static int test(struct tfd_mpi_request *request, int *is_done, char *why, size_t room) {
  const int code = check(MPI_Test(&request->begun, is_done, MPI_STATUS_IGNORE), "MPI_Test", why, room);
  if (code || *is_done) free(request);
  return code;
}

static int close_all(char *why, size_t room) {
  if (!started_here) return TFD_MPI_OK;
  started_here = 0;
  return check(MPI_Finalize(), "MPI_Finalize", why, room);
}

const struct tfd_mpi *tfd_mpi_plugin(void) {
  static const struct tfd_mpi plugin = {TFD_MPI_INTERFACE, library, open_group, sum, broadcast, test, close_all};
  return &plugin;
}

#endif
