//! SchedControl: configuring scheduling contexts.

use crate::check_eq;
use crate::support::{Outcome, Test};

tests![contexts_must_be_contexts];

fn contexts_must_be_contexts(test: &mut Test) -> Outcome {
    let control = test.sched_control;
    let result = userlib::invoke::invoke(
        control.0,
        abi::Method::SchedControlConfigureFlags.number(),
        &[],
        &[],
    );
    check_eq!(result.map(drop), Err(userlib::Error::TruncatedMessage));
    Ok(())
}
