//! Earliest deadline first at user level. The kernel has fixed priorities only; a scheduler thread of
//! higher priority sets the tasks' priorities in the order of their deadlines.

use userlib::boot;
use userlib::cap::{Notification, Tcb};

use crate::{Microseconds, Setup, Timer, ms, note, now, work};

const SCHEDULER: u8 = 100;

#[derive(Clone)]
struct Task {
    tcb: Tcb,
    start: Notification,
    /// The bit that signals the end of a job.
    done: usize,
    period: Microseconds,
    /// The deadline of the current job or, if the task is idle, of the next one.
    deadline: Microseconds,
    busy: bool,
}

pub fn setup(setup: &mut Setup) {
    let (timer, mut tasks) = (setup.timer(), Vec::new());
    // 98 % of the processor: more than fixed priorities can guarantee for three tasks.
    for (bit, (period, wcet)) in (16..).zip([(ms(10), ms(3)), (ms(15), ms(5)), (ms(28), ms(9))]) {
        let start: Notification = setup.create();
        let done = setup.badge(timer.interrupt.notification, 1 << bit);
        let thread = setup.thread(format!("every {} ms", period.as_millis()), 0).repeat(move || {
            start.wait();
            work(wcet);
            done.signal();
        });
        let (tcb, done) = (thread.tcb, 1 << bit);
        tasks.push(Task { tcb, start, done, period, deadline: period, busy: false });
    }
    setup.thread("scheduler", SCHEDULER).run(move || schedule(tasks.clone(), timer));
}

fn schedule(mut tasks: Vec<Task>, timer: Timer) -> ! {
    loop {
        tasks.sort_by_key(|task| task.deadline);
        for (task, priority) in tasks.iter_mut().zip((0..SCHEDULER).rev()) {
            task.tcb.set_priority(boot::TCB, priority).expect("it is below ours");
            if !task.busy && task.deadline <= now() + task.period {
                task.busy = true;
                task.start.signal();
            }
        }
        let idle = tasks.iter().filter(|task| !task.busy);
        timer.set(idle.map(|task| task.deadline - task.period).min());
        let events = timer.interrupt.wait().expect("the line is ours");
        for task in tasks.iter_mut().filter(|task| events & task.done != 0) {
            let verdict = if now() <= task.deadline { "done" } else { "LATE" };
            note(format!("{} ms {verdict}", task.period.as_millis()));
            (task.busy, task.deadline) = (false, task.deadline + task.period);
        }
    }
}
