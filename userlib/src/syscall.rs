//! The system calls. Endpoints, notifications and replies offer them as methods; here they take any
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

/// Sends and waits for the reply; invokes a kernel object and waits for its answer.
#[inline(always)]
pub fn call(target: CPtr, message: Message) -> Message {
    let mut registers = sending(target, message);
    arch::syscall(Syscall::Call, &mut registers);
    Message::from_registers(&registers)
}

/// Sends, and waits until the message is taken.
#[inline(always)]
pub fn send(target: CPtr, message: Message) {
    arch::syscall(Syscall::Send, &mut sending(target, message));
}

/// Sends if a receiver is waiting.
#[inline(always)]
pub fn nb_send(target: CPtr, message: Message) {
    arch::syscall(Syscall::NBSend, &mut sending(target, message));
}

/// Receives; `reply` will stand for the caller.
#[inline(always)]
pub fn recv(source: CPtr, reply: CPtr) -> Received {
    let mut registers = receiving(source, reply);
    arch::syscall(Syscall::Recv, &mut registers);
    Received::from_registers(&registers)
}

/// Receives if something is there. (A notification with an empty word counts as nothing.)
#[inline(always)]
pub fn nb_recv(source: CPtr, reply: CPtr) -> Option<Received> {
    let mut registers = receiving(source, reply);
    arch::syscall(Syscall::NBRecv, &mut registers);
    Received::from_registers_if_any(&registers)
}

/// Receives without a reply object: a caller cannot be answered.
#[inline(always)]
pub fn wait(source: CPtr) -> Received {
    let mut registers = receiving(source, CPtr::NULL);
    arch::syscall(Syscall::Wait, &mut registers);
    Received::from_registers(&registers)
}

/// [`wait`] if something is there.
#[inline(always)]
pub fn nb_wait(source: CPtr) -> Option<Received> {
    let mut registers = receiving(source, CPtr::NULL);
    arch::syscall(Syscall::NBWait, &mut registers);
    Received::from_registers_if_any(&registers)
}

/// Replies by `reply` and receives from `source` in one step.
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

/// Sends to `destination` if its receiver is waiting, and receives from `source` in one step. The
/// scheduling context of the caller goes along to a passive receiver.
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

/// Gives up what is left of the current replenishment: the thread sleeps until the next one, or goes
/// behind its equals when it is round robin.
#[inline(always)]
pub fn yield_now() {
    arch::syscall(Syscall::Yield, &mut Registers::default());
}

/// Waits until the current replenishment holds an amount of time: replenishments that are there or come
/// are merged until that suffices. Returns at once if it is there already.
///
/// # Errors
/// [`Error::BudgetTooSmall`] where the whole budget does not suffice.
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

/// A call with one argument and one result in the capability register.
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
/// This library keeps the address of the IPC buffer there.
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

/// Kernel kind `debug`: prints a snapshot of the capabilities.
pub fn debug_snapshot() {
    simple(Syscall::DebugSnapshot, 0);
}

/// Kernel kind `debug`: the type tag of a capability, 0 when there is none.
pub fn debug_cap_identify(capability: CPtr) -> usize {
    simple(Syscall::DebugCapIdentify, capability.0)
}

/// Kernel kinds `debug` and `bench`: names a thread for the kernel's reports. Overwrites message words.
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

/// Kernel kind `debug`, for several cores on Arm: raises a software-generated interrupt on a core. What is not
/// there is not raised.
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

/// Kernel kind `bench`: enters and leaves the kernel.
pub fn benchmark_null() {
    simple(Syscall::BenchmarkNullSyscall, 0);
}
