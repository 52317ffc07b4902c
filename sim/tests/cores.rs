//! Systems and threads on several cores.
#![cfg(feature = "smp")]

use simulator::{
    Microseconds, Options, Setup, Simulation, Startup, Status, System, csv, ms, note, now, random,
    us, work,
};
use trace::{Trace, check, summary};
use trace_format::Kind;
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::given::{Bit, Interrupt, Signal, Signals};
use userlib::{Message, server, syscall};

userlib::protocol! {
    /// Works for its callers.
    pub mod worker, version 1 {
        /// Takes as long as the caller wants.
        fn work_for(microseconds: usize);
    }
}

struct Worker;

impl worker::Service for Worker {
    fn work_for(&mut self, _caller: usize, microseconds: usize) {
        work(us(microseconds as u64));
    }
}

/// A server, and a client of it on each of two cores.
const CLIENTS: &str = r#"
    platforms = ["hikey"]
    supervisor.core = @SUPERVISOR@
    [component.server]
    program = "server"
    @TIME@
    priority = 150
    serves.requests = { protocol = "protocols::worker" }
    on-timeout = "@TIMEOUT@"
    on-fault = "restart"
    [component.near]
    program = "client"
    budget = "5 ms"
    period = "10 ms"
    priority = 100
    calls = ["server"]
    [component.far]
    program = "client"
    budget = "8 ms"
    period = "10 ms"
    priority = 90
    core = 1
    calls = ["server"]
"#;

const PASSIVE: &str = "passive = true";

fn clients(time: &str, timeout: &str, supervisor: u32) -> System {
    let text = CLIENTS.replace("@TIME@", time);
    let text = text.replace("@TIMEOUT@", timeout);
    let mut system = System::new(&text.replace("@SUPERVISOR@", &supervisor.to_string()));
    system.serve("server", worker::Protocol, |_| Worker);
    system
}

/// Works itself, then lets the server work.
fn client(own: Microseconds, request: u64) -> impl Fn(&'static Startup) + 'static {
    move |given| {
        let server = worker::Client::find(given, "server").expect("the description gives it");
        loop {
            work(own);
            note(format!("{:?}", server.work_for(request as usize)));
            syscall::yield_now();
        }
    }
}

#[test]
fn cores_run_at_the_same_time() {
    let mut system = clients(PASSIVE, "wait", 0);
    system.component("near", client(ms(4), 0));
    system.component("far", client(ms(7), 0));
    let run = system.run(ms(99));
    for (name, least) in [("near", ms(4)), ("far", ms(7))] {
        let one = run.of(name);
        assert_eq!((one.responses().count(), one.misses()), (10, 0), "{run}");
        let longest = one.longest_response();
        assert!(longest >= least && longest < least + us(30), "{longest:?}");
    }
    let history = run.history();
    assert_eq!(history.cores, 2);
    // Of two cores, 110 % are busy.
    let shown = run.to_string();
    assert!(shown.contains("idle |"), "{shown}");
}

#[test]
fn a_passive_server_serves_each_client_on_the_client_s_core() {
    let mut system = clients(PASSIVE, "wait", 0);
    // Both call it at the same time.
    system.component("near", client(ms(1), 2_000));
    system.component("far", client(ms(1), 2_000));
    let run = system.run(ms(99));
    let (near, far, server) = (run.of("near"), run.of("far"), run.of("server"));
    assert_eq!((near.misses(), far.misses()), (0, 0), "{run}");
    let used = [near.used(), far.used()];
    assert!(
        used.iter()
            .all(|used| *used >= ms(30) && *used < us(30_500)),
        "{used:?}"
    );
    // One of them waits for the other's request, although it has a core for itself.
    let longest = near.longest_response().max(far.longest_response());
    assert!(longest >= ms(5) && longest < us(5_100), "{run}");
    assert!(
        server.ran() >= ms(40) && server.responses().count() == 20,
        "{run}"
    );
}

#[test]
fn a_server_with_time_of_its_own_works_on_its_own_core() {
    let mut system = clients("slice = \"1 ms\"", "wait", 0);
    system.component("near", |_| ());
    system.component("far", client(ms(1), 2_000));
    let run = system.run(ms(99));
    let far = run.of("far");
    // It waits while another core works for it, so its next budget comes later.
    assert_eq!((far.responses().count(), far.misses()), (8, 0), "{run}");
    assert!(
        far.longest_response() >= ms(3) && far.longest_response() < us(3_100),
        "{run}"
    );
    assert!(far.used() >= ms(8) && far.used() < us(8_500), "{run}");
    assert!(run.of("server").used() >= ms(16), "{run}");
}

#[test]
fn the_supervisor_of_one_core_ends_a_request_on_another() {
    // After the error, the client gives up what is left: the budget of a whole period, so that it calls in every second
    // one; or, where the start of the supervisor has interrupted it, only what it had used before that.
    for (supervisor, count, responses) in [(0, 2, 4), (1, 4, 5)] {
        let mut system = clients(PASSIVE, "restart", supervisor);
        system.component("near", client(ms(1), 100));
        system.component("far", client(ms(1), 9_000));
        let run = system.run(ms(45));
        let reports = run.reports();
        assert_eq!(reports.len(), count, "{reports:?}");
        let (time, text) = &reports[0];
        let wanted = "`server` has used up the time of `far`; it starts again";
        assert_eq!(text, wanted);
        assert!(*time >= ms(8) && *time < us(8_120), "{time:?}");
        let notes = run.history().notes("far");
        assert!(
            notes
                .map(|(_, text)| text)
                .all(|text| text.contains("Aborted")),
            "{run}"
        );
        let near = run.of("near");
        assert_eq!(near.responses().count(), responses, "{run}");
        // The other client's request ends with that client's budget.
        assert!(near.longest_response() < us(8_300), "{run}");
    }
}

#[test]
fn interrupts_and_signals_reach_another_core() {
    let mut system = System::new(
        r#"
        platforms = ["hikey"]
        [component.driver]
        program = "driver"
        budget = "1 ms"
        period = "5 ms"
        priority = 200
        core = 1
        devices = ["serial"]
        signals = ["worker.work"]
        [component.worker]
        program = "worker"
        budget = "4 ms"
        period = "10 ms"
        priority = 100
        core = 2
        waits = ["work"]
        [component.busy]
        program = "busy"
        slice = "1 ms"
        priority = 10
    "#,
    );
    system.interrupts("driver", "serial-interrupt", |last| Some(last + ms(10)));
    system.component("driver", |given| {
        let interrupt = Interrupt::find(given, "serial-interrupt").unwrap();
        let worker = Signal::find(given, "worker").or(Signal::find(given, "work"));
        loop {
            interrupt.wait();
            work(us(100));
            worker.unwrap().signal();
            interrupt.acknowledge();
        }
    });
    system.component("worker", |given| {
        let bit = Bit::find(given, "work").unwrap();
        loop {
            assert!(bit.is_in(Signals::find(given).unwrap().wait()));
            note(format!("{:?}", now()));
            work(ms(3));
        }
    });
    system.component("busy", |_| {
        loop {
            work(ms(1));
        }
    });
    let run = system.run(ms(95));
    let (driver, worker) = (run.of("driver"), run.of("worker"));
    assert_eq!(driver.responses().count(), 9, "{run}");
    assert!(driver.longest_response() < us(110), "{run}");
    assert_eq!(
        (worker.responses().count(), worker.misses()),
        (9, 0),
        "{run}"
    );
    assert!(worker.longest_response() < us(3_020), "{run}");
    let woken: Vec<_> = run
        .history()
        .notes("worker")
        .map(|(time, _)| time)
        .collect();
    assert!(woken[0] >= 10_100 && woken[0] < 10_130, "{woken:?}");
    // Interrupts come to the core on which it runs, and take only the kernel's time.
    assert!(run.of("busy").ran() > us(94_000), "{run}");
}

/// Clients on all cores call servers of both kinds, signal each other and work, for random times.
fn tangle(setup: &mut Setup) {
    let time = |budget, period| SchedParameters::new(us(budget), us(period));
    let (passive, active): (Endpoint, Endpoint) = (setup.create(), setup.create());
    let replies: [Reply; 2] = [setup.create(), setup.create()];
    let serve = |endpoint: Endpoint, reply| {
        move || -> () {
            server::serve(endpoint, reply, |_| {
                work(random(us(20)..us(900)));
                Message::empty(0)
            })
        }
    };
    let server = setup.thread("passive", 50).passive();
    server.run(serve(passive, replies[0]));
    let server = setup
        .thread("active", 40)
        .on_core(2)
        .time(time(3_000, 5_000));
    server.run(serve(active, replies[1]));
    let wake: Vec<Notification> = (0..8).map(|_| setup.create()).collect();
    for number in 0..8 {
        let (own, next) = (wake[number], wake[(number + 3) % 8]);
        let thread = setup.thread(format!("client {number}"), 10 + number as u8);
        let thread = thread.on_core(number % 4).criticality((number % 3) as u8);
        thread
            .time(time(1_500, 4_000 + 300 * number as u64))
            .repeat(move || {
                work(random(us(10)..us(1_000)));
                next.signal();
                match random(us(0)..us(4)).0 {
                    0 => drop(passive.call(Message::empty(0))),
                    1 => drop(active.call(Message::empty(0))),
                    2 => drop(own.wait()),
                    _ => syscall::yield_now(),
                }
            });
    }
    let device = setup.device(|last| Some(last + us(1_700)));
    let first = wake[0];
    setup.thread("driver", 60).on_core(3).run(move || {
        while device.wait().is_ok() {
            work(us(30));
            first.signal();
        }
    });
}

#[test]
fn runs_repeat_and_keep_the_invariants_and_the_rules_for_traces() {
    for seed in 0..4 {
        let options = Options {
            cores: 4,
            seed,
            trace: 200_000,
            ..Options::default()
        };
        let run = |options| {
            let mut simulation = Simulation::new(tangle, options);
            simulation.run_until(150_000);
            simulation
        };
        let plain = run(options);
        let checked = run(Options {
            check: true,
            ..options
        });
        assert_eq!(csv(plain.history()), csv(checked.history()), "seed {seed}");
        let history = plain.history();
        let ran = |actor| history.total(actor, 0, history.end, |is| matches!(is, Status::Runs(_)));
        let all: u64 = (0..history.actors.len()).map(ran).sum();
        assert!(
            all > history.end,
            "more runs than one core has time for: {all}"
        );
        let file = plain.trace().expect("it is traced");
        assert_eq!(file.rings.len(), 4);
        let (trace, damage) = Trace::read(&file.to_bytes()).unwrap();
        assert_eq!(damage, [""; 0]);
        assert_eq!(check(&trace), [], "seed {seed}");
        assert!(trace.events.len() > 2_000, "{}", trace.events.len());
    }
}

/// A thread of another core signals one of this core so often that each end of a budget here is found by that core.
fn poke(setup: &mut Setup) {
    let time = |budget| SchedParameters::new(us(budget), us(5_000));
    let wake: Notification = setup.create();
    let poked = setup.thread("poked", 60).on_core(1).time(time(3_000));
    poked.run(move || {
        loop {
            wake.wait();
        }
    });
    let hog = setup.thread("hog", 50).on_core(1).time(time(1_000));
    hog.run(|| {
        loop {
            work(ms(1));
        }
    });
    setup.thread("poker", 40).time(time(4_000)).run(move || {
        loop {
            work(us(7));
            wake.signal();
        }
    });
}

#[test]
fn the_end_of_a_budget_is_traced_whichever_core_finds_it() {
    let options = Options {
        cores: 2,
        trace: 200_000,
        ..Options::default()
    };
    let mut simulation = Simulation::new(poke, options);
    simulation.run_until(50_000);
    let file = simulation.trace().expect("it is traced");
    let (trace, damage) = Trace::read(&file.to_bytes()).unwrap();
    assert_eq!(damage, [""; 0]);
    assert_eq!(check(&trace), []);
    assert!(summary(&trace).contains("clocks: all cores read one counter"));
    let events = trace.events.iter().map(|one| &one.event);
    let ends = events.filter(|event| event.kind() == Some(Kind::Exhausted));
    let name = |event: &trace_format::Event| trace.names.get(&event.subject).cloned();
    let ends = ends.filter(|event| name(event).as_deref() == Some("hog"));
    // In each of ten periods.
    assert!((9..=11).contains(&ends.count()));
}

#[test]
#[should_panic(
    expected = "something runs on core 7, and this simulator has 4 cores; set ESCAPEMENT_CORES = \"8\""
)]
fn more_cores_than_the_kernel_has_are_refused() {
    clients(PASSIVE, "wait", 7);
}
