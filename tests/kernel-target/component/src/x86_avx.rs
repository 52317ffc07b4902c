//! AVX registers: the parts beyond SSE also belong to threads, and no thread sees values of another one.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, _xgetbv};

use crate::support::events::{count, note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test, ms};
use crate::{check, check_eq};
use userlib::cap::Notification;

tests![
    what_the_processor_has_is_usable,
    upper_halves_survive_switches,
    upper_halves_survive_preemption,
    new_threads_find_none,
    the_deleted_leave_none,
];

/// Whether the processor has AVX, and whether the kernel enables it for users.
fn avx() -> (bool, bool) {
    const HAS_AVX: u32 = 1 << 28;
    const XSAVE_IN_USE: u32 = 1 << 27;
    const SSE_AND_AVX: u64 = 6;
    let features = __cpuid(1).ecx;
    // SAFETY: the instruction exists where XSAVE is enabled.
    let usable = features & XSAVE_IN_USE != 0
        && unsafe { enabled_components() } & SSE_AND_AVX == SSE_AND_AVX;
    (features & HAS_AVX != 0, usable)
}

/// The components of the processor's extended state that are enabled.
///
/// # Safety
/// The processor has `xgetbv`.
#[target_feature(enable = "xsave")]
unsafe fn enabled_components() -> u64 {
    // SAFETY: the caller guarantees that the instruction exists.
    unsafe { _xgetbv(0) }
}

/// Fills the first and the last register with a value.
fn fill(value: u64) {
    let words = [value; 4];
    // SAFETY: the program is compiled without floating point, so the registers are unused.
    unsafe {
        asm!(
            "vmovups ymm0, [{0}]",
            "vmovups ymm15, [{0}]",
            in(reg) words.as_ptr(),
            options(nostack, readonly, preserves_flags)
        );
    }
}

/// Whether these registers hold a value.
fn hold(value: u64) -> bool {
    let mut words = [!value; 8];
    // SAFETY: as above; the array has room for both registers.
    unsafe {
        asm!(
            "vmovups [{0}], ymm0",
            "vmovups [{0} + 32], ymm15",
            in(reg) words.as_mut_ptr(),
            options(nostack, preserves_flags)
        );
    }
    words == [value; 8]
}

fn what_the_processor_has_is_usable(_: &mut Test) -> Outcome {
    let (there, usable) = avx();
    check_eq!(usable, there);
    Ok(())
}

fn upper_halves_survive_switches(test: &mut Test) -> Outcome {
    if !avx().1 {
        return Ok(());
    }
    let (ping, pong): (Notification, Notification) = (test.create()?, test.create()?);
    test.spawn(ABOVE, move || {
        fill(2);
        for _ in 0..100 {
            ping.wait();
            check!(hold(2));
            pong.signal();
        }
    })?;
    fill(1);
    for _ in 0..100 {
        ping.signal();
        pong.wait();
        check!(hold(1));
    }
    Ok(())
}

fn upper_halves_survive_preemption(test: &mut Test) -> Outcome {
    if !avx().1 {
        return Ok(());
    }
    for index in 1..4 {
        test.spawn(BELOW, move || {
            fill(index);
            loop {
                check!(hold(index));
            }
        })?;
    }
    fill(9);
    for _ in 0..5 {
        test.sleep(ms(20))?;
        check!(hold(9));
    }
    Ok(())
}

fn new_threads_find_none(test: &mut Test) -> Outcome {
    if !avx().1 {
        return Ok(());
    }
    fill(u64::MAX);
    test.spawn(ABOVE, || {
        check!(hold(0));
        note('a');
    })?;
    check_eq!(noted(), "a");
    check!(hold(u64::MAX));
    Ok(())
}

fn the_deleted_leave_none(test: &mut Test) -> Outcome {
    if !avx().1 {
        return Ok(());
    }
    let never: Notification = test.create()?;
    for round in 1..10 {
        let owner = test.spawn(ABOVE, move || {
            check!(hold(0));
            fill(round);
            never.wait();
        })?;
        // The hardware registers may still hold the deleted thread's values.
        test.delete(owner.tcb)?;
        test.spawn(ABOVE, || {
            check!(hold(0));
            note('c');
        })?;
    }
    check_eq!(count(), 9);
    Ok(())
}
