//! Programs: closures that run as coroutines.

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use abi::Syscall;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use oorandom::Rand64;
use userlib::arch::Registers;

/// The address at which every program starts. A thread whose program counter is set to it, say by the
/// reply to a timeout fault, starts anew.
pub const START: usize = 0x1_0000;

/// What a program wants before it goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// A system call.
    Syscall(Syscall, Registers),
    /// A system call that no kernel knows.
    Unknown(usize, usize),
    /// Processor time, in microseconds.
    Work(u64),
    /// Something that the processor refuses.
    Fault,
}

type Pause = Yielder<Registers, Request>;

/// What a program on stage is made of.
pub(crate) struct Actor {
    pause: Cell<*const Pause>,
    /// Address of its IPC buffer.
    pub buffer: usize,
    /// Its random numbers.
    pub dice: Cell<Rand64>,
}

impl Actor {
    /// Pauses the program until its request is fulfilled.
    pub fn ask(&self, request: Request) -> Registers {
        // SAFETY: the coroutine set the pointer when it started, and what it points to lives as long
        // as the coroutine, which is the one that runs: only the actor on stage is ever asked.
        unsafe { &*self.pause.get() }.suspend(request)
    }
}

/// What a thread does, as often as it is started.
pub(crate) type Body = Rc<dyn Fn()>;

/// A program and where it is.
pub(crate) struct Program {
    body: Body,
    pub actor: Rc<Actor>,
    coroutine: Option<Coroutine<Registers, Request, ()>>,
    /// Processor time that it wants before it goes on.
    pub work: u64,
}

impl Program {
    pub fn new(body: Body, buffer: usize, seed: u128) -> Self {
        let actor = Actor {
            pause: Cell::new(ptr::null()),
            buffer,
            dice: Cell::new(Rand64::new(seed)),
        };
        Self {
            body,
            actor: Rc::new(actor),
            coroutine: None,
            work: 0,
        }
    }

    /// Goes back to the start: what it was doing is forgotten.
    pub fn restart(&mut self) {
        let (actor, body) = (self.actor.clone(), self.body.clone());
        self.work = 0;
        self.coroutine = Some(Coroutine::new(move |pause: &Pause, _| {
            actor.pause.set(pause);
            body();
            // As on a machine: a thread that is done tells its fault handler.
            userlib::runtime::exit_thread(0);
        }));
    }

    /// Goes on, with `registers` as the result of what it asked for, to its next request.
    pub fn resume(&mut self, registers: Registers) -> Request {
        let coroutine = self.coroutine.as_mut().expect("it was started");
        match coroutine.resume(registers) {
            CoroutineResult::Yield(request) => request,
            CoroutineResult::Return(()) => unreachable!("threads end by a fault"),
        }
    }
}
