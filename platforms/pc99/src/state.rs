//! Where the kernel's state is.

use core::mem::MaybeUninit;

use arch_x86_64::{X86_64, lines};
use kernel::Kernel;
use kernel::object::IrqEntry;

use crate::Pc99;

static mut KERNEL: MaybeUninit<Kernel<X86_64<Pc99>>> = MaybeUninit::uninit();
static mut IRQS: [IrqEntry<X86_64<Pc99>>; lines::COUNT] = [IrqEntry::EMPTY; lines::COUNT];

/// Makes the kernel.
///
/// # Safety
/// Called once, at boot.
pub unsafe fn init(arch: X86_64<Pc99>) -> &'static mut Kernel<X86_64<Pc99>> {
    // SAFETY: there is one kernel, and this is the only reference to the table.
    unsafe {
        let irqs = &mut *(&raw mut IRQS);
        (*(&raw mut KERNEL)).write(Kernel::new(arch, irqs))
    }
}

/// The kernel.
///
/// # Safety
/// Called once per kernel entry, after [`init`].
pub unsafe fn kernel() -> &'static mut Kernel<X86_64<Pc99>> {
    // SAFETY: interrupts are disabled in the kernel, so entries do not nest, and `init` was called.
    unsafe { (*(&raw mut KERNEL)).assume_init_mut() }
}
