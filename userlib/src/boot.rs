//! Capabilities and boot information of the initial thread.

use crate::cap::{
    AsidControl, AsidPool, CNode, CPtr, DomainSet, Frame, IrqControl, SchedContext, SchedControl,
    Tcb, VSpace,
};
use abi::{BootInfo, BootInfoHeader, BootInfoRecord, SlotRegion, slots};

/// The initial thread.
pub const TCB: Tcb = Tcb(CPtr(slots::INIT_THREAD_TCB));
/// The root of its CSpace.
pub const CNODE: CNode = CNode(CPtr(slots::INIT_THREAD_CNODE));
/// Its address space.
pub const VSPACE: VSpace = VSpace(CPtr(slots::INIT_THREAD_VSPACE));
/// The right to issue interrupt handlers.
pub const IRQ_CONTROL: IrqControl = IrqControl(CPtr(slots::IRQ_CONTROL));
/// The right to create ASID pools.
pub const ASID_CONTROL: AsidControl = AsidControl(CPtr(slots::ASID_CONTROL));
/// The ASID pool of its address space.
pub const ASID_POOL: AsidPool = AsidPool(CPtr(slots::INIT_THREAD_ASID_POOL));
/// The right to issue I/O port capabilities.
#[cfg(target_arch = "x86_64")]
pub const IO_PORT_CONTROL: crate::cap::IoPortControl =
    crate::cap::IoPortControl(CPtr(slots::IO_PORT_CONTROL));
/// The frame of the boot information.
pub const BOOT_INFO_FRAME: Frame = Frame(CPtr(slots::BOOT_INFO_FRAME));
/// The frame of its IPC buffer.
pub const IPC_BUFFER_FRAME: Frame = Frame(CPtr(slots::INIT_THREAD_IPC_BUFFER));
/// The right to set domains and their schedule.
pub const DOMAIN: DomainSet = DomainSet(CPtr(slots::DOMAIN));
/// Its scheduling context.
pub const SCHED_CONTEXT: SchedContext = SchedContext(CPtr(slots::INIT_THREAD_SC));

/// The right to configure scheduling contexts on the first core.
pub fn sched_control(boot: &BootInfo) -> SchedControl {
    SchedControl(CPtr(boot.sched_control.start))
}

/// The rights to configure scheduling contexts, for each core.
pub fn sched_controls(boot: &BootInfo) -> impl Iterator<Item = SchedControl> + use<> {
    let SlotRegion { start, end } = boot.sched_control;
    (start..end).map(|slot| SchedControl(CPtr(slot)))
}

/// The records of extra boot information: kind and contents of each.
pub fn extra_records(boot: &'static BootInfo) -> impl Iterator<Item = (usize, &'static [u8])> {
    let first = boot as *const BootInfo as usize + (1 << abi::sizes::PAGE_BITS);
    // SAFETY: the kernel mapped so many bytes after the page of the boot information.
    let bytes = unsafe { core::slice::from_raw_parts(first as *const u8, boot.extra_length) };
    records(bytes)
}

fn records(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    const HEAD: usize = size_of::<BootInfoHeader>();
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let (id, tail) = rest.split_first_chunk()?;
        let (length, _) = tail.split_first_chunk()?;
        let id = usize::from_ne_bytes(*id);
        let length = usize::from_ne_bytes(*length);
        if length < HEAD || length > rest.len() {
            return None;
        }
        let (record, next) = rest.split_at(length);
        rest = next;
        Some((id, &record[HEAD..]))
    })
}

/// Frequency of the time stamp counter in MHz, on x86.
pub fn tsc_megahertz(boot: &'static BootInfo) -> Option<u32> {
    let wanted = BootInfoRecord::X86TscFrequency as usize;
    let (_, payload) = extra_records(boot).find(|(id, _)| *id == wanted)?;
    Some(u32::from_ne_bytes(*payload.first_chunk()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn records_end_at_garbage() {
        let words: [usize; 7] = [5, 24, 0xaa, 6, 16, 9, 4];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let found: Vec<_> = super::records(&bytes).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].0, found[0].1.len()), (5, 8));
        assert_eq!((found[1].0, found[1].1.len()), (6, 0));
    }
}
