//! The same bursts of events for two servers with the same budget. The sporadic server's
//! replenishment comes one period after its event, so the server catches up after being preempted;
//! with constant bandwidth it comes one period after the server really ran.

use userlib::cap::SchedParameters;

use crate::{Setup, ms, note, now, us, work};

pub fn setup(setup: &mut Setup) {
    let time = SchedParameters::new(ms(2), ms(10)).with_extra_refills(6);
    for (name, time) in [("sporadic", time.sporadic()), ("bandwidth", time)] {
        // Bursts of three events, 500 µs apart, every 20 ms.
        let mut count = 0;
        let events = setup.device(move |_| {
            count += 1;
            Some(us(3_000 + (count - 1) / 3 * 20_000 + (count - 1) % 3 * 500))
        });
        setup.thread(name, 10).time(time).run(move || {
            while events.wait().is_ok() {
                let arrival = now();
                work(us(1_100));
                note(format!("served after {} µs", (now() - arrival).0));
            }
        });
    }
    // A higher-priority thread that preempts both.
    let often = SchedParameters::new(ms(2), ms(8));
    setup.thread("high", 20).time(often).repeat(|| {
        work(us(1_500));
        userlib::syscall::yield_now();
    });
    setup.thread("background", 1).repeat(|| {
        work(ms(1));
    });
}
