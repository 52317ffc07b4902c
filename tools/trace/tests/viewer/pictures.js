// Shows a part of a trace as a person does, by keys and buttons.
(async () => {
  const rest = async () => {
    do await new Promise((done) => setTimeout(done, 20));
    while (!page.panes.every((pane) => pane.isComplete));
  };
  const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
  const jump = (what) => {
    document.getElementById("target").value = what;
    press("n");
  };
  /// Until so many milliseconds are in view, or fewer.
  const zoom = async (most) => {
    while (page.active.trace.ms(page.active.to - page.active.from) > most) {
      press("w");
      await rest();
    }
  };
  try {
    await rest();
    STEPS;
    await rest();
    console.log("result: shown");
  } catch (problem) {
    console.log(`result: ${problem.stack}`);
  }
})();
