//! A panic says where, then the component ends.

use crate::{fault, println};
use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    println!("{info}");
    super::exit(fault::PANIC)
}
