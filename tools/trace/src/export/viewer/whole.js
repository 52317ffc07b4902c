// A trace of which all is in the page.

class Whole extends Trace {
  constructor({ lanes, overview = [], calls, responses, entries, findings, targets, correction, ...data }) {
    super(data);
    this.correction = correctionOf(correction);
    this.times = targets.map(timesOf);
    this.all = [{ lanes: new Lanes(lanes), from: this.start, to: this.end }];
    this.overview = overview.map((tile) => ({ ...tile, lanes: new Lanes(tile.lanes) }));
    const spans = (list) => {
      const times = timesOf(list);
      return { start: times.filter((_, i) => i % 2 === 0), end: times.filter((_, i) => i % 2 === 1) };
    };
    this.calls = calls.map(spans);
    this.responses = responses.map(spans);
    this.entries = entries.map(timesOf);
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
    const { isFull, parts, calibrated, obstacles, gaps, time, core, cost, error, obstacle } = this.correction;
    const why = (number) => ({ why: obstacles[number] });
    if (!isFull) return why(1);
    if (gaps.some(([before, after]) => (before ?? -1) < to && (after ?? Infinity) >= from)) return why(4);
    const first = since(time, from);
    const sums = [0, 0];
    for (let i = first; i < time.length && time[i] <= to; i++) {
      if (core[i] !== core[first]) return why(3);
      if (obstacle[i] && time[i] > from) return why(obstacle[i] - 1);
      if (time[i] < to) [sums[0], sums[1]] = [sums[0] + cost[i], sums[1] + error[i]];
    }
    if (!(time[first] <= to)) return { corrected: to - from, error: 0 };
    if (!calibrated.includes(core[first])) return why(0);
    return { corrected: to - from - sums[0] / parts, error: sums[1] / parts };
  }

  /// The sums for the tables. `sums.rs` does the same for a page that is served.
  sums(from, to) {
    const [{ lanes }] = this.all;
    const contexts = lanes.contexts.map((item, index) => {
      const { period } = this.contexts[index];
      return [sumOf(item, from, to), blackoutOf(item, from, to), mostOf(item, from, to, period)];
    });
    const threads = lanes.threads.map((item) => {
      const sum = (status) => sumOf(item, from, to, (i) => item.status[i] === status);
      return [sum(RUNS), sum(READY)];
    });
    const entries = this.entries.map((times) => since(times, to) - since(times, from));
    const [calls, responses] = [this.calls, this.responses].map((lists) => classesOf(lists, from, to));
    return { contexts, threads, calls, responses, entries };
  }
}

/// How long calls or jobs in view took, and how many are in each class of equal ratios.
function classesOf(lists, from, to) {
  const CLASSES = 24;
  const taken = [];
  for (const { start, end } of lists) {
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

/// The columns of what is needed to correct spans.
function correctionOf({ rows, ...rest }) {
  const column = (place) => Float64Array.from({ length: rows.length / 5 }, (_, i) => rows[5 * i + place]);
  const [since, core, cost, error, obstacle] = [0, 1, 2, 3, 4].map(column);
  return { time: timesOf(since), core, cost, error, obstacle, ...rest };
}

/// The sum of the spans of a lane in view, of those that `keep` wants.
function sumOf({ start, end }, from, to, keep = () => true) {
  let sum = 0;
  for (let i = after(end, from); i < start.length && start[i] < to; i++) {
    if (keep(i)) sum += Math.min(end[i], to) - Math.max(start[i], from);
  }
  return sum;
}

/// The most in any window of a period in view. It suffices to look at the windows that begin with a use.
function mostOf({ start, end }, from, to, period) {
  const inside = (i, limit) => Math.max(0, Math.min(end[i], limit) - Math.max(start[i], from));
  let [most, sum] = [0, 0];
  let next = after(end, from);
  for (let first = next; first < start.length && start[first] < to; first++) {
    const limit = Math.min(Math.max(start[first], from) + period, to);
    for (; next < start.length && start[next] < limit; next++) sum += inside(next, to);
    // The last one may end after the window.
    const beyond = next > first ? inside(next - 1, to) - inside(next - 1, limit) : 0;
    most = Math.max(most, sum - beyond);
    sum -= next > first ? inside(first, to) : 0;
    next = Math.max(next, first + 1);
  }
  return most;
}

/// The longest time between two uses in view.
function blackoutOf({ start, end }, from, to) {
  let longest = 0;
  const first = after(end, from);
  for (let i = first + 1; i < start.length && start[i] < to; i++) longest = Math.max(longest, start[i] - end[i - 1]);
  return longest;
}
