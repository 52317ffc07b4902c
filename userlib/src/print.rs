//! `print!` and `println!`.
//!
//! They write to the kernel's console, one system call per character. Kernels of kind `release` do not have
//! this system call; a system for those is built without the feature `debug-console` and prints nothing.

use core::fmt::{self, Write};

struct Console;

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        print_bytes(text.as_bytes());
        Ok(())
    }
}

/// Writes bytes to the console unchanged.
pub fn print_bytes(bytes: &[u8]) {
    if cfg!(feature = "debug-console") {
        for &byte in bytes {
            crate::syscall::debug_put_char(byte);
        }
    }
}

#[doc(hidden)]
pub fn _print(arguments: fmt::Arguments) {
    // The console itself never fails, and a failing Display does not justify a panic.
    let _ = Console.write_fmt(arguments);
}

/// Prints to the console.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => { $crate::_print(::core::format_args!($($argument)*)) };
}

/// Prints to the console, followed by a newline.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($argument:tt)*) => {
        $crate::print!("{}\n", ::core::format_args!($($argument)*))
    };
}
