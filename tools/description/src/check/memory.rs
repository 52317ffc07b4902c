//! Memory: what is shared, and what all of it takes.

use super::Draft;
use super::components::{name, size};
use crate::file::Rights;
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{Region, RegionId};
use crate::units::Size;

/// Checks shared memory and the sum of all memory.
pub(super) fn all(draft: &mut Draft, report: &mut Report) {
    for (named, one) in &draft.file.memory.0 {
        name(named, "shared memory", report);
        draft.system.regions.push(Region {
            name: named.value.clone(),
            size: size(Some(&one.size), Size::default(), "size", report),
            cacheable: one.cacheable.unwrap_or(true),
        });
    }
    for (place, (name, _)) in draft.file.memory.0.iter().enumerate() {
        use_of(draft, RegionId(place), &name.span, report);
    }
    sum(draft, report);
}

/// Memory that is not shared by a writer with others; the root task may be one of them.
fn use_of(draft: &Draft, id: RegionId, span: &Span, report: &mut Report) {
    let maps = draft.system.components.iter().flat_map(|one| &one.maps);
    let rights: Vec<_> = maps
        .filter(|map| map.region == id)
        .map(|map| map.rights)
        .collect();
    let name = &draft.system[id].name;
    if rights.is_empty() && !draft.has_gaps {
        let one = Diagnostic::warning(
            Kind::Unused,
            span,
            format!("no component uses the memory `{name}`"),
        );
        report.add(one.help("add `memory.NAME = \"read-write\"` to components, or remove it"));
    }
    let is_written = rights.contains(&Rights::ReadWrite);
    if !rights.is_empty() && !is_written && draft.file.root.is_none() && !draft.has_gaps {
        let message = format!("all components only read the memory `{name}`, which stays empty");
        let one = Diagnostic::error(Kind::Rights, span, message);
        report.add(one.help("let one of them have `read-write`"));
    }
}

/// What is known before the build: stacks, heaps and shared memory. The place of the largest is reported.
fn sum(draft: &Draft, report: &mut Report) {
    let mut parts: Vec<(Size, &Span)> = Vec::new();
    for (one, (source, place)) in draft.system.components.iter().zip(&draft.sources) {
        parts.push((
            one.heap,
            source.heap.as_ref().map_or(place, |heap| &heap.span),
        ));
        parts.push((
            one.stack,
            source.stack.as_ref().map_or(place, |stack| &stack.span),
        ));
    }
    let regions = draft.system.regions.iter().zip(&draft.file.memory.0);
    parts.extend(regions.map(|(region, (_, one))| (region.size, &one.size.span)));
    let all = parts
        .iter()
        .fold(0_u64, |sum, part| sum.saturating_add(part.0.as_bytes()));
    let has = draft.platform.memory;
    if let Some((_, span)) = parts.iter().max_by_key(|part| part.0)
        && all > has.as_bytes()
    {
        let all = Size::from_bytes(all.checked_next_multiple_of(1 << 20).unwrap_or(all));
        let message =
            format!("stacks, heaps and shared memory take {all}, and the platform has {has}");
        let one = Diagnostic::error(Kind::MemoryTooLarge, span, message);
        report.add(one.help("reduce this, the largest part, or others"));
    }
}
