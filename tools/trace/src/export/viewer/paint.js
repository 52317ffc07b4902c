// Drawing, but for what is in the lanes.

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
  const { trace, from, to } = pane;
  pane.width = pane.canvas.clientWidth;
  pane.pieces = trace.pieces(from, to, pane.width - NAMES);
  const { width, pen } = prepare(pane.canvas, pane.arrange());
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
  if (to - from < trace.frequency * DONATIONS) paintDonations(sheet);
  paintMarks(sheet);
  paintCursors(sheet);
  paintMap(pane);
  trace.lookAhead(from, to, width - NAMES);
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

/// Lines from the lane of a caller to that of the server, and back.
function paintDonations({ pane, pen }) {
  const threads = pane.lanes.filter((lane) => lane.kind === "thread");
  const middles = new Map(threads.map((lane) => [lane.index, lane.y + lane.height / 2]));
  for (const { lanes, from, to } of pane.pieces) {
    const [first, last] = [Math.max(pane.from, from), Math.min(pane.to, to)];
    lanes.contexts.forEach(({ moved, movedFrom, movedTo }, index) => {
      pen.strokeStyle = colour(index);
      pen.lineWidth = 2;
      for (let i = since(moved, first); i < moved.length && moved[i] < last; i++) {
        const [one, other] = [middles.get(movedFrom[i]), middles.get(movedTo[i])];
        if (one === undefined || other === undefined) continue;
        const x = pane.x(moved[i]);
        pen.beginPath();
        pen.moveTo(x, one);
        pen.bezierCurveTo(x + 6, one, x + 6, other, x, other);
        pen.stroke();
      }
      pen.lineWidth = 1;
    });
  }
}

/// What jobs do: an arrow up is a release, a point is an end.
const SIGNS = {
  Released(pen, x, y) {
    pen.fillRect(x - 0.75, y + 2, 1.5, 8);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x - 3, y + 5);
    pen.lineTo(x + 3, y + 5);
    pen.fill();
  },
  Done(pen, x, y) {
    pen.beginPath();
    pen.arc(x, y + 3, 2.5, 0, 2 * Math.PI);
    pen.fill();
  },
};

/// The marks of threads, of which those that are nearer than a pixel are drawn once, and broken rules.
function paintMarks({ pane, pen, fore }) {
  for (const { lanes, from, to } of pane.pieces) {
    const [first, last] = [Math.max(pane.from, from), Math.min(pane.to, to)];
    for (const { kind, index, y, height } of pane.lanes) {
      if (kind !== "thread") continue;
      const { marked, missed, marks } = lanes.threads[index];
      const filler = new Filler(pen);
      const signs = [];
      // Where the last sign ends.
      let free = -Infinity;
      forTimes(pane, marked, first, last, (i, x) => {
        const isMissed = after(missed, pane.time(x + 1)) > after(missed, marked[i] - 1);
        if (isMissed) filler.fill(RED, x - 1, y, 2, height);
        else if (SIGNS[marks[i].what] && x >= free) {
          signs.push([marks[i].what, x]);
          free = x + SIGN;
        } else filler.fill(fore, x - 0.5, y, 1.5, 6);
      });
      filler.end();
      pen.fillStyle = fore;
      for (const [what, x] of signs) SIGNS[what](pen, x, y);
    }
    pen.fillStyle = RED;
    for (const { time } of lanes.complaints) if (first <= time && time < last) pen.fillRect(pane.x(time) - 1, 18, 2, 6);
  }
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
  const pieces = trace.pieces(trace.start, trace.end, width);
  // The same picture as before, unless there is more to show.
  const isKept = pane.picture?.width === width && pane.pictured.every((lanes, i) => lanes === pieces[i]?.lanes);
  if (!isKept || pane.pictured.length !== pieces.length) {
    pane.picture = whole(trace, pieces, width, x);
    pane.pictured = pieces.map((piece) => piece.lanes);
  }
  pen.drawImage(pane.picture, 0, 0);
  pen.fillStyle = "#80808055";
  pen.fillRect(0, 0, x(from), MAP_HEIGHT);
  pen.fillRect(x(to), 0, width, MAP_HEIGHT);
}

function whole(trace, pieces, width, x) {
  const picture = Object.assign(document.createElement("canvas"), { width, height: MAP_HEIGHT });
  const pen = picture.getContext("2d");
  const high = (MAP_HEIGHT - 6) / trace.cores.length;
  for (const { lanes, from, to } of pieces) {
    lanes.cores.forEach(({ start, end, thread, context, part }, row) => {
      for (let i = after(end, from); i < start.length && start[i] < to;) {
        const [left, right] = [Math.max(x(from), x(start[i])), Math.min(x(to), x(end[i]))];
        if (thread[i] >= 0) {
          const share = (high - 1) * (part[i] / (end[i] - start[i]));
          pen.fillStyle = colour(context[i]);
          pen.fillRect(left, 3 + row * high + high - 1 - share, Math.max(1, right - left), share);
        }
        const next = trace.start + ((Math.floor(left) + 1) / width) * (trace.end - trace.start);
        i = right - left < 1 ? Math.max(i + 1, after(end, next)) : i + 1;
      }
    });
  }
  return picture;
}
