//! The host: there is no kernel below, but the rest of the crate compiles and its pure parts are
//! tested.

use super::Registers;

/// There is no kernel here.
pub fn syscall(call: abi::Syscall, _registers: &mut Registers) {
    panic!("{call:?}: no kernel on the host");
}

/// There is no kernel here.
pub fn unknown_syscall(number: usize, _argument: usize) {
    panic!("system call {number:#x}: no kernel on the host");
}

#[cfg(test)]
std::thread_local! {
    static BUFFER: usize = Box::into_raw(Box::<abi::IpcBuffer>::new(
        // SAFETY: an IPC buffer is words, and zero is a word.
        unsafe { core::mem::zeroed() },
    )) as usize;
}

/// Under test, every thread has a buffer.
pub fn ipc_buffer_address() -> usize {
    #[cfg(test)]
    return BUFFER.with(|buffer| *buffer);
    #[cfg(not(test))]
    panic!("no IPC buffer on the host");
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
