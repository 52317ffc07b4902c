//! A system as a drawing: components from callers to servers, with their memory and devices; what connects
//! them; the time of the cores; and the memory.

mod bars;

use std::fmt::Write;

use system_description::Platform;
use system_description::file::Rights;
use system_description::system::{ComponentId, FaultAction, System, Time, TimeoutAction, WHOLE};

use super::table::{percent, time_of};
use bars::{draw_memory, draw_time};

const MARGIN: f64 = 24.0;
const HEADER: f64 = 44.0;
/// The width of a box.
const BOX: f64 = 176.0;
/// The least height of a box, and the height that each of its connections takes.
const HEIGHT: f64 = 74.0;
const PORT: f64 = 18.0;
/// The height of a line of text.
const LINE: f64 = 14.0;
/// The distances between boxes.
const BESIDE: f64 = 150.0;
const BELOW: f64 = 26.0;
/// The width of a letter of a label.
const LETTER: f64 = 5.8;
/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Call,
    Signal,
    Fault,
}

impl Line {
    const ALL: [(Self, &str); 3] = [
        (Self::Call, "call"),
        (Self::Signal, "signal"),
        (Self::Fault, "fault, timeout"),
    ];

    const fn colour(self) -> &'static str {
        match self {
            Self::Call => "#222222",
            Self::Signal => "#228833",
            Self::Fault => "#cc3311",
        }
    }

    const fn dash(self) -> &'static str {
        match self {
            Self::Call => "none",
            Self::Signal => "6 4",
            Self::Fault => "2 3",
        }
    }
}

/// A connection between two boxes.
#[derive(Debug)]
struct Edge {
    from: usize,
    to: usize,
    line: Line,
    label: String,
}

/// A box.
#[derive(Clone, Debug, Default)]
struct Node {
    name: String,
    lines: [String; 3],
    /// Memory and devices.
    things: Vec<String>,
    fill: &'static str,
    dashed: bool,
    /// The share of a core, in billionths.
    share: Option<u64>,
    column: usize,
    x: f64,
    y: f64,
    height: f64,
}

/// The system as SVG.
pub(super) fn draw(system: &System, board: &Platform) -> String {
    let (mut nodes, edges) = graph(system);
    let gap = edges
        .iter()
        .map(|edge| edge.label.chars().count())
        .max()
        .unwrap_or(0);
    let gap = BESIDE.max(gap as f64 * LETTER + 60.0);
    place(&mut nodes, &edges, gap);
    let bottom = nodes
        .iter()
        .map(|node| node.y + node.height)
        .fold(HEADER, f64::max);
    let columns = nodes.iter().map(|node| node.column + 1).max().unwrap_or(1) as f64;
    let width = (2.0 * MARGIN + columns * BOX + (columns - 1.0) * gap).max(640.0);
    let cores = system.cores();
    let mut time = String::new();
    let end = draw_time(&mut time, system, &cores, width, bottom);
    let height = draw_memory(&mut time, system, board, width, end) + 34.0;

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (line, _) in Line::ALL {
        let _ = writeln!(
            svg,
            "<marker id=\"{line:?}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0 8 4 0 8z\" fill=\"{}\"/></marker>",
            line.colour()
        );
    }
    let title = system.title.as_deref().unwrap_or_default();
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"26\" font-size=\"15\" font-weight=\"bold\">{}</text>",
        escape(&format!("{title} ({})", system.platform))
    );
    draw_edges(&mut svg, &nodes, &edges, gap);
    nodes.iter().for_each(|node| draw_node(&mut svg, node));
    svg.push_str(&time);
    legend(&mut svg, [width, height], &edges);
    svg.push_str("</svg>\n");
    svg
}

/// Boxes and connections.
fn graph(system: &System) -> (Vec<Node>, Vec<Edge>) {
    let mut nodes: Vec<Node> = system
        .components
        .iter()
        .map(|one| component(system, one))
        .collect();
    let mut edges = Vec::new();
    for id in system.ids() {
        connections(system, id, &mut edges);
    }
    columns(&mut nodes, &edges);
    (nodes, edges)
}

fn component(system: &System, one: &system_description::system::Component) -> Node {
    let program = one
        .program
        .as_deref()
        .or(system.root.as_deref())
        .unwrap_or("task");
    let mut place = one
        .priority
        .map_or(String::new(), |priority| format!("priority {priority}"));
    if one.core != 0 {
        let _ = write!(place, ", core {}", one.core);
    }
    if one.criticality != 0 {
        let _ = write!(place, ", criticality {}", one.criticality);
    }
    if !system.schedule.is_empty() {
        let _ = write!(place, ", {}", system[one.domain]);
    }
    let maps = one.maps.iter().map(|map| {
        let verb = match map.rights {
            Rights::Read => "reads",
            Rights::ReadWrite => "writes",
            Rights::ReadExecute => "executes",
        };
        format!("{verb} {}", system[map.region].name)
    });
    let devices = one
        .devices
        .iter()
        .map(|device| format!("drives {}", device.device));
    Node {
        name: one.name.clone(),
        lines: [program.to_string(), place, time_of(one.time)],
        things: maps.chain(devices).collect(),
        fill: if one.time.is_passive() {
            "#ffffff"
        } else {
            "#eef4fb"
        },
        dashed: one.time.is_passive(),
        share: match one.time {
            Time::Context(context) => Some(context.share()),
            Time::Slice(_) | Time::Passive(_) => None,
        },
        ..Node::default()
    }
}

fn connections(system: &System, id: ComponentId, edges: &mut Vec<Edge>) {
    let one = &system[id];
    let mut add = |to: ComponentId, line, label| {
        edges.push(Edge {
            from: id.0,
            to: to.0,
            line,
            label,
        })
    };
    for call in &one.calls {
        let endpoint = &system[call.to];
        let condition = match (endpoint.threshold, endpoint.limit) {
            (Some(threshold), true) => format!(" = {threshold}"),
            (Some(threshold), false) => format!(" \u{2265} {threshold}"),
            (None, _) => String::new(),
        };
        add(
            endpoint.server,
            Line::Call,
            format!("{}{condition}", endpoint.name),
        );
    }
    for (_, signal) in &one.signals {
        let signal = &system[*signal];
        add(signal.receiver, Line::Signal, signal.name.clone());
    }
    let fault = match one.on_fault {
        FaultAction::Handler(handler) => Some(system[handler.endpoint].server),
        _ => None,
    };
    let timeout = match one.on_timeout {
        TimeoutAction::Handler(handler) => Some(system[handler.endpoint].server),
        _ => None,
    };
    match (fault, timeout) {
        (Some(to), Some(other)) if to == other => {
            add(to, Line::Fault, "fault, timeout".to_string())
        }
        _ => {
            fault
                .into_iter()
                .for_each(|to| add(to, Line::Fault, "fault".to_string()));
            timeout
                .into_iter()
                .for_each(|to| add(to, Line::Fault, "timeout".to_string()));
        }
    }
}

/// Each server is to the right of its callers.
fn columns(nodes: &mut [Node], edges: &[Edge]) {
    let calls =
        |edge: &&Edge| matches!(edge.line, Line::Call | Line::Fault) && edge.from != edge.to;
    // Handlers may call what they handle; then as many rounds as there are boxes still end.
    for _ in 0..nodes.len() {
        for edge in edges.iter().filter(calls) {
            let column = nodes[edge.from].column + 1;
            if nodes[edge.to].column < column && column < nodes.len() {
                nodes[edge.to].column = column;
            }
        }
    }
}

/// Places the boxes of each column, those with like neighbours side by side.
fn place(nodes: &mut [Node], edges: &[Edge], gap: f64) {
    for (index, node) in nodes.iter_mut().enumerate() {
        let meets = |edge: &&Edge| edge.from == index || edge.to == index;
        let ports = edges.iter().filter(meets).count() as f64 * PORT;
        let own = HEIGHT + 4.0 + node.things.len() as f64 * LINE;
        node.height = own.max(ports + 16.0);
        node.x = MARGIN + node.column as f64 * (BOX + gap);
    }
    let columns = nodes.iter().map(|node| node.column + 1).max().unwrap_or(0);
    let mut heights = Vec::new();
    for column in 0..columns {
        let mut members: Vec<_> = (0..nodes.len())
            .filter(|index| nodes[*index].column == column)
            .collect();
        let centre = |index: &usize| {
            let callers = edges
                .iter()
                .filter(|edge| edge.to == *index && nodes[edge.from].column < column);
            let places: Vec<_> = callers.map(|edge| nodes[edge.from].y).collect();
            if places.is_empty() {
                0.0
            } else {
                places.iter().sum::<f64>() / places.len() as f64
            }
        };
        members.sort_by(|a, b| centre(a).total_cmp(&centre(b)));
        let mut y = HEADER;
        for index in members {
            nodes[index].y = y;
            y += nodes[index].height + BELOW;
        }
        heights.push(y - BELOW);
    }
    // Short columns stand in the middle.
    let most = heights.iter().copied().fold(0.0, f64::max);
    for node in nodes {
        node.y += (most - heights[node.column]) / 2.0;
    }
}

/// The height at which a connection meets a box: all of its connections are spread in the order of their other
/// ends.
fn port(nodes: &[Node], edges: &[Edge], index: usize, own: usize) -> f64 {
    let other = |edge: &Edge| nodes[edge.from + edge.to - own].y;
    let meets = |edge: &Edge| edge.from == own || edge.to == own;
    let mut here: Vec<_> = (0..edges.len())
        .filter(|index| meets(&edges[*index]))
        .collect();
    here.sort_by(|a, b| other(&edges[*a]).total_cmp(&other(&edges[*b])));
    let place = here.iter().position(|other| *other == index).unwrap_or(0);
    let node = &nodes[own];
    node.y + node.height * (place as f64 + 1.0) / (here.len() as f64 + 1.0)
}

fn draw_edges(svg: &mut String, nodes: &[Node], edges: &[Edge], gap: f64) {
    for (index, edge) in edges.iter().enumerate() {
        // The path begins at the left one of the two.
        let backwards = nodes[edge.to].column < nodes[edge.from].column;
        let ends = if backwards {
            [edge.to, edge.from]
        } else {
            [edge.from, edge.to]
        };
        let [from, to] = ends.map(|end| &nodes[end]);
        let [a, b] = ends.map(|end| port(nodes, edges, index, end));
        let mut points = vec![(from.x + BOX, a)];
        // Around the boxes of the columns in between.
        for column in from.column + 1..to.column {
            let x = MARGIN + column as f64 * (BOX + gap);
            let y = free(nodes, column, (a + b) / 2.0) + (index % 4) as f64 * 4.0;
            points.extend([(x, y), (x + BOX, y)]);
        }
        // Within a column the line ends at the right side.
        let forward = to.column > from.column;
        points.push((if forward { to.x } else { to.x + BOX }, b));
        let bend = if forward { -gap / 2.0 } else { gap / 2.0 };
        let (line, colour, dash) = (edge.line, edge.line.colour(), edge.line.dash());
        let marker = if backwards {
            "marker-start"
        } else {
            "marker-end"
        };
        let (start, y) = points[0];
        let (here, there) = if backwards { (b, a) } else { (a, b) };
        let mut path = format!("M{start:.1} {y:.1}");
        for pair in points.chunks(2) {
            if let [(x, y), (end, below)] = *pair {
                let (out, back) = (x + gap / 2.0, end + bend);
                let _ = write!(
                    path,
                    "L{x:.1} {y:.1}C{out:.1} {y:.1} {back:.1} {below:.1} {end:.1} {below:.1}"
                );
            }
        }
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\" \
             stroke-dasharray=\"{dash}\" {marker}=\"url(#{line:?})\"/>"
        );
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"3\" \
             paint-order=\"stroke\" text-anchor=\"{}\">{}</text>",
            if backwards { to.x - 7.0 } else { start + 7.0 },
            // On the side to which the line does not bend.
            here + if here <= there { -4.0 } else { 12.0 },
            if backwards { "end" } else { "start" },
            escape(&edge.label)
        );
    }
}

/// The height nearest to `wanted` at which a line passes between the boxes of a column.
fn free(nodes: &[Node], column: usize, wanted: f64) -> f64 {
    let boxes = nodes.iter().filter(|node| node.column == column);
    let hit = boxes
        .map(|node| (node.y - BELOW / 2.0, node.y + node.height + BELOW / 2.0))
        .find(|(top, bottom)| (*top..*bottom).contains(&wanted));
    match hit {
        Some((top, bottom)) if wanted - top < bottom - wanted => top,
        Some((_, bottom)) => bottom - BELOW / 4.0,
        None => wanted,
    }
}

fn draw_node(svg: &mut String, node: &Node) {
    let Node {
        x, y, height, fill, ..
    } = node;
    let dash = if node.dashed { "5 3" } else { "none" };
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{BOX}\" height=\"{height:.1}\" rx=\"6\" fill=\"{fill}\" \
         stroke=\"#445566\" stroke-width=\"1.2\" stroke-dasharray=\"{dash}\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\" font-weight=\"bold\">{}</text>",
        x + 10.0,
        y + 18.0,
        escape(&node.name)
    );
    for (line, text) in node.lines.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#445566\">{}</text>",
            x + 10.0,
            y + 33.0 + LINE * line as f64,
            escape(text)
        );
    }
    for (line, text) in node.things.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#7a6a4f\">{}</text>",
            x + 10.0,
            y + 83.0 + LINE * line as f64,
            escape(text)
        );
    }
    if let Some(share) = node.share {
        let whole = BOX - 20.0;
        let part = whole * (share.min(WHOLE) as f64) / WHOLE as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{bar:.1}\" width=\"{whole}\" height=\"4\" fill=\"#d5dfeb\"/>\
             <rect x=\"{:.1}\" y=\"{bar:.1}\" width=\"{part:.1}\" height=\"4\" fill=\"#4477aa\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            x + 10.0,
            x + 10.0,
            x + BOX - 10.0,
            y + 61.0,
            percent(share),
            bar = y + 66.0,
        );
    }
}

/// What the lines that occur mean, at the bottom.
fn legend(svg: &mut String, [width, height]: [f64; 2], edges: &[Edge]) {
    let used = Line::ALL
        .iter()
        .rev()
        .filter(|(line, _)| edges.iter().any(|edge| edge.line == *line));
    let mut x = width - MARGIN;
    for (line, name) in used {
        x -= name.chars().count() as f64 * LETTER;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>\
             <path d=\"M{:.1} {:.1}h22\" stroke=\"{colour}\" stroke-width=\"1.3\" stroke-dasharray=\"{}\"/>",
            height - 14.0,
            x - 28.0,
            height - 18.0,
            line.dash(),
            colour = line.colour(),
        );
        x -= 44.0;
    }
}

/// Text within markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
