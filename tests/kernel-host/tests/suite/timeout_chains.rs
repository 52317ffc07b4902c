//! Handlers of timeouts whose own time is over when they get a message. Only one timeout is reported at a time:
//! handlers may have handlers, in a chain of any length.

use abi::fault::timeout_flags;
use host_machine::{Budget, CPtr, Machine, Spec, State, Task};

use crate::common::word;

/// Tasks that wait at an endpoint each, which is the handler of the next one's timeouts.
struct Chain {
    machine: Machine,
    tasks: Vec<Task>,
    endpoints: Vec<CPtr>,
    replies: Vec<CPtr>,
}

impl Chain {
    /// `timer` is when the runs of all tasks but the first end, if they do.
    fn new(budgets: &[Budget], timer: Option<u64>) -> Self {
        let mut machine = Machine::new();
        let (mut tasks, mut endpoints, mut replies) = (vec![], vec![], vec![]);
        for budget in budgets {
            let handler = endpoints.last().copied().unwrap_or(0);
            let spec = Spec::new("task", 10).budget(*budget);
            let task = machine.spawn(spec.timeout_handler(handler));
            let (endpoint, reply) = (machine.endpoint(), machine.reply());
            if machine.runs(machine.root) {
                machine.rest();
            }
            if let Some(instant) = timer.filter(|_| handler != 0) {
                let setter = machine.spawn(Spec::new("setter", 20).active());
                machine.yield_to_timeout(setter, task.context, instant, None);
                let bell = machine.notification();
                machine.wait(setter, bell);
            }
            machine.recv(task, endpoint, reply);
            tasks.push(task);
            endpoints.push(endpoint);
            replies.push(reply);
        }
        Self {
            machine,
            tasks,
            endpoints,
            replies,
        }
    }

    /// Wakes the last task.
    fn wake(&mut self) {
        let endpoint = self.endpoints[self.endpoints.len() - 1];
        self.machine
            .by_root(|machine, root| machine.nb_send(root, endpoint, &word(7)));
    }

    fn states(&self) -> Vec<State> {
        let state = |task: &Task| self.machine.state(*task);
        self.tasks.iter().map(state).collect()
    }
}

#[test]
fn one_timeout_is_reported_however_long_the_chain() {
    let mut chain = Chain::new(&[Budget::new(200, 1000).idling(); 20], None);
    chain.machine.advance(500);
    chain.wake();
    let mut expected = vec![State::Receiving; 18];
    expected.extend([State::Runnable, State::Calling]);
    assert_eq!(chain.states(), expected);
    // The handler has the message, and waits for a replenishment.
    assert_eq!(chain.machine.running(), "none");
    let handler = chain.tasks[18];
    let told = chain.machine.received(handler).words;
    assert_eq!(told[2], timeout_flags::BLOCKED);
    (chain.machine).advance_until(|machine| machine.runs(handler));
    let reply = chain.replies[18];
    chain.machine.send(handler, reply, &word(0));
    assert_eq!(chain.machine.state(chain.tasks[19]), State::Runnable);
    assert_eq!(chain.machine.received(chain.tasks[19]).words, [7]);
}

/// A handler that a scheduler runs until a time: the time has passed, so it does not run before the scheduler is told.
#[test]
fn a_timer_of_the_handler_ends_its_run() {
    let budgets = [Budget::new(2000, 10_000); 3];
    let mut chain = Chain::new(&budgets, Some(100));
    let [scheduler, handler, task] = chain.tasks[..] else {
        panic!("there are three");
    };
    chain.machine.advance(200);
    chain.wake();
    // The timer interrupts at once.
    chain.machine.advance(0);
    assert!(chain.machine.runs(scheduler));
    let expected = [State::Runnable, State::Calling, State::Calling];
    assert_eq!(chain.states(), expected);
    let told = |task| chain.machine.received(task).words[2];
    assert_eq!(
        told(handler),
        timeout_flags::INSTANT | timeout_flags::BLOCKED
    );
    assert_eq!(told(scheduler), timeout_flags::INSTANT);
    // After the replies, none has lost its message.
    chain.machine.send(scheduler, chain.replies[0], &word(0));
    let bell = chain.machine.notification();
    chain.machine.wait(scheduler, bell);
    assert!(chain.machine.runs(handler));
    chain.machine.send(handler, chain.replies[1], &word(0));
    chain.machine.wait(handler, bell);
    assert!(chain.machine.runs(task));
    assert_eq!(chain.machine.received(task).words, [7]);
}
