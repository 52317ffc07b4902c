//! What it costs to write an event, measured once, on the boot core: all cores are taken to be alike.

use core::hint::black_box;

use trace_format::{Cost, Kind, Kinds, Move, ObjectId, Reason};

use crate::arch::Arch;
use crate::object::{SchedContext, Thread};
use crate::sched::Scheduler;
use crate::time::Ticks;
use crate::token::Ptr;

/// The number of calls of a hook in one measurement.
const CALLS: u32 = 256;
/// The number of measurements. The minimum counts, as a disturbance can only add time.
const REPETITIONS: usize = 3;

impl<A: Arch> Scheduler<A> {
    /// Measures what it costs to write an event: the mean over the events of a typical kernel entry. The
    /// deviation of other events is bounded by a hook that looks up nothing and by hooks that look up objects,
    /// each without and with the time that a hook takes if it writes nothing.
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
        // The compiler must know nothing about them, as in a kernel entry.
        let (thread, context) = black_box((thread, context));
        self.trace_syscall(abi::Syscall::Call as usize);
        self.trace_charged(context, Ticks::ZERO);
        self.trace_move(context, None, Move::Call);
        self.trace_woken(thread);
        self.instruments.tracer.forget();
        self.trace_exit();
    }

    /// The ticks of `CALLS` calls of a hook: less those of calls that write no event, and in all.
    fn ticks_of(&mut self, hook: impl Fn(&mut Self) + Copy) -> [u64; 2] {
        let without = self.least_ticks(Kinds::NOTHING, hook);
        // All kinds, as the ring's own selection may exclude these events.
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
