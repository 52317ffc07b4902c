// What a trace says, as columns of numbers. Times are ticks of its clock.

const STATUS = ["unknown", "runs", "ready", "out of budget", "without context", "blocked", "stopped"];
const [RUNS, READY, OUT] = [1, 2, 3];
const [CALL, RETURN] = [1, 2];

/// The columns of a table that comes as one list, row by row.
function columns(list, width) {
  const all = Array.from({ length: width }, () => new Float64Array(list.length / width));
  for (let i = 0; i < list.length; i++) all[i % width][Math.floor(i / width)] = list[i];
  return all;
}

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

class Trace {
  constructor(data) {
    Object.assign(this, data);
    for (const core of this.cores) [core.start, core.end, core.thread, core.context] = columns(core.spans, 4);
    for (const thread of this.threads) {
      [thread.start, thread.status, thread.context] = columns(thread.changes, 3);
      // A status lasts until the next one.
      thread.end = new Float64Array(thread.start.length).fill(this.end);
      thread.end.set(thread.start.subarray(1));
    }
    this.contexts.forEach((context, index) => {
      context.index = index;
      [context.start, context.end, context.thread] = columns(context.uses, 3);
      [context.ended] = columns(context.ends, 2);
      [context.moved, context.movedFrom, context.movedTo] = columns(context.moves, 3);
      context.calls = donatedCalls(context);
      this.addBudget(context);
    });
    this.targets = this.findTargets();
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

  /// What a context has left: it falls while the context is used, and changes with its head replenishment.
  addBudget(context) {
    const { levels, start, end } = context;
    const x = [];
    const y = [];
    let [amount, use, level] = [0, 0, 0];
    const put = (time, value) => {
      x.push(time);
      y.push(Math.max(0, value));
    };
    const setLevel = (time) => {
      put(time, amount);
      amount = levels[level + 1];
      put(time, amount);
      level += 2;
    };
    while (use < start.length || level < levels.length) {
      const nextLevel = level < levels.length ? levels[level] : Infinity;
      const nextUse = use < start.length ? start[use] : Infinity;
      if (nextLevel <= nextUse) {
        setLevel(nextLevel);
        continue;
      }
      let time = nextUse;
      put(time, amount);
      // The levels within the use take their places there.
      while (level < levels.length && levels[level] < end[use]) {
        amount -= levels[level] - time;
        time = levels[level];
        setLevel(time);
      }
      amount -= end[use] - time;
      put(end[use], amount);
      use += 1;
    }
    put(this.end, amount);
    context.x = Float64Array.from(x);
    context.y = Float64Array.from(y);
    context.most = context.y.reduce((one, other) => Math.max(one, other), context.budget || 1);
  }

  /// The times that one can jump to, by what happens there, in ascending order.
  findTargets() {
    const ofMarks = (marks) => marks.map((mark) => mark.time);
    const times = {
      "budget ends": this.contexts.flatMap((context) => [...context.ended]),
      timeouts: this.timeouts,
      "missed deadlines": ofMarks(this.marks.filter((mark) => mark.what === "Missed")),
      marks: ofMarks(this.marks),
      inversions: this.inversions.map((one) => one.start),
      "broken rules": ofMarks(this.complaints),
    };
    for (const what in times) times[what] = Float64Array.from(times[what]).sort();
    return times;
  }

  /// The longest time between two uses of a context with a period: start and end.
  longestBlackout() {
    let longest = null;
    for (const { period, start, end } of this.contexts) {
      if (!period) continue;
      for (let i = 1; i < start.length; i++) {
        const gap = start[i] - end[i - 1];
        if (!longest || gap > longest[1] - longest[0]) longest = [end[i - 1], start[i]];
      }
    }
    return longest;
  }

  /// The longest priority inversion.
  worstInversion() {
    const longer = (one, other) => (one && one.end - one.start >= other.end - other.start ? one : other);
    return this.inversions.reduce(longer, null);
  }
}

/// The calls with which a context was donated: start and end of each.
function donatedCalls({ kinds, moved, movedFrom, movedTo }) {
  const open = [];
  const all = [];
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] === CALL) open.push([moved[i], movedFrom[i]]);
    if (kinds[i] !== RETURN) continue;
    // A return may pass the callers of inner calls.
    while (open.length) {
      const [start, caller] = open.pop();
      if (caller !== movedTo[i]) continue;
      all.push([start, moved[i]]);
      break;
    }
  }
  return all;
}
