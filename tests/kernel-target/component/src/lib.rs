//! The on-target tests, one file for each kernel object or theme.
//!
//! A test is a function that is named in the list at the head of its file. It runs in a fresh component; the
//! component's first thread calls it ([`perform`]), and the root task knows only the names ([`GROUPS`]).
//! Nothing that a test does to its own component affects the next test.
#![no_std]
#![cfg_attr(
    feature = "part",
    allow(
        dead_code,
        unused_imports,
        reason = "some files are not compiled, and nothing else may use what they use"
    )
)]

pub mod support;

use support::{Outcome, Test};
use userlib::Startup;

/// Names the tests of a file.
macro_rules! tests {
    // Present only in builds that meet the condition.
    (if $condition:expr; $($test:ident),* $(,)?) => {
        pub(crate) const NAMES: &[&str] = if $condition { &[$(stringify!($test)),*] } else { &[] };
        pub(crate) const TESTS: &[fn(&mut $crate::support::Test) -> $crate::support::Outcome] =
            if $condition { &[$($test),*] } else { &[] };
    };
    ($($(#[$attribute:meta])* $test:ident),* $(,)?) => {
        /// Their names.
        pub(crate) const NAMES: &[&str] = &[$($(#[$attribute])* stringify!($test)),*];
        /// The tests.
        pub(crate) const TESTS: &[fn(&mut $crate::support::Test) -> $crate::support::Outcome] =
            &[$($(#[$attribute])* $test),*];
    };
}

/// Names the files. The build script sets a condition with the name of each file that is to be compiled.
macro_rules! groups {
    ($($(#[$attribute:meta])* $group:ident),* $(,)?) => {
        $($(#[$attribute])* #[cfg($group)] mod $group;)*

        /// The names of the files, and of the tests in each.
        pub const GROUPS: &[(&str, &[&str])] = &[
            $($(#[$attribute])* #[cfg($group)] (stringify!($group), $group::NAMES)),*
        ];

        const RUN: &[&[fn(&mut Test) -> Outcome]] = &[$($(#[$attribute])* #[cfg($group)] $group::TESTS),*];
    };
}

groups![
    untyped,
    retype,
    cnode,
    derivation,
    cspace,
    endpoint,
    cap_transfer,
    buffers,
    call_reply,
    donation,
    fast_path_call,
    fast_path_call_time,
    fast_path_reply,
    fast_path_reply_time,
    fast_path_turn,
    reply_stack,
    notification,
    thread,
    thread_states,
    deletion,
    scheduling,
    scenarios,
    registers,
    hidden_registers,
    faults,
    stacks,
    frames,
    #[cfg(target_arch = "x86_64")]
    x86_spaces,
    #[cfg(target_arch = "arm")]
    arm_spaces,
    #[cfg(target_arch = "aarch64")]
    aarch64_spaces,
    asid,
    irq,
    #[cfg(target_arch = "x86_64")]
    x86_irq,
    #[cfg(not(any(target_arch = "x86_64", feature = "devices-imx31")))]
    arm_irq,
    #[cfg(not(any(target_arch = "x86_64", feature = "devices-imx31")))]
    arm_signals,
    #[cfg(target_arch = "aarch64")]
    arm_smc,
    #[cfg(target_arch = "x86_64")]
    io_ports,
    boot_info,
    syscalls,
    benchmark,
    fpu,
    #[cfg(target_arch = "x86_64")]
    x86_isolation,
    #[cfg(target_arch = "x86_64")]
    x86_avx,
    #[cfg(target_arch = "x86_64")]
    x86_breakpoints,
    #[cfg(not(feature = "devices-imx31"))]
    breakpoints,
    #[cfg(not(target_arch = "arm"))]
    breakpoints_steps,
    #[cfg(target_arch = "aarch64")]
    aarch64_steps,
    #[cfg(all(target_arch = "arm", not(feature = "devices-imx31")))]
    arm_breakpoints,
    #[cfg(feature = "devices-imx31")]
    no_breakpoints,
    domain,
    hostile,
    budget,
    timeout,
    thresholds,
    limits,
    yield_until,
    periodic,
    yield_to_timeout,
    dispatcher,
    quanta,
    simso,
    criticality,
    sched_context,
    sched_control,
    sel4_history,
    sel4_servers,
    long_time,
    cores,
    cores_memory,
    cores_nested,
    cores_shared,
    cores_dispatcher,
    cores_quanta,
    cores_simso,
    #[cfg(not(any(target_arch = "x86_64", feature = "devices-imx31")))]
    cores_signals,
    cores_history,
    stress,
    stream,
];

/// Runs the test that the runner chose.
pub fn perform(startup: &'static Startup) {
    use support::protocol::names;
    support::start(startup);
    let mut test = Test::new(startup);
    let (group, index) = (startup.number(names::GROUP), startup.number(names::INDEX));
    let outcome = RUN[group][index](&mut test).and_then(|()| margin());
    if let Err(failure) = outcome {
        failure.report();
    }
}

/// Checks that the stack has room for the needs of another compiler.
fn margin() -> Outcome {
    let stack = userlib::runtime::stack_use();
    if !stack.has_margin() {
        support::fail(format_args!("{stack} of the stack were used"));
    }
    Ok(())
}
