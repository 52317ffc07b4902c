// A trace of which all is in the page.

class Whole extends Trace {
  constructor({ lanes, overview = [], calls, findings, targets, correction, ...data }) {
    super(data);
    this.correction = correctionOf(correction);
    this.times = targets.map(timesOf);
    this.all = [{ lanes: new Lanes(lanes), from: this.start, to: this.end }];
    this.overview = overview.map((tile) => ({ ...tile, lanes: new Lanes(tile.lanes) }));
    this.calls = calls.map((list) => {
      const times = timesOf(list);
      return { start: times.filter((_, i) => i % 2 === 0), end: times.filter((_, i) => i % 2 === 1) };
    });
    this.learn(findings);
  }

  /// What to paint from one time to another: lanes, and for which part of the view they are.
  pieces(from, to, width) {
    const pixel = (to - from) / width;
    return this.overview[0]?.bin <= pixel ? this.overview : this.all;
  }

  lookAhead() {}

  /// The next target after a time, or the last one before it.
  next(target, time, direction) {
    const times = this.times[target];
    const place = after(times, time);
    if (direction > 0) return times[place];
    let before = place;
    while (before > 0 && times[before - 1] >= time) before--;
    return times[before - 1];
  }

  /// A span without the cost of its events, or why there is none. `corrected.rs` does the same for a page that is served.
  corrected(from, to) {
    const { isFull, costs, obstacles, gaps, time, core, events, obstacle } = this.correction;
    const why = (number) => ({ why: obstacles[number] });
    if (!isFull) return why(1);
    if (gaps.some(([before, after]) => (before ?? -1) < to && (after ?? Infinity) >= from)) return why(4);
    const first = since(time, from);
    let sum = 0;
    for (let i = first; i < time.length && time[i] <= to; i++) {
      if (core[i] !== core[first]) return why(3);
      if (obstacle[i] && time[i] > from) return why(obstacle[i] - 1);
      if (time[i] < to) sum += events[i];
    }
    if (!(time[first] <= to)) return { corrected: to - from, error: 0 };
    const cost = costs[core[first]];
    if (!cost) return why(0);
    const [least, most] = cost.map((each) => each * sum);
    return { corrected: to - from - (least + most) / 2, error: (most - least) / 2 };
  }

  /// The sums for the tables. `sums.rs` does the same for a page that is served.
  sums(from, to) {
    const [{ lanes }] = this.all;
    const contexts = lanes.contexts.map((item) => [sumOf(item, from, to), blackoutOf(item, from, to)]);
    const threads = lanes.threads.map((item) => {
      const sum = (status) => sumOf(item, from, to, (i) => item.status[i] === status);
      return [sum(RUNS), sum(READY)];
    });
    return { contexts, threads, calls: this.sumsOfCalls(from, to) };
  }

  /// How long calls took, and how many are in each class of equal ratios.
  sumsOfCalls(from, to) {
    const CLASSES = 24;
    const taken = [];
    for (const { start, end } of this.calls) {
      let i = after(end, from);
      while (i > 0 && end[i - 1] >= from) i--;
      for (; i < end.length && end[i] <= to; i++) {
        if (start[i] >= from) taken.push(Math.max(end[i] - start[i], 1));
      }
    }
    if (taken.length < 2) return null;
    taken.sort((one, other) => one - other);
    const [least, most] = [taken[0], taken.at(-1)];
    const counts = new Array(CLASSES).fill(0);
    const width = Math.log(most / least) / CLASSES || 1;
    for (const one of taken) counts[Math.min(CLASSES - 1, Math.floor(Math.log(one / least) / width))] += 1;
    return { count: taken.length, least, most, median: taken[taken.length >> 1], counts };
  }
}

/// The columns of what is needed to correct spans.
function correctionOf({ rows, ...rest }) {
  const column = (place) => Float64Array.from({ length: rows.length / 4 }, (_, i) => rows[4 * i + place]);
  return { time: timesOf(column(0)), core: column(1), events: column(2), obstacle: column(3), ...rest };
}

/// The sum of the spans of a lane in view, of those that `keep` wants.
function sumOf({ start, end }, from, to, keep = () => true) {
  let sum = 0;
  for (let i = after(end, from); i < start.length && start[i] < to; i++) {
    if (keep(i)) sum += Math.min(end[i], to) - Math.max(start[i], from);
  }
  return sum;
}

/// The longest time between two uses in view.
function blackoutOf({ start, end }, from, to) {
  let longest = 0;
  const first = after(end, from);
  for (let i = first + 1; i < start.length && start[i] < to; i++) longest = Math.max(longest, start[i] - end[i - 1]);
  return longest;
}
