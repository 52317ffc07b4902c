//! The differences between the execution states AArch32 and AArch64.

use core::ops::Range;

use abi::Method;
use kernel::arch::{BootSpace, PhysAddr, UserContext};
use kernel::boot::{BootAllocator, RootTaskImage};
use kernel::cores::{CoreHandle, Irqs};
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::Thread;
use kernel::sched::Scheduler;
use kernel::token::Ptr;
use kernel::{ExclusiveKernel, Kernels};

use super::Machine;
use crate::breakpoints::{self, Registers, Stepping};
use crate::cache::CacheOperation;
use crate::cap::{Capability, Format, FrameCap, Mapping, Root};
#[cfg(feature = "smp")]
use crate::core_local::CoreLocal;
use crate::platform::Platform;
use crate::spaces::AddressSpaces;
use crate::user_timer::InContext;

/// A core that has booted.
pub type Booted<V, P> = CoreHandle<Machine<V, P>>;

/// What cache maintenance of a part of a frame concerns: the address space, whether users may write there, and the
/// addresses.
pub type CacheRange<F> = (<F as Format>::Asid, bool, Range<usize>);

/// An execution state of the cores, or a version of the architecture in that state.
pub trait ExecutionState: Sized + 'static {
    /// Saved registers of a thread.
    type Context: UserContext;
    /// The format of capabilities.
    type Format: Format;
    /// The address spaces of a core.
    type Spaces<P: Platform>: AddressSpaces<Self::Format>;
    /// What boot code passes to the kernel.
    type Entered;

    /// User addresses are below this.
    const USER_TOP: usize;
    /// Bytes of cache maintenance between two preemption points.
    const CACHE_PIECE: usize;
    /// Whether it takes long to assign an identifier to an address space.
    const LONG_ASSIGNMENT: bool;

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
        kernel: &mut Scheduler<Machine<Self, P>>,
        thread: Ptr<Thread<Machine<Self, P>>>,
    );

    /// Makes the initial address space, with all tables that `range` needs.
    fn boot_space<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<Self, P>>,
        boot: &mut BootAllocator<Machine<Self, P>>,
        range: Range<usize>,
    ) -> BootSpace<Capability<Self::Format>>;

    /// Maps one page of the initial address space.
    fn boot_map<P: Platform>(
        space: &BootSpace<Capability<Self::Format>>,
        address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Capability<Self::Format>;

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

    // ---- breakpoints: only used in builds with the option `hwdebug`

    /// How the processor stops after an instruction.
    const STEPPING: Stepping;

    /// Instructions begin at multiples of this.
    const INSTRUCTION_ALIGNMENT: usize;

    /// Sets up the debug registers of this core, none in use. Returns whether they have the ABI's numbers, and
    /// the kernel can enable them.
    fn start_breakpoints() -> bool;

    /// Changes the debug registers from `before` to `wanted`, for the next thread that this core returns to.
    fn load_breakpoints(before: &Registers, wanted: &Registers);

    /// The breakpoints in a thread's context.
    fn debug(context: &Self::Context) -> &breakpoints::InContext;

    /// The same, to be changed.
    fn debug_mut(context: &mut Self::Context) -> &mut breakpoints::InContext;

    /// If the thread is single-stepped, the step begins at its next instruction.
    fn begin_step(context: &mut Self::Context);

    // ---- methods of capabilities

    /// Whether a monitor runs below the kernel that users may call.
    fn has_monitor() -> bool {
        false
    }

    /// Calls the monitor, which must exist, with the values of the first eight registers; returns those after the call.
    fn call_monitor(words: [usize; 8]) -> [usize; 8] {
        words
    }

    /// The cache operation of a method of roots.
    fn root_operation(method: Method) -> Option<CacheOperation>;

    /// Performs a cache operation on addresses that are mapped in the current address space.
    fn maintain_cache(operation: CacheOperation, range: Range<usize>);

    /// The size of the frame that is mapped at an address, and whether users can write there.
    ///
    /// # Errors
    /// The identifier of the root is not in use any more, or belongs to another address space.
    fn mapped_at<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<Self, P>>,
        root: Root<Self::Format>,
        address: usize,
    ) -> Result<Option<(usize, bool)>, Error>;

    /// Maps a frame.
    ///
    /// # Errors
    /// The error that is reported to the caller.
    fn map_page<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<Self, P>>,
        invocation: &Invocation<Machine<Self, P>>,
        frame: FrameCap<Self::Format>,
    ) -> Outcome;

    /// The address space and the addresses of a cache operation on a frame, given by the offsets of their start
    /// and end, and whether users may write there.
    ///
    /// # Errors
    /// As for [`ExecutionState::map_page`].
    fn cache_range<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<Self, P>>,
        frame: &FrameCap<Self::Format>,
        offsets: Range<usize>,
    ) -> Result<CacheRange<Self::Format>, Error>;

    /// Unmaps a frame from the address space in which it was mapped, if it still is.
    fn unmap_page<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<Self, P>>,
        frame: &FrameCap<Self::Format>,
    );

    /// Maps a page table for an address, with the attributes of the request. Returns the first address for
    /// which it is.
    ///
    /// # Errors
    /// As for [`ExecutionState::map_page`].
    fn map_table<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<Self, P>>,
        root: Root<Self::Format>,
        table: PhysAddr,
        address: usize,
        attributes: usize,
    ) -> Result<usize, Error>;

    /// Empties a page table.
    ///
    /// # Safety
    /// It is one, and is not mapped.
    unsafe fn clear_table<P: Platform>(table: PhysAddr);

    /// Unmaps a page table from the address space in which it was mapped, if it still is.
    fn unmap_table<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<Self, P>>,
        address: PhysAddr,
        mapping: Mapping<Self::Format>,
    );
}
