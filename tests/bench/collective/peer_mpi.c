/* SPDX-License-Identifier: Apache-2.0
 *
 * All-reduces of f32 by MPI, in place, each size a few times; rank 0 prints a JSON object a size, as bench-collective does.
 *
 * usage: mpirun -n N peer-mpi NAME BYTES…
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_us(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return 1e6 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int at = 2; at < argc; ++at) {
    const long bytes = atol(argv[at]);
    long count = (64L << 20) / bytes;
    count = count < 3 ? 3 : count > 2000 ? 2000 : count;
    float* const values = calloc((size_t)bytes / 4, 4);
    double* const times = calloc((size_t)count, sizeof(double));
    double before = 0;
    for (long i = -3; i < count; ++i) {
      if (i == 0) before = cpu_us();
      const double began = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, values, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (i >= 0) times[i] = 1e6 * (MPI_Wtime() - began);
    }
    const double cpu = (cpu_us() - before) / (double)count;
    qsort(times, (size_t)count, sizeof(double), by_value);
    if (rank == 0)
      printf("{\"way\":\"%s\",\"processes\":%d,\"bytes\":%ld,\"median_us\":%.1f,\"least_us\":%.1f,\"cpu_us\":%.1f}\n", argv[1],
             size, bytes, times[count / 2], times[0], cpu);
    fflush(stdout);
    free(values);
    free(times);
  }
  MPI_Finalize();
  return 0;
}
