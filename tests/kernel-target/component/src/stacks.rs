//! Stacks: an overflow accesses unmapped memory, and the depth that was used can be queried. Also the
//! descriptions of faults.

use crate::support::arch;
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use core::hint::black_box;
use userlib::arch::memory_access;
use userlib::cap::{Attributes, Frame};
use userlib::{Fault, PostMortem, Rights, runtime};

tests![
    nothing_is_below_the_first_stack,
    nothing_is_below_the_stack_of_a_thread,
    the_deepest_call_leaves_a_mark,
    faults_have_words,
];

/// Whether a fault was an access to memory that is not mapped.
fn is_unmapped(fault: Fault) -> bool {
    matches!(fault, Fault::Memory { status, .. } if !memory_access(status).forbidden)
}

fn nothing_is_below_the_first_stack(test: &mut Test) -> Outcome {
    let below = runtime::stack().start - size_of::<usize>();
    let fault = test.fault_of(move || {
        // SAFETY: nothing is mapped there.
        unsafe { arch::load(below) };
    })?;
    check!(is_unmapped(fault), "{fault:x?}");
    Ok(())
}

/// Uses the whole stack.
#[inline(never)]
fn overflow(depth: usize) -> usize {
    let frame = black_box([depth; 32]);
    match frame[1] {
        usize::MAX => 0,
        _ => overflow(depth + 1) + black_box(&frame)[2],
    }
}

fn nothing_is_below_the_stack_of_a_thread(test: &mut Test) -> Outcome {
    let fault = test.fault_of(|| {
        black_box(overflow(0));
    })?;
    // Without a guard page, the thread would have continued into its IPC buffer and the pages below.
    check!(is_unmapped(fault), "{fault:x?}");
    Ok(())
}

#[inline(never)]
fn use_stack<const BYTES: usize>() {
    let bytes = [1u8; BYTES];
    black_box(&bytes);
}

fn the_deepest_call_leaves_a_mark(_: &mut Test) -> Outcome {
    const LITTLE: usize = 0x1000;
    const MUCH: usize = 0xe000;
    use_stack::<LITTLE>();
    let before = runtime::stack_use();
    check!((LITTLE..MUCH).contains(&before.used), "{before}");
    use_stack::<MUCH>();
    let after = runtime::stack_use();
    check!((MUCH..after.size).contains(&after.used), "{after}");
    use_stack::<LITTLE>();
    check_eq!(runtime::stack_use(), after);
    Ok(())
}

fn words_for(fault: Fault) -> &'static str {
    let post_mortem = PostMortem {
        program: "kernel-target-component",
        fault,
        stack: runtime::stack(),
    };
    post_mortem.words()
}

fn faults_have_words(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let constant = test.map(frame, Rights::READ, Attributes::NO_EXECUTE)?;
    let below = runtime::stack().start - size_of::<usize>();
    let nowhere = test.reserve(1);

    for (address, words) in [
        (0, "read through a null pointer"),
        (below, "stack overflow"),
        (nowhere, "read of memory that is not mapped"),
    ] {
        let fault = test.fault_of(move || {
            // SAFETY: nothing is mapped there.
            unsafe { arch::load(address) };
        })?;
        check_eq!(words_for(fault), words);
    }
    for (address, words) in [
        (8, "write through a null pointer"),
        (nowhere, "write to memory that is not mapped"),
        (constant, "write to read-only memory"),
    ] {
        let fault = test.fault_of(move || {
            // SAFETY: nothing there is writable.
            unsafe { arch::store(address, 1) };
        })?;
        check_eq!(words_for(fault), words);
    }
    for (address, words) in [
        (0, "call of a null pointer"),
        (nowhere, "jump to memory that is not mapped"),
        (constant, "jump to memory that is no code"),
    ] {
        // seL4's x86-64 has no attribute for it: all memory is executable there.
        if address == constant && cfg!(target_arch = "x86_64") {
            continue;
        }
        let watched = test.watched(|| ())?;
        let mut registers = watched.thread.tcb.read_registers(false)?;
        *registers.pc() = address;
        watched.thread.tcb.write_registers(true, &registers)?;
        check_eq!(words_for(watched.fault()), words);
    }
    let fault = test.fault_of(|| {
        // SAFETY: it only faults.
        unsafe { arch::undefined() };
    })?;
    check_eq!(words_for(fault), "undefined instruction");
    Ok(())
}
