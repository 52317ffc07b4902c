//! A plugin for QEMU that measures how long interrupts are disabled, and which cache lines the kernel
//! touches.
//!
//! The emulator calls it for each kernel instruction that it executes, and for each block of user
//! instructions. The kernel runs with interrupts disabled, so an *interrupts-disabled section* is the
//! sequence of instructions from one point at which an interrupt could be taken to the next: from a kernel
//! entry or a preemption point to the kernel exit or the next preemption point. Programs cooperate by
//! *marks*, instructions without effect that the plugin recognises: for each mark it writes a line to a file.
//!
//! | line | meaning |
//! |---|---|
//! | `boot COUNT` | the number of instructions of the first processor from the boot image's first one to the root task's first one, without that |
//! | `mark N WAITED` | mark N; the interrupt that made the user run again has waited for at most this many instructions |
//! | `delay LONGEST ADDRESS...` | after mark 0: the longest wait of an interrupt before any other mark since mark 1, and the addresses executed |
//! | `wait LONGEST ADDRESS...` | then: the most instructions of other processors, since mark 1, for which a processor waited in one section, and their addresses |
//! | `sections COUNT SUM SQUARES SHORTEST LONGEST ADDRESS...` | then, for the sections since mark 1: their number, the sums of their lengths and of the squares of these, the length of the shortest and of the longest, and the addresses of the longest |
//! | `lines OWN READ SHARED ADDRESS...` | with mark 5: the number of cache lines touched by the kernel on each processor between its marks 3 and 4 that only one processor touched, that several read and none wrote, and that one wrote and another touched; and the addresses of the last group |
//!
//! Of the instructions of a processor since a user has run, with those that it has waited for, the last 65,536 are
//! kept; lengths count all. Marks 3 and 4 write no line of their own. Device memory is not counted. Mark 15 requests a value instead:
//! the plugin writes the lower 32 bits of the number of instructions executed so far to the word 12 bytes
//! after the beginning of that instruction. This is a counter for processors that have none; a program reads
//! it after the mark. Both must be in one page. Counting begins with the first mark.
//!
//! The emulator does not report when an interrupt arrives. But it cannot have arrived before the last time at
//! which there was certainly none: when a user instruction was executed, or when the kernel reached a
//! preemption point and continued.
//!
//! Each processor has its own sections. The emulator runs several processors in turn on one thread: while one
//! runs, the others are stopped, which does not count for those that do not wait for another one. A processor
//! *waits* for others from the kernel's wait hint until its next instruction. Instructions of other
//! processors meanwhile count as its own time, but only those in the kernel, and only until they exit it:
//! after that, the processor waits only for its turn in the emulator.
//!
//! Arguments: `machine=` the processor; `kernel=START-END` addresses of the kernel, may be repeated; `look=`
//! the address of the function that is a preemption point; `boot=START-END` the addresses of the boot image's and the root
//! task's first instructions; `lines=on` if marks 3 to 5 are processed, which is
//! slow; `out=` the file.

mod boot;
mod instruction;
mod lines;
mod path;
mod processor;
mod record;

#[cfg(not(test))]
mod qemu;
