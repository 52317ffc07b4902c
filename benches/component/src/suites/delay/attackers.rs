//! Threads without a stack, so that there can be many.

use crate::bench::{Bench, TIME};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::abi::registers::MR;
use userlib::abi::{MessageInfo, Syscall};
use userlib::allocator::Arena;
use userlib::cap::{Registers, SchedContext, SchedParameters, Tcb};
use userlib::{CPtr, Capability, Result};

/// Initial priority of an attacker, above those of waiting ones and of the benchmark.
pub const FIRST: u8 = 150;

/// The most attackers.
const MAX: usize = 1024;
/// System calls per attacker, and words per system call.
const CALLS: usize = 2;
const WORDS: usize = 4;

/// The calls that an attacker repeats: for each the registers capability, message information, reply and
/// number. Its stack pointer points to the next call.
type Script = [AtomicUsize; WORDS * CALLS];

/// The scripts, aligned to their size: one bit of an address distinguishes the first call from the second.
#[repr(align(64))]
struct Scripts([Script; MAX]);
static SCRIPTS: Scripts = Scripts([const { [const { AtomicUsize::new(0) }; _] }; _]);

/// A system call of an attacker.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    number: Syscall,
    target: CPtr,
    reply: CPtr,
    info: MessageInfo,
}

impl Call {
    /// A call with an empty message and no reply object.
    pub fn new(number: Syscall, target: impl Capability) -> Self {
        Self {
            number,
            target: target.cptr(),
            reply: CPtr::NULL,
            info: MessageInfo::new(0, 0, 0),
        }
    }

    /// The same with a reply object.
    pub fn with_reply(self, reply: impl Capability) -> Self {
        Self {
            reply: reply.cptr(),
            ..self
        }
    }

    /// The same with another message.
    pub fn with_message(self, info: MessageInfo) -> Self {
        Self { info, ..self }
    }
}

/// Creates attackers in memory that can be reclaimed.
pub struct Attackers {
    /// The memory.
    pub arena: Arena,
    time: SchedContext,
    made: usize,
}

impl Attackers {
    /// Allocates memory for so many attackers, each with some spare capabilities and bytes.
    pub fn new(bench: &mut Bench, count: usize) -> Result<Self> {
        const BYTES: usize = 8192;
        const SLOTS: usize = 3;
        let bits = (count * BYTES).next_power_of_two().ilog2().max(16) as usize;
        let mut arena = bench.allocator.split(bits, SLOTS * count + 16)?;
        let bits = TIME.size_bits();
        let time = arena.allocator.create_sized(bits)?;
        bench.sched_control.configure(time, &TIME)?;
        Ok(Self {
            arena,
            time,
            made: 0,
        })
    }

    /// Deletes them all.
    pub fn delete(self, bench: &mut Bench) -> Result {
        bench.allocator.reclaim(self.arena)
    }

    /// Adds a thread that repeats its calls whenever it can run. Its first message words are `words`.
    pub fn add(
        &mut self,
        bench: &Bench,
        context: SchedContext,
        calls: [Call; CALLS],
        words: [usize; 2],
    ) -> Result<Tcb> {
        let script = &SCRIPTS.0[self.made];
        self.made += 1;
        for (place, call) in script.chunks(WORDS).zip(calls) {
            let words = [
                call.target.0,
                call.info.0,
                call.reply.0,
                call.number.number(),
            ];
            for (place, word) in place.iter().zip(words) {
                place.store(word, Relaxed);
            }
        }
        let mut registers = Registers::default();
        *registers.pc() = system_calls as *const () as usize;
        *registers.sp() = script.as_ptr() as usize;
        for (register, word) in MR.into_iter().zip(words) {
            registers.0[register] = word;
        }
        self.thread(bench, context, &registers)
    }

    /// Adds a thread without a scheduling context that is blocked in a call.
    pub fn add_waiting(&mut self, bench: &Bench, priority: u8, call: Call) -> Result<Tcb> {
        let time = self.time;
        let tcb = self.add(bench, time, [call; CALLS], [0; 2])?;
        tcb.resume()?;
        time.unbind_object(tcb)?;
        tcb.set_priority(bench.tcb, priority)?;
        Ok(tcb)
    }

    /// Adds a thread that runs whenever it has budget.
    pub fn add_busy(&mut self, bench: &Bench, priority: u8, time: &SchedParameters) -> Result<Tcb> {
        let context = self.context(bench, time)?;
        let mut registers = Registers::default();
        *registers.pc() = spin as *const () as usize;
        let tcb = self.thread(bench, context, &registers)?;
        tcb.set_priority(bench.tcb, priority)?;
        tcb.resume()?;
        Ok(tcb)
    }

    /// Creates a scheduling context.
    pub fn context(&mut self, bench: &Bench, time: &SchedParameters) -> Result<SchedContext> {
        let context = self.arena.allocator.create_sized(time.size_bits())?;
        bench.sched_control.configure(context, time)?;
        Ok(context)
    }

    /// Creates a thread that is not started yet.
    fn thread(&mut self, bench: &Bench, time: SchedContext, registers: &Registers) -> Result<Tcb> {
        let tcb: Tcb = self.arena.allocator.create()?;
        tcb.set_space(CPtr::NULL, bench.allocator.cnode(), 0, bench.vspace)?;
        tcb.set_sched_params(bench.tcb, 0, FIRST, time, CPtr::NULL)?;
        tcb.write_registers(false, registers)?;
        Ok(tcb)
    }
}

/// Performs the system calls of the script.
#[unsafe(naked)]
extern "C" fn system_calls() -> ! {
    #[cfg(target_arch = "x86_64")]
    naked_asm!(
        "2:",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov r12, [rsp + 16]",
        "mov rdx, [rsp + 24]",
        "syscall",
        "xor rsp, 32",
        "jmp 2b",
    );
    #[cfg(target_arch = "arm")]
    naked_asm!(
        "2:",
        "ldr r0, [sp]",
        "ldr r1, [sp, #4]",
        "ldr r6, [sp, #8]",
        "ldr r7, [sp, #12]",
        "svc #0",
        "eor sp, sp, #16",
        "b 2b",
    );
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        "2:",
        "ldp x0, x1, [sp]",
        "ldp x6, x7, [sp, #16]",
        "svc #0",
        "mov x9, sp",
        "eor sp, x9, #32",
        "b 2b",
    );
}

/// An endless loop.
#[unsafe(naked)]
extern "C" fn spin() -> ! {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("2: jmp 2b");
    #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
    naked_asm!("2: b 2b");
}
