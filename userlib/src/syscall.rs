//! The system calls. Endpoints, notifications and reply objects offer them as methods; here they take any
//! capability address, as the kernel does.

use crate::arch::{self, Registers};
use crate::cap::CPtr;
use crate::ipc_buffer;
use crate::message::{Message, NO_MESSAGE, Received, marked};
use crate::time::Microseconds;
use crate::{Error, Result};
use abi::Syscall;

#[inline(always)]
fn sending(target: CPtr, message: Message) -> Registers {
    Registers {
        cap: target.0,
        info: message.info.0,
        words: message.registers,
        ..Registers::default()
    }
}

#[inline(always)]
fn receiving(source: CPtr, reply: CPtr) -> Registers {
    Registers {
        cap: source.0,
        info: NO_MESSAGE,
        reply: reply.0,
        ..Registers::default()
    }
}

/// Sends and waits for the reply; or invokes a kernel object and waits for its result.
#[inline(always)]
pub fn call(target: CPtr, message: Message) -> Message {
    let mut registers = sending(target, message);
    arch::syscall(Syscall::Call, &mut registers);
    Message::from_registers(&registers)
}

/// Sends, and waits until the message has been received.
#[inline(always)]
pub fn send(target: CPtr, message: Message) {
    arch::syscall(Syscall::Send, &mut sending(target, message));
}

/// Sends if a receiver is waiting.
#[inline(always)]
pub fn nb_send(target: CPtr, message: Message) {
    arch::syscall(Syscall::NBSend, &mut sending(target, message));
}

/// Receives; a caller is stored in the reply object `reply`.
#[inline(always)]
pub fn recv(source: CPtr, reply: CPtr) -> Received {
    let mut registers = receiving(source, reply);
    arch::syscall(Syscall::Recv, &mut registers);
    Received::from_registers(&registers)
}

/// Receives if a message or signal is pending. (An empty notification counts as none.)
#[inline(always)]
pub fn nb_recv(source: CPtr, reply: CPtr) -> Option<Received> {
    let mut registers = receiving(source, reply);
    arch::syscall(Syscall::NBRecv, &mut registers);
    Received::from_registers_if_any(&registers)
}

/// Receives without a reply object: no reply to a caller is possible.
#[inline(always)]
pub fn wait(source: CPtr) -> Received {
    let mut registers = receiving(source, CPtr::NULL);
    arch::syscall(Syscall::Wait, &mut registers);
    Received::from_registers(&registers)
}

/// [`wait`] if a message or signal is pending.
#[inline(always)]
pub fn nb_wait(source: CPtr) -> Option<Received> {
    let mut registers = receiving(source, CPtr::NULL);
    arch::syscall(Syscall::NBWait, &mut registers);
    Received::from_registers_if_any(&registers)
}

/// Replies through `reply` and receives from `source` in one system call.
#[inline(always)]
pub fn reply_recv(source: CPtr, message: Message, reply: CPtr) -> Received {
    let sent = marked(message.info);
    let mut registers = sending(
        source,
        Message {
            info: sent,
            ..message
        },
    );
    registers.reply = reply.0;
    arch::syscall(Syscall::ReplyRecv, &mut registers);
    Received::from_sent(&registers, sent)
}

/// Sends to `destination` if a receiver is waiting there, and receives from `source`, in one system call. The
/// caller's scheduling context is donated to a passive receiver.
#[inline(always)]
pub fn nb_send_recv(destination: CPtr, message: Message, source: CPtr, reply: CPtr) -> Received {
    let sent = marked(message.info);
    let mut registers = sending(
        source,
        Message {
            info: sent,
            ..message
        },
    );
    registers.reply = reply.0;
    registers.destination = destination.0;
    arch::syscall(Syscall::NBSendRecv, &mut registers);
    Received::from_sent(&registers, sent)
}

/// As [`nb_send_recv`], but without a reply object in the receive.
#[inline(always)]
pub fn nb_send_wait(destination: CPtr, message: Message, source: CPtr) -> Received {
    let sent = marked(message.info);
    let mut registers = sending(
        source,
        Message {
            info: sent,
            ..message
        },
    );
    registers.reply = destination.0;
    arch::syscall(Syscall::NBSendWait, &mut registers);
    Received::from_sent(&registers, sent)
}

/// Gives up the remaining budget of the head replenishment: the thread sleeps until the next one, or, if it
/// is round robin, goes to the end of the ready queue of its priority.
#[inline(always)]
pub fn yield_now() {
    arch::syscall(Syscall::Yield, &mut Registers::default());
}

/// Waits until the head replenishment holds at least `amount`; replenishments are merged until that suffices.
/// Returns immediately if it does already.
///
/// # Errors
/// [`Error::BudgetTooSmall`] if `amount` exceeds the budget.
#[inline(always)]
pub fn yield_until_budget(amount: Microseconds) -> Result {
    let mut registers = sending(CPtr::NULL, Message::new(0, &amount.words()));
    arch::syscall(Syscall::YieldUntilBudget, &mut registers);
    let answer = Message::from_registers(&registers);
    if answer.label() == 0 {
        Ok(())
    } else {
        Err(Error::from_answer(&answer))
    }
}

/// Marks this point in the kernel's trace; nothing, unless the program is built for a kernel with trace events.
#[inline(always)]
pub fn trace_mark(mark: abi::Mark, task: u32, value: u64) {
    if !abi::config::TRACING {
        return;
    }
    // On 32-bit machines the value has two words.
    let high = value.checked_shr(usize::BITS).unwrap_or(0) as usize;
    let mut registers = Registers {
        cap: mark as usize,
        words: [task as usize, value as usize, high, 0],
        ..Registers::default()
    };
    arch::syscall(Syscall::TraceMark, &mut registers);
}

/// A system call with one argument and one result, both in the capability register.
fn simple(call: Syscall, argument: usize) -> usize {
    let mut registers = Registers {
        cap: argument,
        ..Registers::default()
    };
    arch::syscall(call, &mut registers);
    registers.cap
}

/// Sets this thread's TLS base register.
///
/// # Safety
/// This library keeps the address of the IPC buffer in that register.
pub unsafe fn set_tls_base(base: usize) {
    simple(Syscall::SetTlsBase, base);
}

/// Kernels with printing: writes a character on the kernel's console.
pub fn debug_put_char(character: u8) {
    simple(Syscall::DebugPutChar, character as usize);
}

/// Kernel kind `debug`: prints all threads.
pub fn debug_dump_scheduler() {
    simple(Syscall::DebugDumpScheduler, 0);
}

/// Kernel kind `debug`: stops the machine.
pub fn debug_halt() {
    simple(Syscall::DebugHalt, 0);
}

/// Kernel kind `debug`: prints a dump of the capabilities.
pub fn debug_snapshot() {
    simple(Syscall::DebugSnapshot, 0);
}

/// Kernel kind `debug`: the type tag of a capability, 0 if there is none.
pub fn debug_cap_identify(capability: CPtr) -> usize {
    simple(Syscall::DebugCapIdentify, capability.0)
}

/// Kernel kinds `debug` and `bench`: names a thread for the kernel's messages. Overwrites message words.
pub fn debug_name_thread(thread: crate::cap::Tcb, name: &str) {
    ipc_buffer::set_string(name);
    simple(Syscall::DebugNameThread, crate::Capability::cptr(thread).0);
}

/// Kernel kind `debug`, for several cores: the core that a thread belongs to; all ones if there is no thread.
pub fn debug_thread_affinity(thread: crate::cap::Tcb) -> usize {
    simple(
        Syscall::DebugGetThreadAffinity,
        crate::Capability::cptr(thread).0,
    )
}

/// Kernel kind `debug`, for several cores on Arm: raises a software-generated interrupt on a core. Has no
/// effect for a core or number that does not exist.
#[cfg(not(target_arch = "x86_64"))]
pub fn debug_send_ipi(core: usize, number: usize) {
    let mut registers = Registers {
        cap: core,
        info: number,
        ..Registers::default()
    };
    arch::syscall(Syscall::DebugSendIpi, &mut registers);
}

/// Kernel kinds `debug` and `bench`: ends the run; 0 is success.
pub fn debug_exit(code: usize) {
    simple(Syscall::DebugExit, code);
}

/// Kernel kind `bench`: enters and exits the kernel.
pub fn benchmark_null() {
    simple(Syscall::BenchmarkNullSyscall, 0);
}
