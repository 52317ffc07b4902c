//! The implementation of [`ExecutionState`].

use core::ops::Range;

use abi::Method;
use kernel::arch::{BootSpace, PhysAddr};
use kernel::boot::{BootAllocator, RootTaskImage};
use kernel::cores::Irqs;
use kernel::invoke::{Error, Invocation, Outcome};
use kernel::object::{Thread, ThreadSlot};
use kernel::sched::Scheduler;
use kernel::token::Ptr;
use kernel::{ExclusiveKernel, Kernels};

use super::{KERNEL_BASE, Machine, State, boot, fpu, kernel_space, translation, version};
use crate::aarch32::descriptor::SecondLevel;
use crate::aarch32::invoke::{self, page, page_table};
use crate::aarch32::{
    self, Aarch32, Asid, CacheOperation, Capability, Context, FrameCap, HardwareAsid, Mapping,
    Spaces, Table, Words32, cp15,
};
use crate::breakpoints::{InContext as Breakpoints, Registers, Stepping};
use crate::cap::Root;
use crate::machine::{Booted, ExecutionState};
use crate::platform::Platform;
use crate::user_timer::InContext;

impl ExecutionState for State {
    type Context = Context;
    type Format = Words32;
    type Spaces<P: Platform> = Spaces<Machine<P>>;
    type Entered = ();

    const USER_TOP: usize = aarch32::USER_TOP;
    const CACHE_PIECE: usize = 2048;
    const LONG_ASSIGNMENT: bool = true;

    fn boot<P: Platform>(
        kernels: &'static Kernels<Machine<P>>,
        irqs: Irqs<Machine<P>>,
        root_task: &RootTaskImage,
        (): (),
    ) -> Booted<State, P> {
        boot::boot(kernels, irqs, root_task)
    }

    #[cfg(feature = "smp")]
    fn boot_core<P: Platform>(
        kernels: &'static Kernels<Machine<P>>,
        number: usize,
    ) -> Booted<State, P> {
        boot::boot_core(kernels, number)
    }

    #[cfg(feature = "smp")]
    #[inline(always)]
    fn core_local() -> &'static super::CoreLocal {
        super::core_local::own()
    }

    fn wait_for_interrupt() {
        version::wait_for_interrupt();
    }

    fn clean(range: Range<usize>) {
        version::clean(range);
    }

    fn flush(data: bool, instructions: bool) {
        version::flush(data, instructions);
    }

    #[inline(always)]
    fn to_virtual<P: Platform>(address: PhysAddr) -> usize {
        address
            .0
            .wrapping_sub(P::DATA.ram.start.0)
            .wrapping_add(KERNEL_BASE)
    }

    #[inline(always)]
    fn to_physical<P: Platform>(address: usize) -> PhysAddr {
        PhysAddr(
            address
                .wrapping_sub(KERNEL_BASE)
                .wrapping_add(P::DATA.ram.start.0),
        )
    }

    fn new_spaces<P: Platform>(core: usize) -> Spaces<Machine<P>> {
        Spaces::new(kernel_space::directory::<P>(), core)
    }

    #[inline(always)]
    fn load<P: Platform>(kernel: &mut Scheduler<Machine<P>>, thread: Ptr<Thread<Machine<P>>>) {
        let root = kernel[thread].slots[ThreadSlot::VSpace as usize].raw();
        let known = kernel[thread].context.space;
        kernel.capabilities.objects[thread].context.space = kernel.arch.spaces.switch(root, known);
        let (writable, read_only) = kernel[thread].context.thread_local();
        // SAFETY: only users use these registers.
        unsafe {
            cp15::set_thread_writable(writable);
            cp15::set_thread_readable(read_only);
        }
    }

    fn boot_space<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<P>>,
        boot: &mut BootAllocator<Machine<P>>,
        range: Range<usize>,
    ) -> BootSpace<Capability> {
        aarch32::boot_space(kernel, boot, range)
    }

    fn boot_map<P: Platform>(
        space: &BootSpace<Capability>,
        address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Capability {
        aarch32::boot_map::<Machine<P>>(space, address, frame, executable)
    }

    fn start_fpu() {
        fpu::start();
    }

    #[inline(always)]
    fn set_fpu_enabled(enabled: bool) {
        fpu::fpu_set_enabled(enabled);
    }

    unsafe fn save_fpu(context: &mut Context) {
        // SAFETY: by contract.
        unsafe { fpu::fpu_save(&raw mut context.fpu) };
    }

    unsafe fn load_fpu(context: &Context) {
        // SAFETY: by contract.
        unsafe { fpu::fpu_load(&raw const context.fpu) };
    }

    fn saved_timer(context: &mut Context) -> &mut InContext {
        &mut context.timer
    }

    const STEPPING: Stepping = Stepping::Mismatch;
    /// That of Thumb instructions.
    const INSTRUCTION_ALIGNMENT: usize = 2;

    fn start_breakpoints() -> bool {
        version::breakpoints::start()
    }

    fn load_breakpoints(before: &Registers, wanted: &Registers) {
        version::breakpoints::load(before, wanted);
    }

    fn debug(context: &Context) -> &Breakpoints {
        &context.debug
    }

    fn debug_mut(context: &mut Context) -> &mut Breakpoints {
        &mut context.debug
    }

    fn begin_step(context: &mut Context) {
        context.begin_step();
    }

    fn root_operation(method: Method) -> Option<CacheOperation> {
        Some(match method {
            Method::ArmPageDirectoryCleanData => CacheOperation::Clean,
            Method::ArmPageDirectoryInvalidateData => CacheOperation::Invalidate,
            Method::ArmPageDirectoryCleanInvalidateData => CacheOperation::CleanInvalidate,
            Method::ArmPageDirectoryUnifyInstruction => CacheOperation::Unify,
            _ => return None,
        })
    }

    fn maintain_cache(operation: CacheOperation, range: Range<usize>) {
        version::maintain(operation, range);
    }

    fn mapped_at<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<P>>,
        root: Root<Words32>,
        address: usize,
    ) -> Result<Option<(usize, bool)>, Error> {
        invoke::mapped_at(kernel, root, address)
    }

    #[inline(always)]
    fn map_page<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<P>>,
        invocation: &Invocation<Machine<P>>,
        frame: FrameCap,
    ) -> Outcome {
        page::map(kernel, invocation, frame)
    }

    fn cache_range<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<P>>,
        frame: &FrameCap,
        offsets: Range<usize>,
    ) -> Result<(Asid, bool, Range<usize>), Error> {
        page::cache_range(kernel, frame, offsets)
    }

    #[inline(always)]
    fn unmap_page<P: Platform>(kernel: &mut ExclusiveKernel<Machine<P>>, frame: &FrameCap) {
        page::unmap(kernel, frame);
    }

    #[inline(always)]
    fn map_table<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<P>>,
        root: Root<Words32>,
        table: PhysAddr,
        address: usize,
        attributes: usize,
    ) -> Result<usize, Error> {
        page_table::map(kernel, root, table, address, attributes)
    }

    unsafe fn clear_table<P: Platform>(table: PhysAddr) {
        // SAFETY: by contract.
        unsafe { Table::<Machine<P>>::at(table) }.clear(SecondLevel::FAULT);
    }

    #[inline(always)]
    fn unmap_table<P: Platform>(
        kernel: &mut ExclusiveKernel<Machine<P>>,
        address: PhysAddr,
        mapping: Mapping,
    ) {
        page_table::unmap(kernel, address, mapping);
    }
}

impl<P: Platform> Aarch32 for Machine<P> {
    fn spaces(&mut self) -> &mut Spaces<Self> {
        &mut self.spaces
    }

    fn table_base(directory: PhysAddr) -> usize {
        directory.0 | version::WALK
    }

    #[inline(always)]
    fn install(base: usize, asid: HardwareAsid, kernel_base: usize) {
        translation::install(base, asid, kernel_base);
    }

    fn clean_table(range: Range<usize>) {
        version::clean_table(range);
    }

    #[cfg(feature = "smp")]
    fn invalidate_space_locally(asid: HardwareAsid) {
        translation::invalidate_space_locally(asid);
    }

    fn invalidate_page(asid: HardwareAsid, address: usize) {
        translation::invalidate_page(asid, address);
    }

    fn invalidate_space(asid: HardwareAsid) {
        translation::invalidate_space(asid);
    }

    fn maintain_cache(operation: CacheOperation, range: Range<usize>) {
        version::maintain(operation, range);
    }
}

/// Makes the kernel image of a platform in this execution state.
#[macro_export]
macro_rules! aarch32_image {
    ($platform:ty) => {
        $crate::kernel_image_of!($crate::aarch32::machine::State, $platform, "C", {
            trap_handle_undefined: $crate::aarch32::machine::undefined,
            trap_handle_prefetch_abort: $crate::aarch32::machine::prefetch_abort,
            trap_handle_data_abort: $crate::aarch32::machine::data_abort,
        });

        #[unsafe(no_mangle)]
        extern "C" fn boot_main() -> *const $crate::aarch32::Context {
            // SAFETY: boot code calls this once. The record is written before the kernel is loaded.
            unsafe { KERNEL.boot(&IRQS, &raw const ROOT_TASK, ()) }
        }

        $crate::aarch32_core_main!();

        /// The target of the system call vector.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[instruction_set(arm::a32)]
        extern "C" fn trap_syscall() {
            ::core::arch::naked_asm!(
                "b {entry}",
                entry = sym $crate::aarch32::machine::system_call_entry::<$platform>,
            )
        }

        #[unsafe(no_mangle)]
        extern "C" fn trap_handle_fatal(kind: usize, address: usize) -> ! {
            $crate::aarch32::machine::fatal::<$platform>(kind, address)
        }
    };
}

/// Makes the entry point of secondary cores from boot code, in kernels for several cores.
#[cfg(feature = "smp")]
#[macro_export]
macro_rules! aarch32_core_main {
    () => {
        #[unsafe(no_mangle)]
        extern "C" fn core_main() -> *const $crate::aarch32::Context {
            // SAFETY: boot code calls this once on each secondary core.
            unsafe { KERNEL.boot_core($crate::smp::starting()) }
        }
    };
}

/// As above.
#[cfg(not(feature = "smp"))]
#[macro_export]
macro_rules! aarch32_core_main {
    () => {};
}
