//! Programs: closures that run as coroutines.

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use abi::Syscall;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use oorandom::Rand64;
use userlib::arch::Registers;

/// The address at which every program starts. A thread restarts from the beginning if its program
/// counter is set to it, for example by the reply to a timeout fault.
pub const START: usize = 0x1_0000;

/// What a program requests before it continues.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// A system call.
    Syscall(Syscall, Registers),
    /// An unknown system call.
    Unknown(usize, usize),
    /// Processor time, in microseconds.
    Work(u64),
    /// A processor exception.
    Fault,
}

type Pause = Yielder<Registers, Request>;

/// The state of a running program.
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
        // SAFETY: the coroutine set the pointer when it started, and the target lives as long as the
        // coroutine, which is the one that runs: only the running program's actor is asked.
        unsafe { &*self.pause.get() }.suspend(request)
    }
}

/// The code of a thread, which may be started several times.
pub(crate) type Body = Rc<dyn Fn()>;

/// A program and its state.
pub(crate) struct Program {
    body: Body,
    pub actor: Rc<Actor>,
    coroutine: Option<Coroutine<Registers, Request, ()>>,
    /// Processor time that it needs before it continues.
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

    /// Starts the program from the beginning; its previous state is dropped. Returns whether there was one.
    pub fn restart(&mut self) -> bool {
        let starts_again = self.coroutine.is_some();
        let (actor, body) = (self.actor.clone(), self.body.clone());
        self.work = 0;
        self.coroutine = Some(Coroutine::new(move |pause: &Pause, _| {
            actor.pause.set(pause);
            body();
            // As on real hardware, a thread that ends reports to its fault handler.
            userlib::runtime::exit_thread(0);
        }));
        starts_again
    }

    /// Continues to the next request, with `registers` as the result of the last one.
    pub fn resume(&mut self, registers: Registers) -> Request {
        let coroutine = self.coroutine.as_mut().expect("it was started");
        match coroutine.resume(registers) {
            CoroutineResult::Yield(request) => request,
            CoroutineResult::Return(()) => unreachable!("threads end by a fault"),
        }
    }
}
