//! The host. The simulator can install a kernel; without one the crate still compiles, and its parts that
//! make no system calls are tested.

use super::Registers;
use std::sync::OnceLock;

/// Replaces the instructions that enter the kernel and access the thread's own registers.
pub trait Kernel: Sync {
    /// Makes a system call of the calling thread.
    fn syscall(&self, call: abi::Syscall, registers: &mut Registers);
    /// Makes a system call that no kernel implements.
    fn unknown_syscall(&self, number: usize, argument: usize);
    /// Address of the calling thread's IPC buffer.
    fn ipc_buffer_address(&self) -> usize;
    /// The time stamp counter, if it has one.
    fn time_stamp(&self) -> u64 {
        0
    }
}

static KERNEL: OnceLock<&'static dyn Kernel> = OnceLock::new();

/// Installs the kernel for all threads of this process. Only the first call has an effect.
pub fn install_kernel(kernel: &'static dyn Kernel) {
    KERNEL.get_or_init(|| kernel);
}

/// The system call.
///
/// # Panics
/// If no kernel is installed.
pub fn syscall(call: abi::Syscall, registers: &mut Registers) {
    match KERNEL.get() {
        Some(kernel) => kernel.syscall(call, registers),
        None => panic!("{call:?}: no kernel on the host"),
    }
}

/// A system call that no kernel implements.
///
/// # Panics
/// If no kernel is installed.
pub fn unknown_syscall(number: usize, argument: usize) {
    match KERNEL.get() {
        Some(kernel) => kernel.unknown_syscall(number, argument),
        None => panic!("system call {number:#x}: no kernel on the host"),
    }
}

std::thread_local! {
    static BUFFER: usize = Box::into_raw(Box::<abi::IpcBuffer>::new(
        // SAFETY: an IPC buffer consists of words, for which zero is valid.
        unsafe { core::mem::zeroed() },
    )) as usize;
}

/// The calling thread's IPC buffer. Without a kernel, each thread has a permanent one of its own.
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

/// A hint to the processor in a busy-waiting loop.
pub fn relax() {
    core::hint::spin_loop();
}

/// Orders all accesses to memory before it with all after it.
pub fn device_barrier() {
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}

/// That of the kernel. Without one always zero: the host's time stamp counter is not used.
pub fn time_stamp() -> u64 {
    KERNEL.get().map_or(0, |kernel| kernel.time_stamp())
}
