// Measures when the page is painted with its data, and the time between frames while it moves.
(async () => {
  /// A short measurement, where only the measuring is tested.
  const [SHORT, LONG] = window.isShort ? [10, 40] : [120, 240];
  const [pane] = page.panes;
  const { trace } = pane;
  const frame = () => new Promise(requestAnimationFrame);
  const rest = () => new Promise((done) => setTimeout(done, 500));
  /// Whether all from one time to another has its own level of detail. A page that is not served has all details.
  const isDetailed = (from = pane.from, to = pane.to) => {
    if (!trace.tiles) return true;
    const level = trace.level(pane.from, pane.to, pane.width - NAMES);
    return trace.numbers(level, from, to).every((index) => trace.tiles.has(trace.path(level, index)));
  };
  /// Whether all that is in view is painted, be it from a longer tile.
  const isPainted = () => {
    const { pieces, from, to } = pane;
    const follows = (piece, i) => i === 0 || piece.from === pieces[i - 1].to;
    return pieces.length > 0 && pieces[0].from <= from && to <= pieces.at(-1).to && pieces.every(follows);
  };
  let blank = 0;
  while (!pane.pieces.length || !isDetailed()) await frame();
  // The frame with the data.
  await frame();
  const painted = performance.now();
  // A person looks at the trace before it is moved; meanwhile it is analysed.
  while (!trace.isAnalysed) await rest();
  const move = async (name, count, step) => {
    const gaps = [];
    let last = await frame();
    for (let i = 0; i < count; i++) {
      step();
      const now = await frame();
      gaps.push(now - last);
      last = now;
      if (!isPainted()) blank += 1;
    }
    gaps.sort((one, other) => one - other);
    const at = (part) => gaps[Math.floor(part * (gaps.length - 1))];
    const late = gaps.filter((gap) => gap > 20).length;
    const text = `${name}: ${at(0.5).toFixed(1)} ms a frame, 95 % below ${at(0.95).toFixed(1)} ms, ${late} of ${count} late`;
    return { text, median: at(0.5) };
  };
  const place = trace.start + (trace.end - trace.start) * 0.4;
  const movements = [
    await move("the whole trace, its size changing", SHORT, () =>
      pane.zoom(pane.to - pane.from < trace.end - trace.start ? 2 : 0.98),
    ),
    await move("zooming in", LONG, () => pane.zoom(0.95, place)),
    await move("moving", LONG, () => pane.move(0.02)),
    await move("zooming out", LONG, () => pane.zoom(1 / 0.95)),
  ];
  pane.zoom(0.05, place);
  await frame();
  if (!isPainted()) blank += 1;
  await rest();
  const isAhead = isDetailed(pane.from - (pane.to - pane.from) / 2, pane.to + (pane.to - pane.from) / 2);
  console.log(`result: ${JSON.stringify({ painted, movements, blank, isDetailed: isDetailed(), isAhead })}`);
})();
