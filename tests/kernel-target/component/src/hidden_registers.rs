//! Registers that are not part of the register set shown by the kernel: values of one thread must not be
//! visible to another. Each register is saved with the thread, cleared, or not accessible in user mode.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::{ABOVE, Outcome, Test};
use crate::check;
use userlib::cap::{Endpoint, Reply};
use userlib::{Fault, Message};

#[cfg_attr(target_arch = "x86_64", path = "hidden_registers/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "hidden_registers/aarch64.rs")]
#[cfg_attr(target_arch = "arm", path = "hidden_registers/arm.rs")]
mod arch;

use arch::{REFUSED, REGISTERS, TIMER, VALUES};

tests![
    a_switch_leaves_nothing,
    a_call_leaves_nothing,
    the_refused_are_faults,
];

/// A register that user mode can read and write on some processors.
#[derive(Clone, Copy)]
struct Register {
    name: &'static str,
    write: fn(usize),
    read: fn() -> usize,
}

/// One thread writes, then another one reads. Both may fault.
fn a_switch_leaves_nothing(test: &mut Test) -> Outcome {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    for &Register { name, write, read } in REGISTERS {
        for &value in VALUES {
            SEEN.store(0, Relaxed);
            let writer = test.watched(move || write(value))?;
            let reader = test.watched(move || SEEN.store(read(), Relaxed))?;
            writer.thread.start()?;
            reader.thread.start()?;
            let seen = SEEN.load(Relaxed);
            check!(seen != value, "{name}: another thread finds {value:#x}");
        }
    }
    Ok(())
}

/// A client writes and calls a passive server, which reads, writes another value and replies. Both the call
/// and the reply take a fast path.
fn a_call_leaves_nothing(test: &mut Test) -> Outcome {
    for &Register { name, write, read } in REGISTERS {
        if is_refused(test, move || write(VALUES[0]))? {
            continue;
        }
        for (&value, &other) in VALUES.iter().zip(VALUES.iter().rev()) {
            let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
            test.spawn_passive(ABOVE, move || {
                endpoint.recv(reply);
                loop {
                    let seen = read();
                    write(other);
                    endpoint.reply_recv(Message::new(0, &[seen]), reply);
                }
            })?;
            test.spawn(ABOVE, move || {
                for _ in 0..3 {
                    write(value);
                    let seen = endpoint.call(Message::empty(0)).word(0);
                    check!(seen != value, "{name}: the server finds {value:#x}");
                    let seen = read();
                    check!(seen != other, "{name}: the client finds {other:#x}");
                }
            })?;
        }
    }
    Ok(())
}

/// Registers that reveal kernel state, or that belong to no thread, are not accessible in user mode.
fn the_refused_are_faults(test: &mut Test) -> Outcome {
    let timer: &[_] = if abi::config::USER_TIMER { &[] } else { TIMER };
    for &(name, access) in REFUSED.iter().chain(timer) {
        check!(is_refused(test, access)?, "{name} can be used");
    }
    Ok(())
}

/// Whether the processor raises an exception for the access.
fn is_refused<F: FnOnce() + Send + 'static>(test: &mut Test, access: F) -> Outcome<bool> {
    let watched = test.watched(access)?;
    watched.thread.start()?;
    let fault = watched.endpoint.nb_recv(watched.reply);
    let message = fault.and_then(|fault| fault.message);
    Ok(message.is_some_and(|it| matches!(Fault::from_message(&it), Fault::UserException { .. })))
}
