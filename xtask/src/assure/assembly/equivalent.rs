//! Mutants that are equivalent to the single-core kernel, with the reasons. Those of multicore kernels are all tried.

use super::Mutant;

/// A mutant: its folder and file, the instruction before it, the old and the new text, and the reason.
type Equivalent = [&'static str; 6];

const HIGHER: &str = "no thread that is ready or due is above a next thread above the current one, so the \
                      checks that follow succeed";
const EQUAL: &str = "the timer deadline covers the priority of the current thread, and no ready thread is above \
                     it, so the checks succeed";
const PENDING: &str = "where the clock was read after the timer deadline, the timer interrupts before the \
                       thread's next system call";
const MORE_SLOW: &str = "more entries take the slow path, which does the same";
const RARE: &str = "the upper half of the clock does not change between two readings in a test";
const REPEATED: &str = "the register is written with the value that it has";

const LOADED: &str = "the bases of the thread that runs in user mode are always loaded";
const CHAINED: &str = "the thread of a reply object that is linked to its context without a limit waits for its reply";

const EQUIVALENT: &[Equivalent] = &[
    [
        "arch/x86_64",
        "entry",
        "cmp al, [rsp + {PRIORITY}]",
        "je 2f",
        "",
        EQUAL,
    ],
    [
        "arch/x86_64",
        "entry",
        "cmp al, [rsp + {PRIORITY}]",
        "ja 2f",
        "",
        HIGHER,
    ],
    [
        "arch/x86_64",
        "entry",
        "cmp rdx, [rbp + {DEADLINE_TIME}]",
        "jae 9b",
        "",
        PENDING,
    ],
    [
        "arch/x86_64",
        "entry",
        "bsr rcx, [rbp + {READY_SUMMARY}]",
        "jz 2f",
        "",
        MORE_SLOW,
    ],
    [
        "arch/x86_64",
        "entry",
        "cmp rdx, [rbp + {BASES_OF}]",
        "jne 9b",
        "",
        LOADED,
    ],
    [
        "arch/x86_64",
        "call",
        "cmp eax, {ENDPOINT_RECEIVING}",
        "jne 5f",
        "jmp 5f",
        MORE_SLOW,
    ],
    [
        "arch/x86_64",
        "reply_recv",
        "cmp qword ptr [rbx + {STATE}], {BLOCKED_ON_REPLY}",
        "jne 9b",
        "",
        CHAINED,
    ],
    [
        "arch/x86_64",
        "leave",
        "cmp rax, [rbp + {ACTIVE_ROOT}]",
        "je 5f",
        "",
        REPEATED,
    ],
    [
        "arch/armv8",
        "entry",
        "cmp     w13, w14",
        "b.hi    2f",
        "",
        HIGHER,
    ],
    [
        "arch/armv8",
        "entry",
        "cmp     x15, x16",
        "b.hs    9b",
        "",
        PENDING,
    ],
    [
        "arch/armv8",
        "entry",
        "ldr     x15, [x28, #{READY_SUMMARY}]",
        "cbz     x15, 2f",
        "",
        MORE_SLOW,
    ],
    [
        "arch/armv8",
        "require",
        "cmp     w13, w14",
        "b.eq    2f",
        "",
        EQUAL,
    ],
    [
        "arch/armv8",
        "require",
        "sub     x13, x13, #{ROOT_KIND}",
        "orr     x23, x13, x14",
        "mov x23, x13",
        MORE_SLOW,
    ],
    [
        "arch/armv8",
        "require",
        "sub     x13, x13, #{ROOT_KIND}",
        "orr     x23, x13, x14",
        "mov x23, x14",
        MORE_SLOW,
    ],
    [
        "arch/armv8",
        "call",
        "subs    w8, w8, #{ENDPOINT_RECEIVING}",
        "b.ne    5f",
        "b 5f",
        MORE_SLOW,
    ],
    [
        "arch/armv8",
        "reply_recv",
        "eor     x25, x25, x13",
        "cbnz    x25, 5b",
        "b 5b",
        MORE_SLOW,
    ],
    [
        "arch/armv8",
        "leave",
        "cmp     x12, x23",
        "b.eq    3f",
        "",
        REPEATED,
    ],
    [
        "arch/armv8",
        "leave",
        "cmp     w12, w13",
        "b.eq    2f",
        "",
        REPEATED,
    ],
    [
        "arch/armv8",
        "reply_recv",
        "ldp     x15, x16, [x21, #{REPLY_ABOVE}]",
        "cmp     x12, #{BLOCKED_ON_REPLY}",
        "cmp x0, x0",
        CHAINED,
    ],
    [
        "arch/arm/",
        "entry",
        "cmp     r6, r7",
        "bxhi    lr",
        "",
        HIGHER,
    ],
    [
        "arch/arm/",
        "entry",
        "sub     r9, r8, #{BASE}",
        "bhs     9b",
        "",
        PENDING,
    ],
    [
        "arch/arm/",
        "entry",
        "rsbs    r6, r6, #31",
        "bxmi    lr",
        "",
        MORE_SLOW,
    ],
    [
        "arch/arm/",
        "require",
        "ldrd    r8, r9, [r12, #{CHECK_THRESHOLD}]",
        "orrs    lr, r8, r9",
        "movs lr, r8",
        MORE_SLOW,
    ],
    [
        "arch/arm/",
        "require",
        "ldrd    r8, r9, [r12, #{CHECK_THRESHOLD}]",
        "orrs    lr, r8, r9",
        "movs lr, r9",
        MORE_SLOW,
    ],
    [
        "arch/arm/",
        "require",
        "ldr     r7, [r8, #{FAULT}]",
        "teq     r6, #{BLOCKED_ON_REPLY}",
        "cmp r0, r0",
        CHAINED,
    ],
    [
        "arch/arm/",
        "call",
        "teq     lr, #{ENDPOINT_RECEIVING}",
        "bne     5f",
        "b 5f",
        MORE_SLOW,
    ],
    [
        "arch/arm/",
        "call",
        "teq     r7, r8",
        "bne     2b",
        "",
        RARE,
    ],
    [
        "arch/arm/",
        "reply_recv",
        "teqeq   lr, #{REPLY_KIND}",
        "bne     5b",
        "b 5b",
        MORE_SLOW,
    ],
    [
        "arch/arm/",
        "leave",
        "teq     r0, r2",
        "beq     3f",
        "",
        REPEATED,
    ],
    [
        "arch/arm/",
        "leave",
        "ldrb    r1, [r12, #{FPU_ENABLED}]",
        "teq     r0, r9",
        "cmp r0, r0",
        REPEATED,
    ],
    [
        "arch/arm/",
        "leave",
        "teqne   r1, #1",
        "beq     5f",
        "b 5f",
        REPEATED,
    ],
];

/// Why no test can detect a mutant of the files in a folder.
pub(super) fn reason(folder: &str, mutant: &Mutant) -> Option<&'static str> {
    let text = [
        &*mutant.file,
        &mutant.previous,
        &mutant.before,
        &mutant.after,
    ];
    let found = EQUIVALENT
        .iter()
        .find(|one| folder.starts_with(one[0]) && one[1..5] == text);
    found.map(|one| one[5])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{folder, lines};
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn each_is_a_mutant_of_a_line() {
        let workspace = Workspace::find().unwrap();
        let folders = ["x86_64", "aarch64", "armv7a"].map(folder);
        for [place, file, previous, before, after, _] in EQUIVALENT {
            let is_it = |folder: &&&str| folder.starts_with(place);
            let folder = folders.iter().find(is_it).unwrap();
            let path = workspace.path(format!("{folder}/{file}.s"));
            let text = fs::read_to_string(&path).unwrap();
            let found = lines::changes(&text).into_iter().any(|change| {
                let (line, old, new) = change;
                lines::previous(&text, line) == Some(previous) && old == *before && new == *after
            });
            assert!(
                found,
                "{}: no mutant of `{before}` after `{previous}`",
                path.display()
            );
        }
    }
}
