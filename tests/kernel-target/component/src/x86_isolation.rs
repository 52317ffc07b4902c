//! User-mode page tables of kernels that are hardened against Meltdown.

use crate::support::arch::{self, STATUS_READ};
use crate::support::{Outcome, Test};
use crate::check_eq;
use userlib::Fault;

tests![user_mode_sees_no_kernel_memory];

/// The kernel's window to all memory, and its devices.
const PLACES: [usize; 4] = [
    0xffff_8000_0000_0000,
    0xffff_8000_0010_0000,
    0xffff_8000_1000_0000,
    0xffff_ffff_c000_0000,
];

/// The fault's status shows why a load is refused: the page is not mapped, rather than mapped for the kernel
/// only.
fn user_mode_sees_no_kernel_memory(test: &mut Test) -> Outcome {
    for place in PLACES {
        let fault = test.fault_of(move || {
            // SAFETY: these addresses are not mapped for users, so this is a fault.
            unsafe { arch::load(place) };
        })?;
        let Fault::Memory {
            address, status, ..
        } = fault
        else {
            crate::support::fail(format_args!("{fault:x?}"))
        };
        check_eq!((address, status), (place, STATUS_READ));
    }
    Ok(())
}
