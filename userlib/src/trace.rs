//! Marks of this program in the kernel's trace. The tool builds programs with them when the kernel writes trace events
//! (`cargo xtask trace -o FILE`, `cargo xtask qemu --trace FILE`); else these functions do nothing and cost nothing.
//!
//! A thread marks its own jobs. If it has several tasks, it gives them numbers. [`Periodic`](crate::time::Periodic) marks the jobs of a thread as
//! those of task 0.

mod stream;

use abi::Mark;

use crate::syscall::trace_mark;

pub use stream::{RING_BYTES, open, ring_frames};
pub use trace_format as format;

/// A job of a task was released. Several jobs of a task can be released and not done; their numbers tell them apart.
#[inline(always)]
pub fn released(task: u32, job: u64) {
    trace_mark(Mark::Released, task, job);
}

/// The job that begins next was released so many microseconds ago: for a thread that knows it only then.
#[inline(always)]
pub fn late(task: u32, microseconds: u64) {
    trace_mark(Mark::Late, task, microseconds);
}

/// A job begins.
#[inline(always)]
pub fn begun(task: u32, job: u64) {
    trace_mark(Mark::Begun, task, job);
}

/// A job is done.
#[inline(always)]
pub fn done(task: u32, job: u64) {
    trace_mark(Mark::Done, task, job);
}

/// A job has missed its deadline.
#[inline(always)]
pub fn missed(task: u32, job: u64) {
    trace_mark(Mark::Missed, task, job);
}

/// A number to be shown at this point.
#[inline(always)]
pub fn number(task: u32, value: u64) {
    trace_mark(Mark::Number, task, value);
}

/// A text to be shown at this point, of which the first eight bytes count.
#[inline(always)]
pub fn text(task: u32, text: &str) {
    trace_mark(Mark::Text, task, packed(text));
}

/// The first bytes of a text, the first of them in the lowest byte.
const fn packed(text: &str) -> u64 {
    let (bytes, mut word, mut index) = (text.as_bytes(), 0, 0);
    while index < bytes.len() && index < 8 {
        word |= (bytes[index] as u64) << (8 * index);
        index += 1;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::packed;

    #[test]
    fn texts_are_cut_to_eight_bytes() {
        assert_eq!(packed(""), 0);
        assert_eq!(packed("ab"), 0x6261);
        assert_eq!(packed("12345678"), packed("123456789"));
    }
}
