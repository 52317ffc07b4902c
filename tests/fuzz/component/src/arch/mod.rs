//! What differs between architectures. Each is the same list of names:
//!
//! | name | what |
//! |---|---|
//! | `probe` | a program: two system calls with the registers as they are, then an undefined instruction |
//! | `FORMS` | the methods that only this architecture has |
//! | `TABLES` | paging structures, the lowest first, and their kinds |
//! | `FRAMES` | types of frames |
//! | `LINES` | numbers of interrupt lines are below this |
//! | `SPACE` | the type of the root of an address space |
//! | `NEVER` | methods that cannot succeed here, and why |

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
mod arm;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub use arm::*;
