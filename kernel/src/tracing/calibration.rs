//! What it costs to write an event, measured when a core begins to do so.

use trace_format::{Cost, Kind, Kinds, ObjectId, Reason};

use crate::arch::Arch;
use crate::sched::Scheduler;

/// So many events are written to measure one.
const EVENTS: u32 = 256;
/// So often; the least counts, as all else that takes time comes on top.
const REPETITIONS: usize = 3;

impl<A: Arch> Scheduler<A> {
    /// Measures what it costs to write an event, and starts the ring anew with that in its header. The hooks here are one
    /// that looks up nothing for its event and some that look up several objects; other kinds may cost more, and all do
    /// where caches are cold. The least is without what a hook takes anyway, the most with it.
    pub(super) fn calibrate(&mut self) {
        let costs = [
            self.ticks_of(|this| this.event(Kind::Run, |_| (ObjectId::NONE, 0, 0))),
            self.ticks_of(|this| this.entry(Reason::Timer, 0)),
            self.ticks_of(Self::trace_level),
            self.ticks_of(Self::trace_exit),
        ];
        self.restart_ring(Cost::of(costs.as_flattened(), EVENTS));
        self.trace_start_of_ring();
    }

    /// The ticks in which a hook writes events: without those that it takes if it writes none, and with them.
    fn ticks_of(&mut self, hook: impl Fn(&mut Self) + Copy) -> [u64; 2] {
        let without = self.least_ticks(Kinds::NOTHING, hook);
        // Of a ring that may be without the kinds of these events.
        let with = self.least_ticks(Kinds::ALL, hook);
        [with.saturating_sub(without), with]
    }

    fn least_ticks(&mut self, kinds: Kinds, hook: impl Fn(&mut Self)) -> u64 {
        self.instruments.tracer.kinds = kinds;
        let repetitions = (0..REPETITIONS).map(|_| {
            self.restart_ring(Cost::default());
            let before = self.arch.now();
            for _ in 0..EVENTS {
                hook(self);
            }
            self.arch.now().saturating_sub(before).0
        });
        repetitions.min().unwrap_or(0)
    }

    fn restart_ring(&mut self, cost: Cost) {
        if let Some(ring) = &mut self.instruments.tracer.ring {
            ring.restart(cost);
        }
    }
}
