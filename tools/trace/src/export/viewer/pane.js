// One trace on the page: the part of it that is in view, its lanes, and what is under the pointer.

const NAMES = 150; // The width of the names of lanes.
const TOP = 24;
const HEIGHTS = { group: 18, core: 22, context: 48, thread: 20 };
/// Tables take longer to sum up than a frame may: they wait until the view rests, for so many milliseconds.
const REST = 120;

class Pane {
  constructor(trace, page) {
    this.trace = trace;
    this.page = page;
    this.element = document.getElementById("pane").content.firstElementChild.cloneNode(true);
    const part = (name) => this.element.querySelector("." + name);
    [this.map, this.canvas, this.range, this.tables] = ["map", "lanes", "range", "tables"].map(part);
    trace.changed = () => this.change();
    // A browser reports a connection that it does not get as an error of types.
    const silent = "the program that serves this page does not answer";
    trace.failed = (error) => page.say(error instanceof TypeError ? silent : error.message);
    [this.from, this.to] = [trace.start, trace.end];
    /// The time that is compared with the same of another pane.
    this.origin = trace.start;
    this.cursors = [];
    this.lanes = [];
    /// The parts of the trace that are painted.
    this.pieces = [];
    this.picture = null;
    this.entitle();
    this.listen();
  }

  // Time and place.

  x(time) {
    return NAMES + ((time - this.from) / (this.to - this.from)) * (this.width - NAMES);
  }

  time(x) {
    return this.from + ((x - NAMES) / (this.width - NAMES)) * (this.to - this.from);
  }

  /// Shows the trace from `start` to `end`, as far as there is one, and the same time of other traces.
  view(start, end) {
    const { trace } = this;
    const least = (trace.frequency / 1e8) * 20;
    const length = Math.min(trace.end - trace.start, Math.max(end - start, least));
    const from = Math.min(Math.max(trace.start, start), trace.end - length);
    this.show(from, from + length);
    this.page.follow(this);
  }

  show(from, to) {
    [this.from, this.to] = [from, to];
    this.draw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.view(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /// Moves by a part of what is in view.
  move(part) {
    const by = (this.to - this.from) * part;
    this.view(this.from + by, this.to + by);
  }

  /// Shows a time in the middle, with a cursor.
  centre(time) {
    const half = Math.min((this.to - this.from) / 2, this.trace.frequency / 40);
    this.cursors = [time];
    this.view(time - half, time + half);
  }

  /// Shows a span, with a cursor at each end.
  span(start, end) {
    this.cursors = [start, end];
    this.view(start - (end - start) / 4, end + (end - start) / 4);
  }

  /// Jumps to the next target, or the one before.
  async jump(what, direction) {
    if (!this.trace.isAnalysed) return this.page.say("the trace is not analysed yet");
    const target = this.trace.targets.findIndex((one) => one.what === what);
    if (target < 0) return;
    const now = this.cursors.length ? this.cursors[0] : (this.from + this.to) / 2;
    try {
      const found = await this.trace.next(target, now, direction);
      if (found === undefined) this.page.say("no more");
      else this.centre(found);
    } catch (error) {
      this.trace.failed(error);
    }
  }

  // Lanes.

  /// Whether a thread has something to show in view.
  isSeen(index) {
    return this.pieces.some(({ lanes, from, to }) => {
      const { start, end, status, part } = lanes.threads[index];
      const last = Math.min(this.to, to);
      for (let i = after(end, Math.max(this.from, from)); i < start.length && start[i] < last; i++) {
        if (part[i] > 0 || status[i] === READY || status[i] === OUT) return true;
      }
      return false;
    });
  }

  /// Puts the lanes below each other; returns the height of all.
  arrange() {
    const { trace, page } = this;
    let y = TOP;
    this.lanes = [];
    const add = (kind, name, index) => {
      this.lanes.push({ kind, name, index, y, height: HEIGHTS[kind] });
      y += HEIGHTS[kind];
    };
    const addWanted = (kind, list, isShown = () => true) => {
      list.forEach(({ name, isUsed, cores }, index) => {
        const isNamed = name.toLowerCase().includes(page.filter) || cores.some(isFilter);
        if (isUsed && isNamed && isShown(index)) add(kind, name, index);
      });
    };
    /// With the name of a core, what it has run is shown.
    const isFilter = (core) => page.filter === `core ${core}`;
    const isOne = trace.cores.some(isFilter);
    add("group", "cores");
    trace.cores.forEach((core, index) => {
      if (!isOne || isFilter(core)) add("core", `core ${core}`, index);
    });
    add("group", "scheduling contexts: what is left of the budget");
    addWanted("context", trace.contexts);
    const some = page.everyThread ? "" : " (those that run, are ready or out of budget here; L shows all)";
    add("group", "threads, in the colours of the contexts that are charged" + some);
    addWanted("thread", trace.threads, (index) => page.everyThread || this.isSeen(index));
    return y + 8;
  }

  laneAt(y) {
    return this.lanes.find((lane) => y >= lane.y && y < lane.y + lane.height);
  }

  draw() {
    if (this.isPending) return;
    this.isPending = true;
    requestAnimationFrame(() => {
      this.isPending = false;
      paint(this);
      const { trace, from, to, cursors } = this;
      const [a, b] = cursors;
      let marked = "";
      if (cursors.length === 1) marked = `   A: ${trace.show(a)}`;
      if (cursors.length === 2) marked = `   A to B: ${trace.show(Math.abs(b - a))}${this.correction(a, b)}`;
      this.range.textContent = `${trace.show(from)} to ${trace.show(to)}, ${trace.show(to - from)}${marked}`;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.sumUp(), REST);
    });
  }

  /// Whether all that is in view is painted and summed up.
  get isComplete() {
    return !this.isPending && !this.resting && !this.trace.requests;
  }

  /// What the span between the cursors would be without events, as soon as it is known.
  correction(a, b) {
    if (this.measured?.a === a && this.measured.b === b) return this.measured.words;
    const measured = { a, b, words: "" };
    this.measured = measured;
    this.correct(measured).catch((error) => this.trace.failed(error));
    return "";
  }

  async correct(measured) {
    const { trace } = this;
    const [from, to] = [measured.a, measured.b].sort((one, other) => one - other);
    const { corrected, error, why } = await trace.corrected(from, to);
    measured.words = why ? ` (not correctable: ${why})` : `, without events ${trace.show(corrected)} ± ${trace.show(error)}`;
    this.draw();
  }

  async sumUp() {
    const { trace, from, to } = this;
    this.resting = 0;
    try {
      const sums = await trace.sums(from, to);
      if (this.from === from && this.to === to) this.tables.innerHTML = tables(trace, sums, to - from);
    } catch (error) {
      trace.failed(error);
    }
  }

  entitle() {
    this.element.querySelector("b").textContent = title(this.trace);
  }

  /// There is more to show.
  change() {
    this.entitle();
    this.page.offer(this);
    this.draw();
  }

  // The pointer.

  listen() {
    const { canvas, map } = this;
    const xOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
    this.element.addEventListener("pointerdown", () => this.page.activate(this), { capture: true });
    const wheel = (event) => {
      const isVertical = Math.abs(event.deltaY) > Math.abs(event.deltaX) && !event.shiftKey && !event.altKey;
      if (event.ctrlKey || (isVertical && xOf(event) > NAMES)) {
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(xOf(event)));
      } else if (event.deltaX) {
        event.preventDefault();
        this.move(event.deltaX / (this.width - NAMES));
      }
    };
    canvas.addEventListener("wheel", wheel, { passive: false });
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, from: this.from, to: this.to, isMoved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return this.page.tip(event, this.words(xOf(event), event.offsetY));
      const by = ((drag.x - event.clientX) / (this.width - NAMES)) * (drag.to - drag.from);
      drag.isMoved ||= Math.abs(drag.x - event.clientX) > 3;
      if (drag.isMoved) this.view(drag.from + by, drag.to + by);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.isMoved && xOf(event) > NAMES) {
        const time = this.time(xOf(event));
        this.cursors = event.shiftKey && this.cursors.length ? [this.cursors[0], time] : [time];
        this.draw();
      }
      drag = null;
    });
    canvas.addEventListener("pointerleave", (event) => this.page.tip(event, ""));
    const toMap = (event) => {
      const { start, end } = this.trace;
      const time = start + (event.offsetX / map.clientWidth) * (end - start);
      const half = (this.to - this.from) / 2;
      this.view(time - half, time + half);
    };
    map.addEventListener("pointerdown", (event) => {
      map.setPointerCapture(event.pointerId);
      toMap(event);
    });
    map.addEventListener("pointermove", (event) => event.buttons && toMap(event));
  }

  /// What is under the pointer, in words.
  words(x, y) {
    const { trace } = this;
    const lane = this.laneAt(y);
    if (!lane || lane.kind === "group" || x < NAMES) return "";
    const time = this.time(x);
    const { kind, index } = lane;
    const piece = this.pieces.find(({ from, to }) => from <= time && time < to);
    const item = piece?.lanes[LISTS[kind]][index];
    if (!item) return "";
    const i = after(item.end, time);
    const lines = [lane.name, trace.show(time)];
    if (i < item.start.length && item.start[i] <= time) lines.push(this.about(kind, item, i));
    if (kind === "context") {
      lines.push(`left: ${trace.show(left(item, time))} of ${trace.show(trace.contexts[index].budget)}`);
      lines.push(...pending(trace, item, time));
    }
    const near = ((this.to - this.from) / (this.width - NAMES)) * 4;
    const isNear = (one) => Math.abs(one.time - time) < near;
    const { marks = [], inversions = [] } = item;
    const waits = inversions.filter((one) => one.start <= time && time < one.end);
    const about = [
      ...waits.map((one) => `waits for work on the context of ${trace.threads[one.charged].name}, of lower priority`),
      ...marks.filter(isNear).map((one) => `${one.what}, task ${one.task}: ${one.value}`),
      ...piece.lanes.complaints.filter(isNear).map((one) => one.text),
    ];
    return [...lines, ...about.slice(0, 6)].join("\n");
  }

  about(kind, item, i) {
    const { trace } = this;
    const [length, part] = [item.end[i] - item.start[i], item.part[i]];
    const thread = (key) => (key < 0 ? "no thread" : trace.threads[key].name);
    const context = (key) => (key < 0 ? "no context" : trace.contexts[key].name);
    // A span that stands for several short ones.
    const isGroup = part > 0 && part < length;
    const time = isGroup
      ? `for ${trace.show(part)} of ${trace.show(length)}, most of it`
      : `for ${trace.show(length)},`;
    if (kind === "context") return `used ${time} by ${thread(item.thread[i])}`;
    const charged = `charged to ${context(item.context[i])}`;
    if (kind === "thread")
      return part > 0 ? `runs ${time} ${charged}` : `${STATUS[item.status[i]]} for ${trace.show(length)}`;
    if (item.thread[i] < 0) return `idle for ${trace.show(length)}`;
    const name = thread(item.thread[i]);
    return isGroup ? `busy ${time} by ${name}, and ${charged}` : `${name} ${time} ${charged}`;
  }
}

/// The replenishments that are pending at a time, as far as they are in view.
function pending(trace, { due, pending, amount }, time) {
  const MOST = 3;
  const lines = [];
  for (let i = after(due, time); i < due.length && lines.length <= MOST; i++) {
    if (due[i] - pending[i] <= time) lines.push(`pending: ${trace.show(amount[i])} at ${trace.show(due[i])}`);
  }
  return lines.length > MOST ? [...lines.slice(0, MOST), "and more"] : lines;
}

/// What a context has left at a time.
function left({ x, y }, time) {
  const before = Math.max(0, after(x, time) - 1);
  const next = Math.min(before + 1, x.length - 1);
  const part = x[next] > x[before] ? (time - x[before]) / (x[next] - x[before]) : 0;
  return y[before] + part * (y[next] - y[before]);
}

function title(trace) {
  const counted = (count, what) => (count ? `, ${count} ${what}` : "");
  const length = trace.show(trace.end - trace.start);
  const problems = counted(trace.lost, "missing") + counted(trace.broken, "broken rules");
  const rest = trace.isAnalysed ? problems : ", not analysed yet";
  return `${trace.name ? trace.name + ", " : ""}${trace.platform}: ${length}, ${trace.events} events${rest}`;
}
