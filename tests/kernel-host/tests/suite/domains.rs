//! Domains: time partitions. Most of these tests need a kernel with more than one domain.

use abi::config::{DOMAIN_SCHEDULE_LENGTH, DOMAINS};
use abi::{Method, slots};
use host_machine::{Answer, CPtr, Machine, Spec};
use kernel::invoke::Error;

fn domain(machine: &mut Machine, method: Method, words: &[usize], caps: &[CPtr]) -> Answer {
    machine.invoke(slots::DOMAIN, method, words, caps)
}

const fn range(minimum: usize, maximum: usize) -> Answer {
    Err(Error::Range { minimum, maximum })
}

#[test]
fn threads_are_moved_to_domains_that_exist() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    let set = Method::DomainSetSet;
    assert_eq!(domain(&mut machine, set, &[], &[]), Err(Error::Truncated));
    assert_eq!(
        domain(&mut machine, set, &[DOMAINS], &[]),
        Err(Error::InvalidArgument(0))
    );
    assert_eq!(domain(&mut machine, set, &[0], &[]), Err(Error::Truncated));
    assert_eq!(
        domain(&mut machine, set, &[0], &[task.context]),
        Err(Error::InvalidArgument(1))
    );
    assert_eq!(domain(&mut machine, set, &[0], &[task.tcb]), Ok(vec![]));
    assert_eq!(
        domain(&mut machine, Method::TcbResume, &[], &[]),
        Err(Error::IllegalOperation)
    );
}

#[test]
fn the_schedule_is_checked() {
    let mut machine = Machine::new();
    let last = DOMAIN_SCHEDULE_LENGTH - 1;
    let configure = Method::DomainScheduleConfigure;
    let everything = usize::MAX;
    for (words, expected) in [
        ([last, DOMAINS, everything], range(0, last - 1)),
        ([0, DOMAINS, everything], range(0, DOMAINS - 1)),
        ([0, 0, 1 << 56], Err(Error::InvalidArgument(2))),
        ([0, 0, 0], Err(Error::InvalidArgument(2))),
        ([0, 0, (1 << 56) - 1], Ok(vec![])),
    ] {
        assert_eq!(
            domain(&mut machine, configure, &words, &[]),
            expected,
            "{words:?}"
        );
    }
    assert_eq!(
        domain(&mut machine, configure, &[0, 0], &[]),
        Err(Error::Truncated)
    );
    let start = Method::DomainScheduleSetStart;
    assert_eq!(
        domain(&mut machine, start, &[last + 1], &[]),
        range(0, last)
    );
    assert_eq!(
        domain(&mut machine, start, &[last], &[]),
        Err(Error::InvalidArgument(0))
    );
    assert_eq!(domain(&mut machine, start, &[0], &[]), Ok(vec![]));
    assert_eq!(domain(&mut machine, start, &[], &[]), Err(Error::Truncated));
}

#[cfg(feature = "domains")]
mod several {
    use super::*;
    use host_machine::{State, Task};
    use trace_format::{Clocks, Detail, Kind, Kinds, Mode, RingReader, Settings};

    /// A task per domain, and domains with slots of 1000, 2000 and 3000 microseconds, in order.
    fn shared() -> (Machine, [Task; 3]) {
        let mut machine = Machine::new();
        let tasks = [("zero", 0), ("one", 1), ("two", 2)].map(|(name, number)| {
            let task = machine.spawn(Spec::new(name, 10).active());
            domain(&mut machine, Method::DomainSetSet, &[number], &[task.tcb]).unwrap();
            task
        });
        for (index, share) in [1000, 2000, 3000].into_iter().enumerate() {
            let words = [index, index, share];
            domain(&mut machine, Method::DomainScheduleConfigure, &words, &[]).unwrap();
        }
        let start = Method::DomainScheduleSetStart;
        domain(&mut machine, start, &[0], &[]).unwrap();
        machine.rest();
        (machine, tasks)
    }

    #[test]
    fn domains_take_turns() {
        let (mut machine, _) = shared();
        for _ in 0..3 {
            for (name, share) in [("zero", 1000), ("one", 2000), ("two", 3000)] {
                assert_eq!(machine.running(), name);
                machine.advance(share - 1);
                assert_eq!(machine.running(), name);
                machine.advance(1);
            }
        }
    }

    #[test]
    fn each_turn_is_in_the_trace() {
        let (mut machine, _) = shared();
        let settings = Settings {
            core: 0,
            detail: Detail::Full,
            kinds: Kinds::ALL,
            mode: Mode::Stop,
            frequency: 1_000_000,
            clocks: Clocks::Shared,
        };
        let memory = vec![0; 10_000].leak();
        assert!(machine.kernel.start_tracing(memory, settings));
        let start = machine.kernel.core.now.0;
        for share in [1000, 2000, 3000, 1000] {
            machine.advance(share);
        }
        let ring: Vec<u8> = machine.kernel.trace().unwrap().collect();
        let events = RingReader::new(&ring).unwrap().events();
        let turns = events.filter(|(_, event)| event.kind() == Some(Kind::Domain));
        let turns: Vec<_> = turns.map(|(_, one)| (one.time - start, one.a)).collect();
        assert_eq!(turns, [(1000, 1), (3000, 2), (6000, 0), (7000, 1)]);
    }

    #[test]
    fn a_domain_without_threads_leaves_the_processor_idle() {
        let (mut machine, tasks) = shared();
        // The task suspends itself, because the root task belongs to domain 0.
        machine.advance(1000);
        let message = host_machine::Message::new(Method::TcbSuspend.number(), &[]);
        machine.call(tasks[1], tasks[1].tcb, &message);
        assert_eq!(machine.running(), "none");
        machine.advance(1999);
        assert_eq!(machine.running(), "none");
        machine.advance(1);
        assert_eq!(machine.running(), "two");
    }

    #[test]
    fn what_is_ready_in_a_domain_without_a_turn_never_runs() {
        let (mut machine, tasks) = shared();
        let stop = host_machine::Message::new(Method::TcbSuspend.number(), &[]);
        let set = Method::DomainSetSet;
        machine.advance(3000);
        let answer = machine.invoke_as(tasks[2], slots::DOMAIN, set, &[3], &[tasks[0].tcb]);
        assert_eq!(answer, Ok(vec![]));
        machine.call(tasks[2], tasks[2].tcb, &stop);
        // The turn of the first domain, which has no thread any more, is before that of the second one.
        machine.advance(3000);
        assert_eq!(machine.running(), "none");
        assert!(machine.kernel.is_ready_in_turns());
        machine.advance(1000);
        machine.call(tasks[1], tasks[1].tcb, &stop);
        assert_eq!(machine.running(), "none");
        assert!(!machine.kernel.is_ready_in_turns());
    }

    #[test]
    fn new_threads_are_of_the_current_domain() {
        let (mut machine, tasks) = shared();
        let (untyped, retype) = (machine.untyped(12), Method::UntypedRetype);
        machine.advance(1000);
        let (tcb, root) = (machine.slot(), slots::INIT_THREAD_CNODE);
        let words = [abi::ObjectType::Tcb.number(), 0, 0, 0, tcb, 1];
        let answer = machine.invoke_as(tasks[1], untyped, retype, &words, &[root]);
        assert_eq!(answer, Ok(vec![]));
        let kernel::cap::Cap::Thread(thread) = machine.cap(tcb) else {
            panic!("a thread was made");
        };
        assert_eq!(machine.kernel[thread].domain, 1);
    }

    #[test]
    fn a_system_call_at_the_end_of_a_turn_is_done_in_the_next() {
        let (mut machine, tasks) = shared();
        let notification = machine.notification();
        machine.advance(990);
        machine.signal(tasks[0], notification);
        assert_eq!(machine.running(), "one");
        machine.nb_wait(tasks[1], notification);
        assert_eq!(machine.state(tasks[0]), State::Runnable);
        machine.advance(5010);
        assert_eq!(machine.running(), "zero");
        machine.nb_wait(tasks[0], notification);
    }

    #[test]
    fn turns_keep_their_places_in_time() {
        let (mut machine, tasks) = shared();
        let notification = machine.notification();
        // A turn that ends early, with a system call, lengthens the next one.
        machine.advance(990);
        machine.signal(tasks[0], notification);
        assert_eq!(machine.running(), "one");
        machine.advance(2009);
        assert_eq!(machine.running(), "one");
        machine.advance(1);
        assert_eq!(machine.running(), "two");
        // A turn that ends late shortens it.
        machine.stall(3400);
        machine.advance(0);
        assert_eq!(machine.running(), "zero");
        machine.advance(599);
        assert_eq!(machine.running(), "zero");
        machine.advance(1);
        assert_eq!(machine.running(), "one");
        // A turn that would be over already is not shortened.
        machine.stall(2000 + 3000);
        machine.advance(0);
        assert_eq!(machine.running(), "two");
        machine.advance(2999);
        assert_eq!(machine.running(), "two");
        machine.advance(1);
        assert_eq!(machine.running(), "zero");
    }

    /// As a budget is: less than the smallest budget is left then.
    #[test]
    fn a_turn_of_the_smallest_budget_ends_at_its_first_kernel_entry() {
        let smallest = 20;
        for (turn, stays) in [(smallest, false), (smallest + 1, true)] {
            let (mut machine, tasks) = shared();
            let configure = Method::DomainScheduleConfigure;
            domain(&mut machine, configure, &[1, 1, turn], &[]).unwrap();
            let notification = machine.notification();
            machine.advance(1000);
            assert_eq!(machine.running(), "one");
            machine.advance(1);
            assert_eq!(machine.running(), "one");
            machine.signal(tasks[1], notification);
            assert_eq!(machine.running() == "one", stays, "{turn}");
        }
    }

    #[test]
    fn setting_the_start_takes_effect_at_once() {
        let (mut machine, tasks) = shared();
        let message = host_machine::Message::new(Method::DomainScheduleSetStart.number(), &[2]);
        machine.call(tasks[0], slots::DOMAIN, &message);
        assert_eq!(machine.running(), "two");
        machine.advance(3000);
        // After the last entry, the schedule continues at its start.
        assert_eq!(machine.running(), "two");
    }

    #[test]
    fn moving_a_thread_moves_it_at_once() {
        let (mut machine, tasks) = shared();
        let set = host_machine::Message::new(Method::DomainSetSet.number(), &[1])
            .with_caps(&[tasks[0].tcb]);
        machine.call(tasks[0], slots::DOMAIN, &set);
        assert_eq!(machine.running(), "none");
        machine.advance(1000);
        assert!(machine.runs(tasks[0]) || machine.runs(tasks[1]));
    }
}
