//! A plugin for QEMU that finds out how long interrupts are off, and which cache lines the kernel touches.
//!
//! The emulator calls it for each instruction of the kernel that it executes, and for each block of
//! instructions of users. The kernel runs with interrupts off, so a
//! *stretch* is what it executes from one moment at which an interrupt could be taken to the next: from
//! its entry, or from a preemption point, to its return or to the next preemption point. Programs
//! cooperate by *marks*, instructions that do nothing but say something: for each mark the plugin writes
//! a line to a file.
//!
//! | line | meaning |
//! |---|---|
//! | `mark N WAITED` | mark N; an interrupt that let the user run again has waited for so many instructions at most |
//! | `delay LONGEST ADDRESS...` | after mark 0: what an interrupt has waited for at most before any other mark since mark 1, and the addresses |
//! | `wait LONGEST ADDRESS...` | then: what others did at most, since mark 1, while a processor waited for them in one stretch of its own, and the addresses |
//! | `stretches COUNT SUM SQUARES SHORTEST LONGEST ADDRESS...` | then, those since mark 1: their number, the sums of their lengths and of the squares of these, the length of the shortest and of the longest, and its addresses |
//! | `lines OWN READ SHARED ADDRESS...` | with mark 5: of the cache lines that the kernel touched on each processor between its marks 3 and 4, those that only one touched, those that several read and none wrote, and those that one wrote and another touched; and where these are |
//!
//! Marks 3 and 4 write no line of their own. Devices are no memory. Mark 15 asks instead: into the word that is 12 bytes behind the beginning of that instruction, the plugin
//! writes the lower 32 bits of the number of instructions so far. That is a counter for processors that have
//! none; a program reads it after the mark. Both must be in one page.
//!
//! The emulator does not tell when an interrupt comes. But it cannot have come before the last moment at
//! which there was certainly none: when a user's instruction was executed, or when the kernel looked for
//! one and went on.
//!
//! Each processor has its own stretches. The emulator plays several on one thread: who runs, the others stand
//! still, and with those of them that wait for nobody that has nothing to do. So a processor *waits* for
//! others from a hint of the kernel that it waits until it goes on, and what others do meanwhile counts as
//! its own time, but only what they do in the kernel, and until they leave it: from then on it is nothing
//! but its turn that it waits for.
//!
//! Arguments: `machine=` the processor; `kernel=START-END` addresses of the kernel, may be repeated;
//! `look=` the address of the function that is a preemption point; `lines=on` if marks 3 to 5 shall be heard,
//! which takes its time; `out=` the file.

mod instruction;
mod lines;
mod path;
mod processor;
mod record;

#[cfg(not(test))]
mod qemu;
