//! Systems of descriptions, with components that the tests play.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use simulator::{Microseconds, Startup, Status, System, ms, note, now, us, work};
use userlib::given::{Bit, Interrupt, Signal, Signals};
use userlib::protocol::Error;
use userlib::server::CallError;
use userlib::time::Microseconds as Time;
use userlib::{Fault, Message, syscall};

userlib::protocol! {
    /// Additions.
    pub mod addition, version 1 {
        /// The sum of two numbers.
        fn add(a: usize, b: usize) -> usize;
        /// Takes as long as the caller wants.
        fn wait(time: Time);
    }
}

struct Adder {
    caller: Rc<Cell<usize>>,
}

impl addition::Service for Adder {
    fn add(&mut self, caller: usize, a: usize, b: usize) -> usize {
        self.caller.set(caller);
        a + b
    }

    fn wait(&mut self, _caller: usize, time: Time) {
        work(time);
    }
}

const PAIR: &str = r#"
    [component.server]
    program = "server"
    passive = true
    priority = 150
    serves.requests = { protocol = "protocols::addition", cost = { add = "200 us", wait = "0 us" } }
    @SERVER@
    [component.client]
    program = "client"
    budget = "5 ms"
    period = "20 ms"
    priority = 100
    calls = ["server"]
    arguments = { name = "client", step = 7, loud = true }
    @CLIENT@
"#;

fn pair(server: &str, client: &str) -> System {
    let text = PAIR.replace("@SERVER@", server).replace("@CLIENT@", client);
    System::new(&text)
}

fn server(given: &'static Startup) -> addition::Client {
    addition::Client::find(given, "server").expect("the description gives it")
}

fn serve(system: &mut System) -> Rc<Cell<usize>> {
    let caller = Rc::new(Cell::new(0));
    let seen = caller.clone();
    let make = move |_: &'static Startup| Adder {
        caller: seen.clone(),
    };
    system.serve("server", addition::Protocol, make);
    caller
}

/// A client of which each job takes so long in the server.
fn lasting(system: &mut System, time: Microseconds) {
    system.component("client", move |given| {
        loop {
            let result = server(given).wait(time);
            note(format!("{result:?}"));
            syscall::yield_now();
        }
    });
}

#[test]
fn requests_take_their_cost_and_are_paid_by_the_caller() {
    let mut system = pair("", "");
    let caller = serve(&mut system);
    system.component("client", |given| {
        assert_eq!(given.find_text("name"), Some("client"));
        assert_eq!((given.number("step"), given.number("loud")), (7, 1));
        loop {
            work(us(500));
            let before = now();
            assert_eq!(server(given).add(1, 2), Ok(3));
            assert!(now() - before >= us(200));
            syscall::yield_now();
        }
    });
    let run = system.run(ms(200));
    assert_eq!(caller.get(), 1, "the badge of the description");
    let client = run.of("client");
    assert_eq!(client.responses().count(), 10);
    let longest = client.longest_response();
    assert!(longest >= us(700) && longest < us(720), "{longest:?}");
    assert_eq!((client.misses(), client.used_up().count()), (0, 0));
    let server = run.of("server");
    assert_eq!(server.responses().count(), 10);
    assert!(server.longest_response() >= us(200) && server.longest_response() < us(215));
    assert!(client.used() >= us(7_000) && client.used() < us(7_200));
    assert!(run.reports().is_empty());
    let shown = run.to_string();
    assert!(
        shown.contains("client |") && shown.contains("passive"),
        "{shown}"
    );
}

#[test]
fn a_job_above_its_budget_waits_for_more_and_misses_its_deadline() {
    let mut system = pair("", "");
    serve(&mut system);
    lasting(&mut system, ms(6));
    let run = system.run(ms(99));
    let client = run.of("client");
    // 5 ms, then 15 without time, then the rest.
    let first = client.used_up().next().unwrap();
    assert!(first >= us(5_000) && first < us(5_010), "{run}");
    let first = client.responses().next().unwrap();
    assert!(first > ms(21) && first < us(21_100), "{first:?}");
    assert_eq!(client.misses(), client.responses().count());
    assert_eq!(run.of("server").blackout(), ms(15), "{run}");
}

#[test]
fn a_server_that_uses_up_a_callers_time_starts_again() {
    let mut system = pair("on-timeout = \"restart\"", "");
    serve(&mut system);
    lasting(&mut system, ms(6));
    let run = system.run(ms(50));
    let aborted = format!("{:?}", Err::<(), _>(Error::Call(CallError::Aborted)));
    let notes: Vec<_> = run.history().notes("client").collect();
    assert!(
        !notes.is_empty() && notes.iter().all(|(_, text)| *text == aborted),
        "{notes:?}"
    );
    let (time, text) = &run.reports()[0];
    assert_eq!(
        text,
        "`server` has used up the time of `client`; it starts again"
    );
    assert!(*time >= ms(5) && *time < us(5_020), "{time:?}");
    assert_eq!(run.of("client").used_up().count(), run.reports().len());
}

#[test]
fn restarts_are_limited_and_callers_of_a_stopped_server_get_errors() {
    let mut system = pair(
        "on-timeout = \"restart\"\nrestarts = { most = 2, within = \"10 s\" }",
        "",
    );
    serve(&mut system);
    lasting(&mut system, ms(6));
    let run = system.run(ms(200));
    let texts: Vec<_> = run.reports().into_iter().map(|(_, text)| text).collect();
    let begin = "`server` has used up the time of `client`; it";
    let wanted = ["starts again", "starts again", "stops"].map(|end| format!("{begin} {end}"));
    assert_eq!(texts, wanted);
    let stopped = format!("{:?}", Err::<(), _>(Error::Call(CallError::Stopped)));
    assert_eq!(run.history().notes("client").last().unwrap().1, stopped);
}

#[test]
fn a_component_that_fails_starts_again_in_fresh_memory() {
    let mut system = pair("on-fault = \"restart\"", "");
    let starts = Rc::new(Cell::new(0));
    let counted = starts.clone();
    system.component("server", move |given| {
        counted.set(counted.get() + 1);
        let server = userlib::given::Server::find(given, "requests").unwrap();
        server.serve(|_| {
            simulator::fault();
            unreachable!("it starts again")
        })
    });
    lasting(&mut system, ms(0));
    let run = system.run(ms(50));
    assert_eq!(starts.get(), 1 + run.reports().len());
    assert_eq!(run.reports()[0].1, "`server` has failed; it starts again");
    assert!(
        run.history()
            .notes("client")
            .all(|(_, text)| text.contains("Aborted"))
    );
}

#[test]
fn interrupts_and_signals_release_jobs() {
    let mut system = System::new(
        r#"
        [component.driver]
        program = "driver"
        budget = "1 ms"
        period = "5 ms"
        priority = 200
        devices = ["serial"]
        signals = { work = "worker", go = "greedy" }
        [component.worker]
        program = "worker"
        budget = "2 ms"
        period = "10 ms"
        priority = 100
        waits = ["work"]
        [component.greedy]
        program = "greedy"
        slice = "5 ms"
        priority = 150
        waits = ["go"]
    "#,
    );
    system.interrupts("driver", "serial-interrupt", |last| Some(last + ms(10)));
    system.component("driver", |given| {
        let interrupt = Interrupt::find(given, "serial-interrupt").unwrap();
        let signals = ["go", "work"].map(|name| Signal::find(given, name).unwrap());
        loop {
            interrupt.wait();
            work(us(100));
            signals.iter().for_each(|signal| signal.signal());
            interrupt.acknowledge();
        }
    });
    system.component("worker", |given| {
        let bit = Bit::find(given, "work").unwrap();
        loop {
            assert!(bit.is_in(Signals::find(given).unwrap().wait()));
            work(us(300));
        }
    });
    system.component("greedy", |given| {
        loop {
            Signals::find(given).unwrap().wait();
            work(ms(3));
        }
    });
    let run = system.run(ms(45));
    let driver = run.of("driver");
    assert_eq!(driver.responses().count(), 4);
    assert!(
        driver.longest_response() < us(110),
        "{:?}",
        driver.longest_response()
    );
    let worker = run.of("worker");
    assert_eq!(worker.responses().count(), 4);
    assert!(
        worker.blackout() > us(2_900) && worker.blackout() < us(3_200),
        "{run}"
    );
    assert!(worker.longest_response() > us(3_200), "{run}");
    let greedy = run.of("greedy").ran();
    assert!(greedy >= ms(12) && greedy < us(12_050), "{greedy:?}");
}

#[test]
fn components_handle_the_faults_and_timeouts_of_others() {
    let text = r#"
        [component.handler]
        program = "handler"
        budget = "2 ms"
        period = "10 ms"
        priority = 200
        serves = ["faults"]
        [component.worker]
        program = "worker"
        budget = "3 ms"
        period = "10 ms"
        priority = 100
        on-fault = { handler = "handler" }
        on-timeout = { handler = "handler" }
    "#;
    let mut system = System::new(text);
    system.component("handler", |given| {
        let faults = userlib::given::Server::find(given, "faults").unwrap();
        faults.serve(|received| {
            assert_eq!(received.badge, 1, "the badge of the description");
            let fault = Fault::from_message(&received.message.unwrap());
            note(match fault {
                Fault::Timeout { .. } => "timeout",
                _ => "fault",
            });
            work(us(100));
            Message::empty(0)
        })
    });
    system.component("worker", |_| {
        work(ms(4));
        simulator::fault();
        work(ms(1));
        syscall::yield_now();
        note("after both");
    });
    let run = system.run(ms(35));
    let notes = |name| -> Vec<_> {
        let notes = run.history().notes(name);
        notes.map(|(_, text)| text.to_string()).collect()
    };
    assert_eq!(notes("handler")[..2], ["timeout", "fault"], "{run}");
    assert_eq!(notes("worker"), ["after both"], "{run}");
    assert!(run.reports().is_empty(), "the supervisor is told nothing");
    let mut alone = System::new(text);
    alone.component("worker", |_| ());
    let run = catch_unwind(AssertUnwindSafe(|| alone.run(ms(1))));
    let complaint = run.err().unwrap();
    let complaint = complaint.downcast_ref::<String>().unwrap();
    let begin = "`worker` is handled by `handler`, and nothing is said";
    assert!(complaint.starts_with(begin), "{complaint}");
}

#[test]
#[should_panic(expected = "`client` calls `server`, and nothing is said about what that does")]
fn a_server_that_does_nothing_is_named() {
    let mut system = pair("", "");
    lasting(&mut system, ms(1));
    system.run(ms(10));
}

#[test]
#[should_panic(expected = "no component is named `clint`; there are: server, client")]
fn a_component_that_is_not_there_is_named() {
    pair("", "").component("clint", |_| {});
}

#[test]
#[should_panic(expected = "system.toml:10:14: error: the budget 5 ms is above the period 2 ms")]
fn a_mistake_in_the_description_has_its_place() {
    System::new(
        &PAIR
            .replace("@SERVER@", "")
            .replace("@CLIENT@", "")
            .replace("\"20 ms\"", "\"2 ms\""),
    );
}

#[test]
#[should_panic(expected = "the simulator cannot run `client`: its supervisor answers no requests")]
fn what_the_simulator_cannot_do_is_refused() {
    pair("", "asks-supervisor = true");
}

#[cfg(not(feature = "smp"))]
#[test]
#[should_panic(
    expected = "something runs on core 1, and this simulator has one core; give its dependency in the manifest of \
                the tests `features = [\"smp\"]`"
)]
fn more_cores_than_one_need_a_feature() {
    let text = PAIR.replace("@SERVER@", "").replace("@CLIENT@", "core = 1");
    System::new(&format!("platforms = ['pc99']\n{text}"));
}

/// Two components that need more than there is; the one with the lower priority is the more critical one.
#[test]
fn at_a_raised_level_the_critical_component_goes_first() {
    let mut system = System::new(
        r#"
        [component.display]
        program = "display"
        budget = "9 ms"
        period = "10 ms"
        priority = 200
        [component.brake]
        program = "brake"
        slice = "5 ms"
        priority = 100
        criticality = 1
    "#,
    );
    system.criticality_level(ms(200), 0);
    system.criticality_level(ms(100), 1);
    for name in ["display", "brake"] {
        system.component(name, |_| {
            loop {
                work(ms(1));
            }
        });
    }
    let run = system.run(ms(300));
    let history = run.history();
    let ran = |name, from| {
        let runs = |status| matches!(status, Status::Runs(_));
        history.total(history.actor(name), from, from + 100_000, runs)
    };
    assert!(
        ran("display", 0) > 89_000 && ran("brake", 0) > 9_000,
        "{run}"
    );
    assert!(ran("brake", 100_000) > 99_000, "{run}");
    assert!(ran("display", 200_000) > 89_000, "{run}");
}

#[test]
#[should_panic(expected = "the sum is wrong")]
fn a_panic_of_a_component_fails_the_test() {
    let mut system = pair("", "");
    serve(&mut system);
    system.component("client", |given| {
        assert_eq!(server(given).add(1, 2), Ok(4), "the sum is wrong")
    });
    system.run(ms(10));
}
