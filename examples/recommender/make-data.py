#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the interactions of this example: interactions.csv to learn from, candidates.csv to be tested with.

usage: pip install numpy==2.4.6 && python make-data.py

There are 300 users and 1200 items. Each has a taste, four numbers from a normal distribution; how much a user likes an
item is the product of their tastes, plus how popular the item is. A user takes items in proportion to exp(like), none of
them twice: 34 to learn from and the last 3 for the test. Items that the user didn't take are drawn evenly. PCG64 with seed 20.

interactions.csv: user, item, 1 where the user took it, else 0; as many of both, in a drawn order.
candidates.csv: user, the item that the user took, nine that the user didn't take.
"""
import pathlib

import numpy as np

SEED = 20
USERS, ITEMS, TASTES = 300, 600, 3
LEARNED, TESTED, OTHERS = 34, 3, 9


def main():
    random = np.random.Generator(np.random.PCG64(SEED))
    user_taste = random.normal(size=(USERS, TASTES))
    item_taste = random.normal(size=(ITEMS, TASTES))
    likes = 1.5 * user_taste @ item_taste.T + random.normal(scale=0.5, size=ITEMS)
    interactions, candidates = [], []
    for user in range(USERS):
        chance = np.exp(likes[user])
        taken = random.choice(ITEMS, size=LEARNED + TESTED, replace=False, p=chance / chance.sum())
        random.shuffle(taken)
        left = np.setdiff1d(np.arange(ITEMS), taken)
        interactions += [(user, item, 1) for item in taken[:LEARNED]]
        interactions += [(user, item, 0) for item in random.choice(left, size=LEARNED, replace=False)]
        candidates += [(user, item, *random.choice(left, size=OTHERS, replace=False)) for item in taken[LEARNED:]]
    random.shuffle(interactions)
    for name, rows in {"interactions": interactions, "candidates": candidates}.items():
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        (pathlib.Path(__file__).parent / f"{name}.csv").write_text(text)
        print(f"{name}.csv: {len(rows)} lines, {len(text)} bytes")


if __name__ == "__main__":
    main()
