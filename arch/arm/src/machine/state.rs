//! The differences between the execution states AArch32 and AArch64.

use core::ops::Range;

use abi::ObjectType;
use kernel::arch::{ArchCap, BootSpace, PhysAddr, UserContext};
use kernel::boot::{BootAllocator, RootTaskImage};
use kernel::cap::RawCap;
use kernel::cores::Irqs;
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::Thread;
use kernel::token::Ptr;
use kernel::{Kernel, Kernels};

use super::Machine;
#[cfg(feature = "smp")]
use crate::core_local::CoreLocal;
use crate::platform::Platform;
use crate::user_timer::InContext;

/// The kernel of a core that has booted.
pub type Booted<V, P> = &'static mut Kernel<Machine<V, P>>;

/// An execution state of the cores, or a version of the architecture in that state.
pub trait ExecutionState: Sized + 'static {
    /// Saved registers of a thread.
    type Context: UserContext;
    /// Capabilities of the architecture.
    type Cap: ArchCap;
    /// The address spaces of a core.
    type Spaces<P: Platform>;
    /// What boot code tells the kernel.
    type Entered;
    /// A remote call of the architecture.
    #[cfg(feature = "smp")]
    type Remote: Copy;

    /// The right to make ASID pools.
    const ASID_CONTROL: Self::Cap;

    /// Sets up the boot core, its kernel and the initial thread. Called once.
    fn boot<P: Platform>(
        kernels: &'static Kernels<Machine<Self, P>>,
        irqs: Irqs<Machine<Self, P>>,
        root_task: &RootTaskImage,
        entered: Self::Entered,
    ) -> Booted<Self, P>;

    /// Sets up a secondary core and its kernel; then waits until the boot core releases it. Called once on
    /// each.
    #[cfg(feature = "smp")]
    fn boot_core<P: Platform>(
        kernels: &'static Kernels<Machine<Self, P>>,
        number: usize,
    ) -> Booted<Self, P>;

    /// The data of this core.
    #[cfg(feature = "smp")]
    fn core_local() -> &'static CoreLocal<Self::Context>;

    /// Waits until earlier memory accesses are complete and an interrupt is pending, masked or not.
    fn wait_for_interrupt();

    /// Writes a range of addresses back to memory.
    fn clean(range: Range<usize>);

    /// Cleans and invalidates the data cache if `data` is set, and invalidates the instruction cache if
    /// `instructions` is set.
    fn flush(data: bool, instructions: bool);

    // ---- address spaces

    /// The kernel's address of RAM at a physical address.
    fn to_virtual<P: Platform>(address: PhysAddr) -> usize;

    /// The physical address of RAM at one of the kernel's addresses.
    fn to_physical<P: Platform>(address: usize) -> PhysAddr;

    /// The address spaces of a core that has loaded none.
    fn new_spaces<P: Platform>(core: usize) -> Self::Spaces<P>;

    /// Loads a thread's address space and its thread-local registers.
    fn load<P: Platform>(
        kernel: &mut Kernel<Machine<Self, P>>,
        thread: Ptr<Thread<Machine<Self, P>>>,
    );

    /// Carries out a remote call.
    #[cfg(feature = "smp")]
    fn perform<P: Platform>(spaces: &mut Self::Spaces<P>, remote: Self::Remote);

    /// Makes the initial address space, with all tables that `range` needs.
    fn boot_space<P: Platform>(
        kernel: &mut Kernel<Machine<Self, P>>,
        boot: &mut BootAllocator<Machine<Self, P>>,
        range: Range<usize>,
    ) -> BootSpace<Self::Cap>;

    /// Maps one page of the initial address space.
    fn boot_map<P: Platform>(
        space: &BootSpace<Self::Cap>,
        address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Self::Cap;

    // ---- registers that are switched lazily

    /// Sets up the floating-point unit of this core, disabled.
    fn start_fpu();

    /// Enables or disables the floating-point unit.
    fn set_fpu_enabled(enabled: bool);

    /// Saves the floating-point registers.
    ///
    /// # Safety
    /// The unit is enabled, and its registers belong to the thread with this context.
    unsafe fn save_fpu(context: &mut Self::Context);

    /// Loads the floating-point registers.
    ///
    /// # Safety
    /// The unit is enabled.
    unsafe fn load_fpu(context: &Self::Context);

    /// The saved user timer in a thread's context.
    fn saved_timer(context: &mut Self::Context) -> &mut InContext;

    // ---- objects and capabilities

    /// log2 of the size of an object of one of the architecture's types; none for other types.
    fn object_bits(kind: ObjectType) -> Option<usize>;

    /// Whether objects of this type may be made of device memory.
    fn is_frame(kind: ObjectType) -> bool;

    /// Makes the capability to a new object.
    fn create_object(kind: ObjectType, address: PhysAddr, device: bool) -> Self::Cap;

    /// The capability that raises software-generated interrupt `number` on core `target`.
    fn signal_cap(number: usize, target: usize) -> Self::Cap;

    /// The capability that a copy of `cap` becomes.
    ///
    /// # Errors
    /// [`Error::IllegalOperation`] for paging structures that are not mapped.
    fn derive(cap: Self::Cap) -> Result<Option<Self::Cap>, Error>;

    /// Undoes the effects of a capability that is deleted; `last` says that no other refers to the object.
    fn finalise<P: Platform>(kernel: &mut Kernel<Machine<Self, P>>, cap: Self::Cap, last: bool);

    /// Performs an invocation.
    ///
    /// # Errors
    /// The error that is reported to the caller.
    fn invoke<P: Platform>(
        kernel: &mut Kernel<Machine<Self, P>>,
        invocation: &Invocation<Machine<Self, P>>,
        cap: RawCap,
    ) -> Outcome;
}
