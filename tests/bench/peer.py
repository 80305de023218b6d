# SPDX-License-Identifier: Apache-2.0
"""Code shared by the Python peers of bench_coordinate.cpp: the measurement, and the line that they print."""
import json
import time

ROUNDS = 3


def rates(name, run, count):
    """Median, least and most of the rounds' closures a second, where run(count) makes as many."""
    run(max(count // 10, 50))
    of_rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run(count)
        of_rounds.append(count / (time.perf_counter() - start))
    of_rounds.sort()
    return {f"{name}_per_s": round(of_rounds[ROUNDS // 2]), f"{name}_least": round(of_rounds[0]), f"{name}_most": round(of_rounds[-1])}


def measure(name, count, closures, add_1000, add_4mib, one):
    """Prints the line. one() makes a trivial closure and waits for its value."""
    found = {**rates("closures", closures, count), **rates("add_1000", add_1000, count // 4),
             **rates("add_4mib", add_4mib, count // 30)}
    times = []
    for _ in range(300):
        start = time.perf_counter()
        one()
        times.append(time.perf_counter() - start)
    times.sort()
    print(json.dumps({"peer": name, **found, "schedule_to_fetch_median_us": round(times[len(times) // 2] * 1e6, 1),
                      "p99_us": round(times[len(times) * 99 // 100] * 1e6, 1)}), flush=True)
