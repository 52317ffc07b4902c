//! What all HTML pages share.

use std::fmt::Write;

use schedulability::Method;

const STYLE: &str = "
:root{color-scheme:light dark;--back:#fff;--ink:#1b1f24;--dim:#59636e;--line:#d5dae0;--card:#f6f8fa;--good:#1a7f37;
--bad:#cf222e;--own:#0969da;--request:#54aeff;--kernel:#8250df;--interference:#bc4c00;--blocking:#bf3989;
--waiting:#0e7c86;--blackout:#6e7781;--jitter:#9a6700}
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--ink:#e6edf3;--dim:#9198a1;--line:#30363d;--card:#161b22;
--good:#3fb950;--bad:#f85149;--own:#58a6ff;--request:#79c0ff;--kernel:#bc8cff;--interference:#f0883e;
--blocking:#f778ba;--waiting:#39c5cf;--blackout:#8b949e;--jitter:#d29922}}
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:60rem;background:var(--back);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.dim,small{color:var(--dim)}.verdict{border-left:.4rem solid;padding:.6rem 1rem;margin:1rem 0;font-size:1.15rem;
background:var(--card)}.good{border-color:var(--good)}.bad{border-color:var(--bad)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem .3rem 0;
border-bottom:1px solid var(--line);vertical-align:top}td.n,th.n{text-align:right;white-space:nowrap}
b.good{color:var(--good)}b.bad{color:var(--bad)}details{border:1px solid var(--line);border-radius:.4rem;margin:.6rem 0;
padding:.5rem .8rem}summary{cursor:pointer;font-weight:600}.bar{display:flex;height:.9rem;margin:.6rem 0;border-radius:.2rem;
overflow:hidden;background:var(--line)}.bar i{display:block;min-width:1px}i.key{display:inline-block;width:.8em;height:.8em;
border-radius:.15em;margin-right:.4em}.own{background:var(--own)}.request{background:var(--request)}
.kernel{background:var(--kernel)}.interference{background:var(--interference)}.blocking{background:var(--blocking)}
.waiting{background:var(--waiting)}.blackout{background:var(--blackout)}.jitter{background:var(--jitter)}
svg{width:100%;height:auto;font-size:12px;fill:var(--dim)}svg .grid{stroke:var(--line)}svg path{fill:none;stroke-width:2}
path.supply{stroke:var(--good)}path.demand{stroke:var(--interference)}line.bound{stroke:var(--own);stroke-width:1.5}
line.deadline{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:6 3}text.bound{fill:var(--own)}text.deadline{fill:var(--bad)}
ul{padding-left:1.2rem;margin:.3rem 0}pre{background:var(--card);border-radius:.4rem;padding:.6rem .8rem;overflow-x:auto}
svg.turns g text{fill:#fff;font-weight:600}";

/// A text in which nothing is markup.
pub(crate) fn escaped(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;")
}

/// A sentence, in which names stand in backticks.
pub(crate) fn sentence(text: &str) -> String {
    let parts = text.split('`').map(escaped).enumerate();
    let parts = parts.map(|(place, part)| match place % 2 {
        0 => part,
        _ => format!("<code>{part}</code>"),
    });
    parts.collect()
}

/// The beginning of a page: the system's title and platform, a verdict in a word and in a sentence.
pub(crate) fn begin(title: &str, platform: &str, good: bool, word: &str, verdict: &str) -> String {
    let title = escaped(title);
    let class = if good { "good" } else { "bad" };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}: {word}</title><style>{STYLE}</style></head><body>\n\
         <h1>{title}</h1><div class=\"dim\">on {}</div>\n<p class=\"verdict {class}\">{}</p>\n",
        escaped(platform),
        sentence(verdict),
    )
}

/// The end of a page: what was assumed, and the methods.
pub(crate) fn end<'a>(
    assumptions: &[String],
    methods: impl IntoIterator<Item = &'a Method>,
) -> String {
    let mut page = "<h2>Assumptions</h2><ul>".to_string();
    for one in assumptions {
        let _ = write!(page, "<li>{}</li>", sentence(one));
    }
    page += "</ul>\n";
    for method in methods {
        let (name, source) = (escaped(method.name), escaped(method.source));
        let _ = write!(page, "<p>{name} <small>({source})</small></p><ul>");
        for one in method.assumptions {
            let _ = write!(page, "<li>{}</li>", sentence(one));
        }
        page += "</ul>\n";
    }
    page + "</body></html>\n"
}
