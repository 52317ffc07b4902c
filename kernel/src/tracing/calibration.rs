//! What it costs to write an event of each kind, measured once, on the boot core: all cores are taken to be alike.

use core::hint::black_box;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use trace_format::{Cost, Costs, Kind, Kinds, Move, ObjectId};

use super::ring::id;
use crate::arch::Arch;
use crate::object::{SchedContext, Thread, ThreadState};
use crate::sched::Scheduler;
use crate::slot::RawCap;
use crate::time::Ticks;
use crate::token::Ptr;

/// The number of calls of a hook in one measurement.
const CALLS: u32 = 256;
/// The number of measurements. The minimum counts, as a disturbance can only add time.
const REPETITIONS: usize = 3;

/// What events cost, by the numbers of their kinds: the lower half, and the upper one.
static COSTS: [[AtomicU32; 2]; Costs::KINDS] =
    [const { [const { AtomicU32::new(0) }; 2] }; Costs::KINDS];

fn store(place: &[AtomicU32; 2], cost: Cost) {
    let bits = cost.to_bits();
    place[0].store(bits as u32, Relaxed);
    place[1].store((bits >> 32) as u32, Relaxed);
}

/// What events of all kinds cost, as the boot core has measured it.
pub(super) fn costs() -> impl Iterator<Item = (u8, Cost)> {
    COSTS.iter().zip(0..).map(|([low, high], kind)| {
        let [low, high] = [low, high].map(|half| u64::from(half.load(Relaxed)));
        (kind, Cost::from_bits(high << 32 | low))
    })
}

/// The least and the greatest cost of the kinds that are measured, in ticks for all calls.
struct Measured {
    least: u64,
    most: u64,
}

impl Measured {
    fn store(&mut self, kind: Kind, cost: u64, distance: u64) {
        (self.least, self.most) = (self.least.min(cost), self.most.max(cost));
        store(
            &COSTS[usize::from(kind.number())],
            Cost::new(cost, distance, CALLS),
        );
    }

    /// Stores the cost of the only event of a hook, of which the calls took so many ticks without it, and with it.
    fn store_alone(&mut self, kind: Kind, [without, with]: [u64; 2]) {
        self.store(kind, with.saturating_sub(without), without / 2);
    }

    /// Kinds that were not measured are between those that were.
    fn finish(self) {
        let middle = u64::midpoint(self.least, self.most);
        let cost = Cost::new(middle, self.most.saturating_sub(middle), CALLS);
        for (place, (_, known)) in COSTS.iter().zip(costs()) {
            if known == Cost::default() {
                store(place, cost);
            }
        }
    }
}

impl<A: Arch> Scheduler<A> {
    /// Measures what an event costs, of each kind that usual kernel entries write, by hooks about a thread and its context.
    /// Others get the middle between the least cost and the greatest.
    pub(super) fn calibrate(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        // Nothing about them is known before the hooks, as in an entry.
        let (thread, context) = black_box((thread, context));
        let call = black_box(abi::Syscall::Call as usize);
        let cap = black_box(RawCap::NULL);
        let mut measured = Measured {
            least: u64::MAX,
            most: 0,
        };
        let before = (self.core.current, self.core.current_context);
        (self.core.current, self.core.current_context) = (Some(thread), Some(context));
        measured.store_alone(Kind::Entry, self.ticks_of(|this| this.trace_syscall(call)));
        measured.store_alone(
            Kind::Invocation,
            self.ticks_of(|this| this.trace_invocation(thread, cap)),
        );
        measured.store_alone(
            Kind::Moved,
            self.ticks_of(|this| this.trace_move(context, None, Move::Call)),
        );
        measured.store_alone(
            Kind::GivenUp,
            self.ticks_of(|this| this.trace_given_up(context)),
        );
        measured.store_alone(Kind::Woken, self.ticks_of(|this| this.trace_woken(thread)));
        measured.store_alone(
            Kind::Priority,
            self.ticks_of(|this| this.trace_priority(thread, 0)),
        );
        // A thread that blocks for ever is stopped.
        let state = core::mem::replace(&mut self[thread].state, ThreadState::Inactive);
        measured.store_alone(
            Kind::Blocked,
            self.ticks_of(|this| this.trace_blocked(thread)),
        );
        self[thread].state = state;

        // Exits from which more and more differs from the last one.
        let known = (id(Some(thread)), id(Some(context)));
        let unknown = ObjectId(u32::MAX);
        let mut exits = |kinds, last| {
            self.least_ticks(kinds, |this| {
                *this.instruments.tracer.last() = black_box(last);
                this.trace_exit();
            })
        };
        let without = exits(Kinds::NOTHING, known);
        let exit = exits(Kinds::ALL, known);
        let run = exits(Kinds::ALL, (unknown, known.1));
        let used = exits(Kinds::ALL.without(Kind::Head), (unknown, unknown));
        let head = exits(Kinds::ALL, (unknown, unknown)).saturating_sub(used);
        measured.store_alone(Kind::Exit, [without, exit]);
        measured.store(Kind::Run, run.saturating_sub(exit), 0);
        measured.store(Kind::Use, used.saturating_sub(run), 0);
        let [without, alone] = self.ticks_of(|this| this.trace_head(context));
        let alone = alone.saturating_sub(without);
        measured.store(Kind::Head, head, alone.abs_diff(head));
        measured.store(Kind::Added, head, 0);
        let [without, charged] = self.ticks_of(|this| this.trace_charged(context, Ticks::ZERO));
        let charged = charged.saturating_sub(without + 2 * head);
        measured.store(Kind::Charged, charged, without / 2);

        measured.finish();
        (self.core.current, self.core.current_context) = before;
    }

    /// The ticks of `CALLS` calls of a hook: of calls that write no event, and of calls that do.
    fn ticks_of(&mut self, hook: impl Fn(&mut Self) + Copy) -> [u64; 2] {
        // All kinds, as the ring's own selection may exclude these events.
        [Kinds::NOTHING, Kinds::ALL].map(|kinds| self.least_ticks(kinds, hook))
    }

    fn least_ticks(&mut self, kinds: Kinds, hook: impl Fn(&mut Self)) -> u64 {
        self.instruments.tracer.choose(kinds);
        let repetitions = (0..REPETITIONS).map(|_| {
            self.instruments.tracer.restart();
            let before = self.arch.now();
            for _ in 0..CALLS {
                hook(self);
            }
            self.arch.now().saturating_sub(before).0
        });
        repetitions.min().unwrap_or(0)
    }
}
