//! Counters and stamps. Each architecture provides the same names.
//!
//! | name | meaning |
//! |---|---|
//! | `Counter` | the counter: the state needed to read it |
//! | `Counter::new` | the counter that the runner chose |
//! | `Counter::between` | the number of instructions between two readings |
//! | `Counter::now` | a single reading |
//! | `Counter::timed` | a system call between two stamps |
//! | `Counter::nothing` | two stamps with no instruction between them |
//! | `Counter::fault` | a faulting instruction between two stamps |
//! | `Counter::spin` | a stamp, then an endless loop that counts its iterations |
//! | `Counter::interrupted` | the counter's value when such a loop was interrupted |
//! | `UNDEFINED_BYTES` | the length of an undefined instruction |
//! | `use_fpu` | changes a floating-point register |
//! | `page` | labels of the methods of frames |

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "arm")]
mod arm;
#[cfg(target_arch = "arm")]
pub use arm::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
