//! Threads in address spaces of their own, which can lose their identifier.

use super::arch::{SECOND_CALL, bare_registers, call_twice};
use super::protocol::names;
use super::{ABOVE, Outcome, SLICE, Test};
use crate::{check, check_eq};
use abi::Syscall;
use abi::sizes::ASID_POOL_BITS;
use userlib::cap::{
    AsidControl, AsidPool, Attributes, Endpoint, Notification, Reply, SchedContext, Slot, Tcb,
    Untyped, VSpace,
};
use userlib::{CPtr, Fault, Rights};

/// A bare thread in an address space of its own.
pub(crate) struct Elsewhere {
    pub(crate) tcb: Tcb,
    pub(crate) space: VSpace,
    pub(crate) sched_context: SchedContext,
    pub(crate) faults: Endpoint,
    registers: userlib::cap::Registers,
    /// It gets a signal if the thread continues after its system call.
    continued: Notification,
}

impl Elsewhere {
    /// Makes a thread that makes one system call. `pool` gets the pool of its address space's identifier.
    pub(crate) fn new(
        test: &mut Test,
        pool: Slot,
        call: Syscall,
        cap: CPtr,
        reply: CPtr,
    ) -> Outcome<Self> {
        const PROGRAM: usize = 0x9000_0000;
        const BYTES: usize = 32;
        let memory: Untyped = test.create_sized(ASID_POOL_BITS)?;
        let control: AsidControl = test.startup.capability(names::ASID_CONTROL);
        control.make_pool(memory, pool)?;
        let space: VSpace = test.create()?;
        AsidPool(CPtr(pool.index)).assign(space)?;

        let (frame, page) = test.create_page()?;
        let code = call_twice as *const u8;
        // SAFETY: the program has at most as many bytes, and others follow.
        unsafe { core::ptr::copy_nonoverlapping(code, page as *mut u8, BYTES) };
        #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
        frame.cache(userlib::cap::CacheOperation::UnifyInstruction, 0, BYTES)?;
        let copy = test.copy(frame)?;
        let (rights, attributes) = (Rights::READ_WRITE, Attributes::NORMAL);
        space.map(&mut test.allocator, copy, PROGRAM, rights, attributes)?;

        let (tcb, faults): (Tcb, Endpoint) = (test.create()?, test.create()?);
        let cnode = test.allocator.cnode();
        tcb.set_space(faults, cnode, 0, space)?;
        let sched_context = test.create_sched_context(&SLICE)?;
        tcb.set_sched_params(test.tcb, 0, ABOVE, sched_context, faults)?;
        let continued: Notification = test.create()?;
        let mut registers = bare_registers(call_twice, call, cap);
        registers.0[SECOND_CALL.0] = Syscall::Send.number();
        registers.0[SECOND_CALL.1] = test.badge(continued, 1)?.0.0;
        registers.0[abi::registers::PC] = PROGRAM;
        registers.0[abi::registers::REPLY] = reply.0;
        Ok(Self {
            tcb,
            space,
            sched_context,
            faults,
            registers,
            continued,
        })
    }

    /// Lets it run until it waits.
    pub(crate) fn start(&self, test: &mut Test) -> Outcome {
        self.tcb.write_registers(true, &self.registers)?;
        Ok(test.let_others_run()?)
    }

    /// An address space with the same contents, without an identifier.
    pub(crate) fn lost_space(test: &mut Test) -> Outcome<VSpace> {
        let pool = test.empty_slot()?;
        let other = Self::new(test, pool, Syscall::Wait, CPtr::NULL, CPtr::NULL)?;
        pool.delete()?;
        Ok(other.space)
    }

    /// Checks that it has run into a fault of memory at once.
    #[track_caller]
    pub(crate) fn check_fault(&self, test: &mut Test) -> Outcome {
        let answer: Reply = test.create()?;
        let received = self.faults.nb_recv(answer);
        let message = received.and_then(|received| received.message);
        let fault = message.map(|message| Fault::from_message(&message));
        check!(matches!(fault, Some(Fault::Memory { .. })), "{fault:?}");
        check_eq!(self.continued.poll(), 0);
        Ok(())
    }
}
