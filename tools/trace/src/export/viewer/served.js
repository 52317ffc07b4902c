// A trace of which the page has what is in view, and what may soon be. The rest is in the program that serves the page.

/// The bins of a tile, as in `tile.rs`.
const BINS = 512;
/// How many requests the page makes at once.
const AT_ONCE = 4;
/// How many tiles it keeps.
const KEPT = 200;

class Served extends Trace {
  constructor(data, number) {
    super(data);
    this.number = number;
    /// The tiles by their paths, the one that was wanted last at the end.
    this.tiles = new Map();
    this.awaited = new Set();
    /// Called when there is more to show, and when it cannot be had.
    this.changed = this.failed = () => {};
    /// The lowest level of which one tile is the whole trace.
    this.top = Math.max(0, Math.ceil(Math.log2((this.end - this.start) / BINS)));
    this.get("findings").then(
      (findings) => {
        this.learn(findings);
        // They may have come without what is known only now.
        for (const tile of this.tiles.values()) tile.isOld = true;
        this.changed();
      },
      (error) => this.failed(error),
    );
  }

  async get(what, parameters = {}) {
    const query = new URLSearchParams({ trace: this.number, ...parameters });
    this.requests += 1;
    try {
      const response = await fetch(`/${what}?${query}`);
      if (!response.ok) throw new Error(await response.text());
      return await response.json();
    } finally {
      this.requests -= 1;
    }
  }

  length(level) {
    return BINS * 2 ** level;
  }

  /// The level of which a bin is no longer than a pixel.
  level(from, to, width) {
    const level = Math.floor(Math.log2((to - from) / Math.max(width, 1)));
    return Math.min(this.top, Math.max(0, level));
  }

  /// The numbers of the tiles of a level from one time to another.
  numbers(level, from, to) {
    const place = (time) => Math.floor((time - this.start) / this.length(level));
    const first = Math.max(0, place(from));
    const last = Math.min(place(this.end - 1), place(to));
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  }

  path(level, index) {
    return `level=${level}&index=${index}`;
  }

  /// What to paint from one time to another: lanes, and for which part of the view they are. As long as a tile has not
  /// come, a part of a longer one takes its place.
  pieces(from, to, width) {
    const level = this.level(from, to, width);
    const pieces = this.numbers(level, from, to).map((index) => {
      const start = this.start + index * this.length(level);
      return { lanes: this.best(level, index), from: start, to: Math.min(this.end, start + this.length(level)) };
    });
    this.want([
      [this.top, this.start, this.end],
      [level, from, to],
    ]);
    return pieces.filter((piece) => piece.lanes);
  }

  /// The lanes of a tile, or of the shortest one around it.
  best(level, index) {
    for (let up = level; up <= this.top; up++) {
      const path = this.path(up, Math.floor(index / 2 ** (up - level)));
      const tile = this.tiles.get(path);
      if (!tile) continue;
      this.tiles.delete(path);
      this.tiles.set(path, tile);
      return tile.lanes;
    }
    return null;
  }

  /// Asks for where one gets from a view by moving and zooming.
  lookAhead(from, to, width) {
    const level = this.level(from, to, width);
    const length = to - from;
    this.want([
      [level, from - length / 2, to + length / 2],
      [level + 1, from - length / 2, to + length / 2],
      [level - 1, from + length / 4, to - length / 4],
    ]);
  }

  /// Asks for tiles that are not there: of a level, from one time to another.
  want(tiles) {
    for (const [level, from, to] of tiles) {
      if (level < 0 || level > this.top) continue;
      for (const index of this.numbers(level, from, to)) {
        if (this.awaited.size >= AT_ONCE) return;
        this.fetch(level, index);
      }
    }
  }

  async fetch(level, index) {
    const path = this.path(level, index);
    const known = this.tiles.get(path);
    if (this.awaited.has(path) || (known && !known.isOld)) return;
    this.awaited.add(path);
    try {
      const isEarly = !this.isAnalysed;
      const lanes = new Lanes(await this.get("tile", { level, index }));
      // It was asked for before the findings were known, and comes after them.
      this.tiles.set(path, { lanes, isOld: isEarly && this.isAnalysed });
      for (const oldest of this.tiles.keys()) {
        if (this.tiles.size <= KEPT) break;
        this.tiles.delete(oldest);
      }
      this.awaited.delete(path);
      this.changed();
    } catch (error) {
      this.awaited.delete(path);
      this.failed(error);
    }
  }

  /// The next target after a time, or the last one before it.
  async next(target, time, direction) {
    const what = direction > 0 ? "next" : "previous";
    const whole = direction > 0 ? Math.floor(time) : Math.ceil(time);
    return (await this.get(what, { target, time: Math.max(0, whole) })).time ?? undefined;
  }

  corrected(from, to) {
    const time = (one) => Math.max(0, Math.round(one));
    return this.get("corrected", { from: time(from), to: time(to) });
  }

  /// The view of another trace may be beyond the beginning of this one.
  sums(from, to) {
    const time = (one) => Math.max(0, Math.round(one));
    return this.get("sums", { from: time(from), to: time(to) });
  }
}
