// Drawing. Spans that are narrower than a pixel are drawn once for each pixel.

const COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#d95f02", "#8c564b", "#c2339c", "#0e7c86"];
const [RED, GREY, PALE_RED] = ["#d62728", "#9ca3af", "#f0a0a0"];
const MAP_HEIGHT = 46;
/// Donations are drawn if at most so many seconds are in view.
const DONATIONS = 1 / 20;

const colour = (context) => (context < 0 ? "#888888" : COLOURS[context % COLOURS.length]);

/// Gives a canvas its size on this screen; returns its width and what draws on it.
function prepare(canvas, height) {
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.style.height = height + "px";
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  return { width, pen };
}

function paint(pane) {
  const style = getComputedStyle(document.documentElement);
  const [fore, line, faint] = ["--fore", "--line", "--faint"].map((name) => style.getPropertyValue(name));
  const { width, pen } = prepare(pane.canvas, pane.arrange());
  pane.width = width;
  const last = pane.lanes.at(-1);
  const sheet = { pane, pen, fore, line, faint, bottom: last.y + last.height };
  pen.clearRect(0, 0, width, sheet.bottom);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  paintAxis(sheet);
  for (const lane of pane.lanes) {
    if (lane.kind === "group") {
      write(sheet, lane.name, 8, lane.y + lane.height / 2 + 2, faint, "left");
      continue;
    }
    LANES[lane.kind](sheet, lane);
    pen.clearRect(0, lane.y, NAMES, lane.height);
    write(sheet, lane.name, NAMES - 10, lane.y + lane.height / 2, fore, "right");
  }
  if (pane.to - pane.from < pane.trace.frequency * DONATIONS) paintDonations(sheet);
  paintMarks(sheet);
  paintCursors(sheet);
  paintMap(pane);
}

function write({ pen }, text, x, y, colour, align) {
  [pen.fillStyle, pen.textAlign] = [colour, align];
  pen.fillText(text, x, y);
}

function vertical({ pen, bottom }, x, colour, dashes = []) {
  pen.strokeStyle = colour;
  pen.setLineDash(dashes);
  pen.beginPath();
  pen.moveTo(x, 18);
  pen.lineTo(x, bottom);
  pen.stroke();
  pen.setLineDash([]);
}

function paintAxis(sheet) {
  const { pane, line, faint } = sheet;
  const { trace, from, to } = pane;
  const length = trace.ms(to - from);
  let step = 10 ** Math.floor(Math.log10(length / 4));
  if (length / step > 20) step *= 5;
  else if (length / step > 10) step *= 2;
  const digits = step < 1 ? Math.ceil(-Math.log10(step)) : 0;
  for (let ms = Math.ceil(trace.ms(from) / step) * step; ms <= trace.ms(to); ms += step) {
    const x = pane.x(trace.ticks(ms));
    vertical(sheet, x + 0.5, line);
    write(sheet, ms.toFixed(digits) + " ms", x, 10, faint, "center");
  }
}

/// Calls `draw` with the number, the left edge and the width of each span in view.
function forSpans(pane, { start, end }, draw) {
  for (let i = after(end, pane.from); i < start.length && start[i] < pane.to;) {
    const left = Math.max(NAMES, pane.x(start[i]));
    const right = Math.min(pane.width, pane.x(end[i]));
    draw(i, left, Math.max(right - left, 0.6));
    i = right - left < 1 ? Math.max(i + 1, after(end, pane.time(Math.floor(left) + 1))) : i + 1;
  }
}

const LANES = {
  core(sheet, { item, y, height }) {
    const { pane, pen } = sheet;
    forSpans(pane, item, (i, x, width) => {
      if (item.thread[i] < 0) return;
      pen.fillStyle = colour(item.context[i]);
      pen.fillRect(x, y + 3, width, height - 6);
      if (width < 40) return;
      pen.save();
      pen.beginPath();
      pen.rect(x, y, width, height);
      pen.clip();
      write(sheet, pane.trace.threads[item.thread[i]].name, x + 4, y + height / 2, "#ffffff", "left");
      pen.restore();
    });
  },

  thread({ pane, pen }, { item, y, height }) {
    forSpans(pane, item, (i, x, width) => {
      const status = item.status[i];
      const middle = y + height / 2;
      if (status === RUNS) {
        pen.fillStyle = colour(item.context[i]);
        pen.fillRect(x, y + 3, width, height - 6);
      } else if (status === READY || status === OUT) {
        pen.fillStyle = status === READY ? GREY : PALE_RED;
        pen.fillRect(x, middle - 2, width, 4);
      }
    });
  },

  context({ pane, pen }, { item, y, height }) {
    const base = y + height - 4;
    const yOf = (amount) => base - (amount / item.most) * (height - 10);
    pen.fillStyle = colour(item.index) + "55";
    pen.strokeStyle = colour(item.index);
    pen.beginPath();
    pen.moveTo(NAMES, base);
    let last = NAMES;
    for (let i = Math.max(0, after(item.x, pane.from) - 1); i < item.x.length; i++) {
      last = Math.min(pane.width, Math.max(NAMES, pane.x(item.x[i])));
      pen.lineTo(last, yOf(item.y[i]));
      if (item.x[i] > pane.to) break;
      if (i + 1 < item.x.length && pane.x(item.x[i + 1]) - last < 0.3) {
        i = Math.max(i, after(item.x, pane.time(last + 0.6)) - 2);
      }
    }
    pen.lineTo(last, base);
    pen.fill();
    pen.stroke();
    // A triangle where its use ends.
    pen.fillStyle = RED;
    for (let i = after(item.ended, pane.from); i < item.ended.length && item.ended[i] < pane.to; i++) {
      const x = pane.x(item.ended[i]);
      pen.beginPath();
      pen.moveTo(x, y + 8);
      pen.lineTo(x - 4, y + 1);
      pen.lineTo(x + 4, y + 1);
      pen.fill();
    }
  },
};

/// Lines from the lane of a caller to that of the server, and back.
function paintDonations({ pane, pen }) {
  const { trace, lanes, from, to } = pane;
  const threads = lanes.filter((lane) => lane.kind === "thread");
  const middles = new Map(threads.map((lane) => [lane.item, lane.y + lane.height / 2]));
  for (const { index, moved, movedFrom, movedTo } of trace.contexts) {
    for (let i = after(moved, from); i < moved.length && moved[i] < to; i++) {
      const middle = (thread) => middles.get(trace.threads[thread]);
      const [one, other] = [middle(movedFrom[i]), middle(movedTo[i])];
      if (one === undefined || other === undefined) continue;
      const x = pane.x(moved[i]);
      pen.strokeStyle = colour(index);
      pen.beginPath();
      pen.moveTo(x, one);
      pen.bezierCurveTo(x + 6, one, x + 6, other, x, other);
      pen.stroke();
    }
  }
}

function paintMarks({ pane, pen, fore }) {
  const { trace, lanes, from, to } = pane;
  const isInView = (one) => one.time >= from && one.time <= to;
  for (const mark of trace.marks.filter(isInView)) {
    const lane = lanes.find((lane) => lane.kind === "thread" && lane.item === trace.threads[mark.thread]);
    if (!lane) continue;
    pen.fillStyle = mark.what === "Missed" ? RED : fore;
    pen.fillRect(pane.x(mark.time) - 0.5, lane.y, 1.5, 6);
  }
  pen.fillStyle = RED;
  for (const one of trace.complaints.filter(isInView)) pen.fillRect(pane.x(one.time) - 1, 18, 2, 6);
}

function paintCursors(sheet) {
  const { pane, fore } = sheet;
  pane.cursors.forEach((time, i) => {
    const x = pane.x(time);
    vertical(sheet, x, fore, [4, 3]);
    write(sheet, "AB"[i], x + 3, 26, fore, "left");
  });
}

/// The whole trace, with what is in view left bright.
function paintMap(pane) {
  const { trace, from, to } = pane;
  const { width, pen } = prepare(pane.map, MAP_HEIGHT);
  const x = (time) => ((time - trace.start) / (trace.end - trace.start)) * width;
  if (pane.picture?.width !== width) pane.picture = whole(trace, width, x);
  pen.drawImage(pane.picture, 0, 0);
  pen.fillStyle = "#80808055";
  pen.fillRect(0, 0, x(from), MAP_HEIGHT);
  pen.fillRect(x(to), 0, width, MAP_HEIGHT);
}

function whole(trace, width, x) {
  const picture = Object.assign(document.createElement("canvas"), { width, height: MAP_HEIGHT });
  const pen = picture.getContext("2d");
  const high = (MAP_HEIGHT - 6) / trace.cores.length;
  trace.cores.forEach(({ start, end, thread, context }, row) => {
    for (let i = 0; i < start.length;) {
      const [left, right] = [x(start[i]), x(end[i])];
      if (thread[i] >= 0) {
        pen.fillStyle = colour(context[i]);
        pen.fillRect(left, 3 + row * high, Math.max(1, right - left), high - 1);
      }
      const next = trace.start + ((Math.floor(left) + 1) / width) * (trace.end - trace.start);
      i = right - left < 1 ? Math.max(i + 1, after(end, next)) : i + 1;
    }
  });
  return picture;
}
