//! What a parent needs to make objects, map memory and start threads and processes.
//!
//! The root task has all of it from the kernel; a component has what its parent gave it
//! ([`Process::give_own_capabilities`](crate::Process::give_own_capabilities) and untyped memory).

use crate::allocator::Allocator;
use crate::cap::{
    AsidPool, Attributes, CNode, Frame, SchedContext, SchedControl, SchedParameters, Tcb, VSpace,
};
use crate::{Capability, Result, Startup, boot};
use abi::sizes::PAGE_BITS;
use abi::{BootInfo, Rights};
use core::sync::atomic::AtomicUsize;

/// Bytes of a page.
pub const PAGE: usize = 1 << PAGE_BITS;

/// Where [`Environment::map`] starts: far above any program.
const FREE_ADDRESSES: usize = 0x6000_0000;

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
    /// The right to hand out time.
    pub const SCHED_CONTROL: &str = "sched-control";
}

/// The means of a parent.
pub struct Environment {
    /// Slots and memory.
    pub allocator: Allocator,
    /// The parent's own first thread: the authority for priorities.
    pub tcb: Tcb,
    /// The parent's address space.
    pub vspace: VSpace,
    /// Where children's address spaces are registered.
    pub asid_pool: AsidPool,
    /// The right to hand out time.
    pub sched_control: SchedControl,
    scratch: usize,
    next_address: usize,
}

/// Memory that the parent and others see.
#[derive(Clone, Copy)]
pub struct SharedPage {
    /// The frame, mapped in the parent.
    pub frame: Frame,
    /// Its words.
    pub words: &'static [AtomicUsize],
}

impl Environment {
    /// That of the initial thread.
    pub fn from_boot_info(boot: &BootInfo) -> Self {
        Self::new(
            Allocator::from_boot_info(boot),
            boot::TCB,
            boot::VSPACE,
            boot::ASID_POOL,
            boot::sched_control(boot),
        )
    }

    /// That of a component which was given capabilities under the names in [`names`], and untyped
    /// memory. What was not given is missing when it is needed: the kernel then returns an error.
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

    /// Addresses for `pages` pages that nothing is mapped at, behind a page that stays empty.
    pub fn reserve(&mut self, pages: usize) -> usize {
        let address = self.next_address + PAGE;
        self.next_address = address + pages * PAGE;
        address
    }

    /// Maps a frame of the smallest size at a free address; the address.
    pub fn map(&mut self, frame: Frame, rights: Rights, attributes: Attributes) -> Result<usize> {
        let address = self.reserve(1);
        self.vspace
            .map(&mut self.allocator, frame, address, rights, attributes)?;
        Ok(address)
    }

    /// Maps new memory of `pages` pages in a row; the address.
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

    /// A new page of zeros that can be shared.
    pub fn create_shared_page(&mut self) -> Result<SharedPage> {
        let frame = self.allocator.create::<Frame>()?;
        let address = self.map(frame, Rights::READ_WRITE, Attributes::NO_EXECUTE)?;
        // SAFETY: the page is mapped for good, and only atomics reach it.
        let words = unsafe {
            core::slice::from_raw_parts(address as *const AtomicUsize, PAGE / size_of::<usize>())
        };
        Ok(SharedPage { frame, words })
    }

    /// Maps a page of device registers; the address of `physical_address` itself.
    pub fn map_device(&mut self, physical_address: usize) -> Result<(Frame, usize)> {
        let offset = physical_address % PAGE;
        let frame = self
            .allocator
            .create_device_frame(physical_address - offset)?;
        let address = self.map(frame, Rights::READ_WRITE, Attributes::DEVICE)?;
        Ok((frame, address + offset))
    }

    /// A scheduling context with parameters.
    pub fn create_sched_context(&mut self, parameters: &SchedParameters) -> Result<SchedContext> {
        let bits = parameters.size_bits();
        let context = self.allocator.create_sized::<SchedContext>(bits)?;
        self.sched_control.configure(context, parameters)?;
        Ok(context)
    }

    /// Lets `edit` change the contents of a frame of the smallest size that is mapped nowhere.
    pub(crate) fn edit_frame<T>(
        &mut self,
        frame: Frame,
        execute: bool,
        edit: impl FnOnce(&mut [u8; PAGE]) -> T,
    ) -> Result<T> {
        let scratch = self.scratch;
        self.vspace.map(
            &mut self.allocator,
            frame,
            scratch,
            Rights::READ_WRITE,
            Attributes::NO_EXECUTE,
        )?;
        // SAFETY: the page was just mapped, nothing else is there, and it stays until `edit` is done.
        let result = edit(unsafe { &mut *(scratch as *mut [u8; PAGE]) });
        // Instruction fetches do not look into the data cache on Arm.
        #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
        if execute {
            frame.cache(crate::cap::CacheOperation::UnifyInstruction, 0, PAGE)?;
        }
        #[cfg(target_arch = "x86_64")]
        let _ = execute;
        frame.unmap()?;
        Ok(result)
    }
}
