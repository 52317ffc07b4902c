//! What the initialiser gives up: before the first component runs, the right to make anything new. When all run, it
//! takes the supervisor's place among them. That keeps the components' threads and memory, the objects that connect
//! them, and its own address space.

use crate::domains::has_domains;
use crate::objects::{control, parameters};
use system_table::{Component, Table};
use userlib::abi::slots;
use userlib::{BootInfo, CPtr, Capability, Environment, Result, boot};

/// Deletes the rights to make something new.
pub fn reduce(boot: &BootInfo, environment: &mut Environment) -> Result {
    // This is what was split off for devices, too.
    environment.allocator.give_up()?;
    delete_all(environment, boot.untyped.start..boot.untyped.end)?;
    // The ASID pool stays: with its last capability, all address spaces would lose their ASIDs.
    for slot in [
        boot::IRQ_CONTROL.cptr(),
        boot::ASID_CONTROL.cptr(),
        #[cfg(target_arch = "x86_64")]
        boot::IO_PORT_CONTROL.cptr(),
        // A slot that is empty unless the kernel gives the right to call the firmware.
        CPtr(slots::SMC),
    ] {
        environment.allocator.slot(slot).delete()?;
    }
    Ok(())
}

/// Takes the time and the priority of the supervisor, and deletes the right to change times. Before all components were
/// started, one with a higher priority could delay the start of the others, for ever if it does not end.
pub fn take_place(boot: &BootInfo, environment: &mut Environment, table: &Table) -> Result {
    let supervisor = table.supervisor();
    let control = control(boot, supervisor.core)?;
    let parameters = parameters(supervisor.time);
    // A context that is configured while its thread runs keeps what is left of its head and gets the rest of the new
    // budget a period later: without this, the supervisor would begin with what the start has left of a round-robin turn.
    userlib::syscall::yield_now();
    control.configure(boot::SCHED_CONTEXT, &parameters)?;
    delete_all(
        environment,
        boot.sched_control.start..boot.sched_control.end,
    )?;
    // A component that starts again has a new thread, which must be moved to its domain.
    let moves = |(component, _): (Component, _)| component.may_restart();
    if !(has_domains(table) && table.components().any(moves)) {
        environment.allocator.slot(boot::DOMAIN.cptr()).delete()?;
    }
    boot::TCB.set_priority(boot::TCB, supervisor.priority)
}

fn delete_all(environment: &mut Environment, mut slots: core::ops::Range<usize>) -> Result {
    slots.try_for_each(|slot| environment.allocator.slot(CPtr(slot)).delete())
}
