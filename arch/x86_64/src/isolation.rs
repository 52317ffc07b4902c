//! Page tables that hide the kernel from user mode: [`crate::speculation`], `harden-meltdown`.
//!
//! Users' roots have only those parts of the kernel's half that entries and exits access before and after
//! they change CR3: the stubs' code, the interrupt descriptor table, the stacks of exceptions, and
//! [`CoreLocal`] with descriptor table, task state and [`Isolation`]. The kernel runs on its own root,
//! which has no user half: it accesses users' memory through its window. No page is global then.
//!
//! The processor cannot push into the context of the current thread, which is hidden; it pushes into
//! the field `frame` of [`Isolation`], from which the stubs copy. No general register of a thread is stored there.
//!
//! [`CoreLocal`]: crate::core_local::CoreLocal

use core::cell::Cell;
use core::mem::offset_of;
use core::ops::Range;

use kernel::arch::PhysAddr;

/// Data that is mapped in user mode; it has pages of its own if the kernel is hidden.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(feature = "harden-meltdown", repr(align(4096)))]
pub struct Visible<T>(pub T);

impl<T> Visible<T> {
    /// Its address range.
    pub fn range(this: *const Self) -> Range<usize> {
        this as usize..this as usize + size_of::<Self>()
    }
}

/// The data of one core that kernel entries need before they load the kernel's root.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Isolation {
    /// The frame that traps from user mode push, aligned at its end: vector, error, RIP, CS, RFLAGS, RSP, SS.
    frame: Cell<[u64; 8]>,
    /// The address of RIP in the frame, for `iretq`.
    return_frame: Cell<u64>,
    /// The end of the current thread's registers.
    registers_end: Cell<u64>,
    /// CR3 in the kernel; 0 if the kernel is not hidden.
    kernel_root: Cell<u64>,
    /// CR3 in user mode.
    user_root: Cell<u64>,
}

impl Isolation {
    /// Offset of the vector; the other fields of the frame follow.
    pub const VECTOR: usize = offset_of!(Self, frame) + 8;
    /// Offset of the stack pointer for `iretq`.
    pub const RETURN_FRAME: usize = offset_of!(Self, return_frame);
    /// Offset of the end of the current thread's registers.
    pub const REGISTERS_END: usize = offset_of!(Self, registers_end);
    /// Offset of the kernel's root.
    pub const KERNEL_ROOT: usize = offset_of!(Self, kernel_root);
    /// Offset of the user's root.
    pub const USER_ROOT: usize = offset_of!(Self, user_root);

    /// The kernel is not hidden.
    pub const fn none() -> Self {
        Self {
            frame: Cell::new([0; 8]),
            return_frame: Cell::new(0),
            registers_end: Cell::new(0),
            kernel_root: Cell::new(0),
            user_root: Cell::new(0),
        }
    }

    /// Prepares the frame, and returns the stack pointer for traps.
    pub fn prepare(&self) -> u64 {
        const RIP: usize = 3;
        let frame = self.frame.as_ptr().cast::<u64>();
        self.return_frame.set(frame.wrapping_add(RIP) as u64);
        self.frame.as_ptr().wrapping_add(1) as u64
    }

    /// Sets the end of the current thread's registers, to which kernel entries copy the frame.
    pub fn set_registers_end(&self, end: u64) {
        self.registers_end.set(end);
    }

    /// Makes the kernel run on its own `root` from now on.
    pub fn enable(&self, root: PhysAddr) {
        self.kernel_root.set(root.0 as u64);
        self.user_root.set(root.0 as u64);
    }

    /// Sets the root for user mode; returns whether the kernel is hidden, so that the return loads it.
    #[inline(always)]
    pub fn set_user_root(&self, root: PhysAddr) -> bool {
        self.user_root.set(root.0 as u64);
        self.kernel_root.get() != 0
    }
}
