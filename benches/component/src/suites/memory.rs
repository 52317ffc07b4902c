//! Mappings and creation of objects.

use super::benchmarks;
use crate::bench::Bench;
use crate::measure::{SAMPLES, page};
use userlib::abi::{self, ObjectType, Rights};
use userlib::cap::{Attributes, CNode, Frame, FrameSize};
use userlib::environment::PAGE;
use userlib::{CPtr, Capability, Error, Result};

benchmarks![pages: PAGES.len(), retype: OBJECTS.len(), delete: 1];

/// Numbers of pages.
const PAGES: [usize; 4] = [1, 16, 256, 2048];
const MAX_PAGES: usize = 2048;
/// Numbers of rounds: few for many pages.
const ROUNDS: [usize; 4] = [SAMPLES, SAMPLES, 8, 2];

/// Object types for retype: name, type and size argument.
const OBJECTS: [(&str, ObjectType, usize); 7] = [
    ("page", FrameSize::SMALLEST.object_type(), 0),
    ("thread", ObjectType::Tcb, 0),
    ("endpoint", ObjectType::Endpoint, 0),
    ("notification", ObjectType::Notification, 0),
    ("reply", ObjectType::Reply, 0),
    (
        "scheduling context",
        ObjectType::SchedContext,
        abi::sizes::MIN_SCHED_CONTEXT_BITS,
    ),
    ("CNode of 16 slots", ObjectType::CNode, 4),
];

/// Maps pages, makes them read-only, and unmaps them, with one invocation per page.
fn pages(bench: &mut Bench, variant: usize) -> Result {
    let counter = bench.counter();
    let pages = PAGES[variant];
    let first = bench.reserve(pages);
    let vspace = bench.vspace.cptr();
    let attributes = Attributes::NO_EXECUTE;
    let mut frames = [CPtr::NULL; MAX_PAGES];
    let frames = &mut frames[..pages];
    for (index, place) in frames.iter_mut().enumerate() {
        // Creates the paging structures before the measurement.
        let frame: Frame = bench.allocator.create()?;
        bench.map_at(frame, first + index * PAGE)?;
        frame.unmap()?;
        *place = frame.cptr();
    }
    let (mut map, mut protect, mut unmap) = ([0; SAMPLES], [0; SAMPLES], [0; SAMPLES]);
    let rounds = ROUNDS[variant];
    // The first round is not counted.
    for round in (0..=rounds).map(|round| round % rounds) {
        let set = |rights: Rights| {
            frames
                .iter()
                .enumerate()
                .try_fold(0, |sum, (index, &frame)| -> Result<usize> {
                    let words = [first + index * PAGE, rights.word(), attributes.0];
                    Ok(sum + counter.invoke(frame, page::MAP, &words, &[vspace])?)
                })
        };
        map[round] = set(Rights::READ_WRITE)?;
        protect[round] = set(Rights::READ)?;
        unmap[round] = frames.iter().try_fold(0, |sum, &frame| {
            Ok::<_, Error>(sum + counter.invoke(frame, page::UNMAP, &[], &[])?)
        })?;
    }
    for (operation, samples) in [("map", map), ("protect", protect), ("unmap", unmap)] {
        bench.report(operation, &[("pages", pages.into())], &samples[..rounds]);
    }
    Ok(())
}

/// Creates one object.
fn retype(bench: &mut Bench, variant: usize) -> Result {
    let (name, object, argument) = OBJECTS[variant];
    let counter = bench.counter();
    let untyped = bench.allocator.create_sized::<userlib::cap::Untyped>(20)?;
    let root = bench.allocator.cnode();
    let samples = crate::measure::repeated(|| {
        let slot = bench.allocator.allocate_slot()?;
        let words = [object.number(), argument, 0, 0, slot.index, 1];
        let label = abi::Method::UntypedRetype.number();
        counter.invoke(untyped.cptr(), label, &words, &[root.cptr()])
    })?;
    bench.report("retype", &[("object", name.into())], &samples);
    Ok(())
}

/// Deletes an endpoint.
fn delete(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let root: CNode = bench.allocator.cnode();
    let samples = crate::measure::repeated(|| {
        let endpoint: userlib::cap::Endpoint = bench.allocator.create()?;
        let words = [endpoint.cptr().0, abi::WORD_BITS];
        let label = abi::Method::CNodeDelete.number();
        counter.invoke(root.cptr(), label, &words, &[])
    })?;
    bench.report("delete", &[("object", "endpoint".into())], &samples);
    Ok(())
}
