"""Makes response-time bounds of random task sets with the PyPI package `response-time-analysis`.

    pip install response-time-analysis==0.1.1
    python make.py SEED SETS > vectors.txt
    python make.py SEED SETS bursts > bursts.txt

One line is one set:

    POLICY BUDGET PERIOD DELAY | COST PERIOD DEADLINE JITTER BOUND | ...

POLICY is fp (priorities fall with the place in the line) or edf. The supply is at least BUDGET / PERIOD of the time
that a window is longer than DELAY; `1 1 0` is the whole processor. BOUND is `-` where the package finds none below
the horizon. With `bursts`, all sets are fp, and a PERIOD is a list A/B/...: the shortest windows in which two, three
and more jobs arrive; after the last, arrivals repeat.
"""

import random
import sys
from itertools import accumulate

from response_time_analysis import edf, fp
from response_time_analysis.model import (
    WCET,
    ArrivalCurvePrefix,
    Deadline,
    FullyPreemptive,
    IdealProcessor,
    PeriodicWithJitter,
    Priority,
    RateDelayModel,
    Sporadic,
    Task,
    taskset,
)

HORIZON = 1_000_000


def task_set(policy):
    """Costs, periods, deadlines and jitters."""
    count = random.randint(1, 6)
    share = random.uniform(0.3, 1.05) / count
    tasks = []
    for _ in range(count):
        period = int(10 ** random.uniform(0.7, 3.0))
        cost = max(1, round(period * share * random.uniform(0.3, 1.7)))
        # Also above the period.
        deadline = max(cost, round(period * random.uniform(0.5, 1.6)))
        jitter = 0
        if policy == "fp" and random.random() < 0.2:
            jitter = random.randint(0, max(0, min(period, deadline) - cost))
        tasks.append((cost, period, deadline, jitter))
    return tasks


def burst(cost, period, deadline):
    """The same task with up to four jobs in a burst, as often in the long run."""
    jobs = random.randint(1, 4)
    # Distances grow within a burst, so that windows are consistent with each other.
    gaps = sorted(random.randint(2, 2 * period) for _ in range(jobs))
    return (cost, "/".join(map(str, accumulate(gaps))), deadline, 0)


def curve(period):
    *windows, last = map(int, period.split("/"))
    steps = [(window + 1, place + 1) for place, window in enumerate([0, *windows])]
    return ArrivalCurvePrefix(horizon=last, ac_steps=steps)


def supply_of(budget, period, delay):
    if (budget, period, delay) == (1, 1, 0):
        return IdealProcessor()
    return RateDelayModel(period, budget, delay)


def bounds(policy, tasks, supply):
    def arrivals(period, jitter):
        if isinstance(period, str):
            return curve(period)
        return PeriodicWithJitter(period, jitter) if jitter else Sporadic(period)

    made = [
        Task(
            arrivals(period, jitter),
            FullyPreemptive(WCET(cost)),
            Deadline(deadline),
            Priority(len(tasks) - place),
        )
        for place, (cost, period, deadline, jitter) in enumerate(tasks)
    ]
    rta = {"fp": fp.rta, "edf": edf.rta}[policy]
    found = [rta(taskset(*made), task, supply, horizon=HORIZON) for task in made]
    return [solution.response_time_bound for solution in found]


def main():
    random.seed(int(sys.argv[1]))
    bursts = sys.argv[3:] == ["bursts"]
    for number in range(int(sys.argv[2])):
        policy = "fp" if bursts else ("fp", "edf")[number % 2]
        supply = (1, 1, 0)
        if random.random() < 0.4:
            period = random.randint(2, 50)
            budget = random.randint(max(1, period // 2), period)
            supply = (budget, period, 2 * (period - budget))
        tasks = task_set(policy)
        if bursts:
            tasks = [burst(*task[:3]) for task in tasks]
        fields = [f"{policy} {supply[0]} {supply[1]} {supply[2]}"]
        for task, bound in zip(tasks, bounds(policy, tasks, supply_of(*supply))):
            fields.append(" ".join(map(str, task)) + f" {'-' if bound is None else bound}")
        print(" | ".join(fields))


main()
