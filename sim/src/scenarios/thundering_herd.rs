//! A device wakes a herd: in every period a thread signals ten others, which all become ready at the
//! same time. They run in order of priority; the herd does not delay the ticker itself.

use userlib::cap::{Notification, SchedParameters};

use crate::{Setup, ms, note, now, us, work};

pub fn setup(setup: &mut Setup) {
    let bells: Vec<Notification> = (0..10).map(|_| setup.create()).collect();
    for (number, bell) in bells.iter().copied().enumerate() {
        let time = SchedParameters::new(us(400), ms(5)).with_extra_refills(2);
        let herd = setup.thread(format!("herd {number}"), 10 + number as u8 / 2);
        herd.time(time).repeat(move || {
            bell.wait();
            work(us(300));
        });
    }
    let tick = setup.device(|last| Some(last + ms(5)));
    let time = SchedParameters::new(ms(1), ms(5));
    setup.thread("ticker", 100).time(time).run(move || {
        while tick.wait().is_ok() {
            let start = now();
            bells.iter().for_each(|bell| bell.signal());
            note(format!("woke the herd in {} µs", (now() - start).0));
        }
    });
}
