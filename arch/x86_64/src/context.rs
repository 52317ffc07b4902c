//! The saved registers of a thread.
//!
//! The trap entry stores the registers directly into the current thread's context: while a thread runs,
//! the stack pointer for entries from user mode points to the end of [`Registers`], so that the processor
//! itself pushes its part of them.

use core::mem::offset_of;
use core::ptr::NonNull;

use abi::registers::{COUNT, FLAGS, PC, SP};
use kernel::arch::{PhysAddr, UserContext};

use crate::debug::Debug;
use crate::fpu::FpuState;
use crate::segments::{USER_CODE, USER_DATA};
use crate::{bases, paging};

/// Value of [`Registers::vector`] after a system call: the user's RCX and R11 are lost, so that the return
/// may use `sysret`.
pub const SYSTEM_CALL: u64 = 0x100;

/// Index of the first general register (RAX) in the ABI's order.
const GENERAL: usize = 3;
const GENERAL_COUNT: usize = 15;
const FS_BASE: usize = 18;
const GS_BASE: usize = 19;
const RCX: usize = 5;
const R11: usize = 13;

/// Interrupts are enabled; bit 1 is always set.
const INITIAL_FLAGS: u64 = 1 << 9 | 1 << 1;
/// The flags that users may set: arithmetic flags and direction. Not TF, IOPL, NT, AC and others.
const USER_FLAGS: u64 = 0xcd5;

/// All registers except the floating-point state.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Registers {
    fs_base: u64,
    gs_base: u64,
    /// Whether the bases are in the processor's registers instead of here.
    bases_loaded: bool,
    /// The address at which the instruction that entered the kernel starts.
    pub restart: u64,
    /// RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8 to R15.
    pub general: [u64; GENERAL_COUNT],
    /// The cause of the kernel entry: exception, interrupt or [`SYSTEM_CALL`].
    pub vector: u64,
    /// The error code that the processor pushes for some exceptions.
    pub error: u64,
    /// Where the thread continues.
    pub rip: u64,
    cs: u64,
    /// The flags.
    pub rflags: u64,
    /// The stack pointer.
    pub rsp: u64,
    ss: u64,
}

// The processor aligns the stack to 16 bytes before it pushes (Intel SDM vol. 3, section 7.14.2).
const _: () = assert!(size_of::<Registers>().is_multiple_of(16));

impl Registers {
    /// Offset of the code segment, which has the interrupted privilege level.
    pub const CS: usize = offset_of!(Self, cs);
    /// Offset of the base of FS.
    pub const FS_BASE: usize = offset_of!(Self, fs_base);
    /// Offset of the base of GS.
    pub const GS_BASE: usize = offset_of!(Self, gs_base);
    /// Offset of the byte that indicates whether the bases are loaded.
    pub const BASES_LOADED: usize = offset_of!(Self, bases_loaded);

    /// Offset of a general register, by its position in `general`.
    pub const fn general(index: usize) -> usize {
        offset_of!(Self, general) + index * size_of::<u64>()
    }

    /// Offset of a general register, by its index in the ABI.
    pub const fn of_abi(index: usize) -> usize {
        Self::general(index - GENERAL)
    }
}

/// The context of a thread.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    /// The floating-point state, while it is not loaded.
    pub fpu: FpuState,
    /// All other registers.
    pub registers: Registers,
    /// The result of the last lookup of its address space.
    pub space: KnownSpace,
    /// The state that its debugger has set.
    pub debug: Debug,
}

/// The result of looking up a thread's address space when it ran last, which saves repeated lookups.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KnownSpace {
    /// The first word of the capability to the space, which contains root and identifier.
    pub space: usize,
    /// The ASID generation at that time.
    pub generation: u64,
    /// The root page table.
    pub root: PhysAddr,
}

impl KnownSpace {
    /// No result: no capability has this word.
    const NONE: Self = Self {
        space: usize::MAX,
        generation: 0,
        root: PhysAddr(0),
    };
}

impl Context {
    /// The context that contains some registers. The pointer must give access to all of it.
    #[inline(always)]
    pub fn of(registers: NonNull<Registers>) -> NonNull<Self> {
        // SAFETY: registers exist only as part of contexts.
        unsafe { registers.byte_sub(offset_of!(Self, registers)).cast() }
    }

    /// The registers in a context, to which kernel entries save: a reference would give access only as long as it is in
    /// use.
    #[inline(always)]
    pub const fn registers_of(context: *mut Self) -> *mut Registers {
        context
            .wrapping_byte_add(offset_of!(Self, registers))
            .cast()
    }

    /// Saves the FS and GS bases of the thread, which are loaded.
    pub fn save_bases(&mut self) {
        let registers = &mut self.registers;
        registers.fs_base = bases::read_fs();
        registers.gs_base = bases::read_user_gs();
        registers.bases_loaded = false;
    }

    /// The FS and GS bases of a thread that runs next; marks them as loaded.
    #[inline(always)]
    pub fn take_bases(&mut self) -> (u64, u64) {
        let registers = &mut self.registers;
        registers.bases_loaded = true;
        (registers.fs_base, registers.gs_base)
    }

    /// Saves FS and GS bases that were loaded.
    #[inline(always)]
    pub fn put_bases(&mut self, (fs_base, gs_base): (u64, u64)) {
        let registers = &mut self.registers;
        (registers.fs_base, registers.gs_base) = (fs_base, gs_base);
        registers.bases_loaded = false;
    }

    /// Loads the FS and GS bases for the next return to user mode.
    pub fn load_bases(&mut self) {
        let registers = &mut self.registers;
        bases::write_fs(registers.fs_base);
        bases::write_user_gs(registers.gs_base);
        registers.bases_loaded = true;
    }

    /// Some processors let a jump to a non-canonical address succeed and fault at the target. The fault
    /// message shows the address, but `iretq` to it would fault in the kernel.
    pub fn make_returnable(&mut self) {
        self.registers.rip = canonical(self.registers.rip as usize);
    }
}

/// Replaces an address that the processor would refuse by 0.
fn canonical(address: usize) -> u64 {
    if paging::is_canonical(address) {
        address as u64
    } else {
        0
    }
}

impl UserContext for Context {
    fn new() -> Self {
        Self {
            fpu: FpuState::INITIAL,
            registers: Registers {
                fs_base: 0,
                gs_base: 0,
                bases_loaded: false,
                restart: 0,
                general: [0; GENERAL_COUNT],
                vector: 0,
                error: 0,
                rip: 0,
                cs: USER_CODE,
                rflags: INITIAL_FLAGS,
                rsp: 0,
                ss: USER_DATA,
            },
            space: KnownSpace::NONE,
            debug: Debug::NONE,
        }
    }

    fn get(&self, index: usize) -> usize {
        let registers = &self.registers;
        (match index {
            PC => registers.restart,
            SP => registers.rsp,
            FLAGS => registers.rflags,
            FS_BASE if registers.bases_loaded => bases::read_fs(),
            GS_BASE if registers.bases_loaded => bases::read_user_gs(),
            FS_BASE => registers.fs_base,
            GS_BASE => registers.gs_base,
            _ => registers.general[index - GENERAL],
        }) as usize
    }

    fn set(&mut self, index: usize, value: usize) {
        debug_assert!(index < COUNT);
        let trap = self.debug.trap_flag();
        let registers = &mut self.registers;
        match index {
            PC => {
                registers.restart = canonical(value);
                registers.rip = registers.restart;
            }
            SP => registers.rsp = value as u64,
            FLAGS => registers.rflags = value as u64 & USER_FLAGS | INITIAL_FLAGS | trap,
            FS_BASE if registers.bases_loaded => bases::write_fs(canonical(value)),
            GS_BASE if registers.bases_loaded => bases::write_user_gs(canonical(value)),
            FS_BASE => registers.fs_base = canonical(value),
            GS_BASE => registers.gs_base = canonical(value),
            _ => {
                registers.general[index - GENERAL] = value as u64;
                if index == RCX || index == R11 {
                    // A return by `sysret` would destroy it.
                    registers.vector = 0;
                }
            }
        }
    }

    fn set_tls_base(&mut self, base: usize) {
        if paging::is_canonical(base) {
            self.set(FS_BASE, base);
        }
    }

    fn set_result(&mut self, index: usize, value: usize) {
        self.registers.general[index - GENERAL] = value as u64;
    }

    fn next_pc(&self) -> usize {
        self.registers.rip as usize
    }

    fn restart(&mut self) {
        self.registers.rip = canonical(self.registers.restart as usize);
    }

    fn set_next_pc(&mut self, address: usize) {
        self.registers.rip = canonical(address);
    }

    fn complete_system_call(&mut self) {
        self.registers.restart = self.registers.rip;
    }
}

/// Assembly (`$asm` is the macro) with the operands that kernel entries and exits have: registers in the current
/// thread's context, core-local data, and mitigations.
macro_rules! entry_asm {
    ($asm:ident, $($own:tt)*) => {
        $asm! {
            $($own)*
            RAX = const $crate::context::Registers::general(0),
            RBX = const $crate::context::Registers::general(1),
            RCX = const $crate::context::Registers::general(2),
            RDX = const $crate::context::Registers::general(3),
            RSI = const $crate::context::Registers::general(4),
            RDI = const $crate::context::Registers::general(5),
            RBP = const $crate::context::Registers::general(6),
            R8 = const $crate::context::Registers::general(7),
            R9 = const $crate::context::Registers::general(8),
            R10 = const $crate::context::Registers::general(9),
            R11 = const $crate::context::Registers::general(10),
            R12 = const $crate::context::Registers::general(11),
            R13 = const $crate::context::Registers::general(12),
            R14 = const $crate::context::Registers::general(13),
            R15 = const $crate::context::Registers::general(14),
            RESTART = const ::core::mem::offset_of!($crate::context::Registers, restart),
            VECTOR = const ::core::mem::offset_of!($crate::context::Registers, vector),
            RIP = const ::core::mem::offset_of!($crate::context::Registers, rip),
            RFLAGS = const ::core::mem::offset_of!($crate::context::Registers, rflags),
            RSP = const ::core::mem::offset_of!($crate::context::Registers, rsp),
            SYSTEM_CALL = const $crate::context::SYSTEM_CALL,
            LOCAL_CURRENT = const $crate::core_local::CoreLocal::CURRENT,
            STACK = const $crate::core_local::CoreLocal::STACK,
            USER_STACK = const $crate::core_local::CoreLocal::USER_STACK,
            TRAP_STACK = const $crate::core_local::CoreLocal::TRAP_STACK,
            KERNEL_ROOT = const $crate::core_local::CoreLocal::ISOLATION + $crate::isolation::Isolation::KERNEL_ROOT,
            USER_ROOT = const $crate::core_local::CoreLocal::ISOLATION + $crate::isolation::Isolation::USER_ROOT,
            SPECTRE = const cfg!(feature = "harden-spectre") as usize,
            MELTDOWN = const cfg!(feature = "harden-meltdown") as usize,
            MDS = const cfg!(feature = "harden-mds") as usize,
        }
    };
}
pub(crate) use entry_asm;
