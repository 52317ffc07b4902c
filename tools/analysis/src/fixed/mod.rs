//! Fixed priorities on one core.

mod assignment;
mod blocking;
mod mixed;
mod residual;
mod response;
mod threads;

pub use assignment::{
    AUDSLEY, DEADLINE_MONOTONIC, RATE_MONOTONIC, audsley, deadline_monotonic, priorities,
    rate_monotonic,
};
pub use blocking::{BLOCKING, Blocking, blocking};
pub use mixed::{AMC_RTB, MixedResponse, amc_rtb};
pub use residual::{RESIDUAL, Residual};
pub use response::{Interference, RESPONSE_TIME, Response, response_time};
pub use threads::{
    BUDGET_IN_TIME, Guarantee, IN_CONTEXT, ON_SUPPLY, blocked, budget_response, interference,
    is_covered, schedulable, thread_response, thread_response_on,
};
