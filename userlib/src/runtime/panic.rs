//! The panic handler: prints the location, then exits the component.

use crate::{fault, println};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Makes a panic call `hook` instead of printing a line to the console. When it returns, the component exits.
pub fn set_panic_hook(hook: fn(&PanicInfo)) {
    HOOK.store(hook as *mut (), Relaxed);
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let hook = HOOK.swap(core::ptr::null_mut(), Relaxed);
    if hook.is_null() {
        println!("{info}");
    } else {
        // SAFETY: only `set_panic_hook` stores a value other than null, and that is a function of this type.
        let hook: fn(&PanicInfo) = unsafe { core::mem::transmute(hook) };
        hook(info);
    }
    super::exit(fault::PANIC)
}
