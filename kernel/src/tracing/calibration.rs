//! What it costs to write an event, measured when the first core begins to do so. Others are like it.

use core::hint::black_box;

use trace_format::{Cost, Kind, Kinds, Move, ObjectId, Reason};

use crate::arch::Arch;
use crate::object::{SchedContext, Thread};
use crate::sched::Scheduler;
use crate::time::Ticks;
use crate::token::Ptr;

/// So often a hook is called to measure what its events cost.
const CALLS: u32 = 256;
/// So often it is measured; the least counts, as all else that takes time comes on top.
const REPETITIONS: usize = 3;

impl<A: Arch> Scheduler<A> {
    /// Measures what it costs to write an event: the mean of those that a usual kernel entry writes. How far others are
    /// from that is seen from a hook that looks up nothing for its event, and from some that look up objects: what they
    /// cost without what a hook takes anyway, and with it.
    pub(super) fn calibrate(
        &mut self,
        thread: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
    ) -> Cost {
        let usual = self.ticks_of(|this| this.trace_usual_entry(thread, context));
        let events = self.instruments.tracer.written() / u64::from(CALLS);
        let others = [
            self.ticks_of(|this| this.event(Kind::Run, |_| (ObjectId::NONE, 0, 0))),
            self.ticks_of(|this| this.entry(Reason::Timer, 0)),
            self.ticks_of(Self::trace_level),
            self.ticks_of(Self::trace_exit),
        ];
        Cost::around((usual[0], events as u32), others.as_flattened(), CALLS)
    }

    /// The events of a call by which another thread runs, on another context.
    fn trace_usual_entry(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        // Nothing about them is known before the hooks, as in an entry.
        let (thread, context) = black_box((thread, context));
        self.trace_syscall(abi::Syscall::Call as usize);
        self.trace_charged(context, Ticks::ZERO);
        self.trace_move(context, None, Move::Call);
        self.trace_woken(thread);
        self.instruments.tracer.forget();
        self.trace_exit();
    }

    /// The ticks in which a hook writes events: without those that it takes if it writes none, and with them.
    fn ticks_of(&mut self, hook: impl Fn(&mut Self) + Copy) -> [u64; 2] {
        let without = self.least_ticks(Kinds::NOTHING, hook);
        // Of a ring that may be without the kinds of these events.
        let with = self.least_ticks(Kinds::ALL, hook);
        [with.saturating_sub(without), with]
    }

    fn least_ticks(&mut self, kinds: Kinds, hook: impl Fn(&mut Self)) -> u64 {
        self.instruments.tracer.choose(kinds);
        let repetitions = (0..REPETITIONS).map(|_| {
            self.instruments.tracer.restart(Cost::default());
            let before = self.arch.now();
            for _ in 0..CALLS {
                hook(self);
            }
            self.arch.now().saturating_sub(before).0
        });
        repetitions.min().unwrap_or(0)
    }
}
