//! Timeout faults: what happens when a budget ends.

use crate::check_eq;
use crate::support::{Outcome, Test};
use userlib::cap::{Endpoint, Tcb};

tests![handlers_may_be_taken_away];

fn handlers_may_be_taken_away(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let endpoint: Endpoint = test.create()?;
    check_eq!(tcb.set_timeout_endpoint(endpoint), Ok(()));
    Ok(())
}
