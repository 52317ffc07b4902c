//! Earliest deadline first at user level. The kernel knows fixed priorities only; one more urgent
//! thread turns them into deadlines: of all tasks with work to do, the one whose deadline comes first
//! gets the priority `CHOSEN`, the others `WAITING`.

use std::cell::RefCell;
use std::rc::Rc;

use userlib::cap::{Endpoint, Notification, Tcb};
use userlib::{Message, Thread, boot};

use crate::{Microseconds, Setup, Timer, ms, note, now, work};

const WAITING: u8 = 10;
const CHOSEN: u8 = 11;

struct Task {
    tcb: Tcb,
    period: Microseconds,
    start: Notification,
    release: Microseconds,
    busy: bool,
}

impl Task {
    fn deadline(&self) -> Microseconds {
        self.release + self.period
    }
}

pub fn setup(setup: &mut Setup) {
    let (done, timer): (Endpoint, Timer) = (setup.create(), setup.timer());
    let mut tasks = Vec::new();
    // 98 % of the processor: more than fixed priorities can promise to three tasks.
    for (badge, (period, wcet)) in [(10, 3), (15, 5), (28, 9)].into_iter().enumerate() {
        let (start, done): (Notification, _) = (setup.create(), setup.badge(done, badge));
        let thread = setup.thread(format!("every {period} ms"), WAITING);
        let Thread { tcb, .. } = thread.run(move || {
            loop {
                start.wait();
                work(ms(wcet));
                done.send(Message::empty(0));
            }
        });
        let (release, busy) = (ms(0), false);
        tasks.push(Task { tcb, period: ms(period), start, release, busy });
    }
    // One thread hears of both: the timer's signal comes through its bound notification.
    let tasks = Rc::new(RefCell::new(tasks));
    let scheduler = setup.thread("scheduler", 100).run(move || {
        loop {
            schedule(&mut tasks.borrow_mut(), timer);
            timer.interrupt.handler.ack().expect("the line is ours");
            let event = done.wait();
            if event.message.is_some() {
                let task = &mut tasks.borrow_mut()[event.badge];
                let in_time = now() <= task.deadline();
                note(format!("{} ms {}", task.period.as_millis(), if in_time { "done" } else { "LATE" }));
                (task.busy, task.release) = (false, task.deadline());
            }
        }
    });
    scheduler.tcb.bind_notification(timer.interrupt.notification).expect("nobody else has it");
}

/// Starts the jobs that are due, and lets the most urgent one run.
fn schedule(tasks: &mut [Task], timer: Timer) {
    for task in tasks.iter_mut().filter(|task| !task.busy && task.release <= now()) {
        task.busy = true;
        task.start.signal();
    }
    let busy = |task: &&Task| task.busy;
    if let Some(chosen) = tasks.iter().filter(busy).min_by_key(|task| task.deadline()) {
        for task in tasks.iter().filter(busy) {
            let priority = if task.tcb == chosen.tcb { CHOSEN } else { WAITING };
            task.tcb.set_priority(boot::TCB, priority).expect("it is below ours");
        }
    }
    let idle = tasks.iter().filter(|task| !task.busy);
    timer.set(idle.map(|task| task.release).min());
}
