//! Return types of main functions.

use core::convert::Infallible;
use core::fmt::Debug;

/// The result of a main function, convertible to an exit code.
pub trait Termination {
    /// 0 is success.
    fn code(self) -> usize;
}

impl Termination for () {
    fn code(self) -> usize {
        0
    }
}

impl Termination for Infallible {
    fn code(self) -> usize {
        match self {}
    }
}

impl Termination for usize {
    fn code(self) -> usize {
        self
    }
}

impl<T: Termination, E: Debug> Termination for Result<T, E> {
    fn code(self) -> usize {
        match self {
            Ok(value) => value.code(),
            Err(error) => {
                crate::println!("main failed: {error:?}");
                1
            }
        }
    }
}
