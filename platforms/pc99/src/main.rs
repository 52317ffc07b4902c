//! The kernel image for PCs with x86-64 processors: boot, console, clock, and end of a run.
#![no_std]
#![cfg_attr(target_os = "none", feature(optimize_attribute, rust_preserve_none_cc))]
#![no_main]

mod boot;
mod clock;
#[cfg(feature = "log")]
mod log;
mod pic;
mod power;
mod serial;
mod state;

use core::fmt::Write;
use core::panic::PanicInfo;

use arch_x86_64::{Platform, X86_64};
use kernel::arch::Exit;
use kernel::boot::RootTaskImage;
use kernel::console::Console;
use kernel::cores::CoreHandle;

/// The PC.
struct Pc99;

impl Platform for Pc99 {
    #[inline(always)]
    unsafe fn core() -> CoreHandle<X86_64<Self>> {
        // SAFETY: by contract.
        unsafe { state::core() }
    }

    fn put_byte(byte: u8) {
        serial::COM1.put(byte);
    }

    fn exit(exit: Exit) -> ! {
        power::exit(exit)
    }
}

arch_x86_64::entry_points!(Pc99);

/// The tool fills it in when it assembles the boot image.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static ROOT_TASK: RootTaskImage = RootTaskImage::EMPTY;

fn root_task() -> RootTaskImage {
    // SAFETY: the static is valid; the volatile read prevents the compiler from assuming that it still has
    // its initial value.
    unsafe { (&raw const ROOT_TASK).read_volatile() }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // A console cannot fail, and an error could not be reported anyway.
    let _ = writeln!(Console::<X86_64<Pc99>>::new(), "\nkernel panic: {info}");
    power::exit(Exit::Failure)
}
