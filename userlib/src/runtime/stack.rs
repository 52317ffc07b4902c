//! Stack usage of the program's first thread.
//!
//! The memory of a new stack is zero: the kernel clears the root task's, and new frames are zeroed. So the
//! lowest nonzero word is the high-water mark of the deepest call.

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// A stack's size and its maximum use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackUse {
    /// Its size in bytes.
    pub size: usize,
    /// The most bytes that were used.
    pub used: usize,
}

impl StackUse {
    /// Whether a quarter of the stack was never used: a margin for compilers that generate larger frames.
    pub fn has_margin(self) -> bool {
        self.used < self.size / 4 * 3
    }
}

impl fmt::Display for StackUse {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{} of {} bytes", self.used, self.size)
    }
}

/// Sets the location of the stack, for the runtime.
pub(super) fn set_stack(stack: Range<usize>) {
    START.store(stack.start, Relaxed);
    END.store(stack.end, Relaxed);
}

/// The first thread's stack.
pub fn stack() -> Range<usize> {
    START.load(Relaxed)..END.load(Relaxed)
}

/// How much of the first thread's stack has been used so far. Reads all words below the high-water mark.
pub fn stack_use() -> StackUse {
    let Range { start, end } = stack();
    let is_zero = |address: &usize| {
        // SAFETY: the word is in the stack, which is mapped permanently; any value is valid.
        unsafe { (*address as *const usize).read_volatile() == 0 }
    };
    let untouched = (start..end)
        .step_by(size_of::<usize>())
        .take_while(is_zero)
        .count();
    let size = end - start;
    StackUse {
        size,
        used: size - untouched * size_of::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_word_that_is_not_zero_is_the_mark() {
        let mut stack = [0usize; 64];
        stack[16] = 1;
        stack[63] = 2;
        let start = stack.as_ptr() as usize;
        set_stack(start..start + size_of_val(&stack));
        let word = size_of::<usize>();
        let half = StackUse {
            size: 64 * word,
            used: 48 * word,
        };
        assert_eq!(stack_use(), half);
        assert!(!half.has_margin());
        let less = StackUse {
            used: 47 * word,
            ..half
        };
        assert!(less.has_margin());
    }
}
