//! Differences between architectures. Each defines the same names:
//!
//! | name | meaning |
//! |---|---|
//! | `probe` | a program: two system calls with the registers as they are, then an undefined instruction |
//! | `FORMS` | the methods that only this architecture has |
//! | `TABLES` | paging structures and their kinds, the lowest level first |
//! | `FRAMES` | types of frames |
//! | `LINES` | one past the last interrupt line |
//! | `SPACE` | the type of the root of an address space |
//! | `NEVER` | methods that cannot succeed here, with the reason |

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
mod arm;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub use arm::*;
