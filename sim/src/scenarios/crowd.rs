//! A hundred periodic threads with random periods and short jobs: shows the speed of the simulator,
//! and a busy machine.

use userlib::cap::SchedParameters;
use userlib::syscall;

use crate::{Setup, ms, random, us, work};

pub fn setup(setup: &mut Setup) {
    let mut dice = oorandom::Rand64::new(setup.seed().into());
    for number in 0..100 {
        let period = ms(10 + dice.rand_range(0..190));
        let time = SchedParameters::new(us(period.0 / 120), period);
        let priority = 1 + dice.rand_range(0..100) as u8;
        let thread = setup.thread(format!("thread {number:02}"), priority);
        thread.time(time).repeat(move || {
            work(random(us(period.0 / 400)..us(period.0 / 150)));
            syscall::yield_now();
        });
    }
}
