//! What the initialiser gives up before the first component runs: the right to make anything new. The supervisor
//! keeps the components' threads and memory, the objects that connect them, and its own address space.

use crate::objects::{control, parameters};
use system_table::Table;
use userlib::{BootInfo, CPtr, Capability, Environment, Result, boot};

/// Sets the time of the supervisor, and deletes what is not needed any more.
pub fn reduce(boot: &BootInfo, environment: &mut Environment, table: &Table) -> Result {
    let supervisor = table.supervisor();
    let control = control(boot, supervisor.core)?;
    let parameters = parameters(supervisor.time);
    control.configure(boot::SCHED_CONTEXT, &parameters)?;
    boot::TCB.set_priority(boot::TCB, supervisor.priority)?;

    // This is what was split off for devices, too.
    environment.allocator.give_up()?;
    let delete = |slot: CPtr| environment.allocator.slot(slot).delete();
    for slot in boot.untyped.start..boot.untyped.end {
        delete(CPtr(slot))?;
    }
    for slot in boot.sched_control.start..boot.sched_control.end {
        delete(CPtr(slot))?;
    }
    // The ASID pool stays: with its last capability, all address spaces would lose their ASIDs.
    for slot in [
        boot::IRQ_CONTROL.cptr(),
        boot::ASID_CONTROL.cptr(),
        boot::DOMAIN.cptr(),
        #[cfg(target_arch = "x86_64")]
        boot::IO_PORT_CONTROL.cptr(),
    ] {
        delete(slot)?;
    }
    Ok(())
}
