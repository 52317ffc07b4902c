//! Counters and stamps. Each architecture is the same list of names.
//!
//! | name | what |
//! |---|---|
//! | `Counter` | the counter, a copy of what is needed to read it |
//! | `Counter::new` | the one that the runner chose |
//! | `Counter::between` | the instructions from one reading to another |
//! | `Counter::now` | a reading by itself |
//! | `Counter::timed` | a system call between two stamps |
//! | `Counter::nothing` | two stamps with nothing between |
//! | `Counter::fault` | an instruction that faults between two stamps |
//! | `Counter::spin` | a stamp, then a loop without end whose turns are counted |
//! | `Counter::interrupted` | what the counter showed when such a loop was interrupted |
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
