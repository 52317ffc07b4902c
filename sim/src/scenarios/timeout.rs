//! A server runs on its client's context, which has too little budget. The server's timeout handler
//! replies to the client on behalf of the server and restarts the server from its beginning.

use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::{Fault, Message, syscall};

use crate::{START, Setup, ms, note, us, work};

const TOO_LATE: usize = 1;

pub fn setup(setup: &mut Setup) {
    let (endpoint, timeouts): (Endpoint, Endpoint) = (setup.create(), setup.create());
    let (caller, faulter): (Reply, Reply) = (setup.create(), setup.create());

    let server = setup.thread("server", 20).passive().on_timeout(timeouts);
    let server = server.run(move || {
        note("begins");
        let mut request = endpoint.recv(caller);
        loop {
            work(us(1_500));
            note(format!("served client {}", request.badge));
            request = endpoint.reply_recv(Message::empty(0), caller);
        }
    });
    let time = SchedParameters::new(ms(1), ms(5));
    setup.thread("handler", 200).time(time).run(move || {
        let mut fault = timeouts.recv(faulter);
        loop {
            let message = fault.message.expect("no signals are sent");
            if let Fault::Timeout { badge, .. } = Fault::from_message(&message) {
                note(format!("client {badge} ran out of time"));
            }
            caller.send(Message::empty(TOO_LATE));
            // This returned the client's context. The server gets its own until its first receive.
            let lent = server.sched_context.bind(server.tcb);
            lent.expect("no thread has it");
            let mut registers = userlib::cap::Registers::default();
            *registers.pc() = START;
            fault = timeouts.reply_recv(registers.timeout_reply(), faulter);
        }
    });
    for (badge, budget) in [(1, ms(4)), (2, ms(1))] {
        let endpoint = setup.badge(endpoint, badge);
        let time = SchedParameters::new(budget, ms(10)).with_badge(badge);
        let client = setup.thread(format!("client {badge}"), 10);
        client.time(time).repeat(move || {
            if endpoint.call(Message::empty(0)).label() == TOO_LATE {
                note("got nothing");
            }
            syscall::yield_now();
        });
    }
}
