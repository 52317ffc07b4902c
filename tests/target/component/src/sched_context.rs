//! Scheduling contexts: binding, unbinding, what was consumed, and yielding to others.

use crate::check_eq;
use crate::support::{Outcome, Test};

tests![nobody_unbinds_itself];

fn nobody_unbinds_itself(test: &mut Test) -> Outcome {
    check_eq!(
        test.sched_context.unbind(),
        Err(userlib::Error::IllegalOperation)
    );
    Ok(())
}
