//! The host: the kernel below, if there is one, is somebody else's (the simulator's). Without one the
//! rest of the crate compiles, and its pure parts are tested.

use super::Registers;
use std::sync::OnceLock;

/// What stands in for the instructions that reach the kernel and the thread's own registers.
pub trait Kernel: Sync {
    /// Makes a system call of the calling thread.
    fn syscall(&self, call: abi::Syscall, registers: &mut Registers);
    /// Makes a system call that no kernel knows.
    fn unknown_syscall(&self, number: usize, argument: usize);
    /// Address of the calling thread's IPC buffer.
    fn ipc_buffer_address(&self) -> usize;
}

static KERNEL: OnceLock<&'static dyn Kernel> = OnceLock::new();

/// Says what is below, for all threads of this process. Only the first call counts.
pub fn install_kernel(kernel: &'static dyn Kernel) {
    KERNEL.get_or_init(|| kernel);
}

/// The system call.
///
/// # Panics
/// Where there is no kernel.
pub fn syscall(call: abi::Syscall, registers: &mut Registers) {
    match KERNEL.get() {
        Some(kernel) => kernel.syscall(call, registers),
        None => panic!("{call:?}: no kernel on the host"),
    }
}

/// A system call that no kernel knows.
///
/// # Panics
/// Where there is no kernel.
pub fn unknown_syscall(number: usize, argument: usize) {
    match KERNEL.get() {
        Some(kernel) => kernel.unknown_syscall(number, argument),
        None => panic!("system call {number:#x}: no kernel on the host"),
    }
}

std::thread_local! {
    static BUFFER: usize = Box::into_raw(Box::<abi::IpcBuffer>::new(
        // SAFETY: an IPC buffer is words, and zero is a word.
        unsafe { core::mem::zeroed() },
    )) as usize;
}

/// The calling thread's IPC buffer. Without a kernel, every thread has one of its own for good.
pub fn ipc_buffer_address() -> usize {
    match KERNEL.get() {
        Some(kernel) => kernel.ipc_buffer_address(),
        None => BUFFER.with(|buffer| *buffer),
    }
}

/// Does nothing.
///
/// # Safety
/// None needed.
pub unsafe fn set_ipc_buffer_address(_address: usize) {}

/// Tells the processor that this is a waiting loop.
pub fn relax() {
    core::hint::spin_loop();
}

/// The host's time stamp counter is nobody's business here.
pub fn time_stamp() -> u64 {
    0
}
