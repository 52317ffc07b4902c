// What is in the lanes. Spans that are narrower than a pixel are drawn once for each pixel.

/// The lists of lanes by kind.
const LISTS = { core: "cores", context: "contexts", thread: "threads" };

/// Calls `draw` with the lane, the number, the left edge and the width of each span in view.
function forSpans(pane, lane, draw) {
  for (const { lanes, from, to } of pane.pieces) {
    const item = lanes[LISTS[lane.kind]][lane.index];
    const { start, end } = item;
    const [least, most] = [Math.max(NAMES, pane.x(from)), Math.min(pane.width, pane.x(to))];
    const [first, last] = [Math.max(pane.from, from), Math.min(pane.to, to)];
    for (let i = after(end, first); i < start.length && start[i] < last;) {
      const left = Math.max(least, pane.x(start[i]));
      const right = Math.min(most, pane.x(end[i]));
      draw(item, i, left, Math.max(right - left, 0.6));
      i = right - left < 1 ? Math.max(i + 1, after(end, pane.time(Math.floor(left) + 1))) : i + 1;
    }
  }
}

/// The width of a sign for something that happens at a time.
const SIGN = 7;

/// Calls `draw` with the number of each of the `times` in view, its place, and whether a sign there covers no other one; of
/// those within a pixel with the first one.
function forTimes(pane, times, first, last, draw) {
  let before = -Infinity;
  for (let i = since(times, first); i < times.length && times[i] < last;) {
    const x = pane.x(times[i]);
    const next = Math.max(i + 1, after(times, pane.time(x + 1)));
    const isCrowded = x - before < SIGN || (next < times.length && pane.x(times[next]) - x < SIGN);
    draw(i, x, !isCrowded);
    [before, i] = [x, next];
  }
}

/// Triangles from a tip to a base. Where they would cover each other, a bar at the base says that there are many: so many
/// triangles take longer than a frame may.
function paintTriangles(pane, pen, times, first, last, colour, tip, base) {
  const filler = new Filler(pen);
  const places = [];
  forTimes(pane, times, first, last, (_, x, isAlone) => {
    if (isAlone) places.push(x);
    else filler.fill(colour, x - SIGN / 2, Math.min(base, base + Math.sign(tip - base) * 2), SIGN, 2);
  });
  filler.end();
  pen.fillStyle = colour;
  for (const x of places) {
    pen.beginPath();
    pen.moveTo(x, tip);
    pen.lineTo(x - SIGN / 2, base);
    pen.lineTo(x + SIGN / 2, base);
    pen.fill();
  }
}

/// Fills rectangles from left to right, at whole pixels. Those that touch and look the same are one: each rectangle takes
/// time, and most if its edges are within pixels.
class Filler {
  constructor(pen) {
    this.pen = pen;
    this.colour = null;
    this.left = this.right = -Infinity;
  }

  fill(colour, x, y, width, height) {
    const left = Math.round(x);
    const right = Math.max(left + 1, Math.round(x + width));
    const isSame = colour === this.colour && y === this.y && height === this.height;
    if (isSame && left <= this.right) {
      this.right = Math.max(this.right, right);
      return;
    }
    this.end();
    if (colour !== this.colour) this.pen.fillStyle = colour;
    Object.assign(this, { colour, left, right, y, height });
  }

  end() {
    if (this.right > this.left) this.pen.fillRect(this.left, this.y, this.right - this.left, this.height);
    this.left = this.right = -Infinity;
  }
}

/// A bar in the colour of a context. A span that stands for several short ones is as high as its part of the time.
function bar(filler, item, i, x, y, width, height) {
  const part = item.part[i] / (item.end[i] - item.start[i]);
  const high = Math.max(2, Math.round((height - 6) * part));
  filler.fill(colour(item.context[i]), x, y + height - 3 - high, width, high);
}

const LANES = {
  core(sheet, lane) {
    const { pane, pen } = sheet;
    const { y, height } = lane;
    const filler = new Filler(pen);
    const names = [];
    forSpans(pane, lane, (item, i, x, width) => {
      if (item.thread[i] < 0) return;
      bar(filler, item, i, x, y, width, height);
      if (width >= 40) names.push([pane.trace.threads[item.thread[i]].name, x, width]);
    });
    filler.end();
    for (const [name, x, width] of names) {
      pen.save();
      pen.beginPath();
      pen.rect(x, y, width, height);
      pen.clip();
      write(sheet, name, x + 4, y + height / 2, "#ffffff", "left");
      pen.restore();
    }
  },

  thread({ pane, pen }, lane) {
    const { y, height } = lane;
    const filler = new Filler(pen);
    const bars = [];
    forSpans(pane, lane, (item, i, x, width) => {
      const status = item.status[i];
      if (item.part[i] > 0) bars.push([item, i, x, y, width, height]);
      if (status !== READY && status !== OUT) return;
      filler.fill(status === READY ? GREY : PALE_RED, x, y + height / 2 - 2, width, 4);
    });
    for (const one of bars) bar(filler, ...one);
    filler.end();
  },

  context({ pane, pen, fore }, lane) {
    const { y, height } = lane;
    for (const { lanes, from, to } of pane.pieces) {
      const item = lanes.contexts[lane.index];
      const [first, last] = [Math.max(pane.from, from), Math.min(pane.to, to)];
      if (first >= last) continue;
      const points = after(item.x, last) - after(item.x, first);
      const paintBudget = points < pane.x(last) - pane.x(first) ? paintLine : paintColumns;
      paintBudget(pane, pen, lane, item, first, last);
      // A triangle that points up where a replenishment comes, and one that points down where its use ends.
      paintTriangles(pane, pen, item.due, first, last, fore, y + height - 7, y + height - 1);
      paintTriangles(pane, pen, item.ended, first, last, RED, y + 8, y + 1);
    }
  },
};

/// Where a context's line is for what it has left.
function heightsOf({ trace }, { index, y, height }) {
  const base = y + height - 4;
  const { most } = trace.contexts[index];
  return { base, yOf: (amount) => base - (amount / most) * (height - 10) };
}

/// What a context has left, as a line above an area.
function paintLine(pane, pen, lane, item, first, last) {
  const { base, yOf } = heightsOf(pane, lane);
  const line = new Path2D();
  line.moveTo(pane.x(first), yOf(left(item, first)));
  const end = after(item.x, last);
  for (let i = after(item.x, first); i < end; i++) line.lineTo(pane.x(item.x[i]), yOf(item.y[i]));
  line.lineTo(pane.x(last), yOf(left(item, last)));
  pen.strokeStyle = colour(lane.index);
  pen.stroke(line);
  line.lineTo(pane.x(last), base);
  line.lineTo(pane.x(first), base);
  pen.fillStyle = colour(lane.index) + "55";
  pen.fill(line);
}

/// The same where the line goes up and down within pixels, which takes long to paint: in each pixel, from its highest
/// point to its lowest one.
function paintColumns(pane, pen, lane, item, first, last) {
  const { base, yOf } = heightsOf(pane, lane);
  const [dark, pale] = [colour(lane.index), colour(lane.index) + "55"];
  const area = new Filler(pen);
  const columns = [];
  let i = after(item.x, first);
  let amount = left(item, first);
  for (let x = Math.floor(pane.x(first)); x < pane.x(last); x++) {
    const end = Math.min(last, pane.time(x + 1));
    let [least, most] = [amount, amount];
    for (; i < item.x.length && item.x[i] < end; i++) {
      if (item.y[i] < least) least = item.y[i];
      if (item.y[i] > most) most = item.y[i];
    }
    amount = left(item, end);
    const top = Math.round(yOf(Math.max(most, amount)));
    area.fill(pale, x, top, 1, base - top);
    columns.push([x, top, Math.round(yOf(Math.min(least, amount))) - top + 1]);
  }
  area.end();
  const line = new Filler(pen);
  for (const [x, top, height] of columns) line.fill(dark, x, top, 1, height);
  line.end();
}
