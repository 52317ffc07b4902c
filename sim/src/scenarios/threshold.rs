//! The server of the scenario `timeout` with an endpoint threshold: a client with too little budget
//! for a whole request is deferred, and the server never runs out of budget.

use userlib::Message;
use userlib::cap::{Endpoint, Reply, SchedParameters};

use crate::{Setup, ms, note, us, work};

pub fn setup(setup: &mut Setup) {
    let (endpoint, timeouts): (Endpoint, Endpoint) = (setup.create(), setup.create());
    let (caller, faulter): (Reply, Reply) = (setup.create(), setup.create());
    // The time of a request, and of the kernel entries and exits.
    let original = setup.allocator.slot(endpoint);
    let set = original.set_endpoint_threshold(us(1_550), 0);
    set.expect("it is the original");

    let server = setup.thread("server", 20).passive().on_timeout(timeouts);
    server.run(move || {
        let mut request = endpoint.recv(caller);
        loop {
            work(us(1_500));
            note(format!("served client {}", request.badge));
            request = endpoint.reply_recv(Message::empty(0), caller);
        }
    });
    let time = SchedParameters::new(ms(1), ms(5));
    setup.thread("handler", 200).time(time).run(move || {
        timeouts.recv(faulter);
        note("the server ran out of time");
    });
    for (badge, budget) in [(1, ms(4)), (2, ms(2))] {
        let endpoint = setup.badge(endpoint, badge);
        let time = SchedParameters::new(budget, ms(10)).with_badge(badge);
        let client = setup.thread(format!("client {badge}"), 10);
        client.time(time).repeat(move || {
            // This leaves the second client too little budget in the same period.
            work(us(700));
            endpoint.call(Message::empty(0));
        });
    }
}
