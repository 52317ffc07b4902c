"""Schedules of random task sets under (global) EDF by SimSo 0.8.5, an independent simulator.

    pip install simso==0.8.5 numpy setuptools     (Python 3.11 or older: SimSo imports `imp`)
    python make.py SEED SETS JOBS > edf.txt

The stored sample, edf.txt, is `make.py 1 40 120`. With two more numbers, CORES and TASKS, all sets have so many, and periods
that differ by less than a factor of 10: few.txt, which threads run on the target, is `make.py 2 4 40 2 5` and
`make.py 3 3 60 4 8`. Each set of the output:

    set CORES DURATION
    task OFFSET PERIOD DEADLINE EXECUTION START-END START-END ...

with all times in ticks, and the intervals in which the task ran, on any core. Intervals that touch are
joined. No two jobs of a set have the same deadline, because EDF does not say which of them runs first.
"""

import contextlib
import io
import random
import sys

import numpy
from simso.configuration import Configuration
from simso.core import Model
from simso.core.JobEvent import JobEvent
from simso.generator.task_generator import StaffordRandFixedSum


def random_set(jobs, cores=None, count=None):
    """Cores, duration, and tasks whose utilisations are distributed uniformly (randfixedsum)."""
    shortest = 4 if cores else 3
    size = cores, count
    while True:
        cores, count = size
        if not cores:
            cores = random.randint(1, 8)
            count = random.randint(max(4, cores + 1), 64)
        total = min(cores * random.uniform(0.6, 1.1), 0.9 * count)
        shares = StaffordRandFixedSum(count, total, 1)[0]
        tasks = []
        for share in shares:
            period = round(10 ** random.uniform(shortest, 5))
            execution = max(1, round(period * float(share)))
            deadline = period if random.random() < 0.5 else random.randint(execution, period)
            offset = 0 if random.random() < 0.3 else random.randint(0, period)
            tasks.append((offset, period, deadline, execution))
        duration = round(jobs / sum(1 / period for _, period, _, _ in tasks))
        deadlines = [
            release + deadline
            for offset, period, deadline, _ in tasks
            for release in range(offset, duration + 1, period)
        ]
        if len(set(deadlines)) == len(deadlines):
            return cores, duration, tasks


def simulate(cores, duration, tasks):
    """The intervals in which each task runs."""
    configuration = Configuration()
    configuration.cycles_per_ms = 1
    configuration.duration = duration
    for number, (offset, period, deadline, execution) in enumerate(tasks):
        configuration.add_task(
            name=f"t{number}",
            identifier=number,
            period=period,
            activation_date=offset,
            wcet=execution,
            deadline=deadline,
            abort_on_miss=False,
        )
    for core in range(cores):
        configuration.add_processor(name=f"c{core}", identifier=core)
    configuration.scheduler_info.clas = "simso.schedulers.EDF"
    configuration.check_all()
    model = Model(configuration)
    with contextlib.redirect_stdout(io.StringIO()):
        model.run_model()
    runs = []
    for task in model.task_list:
        intervals, since = [], None
        for time, event in task.monitor:
            if event.event == JobEvent.EXECUTE:
                since = time
            elif event.event in (JobEvent.PREEMPTED, JobEvent.TERMINATED) and since is not None:
                # SimSo completes a job that ends a little after the duration.
                intervals.append([since, min(time, duration)])
                since = None
        if since is not None:
            intervals.append([since, duration])
        joined = []
        for start, end in intervals:
            if start == end:
                continue
            if joined and joined[-1][1] == start:
                joined[-1][1] = end
            else:
                joined.append([start, end])
        runs.append(joined)
    return runs


def main():
    seed, sets, jobs, *size = map(int, sys.argv[1:])
    random.seed(seed)
    numpy.random.seed(seed)
    for _ in range(sets):
        cores, duration, tasks = random_set(jobs, *size)
        print("set", cores, duration)
        for task, intervals in zip(tasks, simulate(cores, duration, tasks)):
            print("task", *task, *(f"{start}-{end}" for start, end in intervals))


main()
