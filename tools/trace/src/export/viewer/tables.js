// The tables below the lanes: sums over the part of a trace that is in view.

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/// A table with its headings.
function tableOf(headings, rows) {
  const line = (tag, cells) => "<tr>" + cells.map((cell) => `<${tag}>${cell}`).join("");
  return `<table>${line("th", headings)}${rows.map((row) => line("td", row)).join("")}</table>`;
}

/// The sum of the spans of a lane in view, of those that `keep` wants.
function sumOf({ start, end }, from, to, keep = () => true) {
  let sum = 0;
  for (let i = after(end, from); i < start.length && start[i] < to; i++) {
    if (keep(i)) sum += Math.min(end[i], to) - Math.max(start[i], from);
  }
  return sum;
}

/// The longest time between two uses in view.
function blackoutOf({ start, end }, from, to) {
  let longest = 0;
  const first = after(end, from);
  for (let i = first + 1; i < start.length && start[i] < to; i++) longest = Math.max(longest, start[i] - end[i - 1]);
  return longest;
}

function tables(trace, from, to) {
  const share = (ticks) => ((100 * ticks) / (to - from)).toFixed(1) + " %";
  const promised = ({ budget, period }) => {
    if (!budget) return "?";
    return period ? `${trace.show(budget)} / ${trace.show(period)}` : `slices of ${trace.show(budget)}`;
  };
  const contexts = trace.contexts.filter((context) => context.start.length);
  const ofContexts = contexts.map((context) => {
    const received = sumOf(context, from, to);
    const name = `<span style="color:${colour(context.index)}">${escaped(context.name)}</span>`;
    const blackout = trace.show(blackoutOf(context, from, to));
    return [name, promised(context), trace.show(received), share(received), blackout];
  });
  const ofThreads = [];
  for (const thread of trace.threads) {
    const sum = (status) => sumOf(thread, from, to, (i) => thread.status[i] === status);
    const ran = sum(RUNS);
    if (ran > 0) ofThreads.push([escaped(thread.name), trace.show(ran), share(ran), trace.show(sum(READY))]);
  }
  const ofJobs = trace.jobs.map((one) => {
    return [escaped(one.thread), one.task, one.done, one.missed, trace.show(one.longest)];
  });
  return (
    tableOf(["context of", "promised", "received here", "share", "longest blackout"], ofContexts) +
    tableOf(["thread", "ran here", "share", "ready"], ofThreads) +
    (ofJobs.length ? tableOf(["jobs of", "task", "done", "missed", "longest response"], ofJobs) : "") +
    histogram(trace, from, to)
  );
}

/// How long calls took in view, from a donation to its return, in classes of equal ratios.
function histogram(trace, from, to) {
  const CLASSES = 24;
  const inView = ([start, end]) => start >= from && end <= to;
  const calls = trace.contexts.flatMap((context) => context.calls.filter(inView));
  if (calls.length < 2) return "";
  const taken = calls.map(([start, end]) => Math.max(end - start, 1)).sort((one, other) => one - other);
  const [least, most] = [taken[0], taken.at(-1)];
  const counts = new Array(CLASSES).fill(0);
  const width = Math.log(most / least) / CLASSES || 1;
  for (const one of taken) counts[Math.min(CLASSES - 1, Math.floor(Math.log(one / least) / width))] += 1;
  const high = Math.max(...counts);
  const bar = (count, i) => {
    const height = (58 * count) / high;
    const place = `x="${i * 9}" y="${60 - height}" width="8" height="${height}"`;
    return `<rect ${place} fill="currentColor"><title>${count} calls</title></rect>`;
  };
  const range = `${trace.show(least)} to ${trace.show(most)}, median ${trace.show(taken[taken.length >> 1])}`;
  const picture = `<svg width="220" height="62">${counts.map(bar).join("")}</svg>`;
  return `<div>donated calls here: ${calls.length}<br>${picture}<br>${range}</div>`;
}
