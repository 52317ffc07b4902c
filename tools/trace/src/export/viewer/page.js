// The page: its panes, one for each trace, the buttons and the keys.

const element = (id) => document.getElementById(id);

class Page {
  constructor(traces) {
    this.filter = "";
    this.everyThread = false;
    this.panes = traces.map((trace) => new Pane(trace, this));
    element("panes").append(...this.panes.map((pane) => pane.element));
    element("align").hidden = this.panes.length < 2;
    this.listen();
    this.activate(this.panes[0]);
    const given = location.hash.match(/^#([\d.]+)-([\d.]+)$/);
    const { trace } = this.active;
    if (given) this.active.view(trace.ticks(+given[1]), trace.ticks(+given[2]));
    else this.active.view(trace.start, trace.end);
    document.title = `Trace of ${traces.map((trace) => trace.name || trace.platform).join(" and ")}`;
  }

  /// Keys and buttons act on this pane from now on.
  activate(pane) {
    if (this.active === pane) return;
    this.active = pane;
    for (const one of this.panes) one.element.classList.toggle("active", one === pane && this.panes.length > 1);
    this.offer(pane);
  }

  /// Offers what one can jump to in a pane, if it is the one that keys and buttons act on.
  offer(pane) {
    if (pane !== this.active) return;
    const chosen = element("target").value;
    const options = pane.trace.targets.map(({ what, count }) => {
      return new Option(`${what} (${count})`, what, false, what === chosen);
    });
    element("target").replaceChildren(...options);
  }

  /// The other panes show the same part as `pane`, seen from their origins.
  follow(pane) {
    for (const other of this.panes) {
      if (other === pane) continue;
      const seen = (time) => other.origin + other.trace.ticks(pane.trace.ms(time - pane.origin));
      other.show(seen(pane.from), seen(pane.to));
    }
  }

  /// The first cursors of all panes are one time from now on.
  align() {
    const without = this.panes.find((pane) => !pane.cursors.length);
    if (without) return this.say("click in each trace on what is to be one time");
    for (const pane of this.panes) pane.origin = pane.cursors[0];
    this.follow(this.active);
    this.say("aligned");
  }

  say(words) {
    element("message").textContent = words;
  }

  /// Shows words beside the pointer, or hides them.
  tip(event, words) {
    const { style } = element("tip");
    element("tip").textContent = words;
    style.display = words ? "block" : "none";
    style.left = Math.min(event.clientX + 14, innerWidth - 300) + "px";
    style.top = event.clientY + 14 + "px";
  }

  draw() {
    for (const pane of this.panes) pane.draw();
  }

  showBlackout() {
    const { trace } = this.active;
    if (!trace.isAnalysed) return this.say("the trace is not analysed yet");
    if (trace.blackout) this.active.span(...trace.blackout);
    else this.say("no context with a period was used twice");
  }

  showInversion() {
    const { trace } = this.active;
    const { inversion: found } = trace;
    if (!trace.isAnalysed) return this.say("the trace is not analysed yet");
    if (!found) return this.say("no thread waits for work of lower priority");
    const [thread, charged] = [found.thread, found.charged].map((key) => trace.threads[key].name);
    this.active.span(found.start, found.end);
    this.say(`${thread} waits ${trace.show(found.end - found.start)} for work on the context of ${charged}`);
  }

  showEveryThread() {
    this.everyThread = !this.everyThread;
    this.draw();
  }

  /// Shows what is what, or hides it.
  help() {
    const dialog = element("keys");
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  changeTheme() {
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.className = (root.className || system) === "dark" ? "light" : "dark";
    this.draw();
  }

  listen() {
    const target = () => element("target").value;
    const actions = {
      w: () => this.active.zoom(0.7),
      s: () => this.active.zoom(1.4),
      a: () => this.active.move(-0.2),
      d: () => this.active.move(0.2),
      n: () => this.active.jump(target(), 1),
      p: () => this.active.jump(target(), -1),
      b: () => this.showBlackout(),
      i: () => this.showInversion(),
      l: () => this.showEveryThread(),
      x: () => this.align(),
      0: () => this.active.view(this.active.trace.start, this.active.trace.end),
      t: () => this.changeTheme(),
      "?": () => this.help(),
      "/": () => element("search").focus(),
    };
    const arrows = { ArrowUp: "w", ArrowDown: "s", ArrowLeft: "a", ArrowRight: "d" };
    addEventListener("keydown", (event) => {
      if (event.target === element("search")) {
        if (event.key === "Escape" || event.key === "Enter") event.target.blur();
        return;
      }
      const action = actions[arrows[event.key] ?? event.key];
      if (!action || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.say("");
      action();
    });
    const buttons = { back: "p", next: "n", blackout: "b", inversion: "i", all: 0, every: "l", align: "x", theme: "t" };
    buttons.help = "?";
    for (const [id, key] of Object.entries(buttons)) {
      element(id).onclick = () => {
        this.say("");
        actions[key]();
      };
    }
    element("search").addEventListener("input", (event) => {
      this.filter = event.target.value.toLowerCase();
      this.draw();
    });
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }
}

const traces = JSON.parse(element("data").textContent).map((data, number) => {
  return data.lanes ? new Whole(data) : new Served(data, number);
});
const page = new Page(traces);
