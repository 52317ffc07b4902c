//! Support code for tests.

pub mod arch;
mod busy;
mod check;
mod confined;
mod cores;
pub mod counters;
pub mod debugger;
mod elsewhere;
pub mod events;
mod faults;
pub mod lending;
mod place;
pub mod protocol;
pub mod quanta;
mod random;
mod refusals;
pub mod sources;
mod test;
mod threads;
pub mod timer;
#[path = "../../../../../userlib/schedulers/src/tests/vectors/mod.rs"]
pub mod vectors;

pub use busy::{relax, spin, spin_for, spin_until, work};
pub(crate) use check::start;
pub use check::{Failure, Outcome, fail, is_true, same};
pub use confined::CONFINED_RADIX;
pub(crate) use elsewhere::Elsewhere;
pub use faults::Watched;
pub use place::{Place, RADIX};
pub use random::Random;
pub use refusals::{INVALID_ROOT, range};
pub use test::Test;
pub use threads::{ABOVE, BELOW, PRIORITY, SLICE, ms, us};
