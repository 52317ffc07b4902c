//! The kernel's state.

use arch_x86_64::{X86_64, lines};
use kernel::Kernels;
use kernel::cores::{CoreHandle, Irqs};
use kernel::object::IrqEntry;

use crate::Pc99;

static KERNELS: Kernels<X86_64<Pc99>> = Kernels::new();
static mut IRQS: [IrqEntry<X86_64<Pc99>>; lines::COUNT] = [IrqEntry::EMPTY; lines::COUNT];

/// Initialises the kernel of the boot core.
///
/// # Safety
/// Called once, at boot.
pub unsafe fn init(arch: X86_64<Pc99>) -> CoreHandle<X86_64<Pc99>> {
    let irqs = &raw mut IRQS;
    // SAFETY: this is the only reference to the table, and only one kernel exists so far.
    unsafe { make(0, arch, Irqs::new(&mut *irqs)) }
}

/// Initialises the kernel of a core.
///
/// # Safety
/// Called once for each core, by one core at a time, with the same interrupt lines.
pub unsafe fn make(
    core: usize,
    mut arch: X86_64<Pc99>,
    irqs: Irqs<X86_64<Pc99>>,
) -> CoreHandle<X86_64<Pc99>> {
    arch.set_kernel(KERNELS.address(core));
    arch_x86_64::fastpath::enable(&arch);
    // SAFETY: by contract.
    unsafe { KERNELS.make(core, arch, irqs) }
}

/// The handle of this core.
///
/// # Safety
/// Called once per kernel entry, after its kernel was made.
#[inline(always)]
pub unsafe fn core() -> CoreHandle<X86_64<Pc99>> {
    // SAFETY: `make` has stored the address; interrupts are disabled in the kernel, so entries do not nest.
    #[cfg(feature = "smp")]
    unsafe {
        CoreHandle::from_address(arch_x86_64::core_local::CoreLocal::kernel())
    }
    // SAFETY: interrupts are disabled in the kernel, so entries do not nest, and `init` was called.
    #[cfg(not(feature = "smp"))]
    unsafe {
        KERNELS.handle(0)
    }
}
