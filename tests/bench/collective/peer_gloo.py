# SPDX-License-Identifier: Apache-2.0
"""All-reduces of f32 by gloo, in place, as torch has it: a process of several, started by tfd-launch. Rank 0 prints a JSON object
for each size, as bench-collective does.

usage: peer_gloo.py BYTES…   (with torch)
"""
import json
import os
import resource
import sys
import time

import torch
import torch.distributed


def cpu_us():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e6 * (used.ru_utime + used.ru_stime)


def main():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    for size in map(int, sys.argv[1:]):
        values, times, before = torch.zeros(size // 4), [], 0
        count = min(max((64 << 20) // size, 3), 2000)
        for i in range(-3, count):
            if i == 0:
                before = cpu_us()
            began = time.perf_counter()
            torch.distributed.all_reduce(values)
            if i >= 0:
                times.append(1e6 * (time.perf_counter() - began))
        if torch.distributed.get_rank() == 0:
            print(json.dumps({"way": "gloo", "processes": torch.distributed.get_world_size(), "bytes": size,
                              "median_us": round(sorted(times)[count // 2], 1), "least_us": round(min(times), 1),
                              "cpu_us": round((cpu_us() - before) / count, 1)}), flush=True)


if __name__ == "__main__":
    main()
    torch.distributed.barrier()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads don't always survive the interpreter's end
