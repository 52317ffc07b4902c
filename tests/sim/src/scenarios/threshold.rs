//! The server of the scenario `timeout` behind a threshold: a client that has too little time left for a
//! whole request waits until it has more, and the server never runs out of time.

use userlib::Message;
use userlib::cap::{Endpoint, Reply, SchedParameters};

use crate::{Setup, ms, note, us, work};

pub fn setup(setup: &mut Setup) {
    let (endpoint, timeouts): (Endpoint, Endpoint) = (setup.create(), setup.create());
    let (caller, faulter): (Reply, Reply) = (setup.create(), setup.create());
    // What a request takes, and the ways in and out of the kernel.
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
            // Of the second client's time this leaves too little in the same period.
            work(us(700));
            endpoint.call(Message::empty(0));
        });
    }
}
