//! The kernel's own events of a simulation.

use host_machine::Machine;
use host_machine::arch::Host;
use kernel::Kernel;
use kernel::arch::Arch;
use kernel::time::Ticks;
use trace::{Answer, File};
use trace_format::{Clocks, Detail, HEADER_BYTES, Kinds, Mode, ObjectId, RingReader, Settings};

use super::Simulation;

impl Simulation {
    /// The trace so far, if events are written.
    pub fn trace(&self) -> Option<File> {
        let rings = self.machine.kernels().map(ring).collect::<Option<_>>()?;
        let threads = self.threads.iter().skip(1);
        let threads = threads.map(|thread| ObjectId::of(thread.address()));
        let contexts = self.contexts.iter();
        let contexts = contexts.map(|(address, actor)| (ObjectId::of(*address), *actor));
        let name = |(id, actor): (ObjectId, usize)| (id, self.history.actors[actor].name.clone());
        let mut answers: Vec<_> = self.context_answers().collect();
        answers.sort_by_key(|answer| answer.context);
        let mut names: Vec<_> = threads.zip(0..).chain(contexts).map(name).collect();
        names.sort();
        Some(File {
            platform: "simulator".to_string(),
            rings,
            end: Some(self.now()),
            names,
            answers,
        })
    }

    /// What the kernel would answer if it were asked now how much was consumed from each context.
    fn context_answers(&self) -> impl Iterator<Item = Answer> + '_ {
        let kernel = &self.machine.kernel;
        self.bound.iter().map(|context| {
            let is_current = |one: &&Kernel<Host>| one.core.current_context == Some(*context);
            let core = self.machine.kernels().find(is_current);
            let uncharged = core.map_or(Ticks::ZERO, |one| one.core.consumed);
            Answer {
                context: ObjectId::of(context.address()),
                consumed: (kernel[*context].consumed + uncharged).0,
            }
        })
    }
}

/// The events of a core.
fn ring(kernel: &Kernel<Host>) -> Option<Vec<u8>> {
    let mut ring: Vec<u8> = kernel.trace()?.collect();
    let reader = RingReader::new(&ring).expect("the kernel has written it");
    let events = reader.written.min(reader.capacity) as usize;
    // Memory that was never used is left out.
    ring.truncate(HEADER_BYTES + events * reader.settings.detail.bytes());
    Some(ring)
}

/// Lets the kernel write events from now on, as many for each core. Their memory is never freed, like that of a board.
pub(super) fn start(machine: &mut Machine, events: usize) {
    for core in 0..machine.kernels().count() {
        let kernel = machine.kernel_of(core);
        let settings = Settings {
            core: core as _,
            detail: Detail::Full,
            kinds: Kinds::ALL,
            mode: Mode::Stop,
            frequency: kernel.arch.clock().frequency(),
            clocks: Clocks::Shared,
        };
        let bytes = HEADER_BYTES + events.max(1) * settings.detail.bytes();
        let memory = Box::leak(vec![0; bytes.div_ceil(8)].into_boxed_slice());
        let started = kernel.start_tracing(memory, settings);
        assert!(started, "there is room for an event");
    }
}
