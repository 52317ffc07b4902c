//! The smallest context that suffices.

use system_description::file::Replenishment;
use system_description::system::{ComponentId, Context, Time};
use system_description::{Duration, System};

/// The smallest budget of the kernel's contexts, in microseconds.
const SMALLEST: u64 = 20;

/// Parts of the shortest period that are tried.
const PARTS: u64 = 4;

/// The system with another context for a component.
pub(crate) fn with_context(system: &System, id: ComponentId, context: Context) -> System {
    let mut system = system.clone();
    system.components[id.0].time = Time::Context(context);
    system
}

/// The context of the smallest share that `fits`, with a period of `shortest` microseconds or a half, a third or a
/// quarter of it.
pub(crate) fn smallest(shortest: u64, fits: impl Fn(Context) -> bool) -> Option<Context> {
    let mut best: Option<Context> = None;
    for parts in 1..=PARTS {
        let period = shortest / parts;
        let with = |budget: u64| Context {
            budget: Duration::from_micros(budget),
            period: Duration::from_micros(period),
            replenishment: Replenishment::Sporadic,
            extra_refills: 8,
            idling: false,
        };
        let fits = |budget: u64| fits(with(budget));
        let (mut low, mut high) = (SMALLEST, period.saturating_sub(1));
        if low > high || !fits(high) {
            // A large budget may be used up too late; a half may not.
            high /= 2;
            if low > high || !fits(high) {
                continue;
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            if fits(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let found = with(high);
        if best.is_none_or(|best| found.share() < best.share()) {
            best = Some(found);
        }
    }
    best
}
