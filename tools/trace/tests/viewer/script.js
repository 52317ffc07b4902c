// Uses the page as a person does, by keys, buttons and the pointer, and writes into the page what does not hold.
(async () => {
  const [problems, seen] = [[], []];
  const expect = (holds, what) => holds || problems.push(what);
  /// Until the page is painted, its tables are summed up, and a page that is served has got its data, on a busy machine, too.
  const rest = async () => {
    do await new Promise((done) => setTimeout(done, 20));
    while (!page.panes.every((pane) => pane.isComplete));
  };
  const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
  const pointer = (canvas, type, x, y, more = {}) => {
    const { left, top } = canvas.getBoundingClientRect();
    const place = { clientX: left + x, clientY: top + y, pointerId: 1, bubbles: true, ...more };
    canvas.setPointerCapture = () => {};
    canvas.dispatchEvent(new PointerEvent(type, place));
  };
  const click = (pane, x, y, more) => {
    pointer(pane.canvas, "pointerdown", x, y, more);
    pointer(pane.canvas, "pointerup", x, y, more);
  };
  const [first, second] = page.panes;
  const { trace } = first;
  const lane = (pane, kind, name) => pane.lanes.find((lane) => lane.kind === kind && lane.name === name);
  const length = (pane) => pane.trace.ms(pane.to - pane.from);
  const message = () => document.getElementById("message").textContent;
  const said = [];
  const { say } = page;
  page.say = (words) => {
    said.push(words);
    say.call(page, words);
  };
  try {
    await rest();
    // The whole trace at first, with all lanes.
    expect(first.from === trace.start && first.to === trace.end, "the whole trace is not in view");
    const wanted = [
      ["core", "core 0"],
      ["context", "client 2"],
      ["thread", "server"],
    ];
    for (const [kind, name] of wanted) expect(lane(first, kind, name), `no lane for the ${kind} ${name}`);

    // The core's lane has a colour where a thread runs.
    const core = lane(first, "core", "core 0");
    const { thread, start, end } = first.pieces[0].lanes.cores[core.index];
    const i = thread.findIndex((thread, i) => thread >= 0 && end[i] - start[i] > trace.ticks(1));
    const x = first.x((start[i] + end[i]) / 2);
    const scale = devicePixelRatio;
    const pixel = first.canvas.getContext("2d").getImageData(x * scale, (core.y + core.height - 5) * scale, 1, 1).data;
    expect(pixel[3] === 255, "the core's lane is empty where a thread runs");
    pointer(first.canvas, "pointermove", x, core.y + 8);
    const tip = document.getElementById("tip").textContent;
    expect(tip.includes("charged to"), `the pointer on a span says: ${tip}`);

    // Keys zoom and move.
    press("w");
    await rest();
    expect(Math.abs(length(first) / trace.ms(trace.end - trace.start) - 0.7) < 0.01, "W does not zoom");
    const before = first.from;
    press("d");
    expect(first.from > before, "D does not move");
    press("0");
    expect(first.from === trace.start && first.to === trace.end, "0 does not show all");

    // The wheel zooms at the pointer.
    const at = first.time(700);
    const { left } = first.canvas.getBoundingClientRect();
    first.canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -100, clientX: left + 700, cancelable: true }));
    expect(first.to - first.from < trace.end - trace.start, "the wheel does not zoom");
    expect(Math.abs(first.time(700) - at) < trace.ticks(0.01), "the wheel does not zoom at the pointer");
    press("0");

    // The arrows do the same as letters.
    const shows = (part) => Math.abs(length(first) / trace.ms(trace.end - trace.start) - part) < 0.01;
    press("ArrowUp");
    expect(shows(0.7), "the arrow up does not zoom in");
    const here = first.from;
    press("ArrowRight");
    expect(first.from > here, "the arrow to the right does not move");
    press("a");
    expect(Math.abs(first.from - here) < trace.ticks(0.01), "A does not move back");
    press("ArrowLeft");
    expect(first.from < here, "the arrow to the left does not move");
    press("s");
    expect(shows(0.98), "S does not zoom out");
    press("ArrowDown");
    expect(shows(1), "the arrow down does not zoom out");

    // The map at the top.
    for (let i = 0; i < 3; i++) press("w");
    pointer(first.map, "pointerdown", first.map.clientWidth * 0.75, 5);
    const middle = (first.from + first.to) / 2 - trace.start;
    expect(Math.abs(middle / (trace.end - trace.start) - 0.75) < 0.01, "a click on the map does not move there");
    press("0");

    // All threads, and the search.
    press("l");
    expect(page.everyThread, "L does not show all threads");
    press("l");
    press("/");
    expect(document.activeElement.id === "search", "/ does not begin a search");
    document.activeElement.blur();

    // What is what.
    const help = document.getElementById("keys");
    press("?");
    expect(help.open && help.innerText.includes("budget is used up"), "? does not say what is what");
    press("?");
    expect(!help.open, "? does not go");

    // The timeout.
    const target = document.getElementById("target");
    target.value = "timeouts";
    press("n");
    await rest();
    if (!first.cursors.length) press("p");
    await rest();
    const timeouts = trace.targets.findIndex((one) => one.what === "timeouts");
    const [found] = first.cursors;
    expect(found > 0 && (await trace.next(timeouts, found - 1, 1)) === found, "N and P do not find the timeout");
    expect(length(first) < 60, "the timeout is not seen closely");
    for (let i = 0; i < trace.targets[timeouts].count; i++) {
      press("n");
      await rest();
    }
    expect(message() === "no more", `N goes on after the last timeout and says: ${message()}`);

    const isOffered = trace.targets.some(({ what, count }) => what === "event Woken" && count > 0);
    expect(isOffered, "events of one kind are not offered");

    // The longest blackout.
    press("b");
    expect(first.cursors.length === 2, "B shows no blackout");
    await rest();
    for (const words of ["longest blackout", "most in a period", "kernel entries", "Syscall"]) {
      expect(first.tables.textContent.includes(words), `the tables have no ${words}`);
    }

    // The worst inversion is in the other trace.
    press("i");
    expect(message().includes("no thread waits"), "there is an inversion where there is none");
    click(second, 400, 50);
    expect(page.active === second, "a click does not choose the trace");
    document.getElementById("inversion").click();
    const worst = second.trace.inversion;
    expect(message().includes("for work on the context of"), `the inversion is: ${message()}`);
    expect(worst && second.cursors[0] === worst.start, "the inversion is not in view");
    second.cursors = [];
    click(first, 400, 50);
    first.cursors = [];

    // Lanes by name.
    const search = document.getElementById("search");
    search.value = "client 2";
    search.dispatchEvent(new Event("input"));
    await rest();
    expect(!first.lanes.some((lane) => lane.name === "client 1"), "lanes are not chosen by name");
    search.value = "";
    search.dispatchEvent(new Event("input"));

    // Lanes of a core: all that has run there.
    press("0");
    search.value = "core 0";
    search.dispatchEvent(new Event("input"));
    await rest();
    expect(lane(first, "core", "core 0") && lane(first, "thread", "server"), "a core does not choose what it runs");
    search.value = "";
    search.dispatchEvent(new Event("input"));
    await rest();

    // Of the context whose budget has ended at 1.003 ms, the replenishment is pending.
    press("0");
    await rest();
    const context = lane(first, "context", "client 2");
    pointer(first.canvas, "pointermove", first.x(trace.ticks(3)), context.y + 20);
    const words = document.getElementById("tip").textContent;
    expect(/pending: \d\.\d+ .s at 10\.\d+ ms/.test(words), `what is pending is not said: ${words}`);
    const due = first.pieces[0].lanes.contexts[context.index].due[0];
    const below = [first.x(due) * scale, (context.y + context.height - 2) * scale];
    const [mark] = first.canvas.getContext("2d").getImageData(...below, 1, 1).data.slice(3);
    expect(mark > 0, "a replenishment that comes is not marked");

    // Two traces: the other follows, and both can be aligned.
    press("0");
    press("w");
    press("w");
    await rest();
    expect(Math.abs(length(first) - length(second)) < 0.01, "the other trace does not follow");
    press("0");
    await rest();
    press("x");
    expect(message().includes("click in each trace"), "without cursors nothing is aligned");
    click(first, 400, 50);
    click(second, 900, 50);
    press("x");
    const offset = (pane) => pane.trace.ms(pane.cursors[0] - pane.from);
    await rest();
    expect(Math.abs(offset(first) - offset(second)) < 0.01, "the cursors are not one time");

    // Two cursors measure.
    click(second, 300, 50);
    click(second, 500, 50, { shiftKey: true });
    await rest();
    expect(second.range.textContent.includes("A to B"), "two cursors do not measure");
    // From the call of client 2 to the last entry before its budget ends; and across the interrupt that ends it.
    for (const [to, words] of [
      [1.002, /A to B: 0.999 ms, without events 0.999 ms ± 0.000 µs/],
      [1.01, /not correctable: across an interrupt/],
    ]) {
      first.cursors = [trace.ticks(0.003), trace.ticks(to)];
      first.draw();
      await rest();
      expect(words.test(first.range.textContent), `a span is not corrected: ${first.range.textContent}`);
    }
    first.cursors = [];

    // The tables of a part, which are the same however the page gets its data.
    for (const [from, to] of [
      [0, 40],
      [5, 17],
      [10, 11],
    ]) {
      first.view(trace.ticks(from), trace.ticks(to));
      await rest();
      seen.push(first.tables.textContent);
    }

    const colours = () => getComputedStyle(document.body).backgroundColor;
    const light = colours();
    press("t");
    expect(colours() !== light, "T does not change the colours");
    const complaints = said.filter((words) => /does not answer|parameter/.test(words));
    expect(complaints.length === 0, `a request was refused: ${complaints}`);
    // What is at the very beginning of a part belongs to it.
    expect(since([1, 5, 9], 5) === 1 && since([1, 5, 9], 5.5) === 2, "the first of a list is not found");
  } catch (error) {
    problems.push(String(error.stack));
  }
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = [...(problems.length ? problems : ["all holds"]), ...seen].join(" | ").replaceAll("\n", " ");
  document.body.append(result);
  console.log(`result: ${result.textContent}`);
})();
