//! Fixed priorities on one core.

mod assignment;
mod blocking;
mod mixed;
mod response;
mod threads;

pub use assignment::{
    AUDSLEY, DEADLINE_MONOTONIC, RATE_MONOTONIC, audsley, deadline_monotonic, priorities,
    rate_monotonic,
};
pub use blocking::{BLOCKING, Blocking, blocking};
pub use mixed::{AMC_RTB, MixedResponse, amc_rtb};
pub use response::{Interference, RESPONSE_TIME, Response, response_time};
pub use threads::{Guarantee, IN_CONTEXT, ON_SUPPLY, schedulable, thread_response};
