//! Faults: what their messages say, and what replies do.

use crate::check;
use crate::support::{Outcome, Test};
use userlib::{CPtr, Fault, syscall};

tests![waiting_for_nothing_is_a_fault];

fn waiting_for_nothing_is_a_fault(test: &mut Test) -> Outcome {
    let fault = test.fault_of(|| {
        syscall::wait(CPtr::NULL);
    })?;
    check!(matches!(
        fault,
        Fault::Capability {
            receiving: true,
            ..
        }
    ));
    Ok(())
}
