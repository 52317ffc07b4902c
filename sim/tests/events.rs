//! The kernel writes an event where something happens of which no rule would miss it.

use abi::endpoint_flags::LIMIT;
use simulator::scenarios::find;
use simulator::{Options, Setup, Simulation, fault, ms, us, work};
use trace::Trace;
use trace_format::{End, Event, Kind, ObjectId};
use userlib::cap::{Endpoint, Reply, SchedParameters, Tcb};
use userlib::{Message, boot};

/// The trace of 50 ms.
fn traced(setup: impl FnOnce(&mut Setup) + 'static) -> Trace {
    traced_on(1, setup)
}

/// The same of several cores.
fn traced_on(cores: usize, setup: impl FnOnce(&mut Setup) + 'static) -> Trace {
    let options = Options {
        cores,
        trace: 100_000,
        ..Options::default()
    };
    let scenario = |all: &mut Setup| {
        setup(all);
        // Kernels with debugging end a run in which nothing can happen any more.
        all.thread("background", 1).repeat(|| work(ms(1)));
    };
    let mut simulation = Simulation::new(scenario, options);
    simulation.run_until(50_000);
    let file = simulation.trace().expect("it is traced");
    let (trace, damage) = Trace::read(&file.to_bytes()).unwrap();
    assert_eq!(damage, [""; 0]);
    trace
}

/// The events of a kind.
fn all(trace: &Trace, kind: Kind) -> Vec<Event> {
    let events = trace.events.iter().map(|one| one.event);
    events.filter(|event| event.kind() == Some(kind)).collect()
}

/// Those about the thread with a name, or about its context.
fn of(trace: &Trace, kind: Kind, name: &str) -> Vec<Event> {
    let mut events = all(trace, kind);
    events.retain(|event| name_of(trace, event.subject) == name);
    events
}

/// The name of a thread or context; empty if it has none.
fn name_of(trace: &Trace, object: ObjectId) -> &str {
    trace.names.get(&object).map_or("", |name| name.as_str())
}

/// The name of that in a detail.
fn named(trace: &Trace, detail: u64) -> &str {
    name_of(trace, ObjectId::in_detail(detail))
}

#[test]
fn a_limit_is_told_and_its_end() {
    let trace = traced(|setup| {
        let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
        let original = setup.allocator.slot(endpoint);
        let set = original.set_endpoint_threshold(us(500), LIMIT);
        set.expect("it is the original");
        setup.thread("server", 20).passive().run(move || {
            endpoint.recv(reply);
            work(ms(2));
        });
        let time = SchedParameters::new(ms(4), ms(10));
        setup.thread("client", 10).time(time).run(move || {
            endpoint.call(Message::empty(0));
        });
    });
    let limits = of(&trace, Kind::Limited, "client");
    let limits: Vec<_> = limits
        .iter()
        .map(|one| (one.a, named(&trace, one.b)))
        .collect();
    assert_eq!(limits, [(500, "server")]);
    let ends = of(&trace, Kind::Exhausted, "client");
    let mut ends = ends.iter().map(|one| (one.a, named(&trace, one.b)));
    assert!(ends.any(|end| end == (u64::from(End::Limit.number()), "server")));
}

#[test]
fn a_sender_that_waits_for_its_threshold_is_told() {
    let scenario = find("threshold").expect("it exists");
    let trace = traced(scenario.setup);
    let deferred = of(&trace, Kind::Deferred, "client 2");
    assert!(!deferred.is_empty());
    for one in deferred {
        assert_eq!(named(&trace, one.a), "client 2");
        assert!(one.b >= 1_550, "{one:?}");
    }
}

#[test]
fn yields_to_a_context_are_told_and_the_end_of_their_time() {
    let trace = traced(|setup| {
        let target = setup.thread("target", 10).repeat(|| work(us(100)));
        let context = target.sched_context;
        let time = SchedParameters::new(ms(4), ms(10));
        setup.thread("caller", 10).time(time).run(move || {
            context.yield_to().expect("its thread may run");
            let past = context.yield_to_timeout(us(0), None);
            let end = past.expect("it tells the time").now + ms(1);
            let yielded = context.yield_to_timeout(end, None);
            yielded.expect("its thread may run");
        });
    });
    let [plain, timed] = of(&trace, Kind::Yielded, "caller")[..] else {
        panic!("there are two");
    };
    for one in [plain, timed] {
        assert_eq!(named(&trace, one.a), "target");
    }
    assert_eq!(plain.b, u64::MAX);
    assert!(
        timed.b > timed.time && timed.b < timed.time + 1_100,
        "{timed:?}"
    );
    let ends = of(&trace, Kind::Exhausted, "target");
    let end = ends
        .iter()
        .find(|one| one.a == u64::from(End::Timer.number()));
    let end = end.expect("its time ends");
    assert!(end.time >= timed.b, "{end:?}");
}

#[test]
fn changes_of_priority_criticality_and_level_are_told() {
    let trace = traced(|setup| {
        let other = setup.thread("other", 10).run(|| work(ms(1)));
        let (tcb, control) = (other.tcb, setup.sched_controls[0]);
        setup.thread("changer", 20).run(move || {
            tcb.set_priority(boot::TCB, 7).expect("it is lower");
            tcb.set_criticality(boot::TCB, 3).expect("it exists");
            for level in [2, 0] {
                let changed = control.set_criticality_level(level);
                changed.expect("it exists");
            }
        });
    });
    let details = |events: Vec<Event>| -> Vec<_> { events.iter().map(|one| one.a).collect() };
    let priorities = details(of(&trace, Kind::Priority, "other"));
    assert_eq!(priorities.last(), Some(&7));
    assert_eq!(details(of(&trace, Kind::Criticality, "other")), [3]);
    assert_eq!(details(all(&trace, Kind::Level)), [2, 0]);
}

/// A passive server migrates to a caller on another core; and a thread does with its own context.
#[cfg(feature = "smp")]
#[test]
fn migrations_are_told() {
    use userlib::server;
    let trace = traced_on(2, |setup| {
        let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
        setup.thread("server", 20).passive().run(move || {
            server::serve(endpoint, reply, |_| {
                work(ms(1));
                Message::empty(0)
            })
        });
        for (name, core) in [("near", 0), ("far", 1)] {
            let time = SchedParameters::new(ms(4), ms(40));
            let caller = setup.thread(name, 10).on_core(core).time(time);
            caller.run(move || {
                work(ms(1 + 2 * core as u64));
                endpoint.call(Message::empty(0));
            });
        }
        let time = SchedParameters::new(ms(4), ms(10));
        let mover = setup.thread("mover", 30).time(time);
        let moved = mover.run(|| work(ms(40)));
        let (context, there) = (moved.sched_context, setup.sched_controls[1]);
        setup.thread("manager", 40).run(move || {
            let configured = there.configure(context, &time);
            configured.expect("there is a second core");
        });
    });
    let to = |kind, name| -> Vec<_> { of(&trace, kind, name).iter().map(|one| one.a).collect() };
    assert_eq!(to(Kind::ThreadMigrated, "server"), [1]);
    assert_eq!(to(Kind::ThreadMigrated, "mover"), [1]);
    assert_eq!(to(Kind::ContextMigrated, "mover"), [1]);
    // A new context is of the first core, until it is configured.
    assert_eq!(to(Kind::ContextMigrated, "far"), [1]);
    for name in ["server", "near"] {
        assert_eq!(to(Kind::ContextMigrated, name), [0; 0], "{name}");
    }
    assert_eq!(trace::check(&trace), []);
}

#[test]
fn a_fault_is_told() {
    let trace = traced(|setup| {
        let (faults, reply): (Endpoint, Reply) = (setup.create(), setup.create());
        setup.thread("handler", 20).run(move || {
            faults.recv(reply);
        });
        let faulty = setup.thread("faulty", 10).on_fault(faults);
        faulty.run(fault);
    });
    assert_eq!(of(&trace, Kind::Faulted, "faulty").len(), 1);
}

#[test]
fn the_time_for_which_an_idling_context_waits_is_told() {
    let trace = traced(|setup| {
        let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
        let time = SchedParameters::new(ms(2), ms(10)).idling();
        setup.thread("idler", 20).time(time).run(move || {
            endpoint.recv(reply);
        });
        setup.thread("caller", 10).run(move || {
            work(ms(1));
            endpoint.call(Message::empty(0));
        });
    });
    let idled: u64 = of(&trace, Kind::Idled, "idler")
        .iter()
        .map(|one| one.a)
        .sum();
    assert!((900..1_100).contains(&idled), "{idled}");
}

#[test]
fn the_creation_and_the_deletion_of_objects_are_told() {
    let trace = traced(|setup| {
        let tcb: Tcb = setup.create();
        setup.allocator.delete(tcb).expect("it is there");
        let context = setup.context(&SchedParameters::new(ms(1), ms(10)));
        setup.allocator.delete(context).expect("it is there");
    });
    for (created, deleted) in [
        (Kind::ThreadCreated, Kind::ThreadDeleted),
        (Kind::ContextCreated, Kind::ContextDeleted),
    ] {
        let [end] = all(&trace, deleted)[..] else {
            panic!("one object is deleted");
        };
        let begins = all(&trace, created);
        assert!(begins.iter().any(|one| one.subject == end.subject));
    }
}
