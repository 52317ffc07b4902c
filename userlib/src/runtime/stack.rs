//! How deep the stack of the program's first thread has been.
//!
//! The memory of a new stack is zero: the kernel clears that of the root task, and new frames are zero.
//! So the lowest word that is not zero is the mark that the deepest call has left.

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// A stack, and how much of it was ever used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackUse {
    /// Its bytes.
    pub size: usize,
    /// How many of them were used at the deepest.
    pub used: usize,
}

impl StackUse {
    /// Whether a quarter of the stack was never used: the margin for compilers that need more.
    pub fn has_margin(self) -> bool {
        self.used < self.size / 4 * 3
    }
}

impl fmt::Display for StackUse {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{} of {} bytes", self.used, self.size)
    }
}

/// The runtime tells where the stack lies.
pub(super) fn set_stack(stack: Range<usize>) {
    START.store(stack.start, Relaxed);
    END.store(stack.end, Relaxed);
}

/// Where the first thread's stack lies.
pub fn stack() -> Range<usize> {
    START.load(Relaxed)..END.load(Relaxed)
}

/// How much of the first thread's stack was used so far. It looks at all words below the mark.
pub fn stack_use() -> StackUse {
    let Range { start, end } = stack();
    let is_zero = |address: &usize| {
        // SAFETY: the word lies in the stack, which is mapped for good; what it is does not matter.
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
