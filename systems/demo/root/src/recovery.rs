//! The timeout handler, which runs when a caller's budget ends in the server.
//!
//! The server could continue only after the caller's next replenishment, and would serve no other caller
//! until then. So the handler replies to the caller with an error, which returns its context, and restarts
//! the server. The server handles the next request within microseconds.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use demo_protocol::answer;
use userlib::cap::{Endpoint, Registers, Reply};
use userlib::process::ProcessSize;
use userlib::server::Passive;
use userlib::{Fault, Message, Microseconds, Outcome, PostMortem, println};

use crate::members;

/// The server's badge in fault messages.
pub const SERVER: usize = 0;

static OVERRUNS: [AtomicUsize; crate::members::COUNT + 1] =
    [const { AtomicUsize::new(0) }; crate::members::COUNT + 1];

/// How often the budget of the component with this badge ran out in the server.
pub fn overruns(badge: usize) -> usize {
    OVERRUNS[badge].load(Relaxed)
}

/// The time that these fault messages reported, which the kernel therefore does not report again.
static ACCOUNTED: [AtomicUsize; crate::members::COUNT + 1] =
    [const { AtomicUsize::new(0) }; crate::members::COUNT + 1];

/// Returns and clears the time that fault messages of the component with this badge have reported.
pub fn take_accounted(badge: usize) -> Microseconds {
    Microseconds(ACCOUNTED[badge].swap(0, Relaxed) as u64)
}

/// Resources of the handler.
pub struct Recovery {
    /// The endpoint that receives faults.
    pub faults: Endpoint,
    /// The reply object for faults.
    pub fault_reply: Reply,
    /// The server.
    pub server: Passive,
    /// The server's caller.
    pub client_reply: Reply,
    /// The registers with which the server started.
    pub first_registers: Registers,
}

impl Recovery {
    /// Handles faults forever.
    pub fn run(self) {
        loop {
            let received = self.faults.recv(self.fault_reply);
            let Some(message) = received.message else {
                continue;
            };
            match Fault::from_message(&message) {
                Fault::Timeout {
                    badge, consumed, ..
                } => {
                    account(badge, consumed);
                    self.start_over(badge);
                }
                fault => give_up(received.badge, fault),
            }
        }
    }

    fn start_over(&self, badge: usize) {
        if badge == SERVER {
            // Not a caller's budget, but that of the context lent until the first receive: it is replenished.
            return self.fault_reply.send(Message::empty(0));
        }
        self.client_reply.send(Message::empty(answer::OUT_OF_TIME));
        self.fault_reply.send(self.first_registers.timeout_reply());
        if let Err(error) = self.server.lend_time() {
            println!("the server got no time to start over: {error:?}");
            userlib::runtime::exit(1);
        }
    }
}

fn account(badge: usize, consumed: Microseconds) {
    if let (Some(count), Some(time)) = (OVERRUNS.get(badge), ACCOUNTED.get(badge)) {
        count.fetch_add(1, Relaxed);
        time.fetch_add(consumed.0 as usize, Relaxed);
    }
}

/// Ends the run because a component has failed, which none should.
fn give_up(badge: usize, fault: Fault) -> ! {
    let (name, program) = members::names(badge);
    match Outcome::from(fault) {
        Outcome::Faulted(fault) => {
            let post_mortem = PostMortem {
                program,
                fault,
                stack: ProcessSize::default().stack(),
            };
            println!("{name} has failed\n{post_mortem}");
        }
        outcome => println!("{name} has failed: {outcome:?}"),
    }
    userlib::runtime::exit(1)
}
