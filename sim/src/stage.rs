//! The environment of a running program besides the kernel: clock, random numbers, notes in the
//! record.
//!
//! The stage is a thread-local, because programs call plain functions, as they do on a machine.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use abi::Syscall;
use userlib::Microseconds;
use userlib::arch::{Kernel, Registers};

use crate::device::Devices;
use crate::program::{Actor, Request};
use crate::setup::NewThread;

/// What programs share with the simulation that runs them.
#[derive(Default)]
pub(crate) struct Stage {
    /// The time in microseconds.
    pub now: Cell<u64>,
    /// The program that runs.
    pub actor: RefCell<Option<Rc<Actor>>>,
    /// Notes of programs that are not recorded yet.
    pub notes: RefCell<Vec<String>>,
    /// Threads that the root task has made and the simulation has not added yet.
    pub spawned: RefCell<Vec<NewThread>>,
    /// The devices.
    pub devices: RefCell<Devices>,
}

thread_local! {
    static STAGE: RefCell<Option<Rc<Stage>>> = const { RefCell::new(None) };
}

/// The stage of the simulation that runs on this host thread.
pub(crate) fn stage() -> Rc<Stage> {
    STAGE.with_borrow(|stage| {
        stage
            .clone()
            .expect("only programs of a simulation call this")
    })
}

/// Sets the stage of this host thread, and this crate as the userlib's kernel.
pub(crate) fn enter(stage: &Rc<Stage>) {
    userlib::arch::install_kernel(&Door);
    STAGE.set(Some(stage.clone()));
}

fn actor() -> Rc<Actor> {
    let actor = stage().actor.borrow().clone();
    actor.expect("a program is on stage")
}

/// The interface from the userlib to the kernel: the program pauses until the kernel is done.
struct Door;

impl Kernel for Door {
    fn syscall(&self, call: Syscall, registers: &mut Registers) {
        *registers = actor().ask(Request::Syscall(call, *registers));
    }

    fn unknown_syscall(&self, number: usize, argument: usize) {
        actor().ask(Request::Unknown(number, argument));
    }

    fn ipc_buffer_address(&self) -> usize {
        actor().buffer
    }

    /// In microseconds, as [`now`].
    fn time_stamp(&self) -> u64 {
        now().0
    }
}

/// The current time.
pub fn now() -> Microseconds {
    Microseconds(stage().now.get())
}

/// Works for a time: the program continues after this much processor time.
pub fn work(time: Microseconds) {
    if time > Microseconds(0) {
        actor().ask(Request::Work(time.0));
    }
}

/// Causes a processor exception.
pub fn fault() {
    actor().ask(Request::Fault);
}

/// Adds a note of the calling thread to the record.
pub fn note(text: impl Into<String>) {
    stage().notes.borrow_mut().push(text.into());
}

/// A random time from the calling thread's own random numbers, which depend only on the seed.
pub fn random(range: Range<Microseconds>) -> Microseconds {
    let mut dice = actor().dice.get();
    let drawn = dice.rand_range(range.start.0..range.end.0.max(range.start.0 + 1));
    actor().dice.set(dice);
    Microseconds(drawn)
}
