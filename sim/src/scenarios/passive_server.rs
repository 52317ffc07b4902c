//! Three clients call one passive server: each is charged for its own requests.

use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::{Message, server, syscall};

use crate::{Microseconds, Setup, ms, note, random, us, work};

pub fn setup(setup: &mut Setup) {
    let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
    let served = setup.thread("server", 30).passive();
    served.run(move || {
        server::serve(endpoint, reply, |request| {
            let message = request.message.expect("no signals are sent");
            work(Microseconds(message.word(0) as u64));
            Message::new(0, &[request.badge])
        })
    });
    for (badge, period) in [(1, 5), (2, 8), (3, 13)] {
        let endpoint = setup.badge(endpoint, badge);
        let time = SchedParameters::new(ms(2), ms(period));
        let client = setup.thread(format!("client {badge}"), 10 + badge as u8);
        client.time(time).repeat(move || {
            work(us(300));
            let wanted = random(us(200)..us(1_200));
            let answer = endpoint.call(Message::new(0, &[wanted.0 as usize]));
            assert_eq!(answer.word(0), badge, "the answer is for this client");
            note(format!("{} µs of service", wanted.0));
            syscall::yield_now();
        });
    }
}
