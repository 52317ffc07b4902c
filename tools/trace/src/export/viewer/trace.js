// What a trace says, as columns of numbers. Times are ticks of its clock.

const STATUS = ["unknown", "runs", "ready", "out of budget", "without context", "blocked", "stopped"];
const [RUNS, READY, OUT] = [1, 2, 3];

/// The index of the first number that is greater than `value`, in a list in ascending order.
function after(list, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// The index of the first whole number that is not less than `value`.
const since = (list, value) => after(list, Math.ceil(value) - 1);

/// Times, of which the differences are given.
function timesOf(differences) {
  const times = new Float64Array(differences.length);
  let time = 0;
  for (let i = 0; i < times.length; i++) times[i] = time += differences[i];
  return times;
}

/// The columns of spans, of which each row has the time since the one before, the length, two things, and for how much
/// of its length it is not so.
function spansOf(rows) {
  const count = rows.length / 5;
  const [start, end, part] = Array.from({ length: 3 }, () => new Float64Array(count));
  const [one, other] = Array.from({ length: 2 }, () => new Int32Array(count));
  let time = 0;
  for (let i = 0, at = 0; i < count; i++, at += 5) {
    start[i] = time + rows[at];
    end[i] = time = start[i] + rows[at + 1];
    [one[i], other[i], part[i]] = [rows[at + 2], rows[at + 3], rows[at + 1] - rows[at + 4]];
  }
  return { start, end, one, other, part };
}

/// The lanes in a part of a trace. A span may stand for several short ones: `part` is for how much of it the core is
/// busy, the thread runs, or the context is used.
class Lanes {
  constructor({ cores, threads, contexts, marks, complaints, inversions }) {
    this.cores = cores.map((rows) => {
      const { one: thread, other: context, ...spans } = spansOf(rows);
      return { thread, context, ...spans };
    });
    this.threads = threads.map((rows) => {
      const { one: status, other: context, ...spans } = spansOf(rows);
      return { status, context, marks: [], inversions: [], ...spans };
    });
    this.contexts = contexts.map(({ uses, times, left, due, ends, moved, ...rest }) => {
      const { one: thread, start, end, part } = spansOf(uses);
      const line = { x: timesOf(times), y: Float64Array.from(left), due: timesOf(due) };
      return { thread, start, end, part, ...line, ended: timesOf(ends), moved: timesOf(moved), ...rest };
    });
    for (const mark of marks) this.threads[mark.thread].marks.push(mark);
    for (const one of inversions ?? []) this.threads[one.thread].inversions.push(one);
    const times = (marks) => Float64Array.from(marks, (mark) => mark.time);
    for (const thread of this.threads) {
      thread.marked = times(thread.marks);
      thread.missed = times(thread.marks.filter((mark) => mark.what === "Missed"));
    }
    this.complaints = complaints;
  }
}

/// A trace. `Whole` and `Served` know how to get its lanes.
class Trace {
  constructor(data) {
    Object.assign(this, data);
    /// How many requests for more of the trace have no answer yet.
    this.requests = 0;
    // Until the analyses of all events have ended.
    Object.assign(this, { isAnalysed: false, broken: 0, jobs: [], targets: [], blackout: null, inversion: null });
  }

  learn(findings) {
    Object.assign(this, findings, { isAnalysed: true });
  }

  ms(ticks) {
    return (ticks * 1e3) / this.frequency;
  }

  ticks(ms) {
    return (ms * this.frequency) / 1e3;
  }

  /// A time or a duration in words.
  show(ticks) {
    const ms = this.ms(ticks);
    return Math.abs(ms) < 0.1 ? (ms * 1e3).toFixed(3) + " µs" : ms.toFixed(3) + " ms";
  }
}
