//! A panic says where, then the component ends.

use crate::{fault, println};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Has `hook` tell of a panic, in place of a line on the console. When it returns, the component
/// ends.
pub fn set_panic_hook(hook: fn(&PanicInfo)) {
    HOOK.store(hook as *mut (), Relaxed);
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let hook = HOOK.swap(core::ptr::null_mut(), Relaxed);
    if hook.is_null() {
        println!("{info}");
    } else {
        // SAFETY: only `set_panic_hook` stores anything but null, and that is a function of this type.
        let hook: fn(&PanicInfo) = unsafe { core::mem::transmute(hook) };
        hook(info);
    }
    super::exit(fault::PANIC)
}
