//! The environment of a test.

use super::protocol::{QUIET, names};
use abi::BootInfo;
use core::ops::{Deref, DerefMut};
use userlib::cap::{Endpoint, FixedObject, Frame, Object, SchedContext, Slot};
use userlib::time::Clock;
use userlib::{
    Capability, Environment, Error, LookupFailure, Message, Microseconds, Result, Rights, Startup,
};

/// The environment of a test: objects to make components and threads from, and a clock.
pub struct Test {
    environment: Environment,
    /// Further objects from the runner, by name.
    pub startup: &'static Startup,
    /// A clock.
    pub clock: Clock,
    /// The scheduling context that the test's first thread runs on.
    pub sched_context: SchedContext,
    /// The handler of unexpected faults: the runner.
    pub faults: Endpoint,
}

impl Deref for Test {
    type Target = Environment;
    fn deref(&self) -> &Environment {
        &self.environment
    }
}

impl DerefMut for Test {
    fn deref_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }
}

impl Test {
    pub(crate) fn new(startup: &'static Startup) -> Self {
        Self {
            environment: Environment::from_startup(startup),
            startup,
            clock: Clock::from_startup(startup),
            sched_context: startup.capability(names::SCHED_CONTEXT),
            faults: startup.capability(names::RUNNER),
        }
    }

    /// The boot information, as the root task received it.
    pub fn boot_info(&self) -> &'static BootInfo {
        let words = self.startup.shared(names::BOOT_INFO);
        // SAFETY: the page is a copy of the kernel's, mapped for reading, and no thread writes to it.
        unsafe { &*words.as_ptr().cast() }
    }

    /// Whether time is the host's, in which a program does not take the same time twice.
    pub fn is_in_real_time(&self) -> bool {
        self.startup.number(names::REAL_TIME) != 0
    }

    /// A new object.
    pub fn create<T: FixedObject>(&mut self) -> Result<T> {
        self.allocator.create()
    }

    /// A new object that takes a size argument.
    pub fn create_sized<T: Object>(&mut self, argument: usize) -> Result<T> {
        self.allocator.create_sized(argument)
    }

    /// A new frame, mapped for reading and writing; returns frame and address.
    pub fn create_page(&mut self) -> Result<(Frame, usize)> {
        let page = self.create_shared_page()?;
        Ok((page.frame, page.words.as_ptr() as usize))
    }

    /// The slot of a capability.
    pub fn slot(&self, capability: impl Capability) -> Slot {
        self.allocator.slot(capability)
    }

    /// An empty slot.
    pub fn empty_slot(&mut self) -> Result<Slot> {
        self.allocator.allocate_slot()
    }

    /// A copy with a badge and all rights.
    pub fn badge<T: Capability>(&mut self, capability: T, badge: usize) -> Result<T> {
        self.allocator.mint(capability, Rights::ALL, badge)
    }

    /// A copy with some rights only.
    pub fn restrict<T: Capability>(&mut self, capability: T, rights: Rights) -> Result<T> {
        self.allocator.copy(capability, rights)
    }

    /// A copy.
    pub fn copy<T: Capability>(&mut self, capability: T) -> Result<T> {
        self.restrict(capability, Rights::ALL)
    }

    /// Deletes a capability; its slot stays reserved.
    pub fn delete(&mut self, capability: impl Capability) -> Result {
        self.slot(capability).delete()
    }

    /// Whether a slot is empty: then a move from it fails.
    pub fn is_empty(&mut self, slot: Slot) -> Result<bool> {
        let spare = self.empty_slot()?;
        let result = match spare.move_from(slot) {
            Ok(()) => slot.move_from(spare).map(|()| false),
            Err(Error::FailedLookup {
                source: true,
                failure: LookupFailure::MissingCapability { .. },
            }) => Ok(true),
            Err(error) => Err(error),
        };
        self.allocator.free_slot(spare);
        result
    }

    /// Whether the slot of a capability is empty.
    pub fn is_gone(&mut self, capability: impl Capability) -> Result<bool> {
        let slot = self.slot(capability);
        self.is_empty(slot)
    }

    /// Stops the ticks of the clock that ends tests for [`QUIET_SECONDS`](super::protocol::QUIET_SECONDS), so
    /// that the kernel has only the test's own deadlines.
    pub fn quiet(&self) {
        self.faults.send(Message::empty(QUIET));
    }

    /// Time since an arbitrary instant in the past.
    pub fn now(&self) -> Microseconds {
        self.clock.now()
    }
}
