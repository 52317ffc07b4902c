//! The local APIC (Intel SDM vol. 3, chapter 12 "Advanced Programmable Interrupt Controller").
//!
//! Its registers can be accessed in memory (xAPIC) or as MSRs (x2APIC, section 12.12). MSRs are used if the
//! processor has them.

use tock_registers::LocalRegisterCopy;
use tock_registers::register_bitfields;
use x86_64::registers::model_specific::{ApicBase, ApicBaseFlags, Msr};

use crate::trap::vectors;

register_bitfields! [u32,
    /// Spurious-interrupt vector register (section 12.9).
    Spurious [
        VECTOR OFFSET(0) NUMBITS(8) [],
        ENABLE OFFSET(8) NUMBITS(1) []
    ],
    /// Local vector table entry (section 12.5.1, figure 12-8).
    LocalVector [
        VECTOR OFFSET(0) NUMBITS(8) [],
        MASKED OFFSET(16) NUMBITS(1) [],
        MODE OFFSET(17) NUMBITS(2) [
            OneShot = 0,
            TscDeadline = 2
        ]
    ],
    /// Divide configuration register (section 12.5.4, figure 12-10).
    Divide [
        VALUE OFFSET(0) NUMBITS(4) [
            By1 = 0b1011
        ]
    ]
];

/// A register, by its offset in memory; its MSR is 0x800 plus a sixteenth of the offset (table 12-6).
#[derive(Clone, Copy)]
#[repr(u32)]
enum Register {
    Id = 0x20,
    TaskPriority = 0x80,
    EndOfInterrupt = 0xb0,
    Spurious = 0xf0,
    /// The first of eight, with 32 vectors each.
    Requests = 0x200,
    #[cfg(feature = "smp")]
    Command = 0x300,
    #[cfg(feature = "smp")]
    CommandDestination = 0x310,
    TimerVector = 0x320,
    Line0Vector = 0x350,
    ErrorVector = 0x370,
    TimerInitialCount = 0x380,
    TimerCurrentCount = 0x390,
    TimerDivide = 0x3e0,
}

const X2APIC_BASE: u32 = 0x800;

#[derive(Clone, Copy, Debug)]
enum Access {
    /// Address of the registers.
    Memory(usize),
    Msrs,
}

/// A message to another core.
#[cfg(feature = "smp")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// An interrupt.
    Interrupt(u8),
    /// Stops the core, which then waits for [`Message::StartUp`].
    Init,
    /// Starts the core in real mode at the beginning of this 4 KiB page.
    StartUp(u8),
}

/// The local APIC of this core.
#[derive(Debug)]
pub struct LocalApic {
    access: Access,
}

impl LocalApic {
    /// The physical address of the registers.
    pub fn physical_base() -> u64 {
        ApicBase::read().0.start_address().as_u64()
    }

    /// Enables the controller, with only the timer's vector set up. `x2apic`: whether the processor has that
    /// mode; `registers`: the address at which the registers of the other mode are mapped.
    ///
    /// # Safety
    /// The registers are mapped there, uncached, and no other code uses them.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub unsafe fn enable(x2apic: bool, registers: usize) -> Self {
        let (base, mut flags) = ApicBase::read();
        flags.insert(ApicBaseFlags::LAPIC_ENABLE);
        if x2apic {
            flags.insert(ApicBaseFlags::X2APIC_ENABLE);
        }
        // SAFETY: the base is unchanged.
        unsafe { ApicBase::write(base, flags) };
        let access = if x2apic {
            Access::Msrs
        } else {
            Access::Memory(registers)
        };
        let mut apic = Self { access };
        apic.write(Register::TaskPriority, 0);
        for vector in [
            Register::TimerVector,
            Register::Line0Vector,
            Register::ErrorVector,
        ] {
            apic.write(vector, LocalVector::MASKED::SET.value);
        }
        let spurious = Spurious::ENABLE::SET + Spurious::VECTOR.val(vectors::SPURIOUS as u32);
        apic.write(Register::Spurious, spurious.value);
        apic
    }

    /// The address of the registers, if they are accessed in memory.
    #[cfg(feature = "smp")]
    pub fn registers(&self) -> usize {
        match self.access {
            Access::Memory(address) => address,
            Access::Msrs => 0,
        }
    }

    fn read_at(&self, register: Register, index: u32) -> u32 {
        match self.access {
            Access::Memory(base) => {
                let address = base + register as usize + 16 * index as usize;
                // SAFETY: a register of the mapped page; reading those of `Register` has no side effects.
                unsafe { core::ptr::with_exposed_provenance::<u32>(address).read_volatile() }
            }
            Access::Msrs => {
                let msr = Msr::new(X2APIC_BASE + (register as u32 >> 4) + index);
                // SAFETY: reading these registers has no side effects.
                unsafe { msr.read() as u32 }
            }
        }
    }

    fn read(&self, register: Register) -> u32 {
        self.read_at(register, 0)
    }

    fn write(&mut self, register: Register, value: u32) {
        match self.access {
            Access::Memory(base) => {
                let address = base + register as usize;
                // SAFETY: a register of the mapped page, which this type owns.
                unsafe {
                    core::ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value);
                }
            }
            Access::Msrs => {
                let mut msr = Msr::new(X2APIC_BASE + (register as u32 >> 4));
                // SAFETY: this type controls interrupt delivery.
                unsafe { msr.write(value.into()) }
            }
        }
    }

    /// The identifier of this core, to which interrupt messages are addressed.
    pub fn id(&self) -> u32 {
        let id = self.read(Register::Id);
        match self.access {
            Access::Memory(_) => id >> 24,
            Access::Msrs => id,
        }
    }

    /// Sends a message to the core with the given local APIC identifier (section 12.6.1).
    #[cfg(feature = "smp")]
    pub fn send(&mut self, message: Message, destination: u32) {
        let command = match message {
            Message::Interrupt(vector) => vector.into(),
            Message::Init => 0b101 << 8,
            Message::StartUp(page) => 0b110 << 8 | u32::from(page),
        };
        /// Set for all messages but INIT level de-assert, which is not sent here (section 12.6.1).
        const ASSERT: u32 = 1 << 14;
        let command = command | ASSERT;
        match self.access {
            Access::Memory(_) => {
                /// The previous message was not accepted yet.
                const PENDING: u32 = 1 << 12;
                while self.read(Register::Command) & PENDING != 0 {
                    core::hint::spin_loop();
                }
                self.write(Register::CommandDestination, destination << 24);
                self.write(Register::Command, command);
            }
            Access::Msrs => {
                let mut msr = Msr::new(X2APIC_BASE + (Register::Command as u32 >> 4));
                // The target core must see earlier writes when it is interrupted, but this write is not
                // ordered by itself (section 12.12.3).
                // SAFETY: orders memory accesses; this function interrupts cores.
                unsafe {
                    core::arch::x86_64::_mm_mfence();
                    core::arch::asm!("lfence", options(nostack, preserves_flags));
                    msr.write(u64::from(destination) << 32 | u64::from(command));
                }
            }
        }
    }

    /// Ends the interrupt in service (section 12.8.5).
    pub fn end_of_interrupt(&mut self) {
        self.write(Register::EndOfInterrupt, 0);
    }

    /// Whether an interrupt is pending: the interrupt request register (section 12.8.4), as far as its
    /// vectors are used.
    pub fn is_pending(&self) -> bool {
        self.has_request_beside(0)
    }

    /// The same without the timer's interrupt.
    pub fn is_pending_beside_timer(&self) -> bool {
        self.has_request_beside(1 << (vectors::TIMER % 32))
    }

    /// Whether an interrupt is requested, apart from those whose bits are set in `ignored`, of the last word.
    #[inline(always)]
    fn has_request_beside(&self, ignored: u32) -> bool {
        let first = vectors::FIRST_USER as u32 / 32;
        let last = vectors::TIMER as u32 / 32;
        (first..=last).any(|index| {
            let ignored = if index == last { ignored } else { 0 };
            self.read_at(Register::Requests, index) & !ignored != 0
        })
    }

    /// Makes the timer count down once from the value of [`LocalApic::set_count`].
    pub fn use_count(&mut self) {
        self.write(Register::TimerDivide, Divide::VALUE::By1.value);
        self.set_timer_mode(LocalVector::MODE::OneShot.value);
    }

    /// Makes the timer fire when the time stamp counter reaches a value (section 12.5.4.1).
    pub fn use_tsc_deadline(&mut self) {
        self.set_timer_mode(LocalVector::MODE::TscDeadline.value);
    }

    fn set_timer_mode(&mut self, mode: u32) {
        let mut entry = LocalRegisterCopy::<u32, LocalVector::Register>::new(mode);
        entry.modify(LocalVector::VECTOR.val(vectors::TIMER as u32));
        self.write(Register::TimerVector, entry.get());
    }

    /// Starts the count-down; 0 stops it.
    pub fn set_count(&mut self, count: u32) {
        self.write(Register::TimerInitialCount, count);
    }

    /// The remaining count.
    pub fn count(&self) -> u32 {
        self.read(Register::TimerCurrentCount)
    }
}
