//! Where the kernel's state is.

use core::mem::MaybeUninit;

use arch_x86_64::{X86_64, fastpath, lines};
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
    let (kernel, irqs) = (&raw mut KERNEL, &raw mut IRQS);
    // SAFETY: there is one kernel, and these are the only references.
    let kernel = unsafe { Kernel::make_in(&mut *kernel, arch, &mut *irqs) };
    fastpath::enable(kernel);
    kernel
}

/// The kernel.
///
/// # Safety
/// Called once per kernel entry, after [`init`].
pub unsafe fn kernel() -> &'static mut Kernel<X86_64<Pc99>> {
    let kernel = &raw mut KERNEL;
    // SAFETY: interrupts are disabled in the kernel, so entries do not nest, and `init` was called.
    unsafe { (&mut *kernel).assume_init_mut() }
}
