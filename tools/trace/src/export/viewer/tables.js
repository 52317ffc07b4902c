// The tables below the lanes: sums over the part of a trace that is in view.

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/// A table with its headings.
function tableOf(headings, rows) {
  const line = (tag, cells) => "<tr>" + cells.map((cell) => `<${tag}>${cell}`).join("");
  return `<table>${line("th", headings)}${rows.map((row) => line("td", row)).join("")}</table>`;
}

function tables(trace, sums, length) {
  const share = (ticks) => ((100 * ticks) / length).toFixed(1) + " %";
  const promised = ({ budget, period }) => {
    if (!budget) return "?";
    return period ? `${trace.show(budget)} / ${trace.show(period)}` : `slices of ${trace.show(budget)}`;
  };
  const ofContexts = trace.contexts.flatMap((context, index) => {
    if (!context.isUsed) return [];
    const [received, blackout, most] = sums.contexts[index];
    const inPeriod = context.period ? trace.show(most) : "-";
    const name = `<span style="color:${colour(index)}">${escaped(context.name)}</span>`;
    return [[name, promised(context), trace.show(received), share(received), inPeriod, trace.show(blackout)]];
  });
  const ofThreads = trace.threads.flatMap(({ name }, index) => {
    const [ran, ready] = sums.threads[index];
    return ran > 0 ? [[escaped(name), trace.show(ran), share(ran), trace.show(ready)]] : [];
  });
  const ofJobs = trace.jobs.map((one) => {
    return [escaped(one.thread), one.task, one.done, one.missed, trace.show(one.longest)];
  });
  return (
    tableOf(["context of", "promised", "received here", "share", "most in a period", "longest blackout"], ofContexts) +
    tableOf(["thread", "ran here", "share", "ready"], ofThreads) +
    (ofJobs.length ? tableOf(["jobs of", "task", "done", "missed", "longest response"], ofJobs) : "") +
    (sums.calls ? histogram(trace, "donated calls", sums.calls) : "") +
    (sums.responses ? histogram(trace, "jobs done", sums.responses) : "") +
    bars("kernel entries", trace.reasons, sums.entries)
  );
}

/// How many there are of each, with a bar.
function bars(what, names, counts) {
  const most = Math.max(...counts, 1);
  const rows = names.flatMap((name, i) => {
    const bar = `<svg width="40" height="9"><rect width="${(40 * counts[i]) / most}" height="9" fill="currentColor"/></svg>`;
    return counts[i] ? [[escaped(name), counts[i], bar]] : [];
  });
  return tableOf([what, "here", ""], rows);
}

/// How long calls took in view, from a donation to its return, or jobs, from the release to the end, in classes of equal
/// ratios.
function histogram(trace, what, { count, least, most, median, counts }) {
  const high = Math.max(...counts);
  const bar = (count, i) => {
    const height = (58 * count) / high;
    const place = `x="${i * 9}" y="${60 - height}" width="8" height="${height}"`;
    return `<rect ${place} fill="currentColor"><title>${count}</title></rect>`;
  };
  const range = `${trace.show(least)} to ${trace.show(most)}, median ${trace.show(median)}`;
  const picture = `<svg width="220" height="62">${counts.map(bar).join("")}</svg>`;
  return `<div>${what} here: ${count}<br>${picture}<br>${range}</div>`;
}
