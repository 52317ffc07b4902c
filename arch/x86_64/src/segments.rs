//! Segments and the task state (Intel SDM vol. 3, sections 3.4.5 and 9.7).
//!
//! 64-bit mode needs them only for privilege levels and stacks. The order of the descriptors is fixed by
//! `syscall` and `sysret`, which compute the user's selectors from one number.

use core::cell::UnsafeCell;
use core::mem::offset_of;

use kernel::sched::CORES;
use x86_64::PrivilegeLevel::{Ring0, Ring3};
use x86_64::VirtAddr;
use x86_64::instructions::segmentation::{CS, DS, ES, SS, Segment};
use x86_64::instructions::tables::load_tss;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable, SegmentSelector};
use x86_64::structures::tss::TaskStateSegment;

use crate::isolation::Visible;

/// The kernel's code.
pub const KERNEL_CODE: SegmentSelector = SegmentSelector::new(1, Ring0);
/// The kernel's data: SS after `syscall`.
pub const KERNEL_DATA: SegmentSelector = SegmentSelector::new(2, Ring0);
/// Selector of the users' data and stack.
pub const USER_DATA: u64 = SegmentSelector::new(3, Ring3).0 as u64;
/// Selector of the users' code.
pub const USER_CODE: u64 = SegmentSelector::new(4, Ring3).0 as u64;
/// The number to which `sysret` adds 8 (stack) and 16 (code).
pub const SYSRET_BASE: u64 = USER_DATA - 8;
const TASK: SegmentSelector = SegmentSelector::new(5, Ring0);

/// Index of the stack for fatal exceptions in the interrupt stack table.
pub const FATAL_STACK: u16 = 0;
/// Index of the stack for debug exceptions.
pub const DEBUG_STACK: u16 = 1;

/// The stacks of the interrupt stack table. The report of a fatal exception needs the larger one.
#[repr(C, align(16))]
struct Stacks {
    fatal: [u8; 16 * 1024],
    debug: [u8; 256],
}

static mut STACKS: Visible<[Stacks; CORES]> = Visible(
    [const {
        Stacks {
            fatal: [0; _],
            debug: [0; _],
        }
    }; CORES],
);

/// The part of the stacks that is mapped in user mode.
#[cfg(feature = "harden-meltdown")]
pub fn visible_stacks() -> core::ops::Range<usize> {
    Visible::range(&raw const STACKS)
}

/// Descriptor table and task state of one core, which the processor reads, and writes when it loads them.
#[derive(Debug)]
pub struct Segments {
    task: UnsafeCell<TaskStateSegment>,
    descriptors: UnsafeCell<GlobalDescriptorTable>,
}

impl Segments {
    /// Offset of the stack pointer for entries from user mode: see [`crate::context`].
    pub const TRAP_STACK: usize =
        offset_of!(Self, task) + offset_of!(TaskStateSegment, privilege_stack_table);

    /// Tables that are not loaded yet. The task state has no I/O permission map: port accesses fault.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub const fn new() -> Self {
        let mut descriptors = GlobalDescriptorTable::new();
        descriptors.append(Descriptor::kernel_code_segment());
        descriptors.append(Descriptor::kernel_data_segment());
        descriptors.append(Descriptor::user_data_segment());
        descriptors.append(Descriptor::user_code_segment());
        Self {
            task: UnsafeCell::new(TaskStateSegment::new()),
            descriptors: UnsafeCell::new(descriptors),
        }
    }

    /// Sets the stack pointer for entries from user mode.
    pub fn set_trap_stack(&self, end: VirtAddr) {
        // SAFETY: only this core uses its tables, and no reference to the task state exists.
        unsafe { (*self.task.get()).privilege_stack_table[0] = end };
    }

    /// Loads the tables on this core, which is number `core`.
    ///
    /// # Safety
    /// Called once per core at boot.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub unsafe fn load(&'static self, core: usize) {
        let stacks = &raw mut STACKS;
        // SAFETY: only the end addresses are computed.
        let (fatal, debug) = unsafe {
            (
                (&raw mut (*stacks).0[core].fatal).add(1),
                (&raw mut (*stacks).0[core].debug).add(1),
            )
        };
        let (task, descriptors) = (self.task.get(), self.descriptors.get());
        // SAFETY: by contract nothing else uses the tables yet; references to them end with each statement, before the
        // processor writes. The selectors are those of the descriptors, in the order in which they were appended.
        unsafe {
            (*task).interrupt_stack_table[FATAL_STACK as usize] = VirtAddr::from_ptr(fatal);
            (*task).interrupt_stack_table[DEBUG_STACK as usize] = VirtAddr::from_ptr(debug);
            (*descriptors).append(Descriptor::tss_segment_unchecked(task));
            (*descriptors).load_unsafe();
            CS::set_reg(KERNEL_CODE);
            SS::set_reg(KERNEL_DATA);
            DS::set_reg(SegmentSelector::NULL);
            ES::set_reg(SegmentSelector::NULL);
            load_tss(TASK);
        }
    }
}
