//! Program entry and exit.
//!
//! A root task declares `userlib::root!(main)` and has `fn main(boot: &'static BootInfo)`; a component
//! declares `userlib::entry!(main)` and has `fn main(startup: &'static Startup)`. `main` may return nothing
//! or a `Result`, or never return.

mod exit;
#[cfg(feature = "heap")]
pub(crate) mod heap;
#[cfg(target_os = "none")]
mod panic;
mod stack;
mod termination;

pub use exit::{exit, exit_thread};
#[cfg(target_os = "none")]
pub use panic::set_panic_hook;
pub use stack::{StackUse, stack, stack_use};
pub use termination::Termination;

use crate::{Startup, arch};
use abi::BootInfo;

/// Size of the root task's stack in bytes.
pub const ROOT_STACK_BYTES: usize = 128 * 1024;

/// The root task's stack.
#[repr(C, align(4096))]
pub struct RootStack(core::cell::UnsafeCell<[u8; ROOT_STACK_BYTES]>);

// SAFETY: no Rust code accesses the field.
unsafe impl Sync for RootStack {}

impl RootStack {
    /// An empty stack.
    #[allow(clippy::new_without_default, reason = "only ever a static")]
    pub const fn new() -> Self {
        Self(core::cell::UnsafeCell::new([0; ROOT_STACK_BYTES]))
    }
}

/// Runs the main function of a root task.
///
/// # Safety
/// `boot_info` is the kernel's value of the capability register, and the caller runs on `stack`.
#[doc(hidden)]
pub unsafe fn run_root<T: Termination>(
    boot_info: usize,
    stack: &'static RootStack,
    main: fn(&'static BootInfo) -> T,
) -> ! {
    exit::this_is_the_root_task();
    let start = stack.0.get() as usize;
    stack::set_stack(start..start + ROOT_STACK_BYTES);
    // SAFETY: the kernel mapped the frame, and it stays mapped.
    let boot_info = unsafe { &*(boot_info as *const BootInfo) };
    // SAFETY: the kernel mapped this buffer for the initial thread.
    unsafe { arch::set_ipc_buffer_address(boot_info.ipc_buffer) };
    exit(main(boot_info).code())
}

/// Runs the main function of a component.
///
/// # Safety
/// `startup` is the parent's value of the first argument register.
#[doc(hidden)]
pub unsafe fn run_component<T: Termination>(startup: usize, main: fn(&'static Startup) -> T) -> ! {
    // SAFETY: the parent mapped the page and leaves it mapped.
    let startup = unsafe { &*(startup as *const Startup) };
    // SAFETY: as above.
    unsafe { arch::set_ipc_buffer_address(startup.ipc_buffer()) };
    assert!(startup.is_valid(), "this is no startup page");
    stack::set_stack(startup.stack());
    #[cfg(feature = "heap")]
    if let Some((address, bytes)) =
        startup.find_pair(crate::startup::HEAP, crate::startup::RecordKind::Heap)
    {
        // SAFETY: the parent mapped the memory for this, before the component started.
        unsafe { heap::set_heap(address, bytes) };
    }
    exit(main(startup).code())
}

/// Makes `main` the main function of a root task: `fn(&'static BootInfo)`.
#[macro_export]
macro_rules! root {
    ($main:path) => {
        const _: () = {
            #[unsafe(link_section = ".stack")]
            static STACK: $crate::runtime::RootStack = $crate::runtime::RootStack::new();

            extern "C" fn run(boot_info: usize) -> ! {
                // SAFETY: `_start` passes on the kernel's value.
                unsafe { $crate::runtime::run_root(boot_info, &STACK, $main) }
            }

            /// The entry point, at which the kernel starts the initial thread without a stack.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[unsafe(link_section = ".text._start")]
            extern "C" fn _start() -> ! {
                ::core::arch::naked_asm!(
                    $crate::_root_start!(),
                    stack = sym STACK,
                    size = const $crate::runtime::ROOT_STACK_BYTES,
                    main = sym run,
                )
            }
        };
    };
}

/// Makes `main` the main function of a component: `fn(&'static Startup)`.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        const _: () = {
            extern "C" fn run(startup: usize) -> ! {
                // SAFETY: `_start` passes on the parent's value.
                unsafe { $crate::runtime::run_component(startup, $main) }
            }

            /// The entry point, at which the parent starts the component.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[unsafe(link_section = ".text._start")]
            extern "C" fn _start() -> ! {
        ::core::arch::naked_asm!($crate::_component_start!(), main = sym run)
            }
        };
    };
}
