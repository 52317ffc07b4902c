//! The capabilities with which a parent creates objects, maps memory and starts threads and processes.
//!
//! The root task has all of them from the kernel; a component has those that its parent gave it
//! ([`Process::give_own_capabilities`](crate::Process::give_own_capabilities) and untyped memory).

use crate::allocator::Allocator;
use crate::cap::{
    AsidPool, Attributes, CNode, Frame, FrameSize, SchedContext, SchedControl, SchedParameters,
    Tcb, VSpace,
};
use crate::{Capability, Result, Startup, boot};
use abi::sizes::PAGE_BITS;
use abi::{BootInfo, Rights};
use core::sync::atomic::AtomicUsize;

/// Bytes of a page.
pub const PAGE: usize = 1 << PAGE_BITS;

/// The first address of [`Environment::map`]: far above any program, and after what a parent shares with it.
pub(crate) const FREE_ADDRESSES: usize = 0x6000_0000;

/// The span of a table of pages on 64-bit processors: 2 MiB; it is less on others.
const TABLE_SPAN: usize = 1 << 21;

/// Names of the capabilities that a component needs to be a parent; see [`Environment::from_startup`].
pub mod names {
    /// Its own thread.
    pub const TCB: &str = "tcb";
    /// The root of its CSpace.
    pub const CNODE: &str = "cnode";
    /// Its own address space.
    pub const VSPACE: &str = "vspace";
    /// A pool for the address spaces of its children.
    pub const ASID_POOL: &str = "asid-pool";
    /// The right to configure scheduling contexts.
    pub const SCHED_CONTROL: &str = "sched-control";
}

/// The resources of a parent.
pub struct Environment {
    /// Slots and memory.
    pub allocator: Allocator,
    /// The parent's own first thread: the authority for priorities.
    pub tcb: Tcb,
    /// The parent's address space.
    pub vspace: VSpace,
    /// The ASID pool for children's address spaces.
    pub asid_pool: AsidPool,
    /// The right to configure scheduling contexts.
    pub sched_control: SchedControl,
    scratch: usize,
    next_address: usize,
}

/// A page of memory that the parent shares with other components.
#[derive(Clone, Copy)]
pub struct SharedPage {
    /// The frame, mapped in the parent.
    pub frame: Frame,
    /// Its words.
    pub words: &'static [AtomicUsize],
}

impl Environment {
    /// The environment of the initial thread.
    pub fn from_boot_info(boot: &BootInfo) -> Self {
        Self::new(
            Allocator::from_boot_info(boot),
            boot::TCB,
            boot::VSPACE,
            boot::ASID_POOL,
            boot::sched_control(boot),
        )
    }

    /// The environment of a component that was given capabilities under the names in [`names`], and untyped
    /// memory. The use of a capability that was not given returns an error of the kernel.
    pub fn from_startup(startup: &Startup) -> Self {
        fn find<T: Capability>(startup: &Startup, name: &str) -> T {
            let given = startup.find_capability(name);
            given.unwrap_or_else(|| T::at(crate::CPtr::NULL))
        }
        let cnode: CNode = find(startup, names::CNODE);
        let empty = startup.empty();
        let mut allocator = Allocator::new(cnode, empty.start..empty.end);
        for (untyped, bits) in startup.untypeds() {
            allocator.add_untyped(untyped, bits);
        }
        Self::new(
            allocator,
            find(startup, names::TCB),
            find(startup, names::VSPACE),
            find(startup, names::ASID_POOL),
            find(startup, names::SCHED_CONTROL),
        )
    }

    fn new(
        allocator: Allocator,
        tcb: Tcb,
        vspace: VSpace,
        asid_pool: AsidPool,
        sched_control: SchedControl,
    ) -> Self {
        Self {
            allocator,
            tcb,
            vspace,
            asid_pool,
            sched_control,
            scratch: FREE_ADDRESSES,
            next_address: FREE_ADDRESSES + PAGE,
        }
    }

    /// Reserves addresses for `pages` unmapped pages, after a guard page; returns the first address.
    pub fn reserve(&mut self, pages: usize) -> usize {
        let address = self.next_address + PAGE;
        self.next_address = address + pages * PAGE;
        address
    }

    /// Maps a frame of the smallest size at a free address; returns the address.
    pub fn map(&mut self, frame: Frame, rights: Rights, attributes: Attributes) -> Result<usize> {
        let address = self.reserve(1);
        self.vspace
            .map(&mut self.allocator, frame, address, rights, attributes)?;
        Ok(address)
    }

    /// Maps `pages` contiguous pages of new memory; returns their address.
    pub fn map_new(&mut self, pages: usize) -> Result<usize> {
        let address = self.reserve(pages);
        for page in 0..pages {
            let frame = self.allocator.create::<Frame>()?;
            self.vspace.map(
                &mut self.allocator,
                frame,
                address + page * PAGE,
                Rights::READ_WRITE,
                Attributes::NO_EXECUTE,
            )?;
        }
        Ok(address)
    }

    /// Makes `pages` pages of new memory the heap of this program, which must have none yet.
    ///
    /// # Errors
    /// If memory or slots are missing.
    ///
    /// # Panics
    /// If there is one already.
    #[cfg(feature = "heap")]
    pub fn create_heap(&mut self, pages: usize) -> Result {
        let address = self.map_new(pages)?;
        // SAFETY: the memory is new, and stays mapped.
        unsafe { crate::runtime::heap::set_heap(address, pages * PAGE) };
        Ok(())
    }

    /// Creates a zeroed page that can be shared.
    pub fn create_shared_page(&mut self) -> Result<SharedPage> {
        let frame = self.allocator.create::<Frame>()?;
        let address = self.map(frame, Rights::READ_WRITE, Attributes::NO_EXECUTE)?;
        // SAFETY: the page is mapped permanently, and only atomics access it.
        let words = unsafe {
            core::slice::from_raw_parts(address as *const AtomicUsize, PAGE / size_of::<usize>())
        };
        Ok(SharedPage { frame, words })
    }

    /// Maps a page of device registers; returns its frame and the virtual address of `physical_address`.
    pub fn map_device(&mut self, physical_address: usize) -> Result<(Frame, usize)> {
        let offset = physical_address % PAGE;
        let frame = self
            .allocator
            .create_device_frame(physical_address - offset)?;
        let address = self.map(frame, Rights::READ_WRITE, Attributes::DEVICE)?;
        Ok((frame, address + offset))
    }

    /// Creates a scheduling context with these parameters.
    pub fn create_sched_context(&mut self, parameters: &SchedParameters) -> Result<SchedContext> {
        let bits = parameters.size_bits();
        let context = self.allocator.create_sized::<SchedContext>(bits)?;
        self.sched_control.configure(context, parameters)?;
        Ok(context)
    }

    /// Maps an unmapped frame temporarily, so that `edit` can change its contents.
    pub(crate) fn edit_frame<T>(
        &mut self,
        frame: Frame,
        size: FrameSize,
        execute: bool,
        edit: impl FnOnce(&mut [u8]) -> T,
    ) -> Result<T> {
        let bytes = 1 << size.bits();
        // Pages have an address that stays theirs. Larger frames are rare, and get the next one without a table
        // for pages.
        let scratch = if size == FrameSize::SMALLEST {
            self.scratch
        } else {
            let address = self
                .next_address
                .next_multiple_of(TABLE_SPAN)
                .next_multiple_of(bytes);
            self.next_address = address + bytes.next_multiple_of(TABLE_SPAN);
            address
        };
        self.vspace.map(
            &mut self.allocator,
            frame,
            scratch,
            Rights::READ_WRITE,
            Attributes::NO_EXECUTE,
        )?;
        // SAFETY: this function has just mapped the frame; nothing else accesses it until `edit` returns.
        let result = edit(unsafe { core::slice::from_raw_parts_mut(scratch as *mut u8, bytes) });
        // Instruction fetches do not snoop the data cache on Arm.
        #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
        if execute {
            frame.cache(crate::cap::CacheOperation::UnifyInstruction, 0, bytes)?;
        }
        #[cfg(target_arch = "x86_64")]
        let _ = execute;
        frame.unmap()?;
        Ok(result)
    }
}
