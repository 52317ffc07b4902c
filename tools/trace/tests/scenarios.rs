//! Traces of the simulator's scenarios: they keep all rules, agree with the simulator's own record, and are exported.

mod common;

use common::{read, simulated};
use simulator::scenarios::{ALL, find};
use simulator::{History, Microseconds, Options, Setup, Simulation, Status as Seen, work};
use trace::{State, Status, ThreadKey, Timeline, Trace, check, export, inversions, jobs, summary};
use trace_format::{Kind, Mark};
use userlib::cap::{Capability, Endpoint, Notification, Reply, SchedParameters};
use userlib::time::Periodic;
use userlib::{Message, server, syscall, trace as marks};

/// The trace of a scenario, and the record that the simulator makes without it.
fn run(name: &str, time: u64, events: usize) -> (Trace, History, Vec<u8>) {
    let scenario = find(name).expect("it exists");
    let options = Options {
        trace: events,
        ..Options::default()
    };
    let mut simulation = Simulation::new(scenario.setup, options);
    simulation.run_until(scenario.duration.min(time) * 1000);
    let bytes = simulation.trace().expect("it is traced").to_bytes();
    let (trace, damage) = Trace::read(&bytes).unwrap();
    assert_eq!(damage, [""; 0]);
    (trace, simulation.history().clone(), bytes)
}

#[test]
fn all_scenarios_keep_the_rules() {
    for scenario in ALL {
        let (trace, ..) = run(scenario.name, 200, 1_000_000);
        assert_eq!(check(&trace), [], "{}", scenario.name);
        assert!(trace.events.len() > 200, "{}", scenario.name);
        assert_eq!(trace.lost[&0].all(), 0, "{}", scenario.name);
    }
}

/// A kernel that traces takes no fast paths, so that entries may read the clock less often. Nothing else changes.
#[test]
fn tracing_changes_nothing_but_the_path() {
    for scenario in ALL {
        let (_, traced, _) = run(scenario.name, 100, 1_000_000);
        let slow = Options {
            fast_paths: false,
            ..Options::default()
        };
        let mut simulation = Simulation::new(scenario.setup, slow);
        simulation.run_until(scenario.duration.min(100) * 1000);
        assert_eq!(
            simulator::csv(&traced),
            simulator::csv(simulation.history()),
            "{}",
            scenario.name
        );
    }
}

#[test]
fn the_states_are_those_that_the_simulator_has_seen() {
    for scenario in ALL {
        let (trace, history, _) = run(scenario.name, 100, 1_000_000);
        let timeline = Timeline::of(&trace);
        for actor in &history.actors {
            let key = timeline
                .threads
                .iter()
                .position(|lane| lane.name == actor.name);
            let key = key.unwrap_or_else(|| panic!("{} is in the trace", actor.name));
            assert_eq!(
                timeline.ran(ThreadKey(key)),
                history.ran(&actor.name),
                "{}",
                actor.name
            );
            let context = timeline
                .contexts
                .iter()
                .find(|lane| lane.name == actor.name);
            let used = context.map_or(0, trace::ContextLane::used);
            assert_eq!(used, history.paid(&actor.name), "{}", actor.name);
            // The time in each status, where both have the same ones.
            let lane = &timeline.threads[key];
            let blocked = lane.spans(timeline.end);
            let blocked = blocked.filter(|(.., status)| matches!(status, Status::Blocked(_)));
            let blocked: u64 = blocked.map(|(start, end, _)| end - start).sum();
            let number = history.actor(&actor.name);
            let seen = history.total(number, 0, history.end, |status| status == Seen::Blocked);
            assert_eq!(blocked, seen, "{} of {}", actor.name, scenario.name);
        }
    }
}

#[test]
fn a_trace_that_is_full_counts_what_it_loses() {
    let (whole, ..) = run("timeout", 30, 1_000_000);
    let (part, ..) = run("timeout", 30, 300);
    // The numbers of objects are addresses on the host, which differ from run to run.
    let outline = |trace: &Trace| -> Vec<_> {
        let events = trace.events.iter().take(300);
        events
            .map(|one| (one.number, one.event.time, one.event.kind))
            .collect()
    };
    assert_eq!(part.events.len(), 300);
    assert_eq!(outline(&part), outline(&whole));
    assert_eq!(part.lost[&0].at_the_end, whole.events.len() as u64 - 300);
    assert!(summary(&part).contains("missing events"));
}

#[test]
fn a_timeout_is_in_the_trace() {
    let (trace, ..) = run("timeout", 30, 1_000_000);
    let timeline = Timeline::of(&trace);
    let server = timeline
        .threads
        .iter()
        .find(|lane| lane.name == "server")
        .unwrap();
    assert!(server.timeouts > 0, "client 2 has too little budget");
    let context = |name| {
        timeline
            .contexts
            .iter()
            .find(|lane| lane.name == name)
            .unwrap()
    };
    assert!(context("client 2").donations() > 0);
    assert!(!context("client 2").ends.is_empty());
    assert!(context("client 1").ends.is_empty(), "client 1 has enough");
}

#[test]
fn exports_have_all_lanes() {
    let (trace, ..) = run("timeout", 20, 1_000_000);
    let csv = export::csv(&trace);
    assert_eq!(csv.lines().count(), trace.events.len() + 1);
    assert!(csv.lines().all(|line| line.split(',').count() == 8));
    let json: serde_json::Value = serde_json::from_str(&export::chrome(&trace)).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let runs = |event: &&serde_json::Value| event["pid"] == 1 && event["ph"] == "X";
    assert!(
        events
            .iter()
            .filter(runs)
            .any(|event| event["name"] == "server")
    );
    let svg = export::svg(&trace, 0, trace.end);
    assert!(svg.contains(">server<") && svg.ends_with("</svg>\n"));
    // Each packet is field 1 of the trace, with its length.
    let bytes = export::perfetto(&trace);
    let mut rest = &bytes[..];
    let mut packets = 0;
    while let Some((tag, body)) = rest.split_first() {
        assert_eq!(*tag, 1 << 3 | 2);
        let (length, used) = varint(body);
        rest = &body[used + length..];
        packets += 1;
    }
    assert!(packets > events.len() / 2);
}

fn varint(bytes: &[u8]) -> (usize, usize) {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let number = bytes[..=end].iter().rev();
    (
        number.fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f)),
        end + 1,
    )
}

/// A thread with jobs of 1 ms, of which it says that the third has missed its deadline.
fn worker(setup: &mut Setup) {
    let time = SchedParameters::new(Microseconds(4_000), Microseconds(10_000));
    setup.thread("worker", 10).time(time).run(|| {
        marks::text(7, "begin");
        marks::number(7, 1 << 40);
        for job in 0..5 {
            marks::released(7, job);
            work(Microseconds(500));
            marks::begun(7, job);
            work(Microseconds(1_000));
            if job == 2 {
                marks::missed(7, job);
            }
            marks::done(7, job);
            syscall::yield_now();
        }
    });
}

#[test]
fn programs_mark_their_jobs() {
    let trace = read(&simulated(worker, 100_000, 100_000));
    let found = jobs(&trace);
    assert_eq!(found.len(), 1, "{found:?}");
    let worker = &found[0];
    assert_eq!((&*worker.thread, worker.task), ("worker", 7));
    assert_eq!((worker.done, worker.missed), (5, 1));
    // From the release, and with a few kernel entries of a microsecond.
    let response = trace.microseconds(worker.longest);
    assert!((1_500.0..1_520.0).contains(&response), "{response}");
    let complaints = check(&trace);
    let texts: Vec<_> = complaints.iter().map(|one| &*one.text).collect();
    assert_eq!(texts, ["job 2 of task 7 of worker has missed its deadline"]);
    assert!(summary(&trace).contains("longest response ms"));
    // The value is whole, also where it is larger than 32 bits.
    let csv = export::csv(&trace);
    let number = csv.lines().find(|line| line.ends_with(",1099511627776"));
    assert!(number.is_some_and(|line| line.contains(",Marked,")));
}

/// A thread that marks where its jobs of 0.9 ms begin and end, below one that takes the first 4 ms of each 7, but for
/// the very first. It is released at 10, 20 and 30 ms, and continues at 11, 20 and 32 ms.
fn below(setup: &mut Setup) {
    let busy = SchedParameters::new(Microseconds(4_000), Microseconds(7_000));
    setup.thread("busy", 20).time(busy).run(|| {
        syscall::yield_now();
        loop {
            work(Microseconds(100));
        }
    });
    let time = SchedParameters::new(Microseconds(2_000), Microseconds(10_000)).sporadic();
    setup.thread("worker", 10).time(time).run(|| {
        for job in 0..4 {
            marks::begun(0, job);
            work(Microseconds(900));
            marks::done(0, job);
            syscall::yield_now();
        }
    });
}

#[test]
fn a_job_is_released_when_its_thread_can_run_again() {
    let trace = read(&simulated(below, 200_000, 100_000));
    let found = jobs(&trace);
    assert_eq!((&*found[0].thread, found[0].done), ("worker", 4));
    // The last one: two milliseconds before it begins, and a few kernel entries of a microsecond.
    let response = trace.microseconds(found[0].longest);
    assert!((2_890.0..2_950.0).contains(&response), "{response}");
}

/// Jobs of a periodic thread with 2 ms in each 10: the second one is released at 10 ms and ends at 20.1, the third one is
/// released at 20 ms, begins late, and ends at 30.6.
fn late(setup: &mut Setup) {
    let ms = Microseconds::from_millis;
    let time = SchedParameters::new(ms(2), ms(10)).sporadic();
    setup.thread("worker", 10).time(time).run(move || {
        let mut periodic = Periodic::new(ms(10), Microseconds(0));
        for job in [900, 2_100, 2_500] {
            work(Microseconds(job));
            periodic.wait(simulator::now);
        }
    });
}

/// A server that deletes its reply object while it works for a caller.
fn without_reply(setup: &mut Setup) {
    let ms = Microseconds::from_millis;
    let endpoint: Endpoint = setup.create();
    let reply: Reply = setup.create();
    let slot = setup.allocator.cnode().slot(reply.cptr());
    setup.thread("server", 20).passive().run(move || {
        let _ = endpoint.recv(reply);
        work(Microseconds(500));
        slot.delete().expect("there is one");
        let _ = endpoint.recv(reply);
    });
    let time = SchedParameters::new(ms(2), ms(10));
    setup.thread("client", 10).time(time).run(move || {
        endpoint.call(Message::empty(0));
    });
}

#[test]
fn a_caller_without_a_reply_object_is_stopped_and_has_its_context() {
    let trace = read(&simulated(without_reply, 20_000, 100_000));
    assert_eq!(check(&trace), []);
    let timeline = Timeline::of(&trace);
    let client = timeline.threads.iter().find(|lane| lane.name == "client");
    let last = client.and_then(|lane| lane.changes.last());
    assert_eq!(last.map(|(_, status)| *status), Some(Status::Stopped));
    let context = timeline.contexts.iter().find(|lane| lane.name == "client");
    let calls = context.map(|lane| lane.calls().len());
    assert_eq!(calls, Some(1));
}

#[test]
fn a_late_job_counts_from_its_release() {
    let trace = read(&simulated(late, 200_000, 100_000));
    let found = jobs(&trace);
    assert_eq!((found[0].done, found[0].missed), (3, 2));
    let response = trace.microseconds(found[0].longest);
    assert!((10_590.0..10_650.0).contains(&response), "{response}");
    // Its release is marked where it was, although its thread has told it later.
    let marks = Timeline::of(&trace).marks;
    assert!(marks.is_sorted_by_key(|one| one.time));
    let of_last = |mark| {
        let one = marks.iter().find(|one| one.mark == mark && one.value == 2);
        trace.microseconds(one.expect("it is marked").time)
    };
    let late = of_last(Mark::Begun) - of_last(Mark::Released);
    assert!((90.0..150.0).contains(&late), "{late}");
}

#[test]
fn the_page_has_the_whole_trace() {
    let (trace, ..) = run("timeout", 20, 1_000_000);
    let page = export::html(&[("run", &trace)]);
    let (_, rest) = page.split_once("type=\"application/json\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let all: serde_json::Value = serde_json::from_str(data).unwrap();
    let data = &all[0];
    let numbers = |value: &serde_json::Value| -> Vec<i64> {
        let list = value.as_array().unwrap();
        list.iter().map(|one| one.as_i64().unwrap()).collect()
    };
    let lanes = &data["lanes"];
    // Rows have the gap before the span, its length, two things, and for how much of its length it is not so. The spans
    // of the core follow each other from the start to the end.
    let spans = numbers(&lanes["cores"][0]);
    let (first, next) = spans.split_at(5);
    assert_eq!(data["start"], first[0]);
    assert!(next.chunks(5).all(|row| row[0] == 0));
    let length: i64 = spans.chunks(5).map(|row| row[1]).sum();
    assert_eq!(data["end"], first[0] + length);
    // The use of the contexts is that of the time line.
    let timeline = Timeline::of(&trace);
    let contexts = lanes["contexts"].as_array().unwrap();
    assert_eq!(contexts.len(), timeline.contexts.len());
    for (context, lane) in contexts.iter().zip(&timeline.contexts) {
        let uses = numbers(&context["uses"]);
        let used: i64 = uses.chunks(5).map(|row| row[1] - row[4]).sum();
        assert_eq!(used as u64, lane.used(), "{}", lane.name);
    }
    let timeouts = &data["findings"]["targets"][1];
    assert_eq!(
        (&timeouts["what"], &timeouts["count"]),
        (&"timeouts".into(), &1.into())
    );
    assert_eq!(data["targets"][1].as_array().unwrap().len(), 1);
    assert_eq!(data["findings"]["broken"], 0);
    // It loads nothing.
    assert!(
        !page.contains("src=") && !page.contains("http"),
        "no network"
    );
}

/// The head and what is pending add up to the budget.
#[test]
fn pending_replenishments_are_known() {
    let mut count = 0;
    for scenario in ALL {
        let (trace, ..) = run(scenario.name, 100, 1_000_000);
        let mut state = State::default();
        for one in &trace.events {
            state.apply(&one.event);
            if one.event.kind() != Some(Kind::Exit) {
                continue;
            }
            for context in &state.contexts {
                let Some((budget, 1..)) = context.parameters else {
                    continue;
                };
                let replenishments = &context.replenishments;
                let all = replenishments.head().into_iter();
                let all = all.chain(replenishments.pending());
                assert!(all.clone().is_sorted_by(|(one, _), (next, _)| one < next));
                let sum: u64 = all.map(|(_, amount)| amount).sum();
                assert_eq!(sum, budget, "{}: {context:?}", scenario.name);
                count += 1;
            }
        }
    }
    assert!(count > 1_000, "{count}");
}

/// Clients of one server, which has the highest priority: with priority inheritance by donation and the server at a
/// priority ceiling, a client waits for at most one request of lower priority at a time.
#[test]
fn a_client_waits_for_one_request_of_lower_priority() {
    /// The longest request, and the kernel entries around it.
    const REQUEST_US: f64 = 1_220.0;
    let (trace, ..) = run("passive-server", 500, 1_000_000);
    let timeline = Timeline::of(&trace);
    let name = |thread: ThreadKey| &*timeline.threads[thread.0].name;
    let found = inversions(&trace);
    let of = |client| found.iter().filter(move |one| name(one.thread) == client);
    // Priorities are those of the numbers.
    assert_eq!(of("client 1").count(), 0);
    assert!(of("client 2").all(|one| name(one.charged) == "client 1"));
    assert!(of("client 2").count() > 0 && of("client 3").count() > 0);
    for one in &found {
        assert!(trace.microseconds(one.length()) < REQUEST_US, "{one:?}");
    }
    let longest = found.iter().map(|one| one.length()).max().unwrap();
    assert!(trace.microseconds(longest) > 100.0, "{found:?}");
    assert!(summary(&trace).contains("longest priority inversion: from "));
}

/// A thread of low priority whose active server has a lower one than a thread between them: the textbook's case.
fn unbounded(setup: &mut Setup) {
    let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
    let time = || SchedParameters::new(Microseconds(50_000), Microseconds(100_000));
    setup.thread("server", 1).time(time()).run(move || {
        server::serve(endpoint, reply, |_| {
            work(Microseconds(1_000));
            Message::empty(0)
        })
    });
    // The server waits for calls before the others begin.
    let (timer, begin): (_, Notification) = (setup.timer(), setup.create());
    setup.thread("high", 3).time(time()).run(move || {
        timer.wait_until(Microseconds(1_000)).unwrap();
        begin.signal();
        endpoint.call(Message::empty(0));
        work(Microseconds(500));
    });
    setup.thread("middle", 2).time(time()).run(move || {
        begin.wait();
        work(Microseconds(7_000));
    });
}

#[test]
fn a_server_of_low_priority_inverts_priorities_for_as_long_as_others_run() {
    let trace = read(&simulated(unbounded, 30_000, 100_000));
    let timeline = Timeline::of(&trace);
    let name = |thread: ThreadKey| &*timeline.threads[thread.0].name;
    let found = inversions(&trace);
    let words: Vec<_> = found
        .iter()
        .map(|one| (name(one.thread), name(one.charged)))
        .collect();
    assert_eq!(words, [("high", "middle")]);
    // The thread in the middle, and not the request itself.
    let taken = trace.microseconds(found[0].length());
    assert!((7_000.0..7_030.0).contains(&taken), "{taken}");
}

/// The same, with a server that sleeps: the thread in the middle delays nothing.
fn sleeping(setup: &mut Setup) {
    let (endpoint, reply): (Endpoint, Reply) = (setup.create(), setup.create());
    let time = || SchedParameters::new(Microseconds(50_000), Microseconds(100_000));
    let timer = setup.timer();
    setup.thread("server", 4).time(time()).run(move || {
        endpoint.recv(reply);
        timer.wait_until(Microseconds(6_000)).unwrap();
        reply.send(Message::empty(0));
    });
    setup.thread("high", 3).time(time()).run(move || {
        work(Microseconds(500));
        endpoint.call(Message::empty(0));
    });
    setup
        .thread("middle", 2)
        .time(time())
        .run(|| work(Microseconds(7_000)));
}

#[test]
fn a_server_that_sleeps_inverts_nothing() {
    let trace = read(&simulated(sleeping, 30_000, 100_000));
    let timeline = Timeline::of(&trace);
    let high = timeline.threads.iter().position(|lane| lane.name == "high");
    let (high, found) = (ThreadKey(high.unwrap()), inversions(&trace));
    let taken = found.iter().filter(|one| one.thread == high);
    let taken: u64 = taken.map(|one| one.length()).sum();
    assert!(trace.microseconds(taken) < 20.0, "{found:?}");
    assert!(timeline.ran(high) > 0);
}

/// A thread whose own budget is used up, or too small for a threshold, does not wait for others.
#[test]
fn a_thread_without_budget_is_not_inverted() {
    for scenario in ["sporadic-servers", "threshold"] {
        let (trace, ..) = run(scenario, 200, 1_000_000);
        let found = inversions(&trace);
        let entry = |one: &trace::Inversion| trace.microseconds(one.length()) < 20.0;
        assert!(found.iter().all(entry), "{scenario}: {found:?}");
    }
}
