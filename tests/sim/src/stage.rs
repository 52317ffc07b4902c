//! What a running program can reach besides the kernel: the clock, its dice, the margin of the record.
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
    /// Who is on stage.
    pub actor: RefCell<Option<Rc<Actor>>>,
    /// What programs noted and the simulation has not yet recorded.
    pub notes: RefCell<Vec<String>>,
    /// Threads that the root task has made and the simulation does not know yet.
    pub spawned: RefCell<Vec<NewThread>>,
    /// The devices.
    pub devices: RefCell<Devices>,
}

thread_local! {
    static STAGE: RefCell<Option<Rc<Stage>>> = const { RefCell::new(None) };
}

/// The stage of the simulation that runs on this thread of the host.
pub(crate) fn stage() -> Rc<Stage> {
    STAGE.with_borrow(|stage| {
        stage
            .clone()
            .expect("only programs of a simulation call this")
    })
}

/// Makes `stage` the one of this thread of the host, and this crate the userlib's kernel.
pub(crate) fn enter(stage: &Rc<Stage>) {
    userlib::arch::install_kernel(&Door);
    STAGE.set(Some(stage.clone()));
}

fn actor() -> Rc<Actor> {
    let actor = stage().actor.borrow().clone();
    actor.expect("a program is on stage")
}

/// The door from the userlib to the kernel: the program pauses, and goes on when the kernel is done.
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
}

/// The time.
pub fn now() -> Microseconds {
    Microseconds(stage().now.get())
}

/// Works for this long: so much processor time passes before the program goes on.
pub fn work(time: Microseconds) {
    if time > Microseconds(0) {
        actor().ask(Request::Work(time.0));
    }
}

/// Does something that the processor refuses.
pub fn fault() {
    actor().ask(Request::Fault);
}

/// Writes something next to the calling thread in the record.
pub fn note(text: impl Into<String>) {
    stage().notes.borrow_mut().push(text.into());
}

/// A random time of the calling thread's own dice, which depend on the seed and on nothing else.
pub fn random(range: Range<Microseconds>) -> Microseconds {
    let mut dice = actor().dice.get();
    let drawn = dice.rand_range(range.start.0..range.end.0.max(range.start.0 + 1));
    actor().dice.set(dice);
    Microseconds(drawn)
}
