//! Bars: the time of the cores, and the memory.

use std::fmt::Write;

use system_description::system::{System, WHOLE};
use system_description::{Platform, Size};

use super::super::table::percent;
use super::{LETTER, LINE, MARGIN, escape};

/// The bars of cores and memory.
const BAR: f64 = 22.0;
/// The room before a bar, for its name.
const BEFORE: f64 = 60.0;
const COLOURS: [&str; 6] = [
    "#4477aa", "#228833", "#aa3377", "#b8860b", "#cc4455", "#0e7c86",
];

/// Shared memory.
const SHARED: &str = "#777777";

/// A bar for each core, with the share of each context. Returns where that ends.
pub(super) fn draw_time(
    svg: &mut String,
    system: &System,
    cores: &[u32],
    width: f64,
    bottom: f64,
) -> f64 {
    let mut y = bottom + 30.0;
    for core in cores {
        let contexts = system.contexts(*core).into_iter();
        let parts = contexts.map(|(name, _, context)| Part {
            label: format!("{name} {}", percent(context.share())),
            share: context.share() as f64 / WHOLE as f64,
            colour: colour(system, &name),
        });
        let parts: Vec<_> = parts.collect();
        y = draw_bar(svg, &format!("core {core}"), &parts, width, y);
    }
    y
}

/// The memory that the description gives, as a bar with the share of each part of its sum, and in lines below it the
/// rest of the board's memory, and the devices. Returns where that ends.
pub(super) fn draw_memory(
    svg: &mut String,
    system: &System,
    board: &Platform,
    width: f64,
    top: f64,
) -> f64 {
    let own = system.components.iter().filter_map(|one| {
        // Without a program it is a thread of the root task, which has memory of its own.
        one.program.as_ref()?;
        let bytes = one.stack.as_bytes() + one.heap.as_bytes();
        Some((one.name.clone(), bytes, colour(system, &one.name)))
    });
    let shared = system.regions.iter().map(|region| {
        let name = format!("{} (shared)", region.name);
        (name, region.size.as_bytes(), SHARED)
    });
    let parts: Vec<_> = own.chain(shared).collect();
    let sum: u64 = parts.iter().map(|(_, bytes, _)| bytes).sum();
    let mut lines = Vec::new();
    let mut y = top;
    if sum > 0 {
        let parts = parts.into_iter().map(|(name, bytes, colour)| Part {
            label: format!("{name} {}", Size::from_bytes(bytes)),
            share: bytes as f64 / sum as f64,
            colour,
        });
        let parts: Vec<_> = parts.collect();
        y = draw_bar(svg, "memory", &parts, width, y);
        let (sum, all) = (Size::from_bytes(sum), board.memory);
        lines.push(format!(
            "stacks, heaps, shared memory: {sum} of {all}; the rest: programs, kernel, objects, page tables"
        ));
    }
    for one in &system.components {
        for device in &one.devices {
            let registers = device.resources.registers.iter();
            let registers = registers.map(|range| {
                let size = Size::from_bytes(range.size);
                format!("{size} at {:#x}", range.address)
            });
            let ports = device.resources.ports.iter();
            let ports = ports.map(|[first, last]| format!("ports {first:#x} to {last:#x}"));
            let places: Vec<_> = registers.chain(ports).collect();
            if !places.is_empty() {
                lines.push(format!(
                    "device {}: {}, for {}",
                    device.device,
                    places.join(", "),
                    one.name
                ));
            }
        }
    }
    for line in &lines {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            MARGIN + BEFORE,
            escape(line)
        );
        y += LINE;
    }
    y
}

/// A part of a bar.
struct Part {
    label: String,
    share: f64,
    colour: &'static str,
}

/// The colour of a component, or of the supervisor, in all bars.
fn colour(system: &System, name: &str) -> &'static str {
    // Its emergency time has an addition to its name.
    let name = name.split(" (").next();
    let place = system
        .components
        .iter()
        .position(|one| Some(&*one.name) == name);
    COLOURS[place.unwrap_or(system.components.len()) % COLOURS.len()]
}

/// A bar with a name, and parts that have a label and a share. Labels that do not fit into their parts stand below, in
/// the same colours. Returns where that ends.
fn draw_bar(svg: &mut String, name: &str, parts: &[Part], width: f64, y: f64) -> f64 {
    let (left, whole) = (MARGIN + BEFORE, width - 2.0 * MARGIN - BEFORE);
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{:.1}\" font-weight=\"bold\">{name}</text>\
         <rect x=\"{left}\" y=\"{y:.1}\" width=\"{whole:.1}\" height=\"{BAR}\" fill=\"#eeeeee\"/>",
        y + 15.0
    );
    let mut x = left;
    let (mut end, mut below) = (y + BAR, None);
    for Part {
        label,
        share,
        colour,
    } in parts
    {
        let part = whole * share;
        let long = label.chars().count() as f64 * LETTER;
        let (at, line, fill) = if long < part - 6.0 {
            (x + 4.0, y + 15.0, "#ffffff")
        } else {
            // In the last line as long as there is room.
            let room = left + whole - long;
            let at = below.filter(|at| *at <= room).unwrap_or_else(|| {
                end += LINE;
                left
            });
            below = Some(at + long + 16.0);
            (at, end, *colour)
        };
        let label = escape(label);
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{part:.1}\" height=\"{BAR}\" fill=\"{colour}\" \
             stroke=\"#ffffff\"><title>{label}</title></rect>\
             <text x=\"{at:.1}\" y=\"{line:.1}\" fill=\"{fill}\">{label}</text>"
        );
        x += part;
    }
    end + 14.0
}
