//! Properties of the scenarios.

use simulator::scenarios::{ALL, Scenario, find};
use simulator::{
    History, Options, Setup, Simulation, Status, Window, chart, chrome, csv, ms, table, us, work,
};
use userlib::cap::{Notification, SchedParameters};
use userlib::time::Periodic;

fn run(setup: fn(&mut Setup), time: u64, options: Options) -> History {
    let mut simulation = Simulation::new(setup, options);
    simulation.run_until(time * 1000);
    simulation.history().clone()
}

fn run_named(name: &str) -> History {
    let Scenario {
        setup, duration, ..
    } = find(name).expect("it exists");
    run(*setup, *duration, Options::default())
}

#[test]
fn every_scenario_repeats_and_keeps_the_invariants() {
    for scenario in ALL {
        let time = scenario.duration.min(100);
        let checked = Options {
            check: true,
            seed: 7,
            ..Options::default()
        };
        let unchecked = Options {
            check: false,
            ..checked
        };
        let [one, two] = [checked, unchecked].map(|options| run(scenario.setup, time, options));
        assert_eq!(csv(&one), csv(&two), "{}", scenario.name);
        assert!(one.entries > 50, "{} does something", scenario.name);
    }
}

#[test]
fn the_seed_matters_where_dice_are_thrown() {
    let crowd = find("crowd").unwrap();
    let [one, two] = [1, 2].map(|seed| {
        let options = Options {
            seed,
            ..Options::default()
        };
        csv(&run(crowd.setup, 50, options))
    });
    assert_ne!(one, two);
}

#[test]
fn sporadic_servers_catch_up_and_bandwidth_does_not() {
    let history = run_named("sporadic-servers");
    let served = |name| -> Vec<_> { history.notes(name).map(|(time, _)| time).collect() };
    let (sporadic, bandwidth) = (served("sporadic"), served("bandwidth"));
    assert_eq!((sporadic.len(), bandwidth.len()), (10, 10));
    // In each burst, the second event needs a replenishment.
    for (sporadic, bandwidth) in sporadic.iter().zip(&bandwidth).skip(1).step_by(2) {
        assert!(sporadic + 1_500 < *bandwidth, "{sporadic} {bandwidth}");
    }
}

#[test]
fn clients_pay_for_a_passive_server() {
    let history = run_named("passive-server");
    let server = history.actor("server");
    let clients = ["client 1", "client 2", "client 3"];
    let donated: u64 = clients
        .map(|client| {
            let owner = Some(history.actor(client));
            let spent = history.total(server, 10, history.end, |status| {
                status == Status::Runs(owner)
            });
            assert!(spent > 2_000, "{client} has paid {spent}");
            let periods =
                history.end / history.actors[history.actor(client)].time.unwrap().period.0;
            assert!(history.paid(client) <= (periods + 1) * 2_000);
            spent
        })
        .iter()
        .sum();
    let ran = history.total(server, 10, history.end, |status| {
        matches!(status, Status::Runs(_))
    });
    assert_eq!(ran, donated, "the server has no other time");
}

#[test]
fn a_herd_does_not_hold_up_the_thread_that_woke_it() {
    let history = run_named("thundering-herd");
    let notes: Vec<_> = history.notes("ticker").collect();
    assert_eq!(notes.len(), 3);
    for (_, text) in notes {
        assert_eq!(text, "woke the herd in 10 µs");
    }
    for number in 0..10 {
        assert!(history.ran(&format!("herd {number}")) >= 900);
    }
}

#[test]
fn a_timeout_handler_answers_for_the_server() {
    let history = run_named("timeout");
    let count = |name, note| {
        history
            .notes(name)
            .filter(|(_, text)| *text == note)
            .count()
    };
    assert_eq!(count("handler", "client 2 ran out of time"), 3);
    assert_eq!(count("client 2", "got nothing"), 3);
    assert_eq!(count("server", "served client 1"), 6);
    assert_eq!(count("server", "begins"), 4);
    assert_eq!(count("server", "served client 2"), 0);
}

#[test]
fn behind_a_threshold_the_server_never_runs_out_of_time() {
    let history = run_named("threshold");
    let served = |text: &str| {
        history
            .notes("server")
            .filter(|(_, note)| *note == text)
            .count()
    };
    assert_eq!(history.notes("handler").count(), 0);
    assert!(
        served("served client 1") >= 8,
        "{}",
        served("served client 1")
    );
    assert!(
        served("served client 2") >= 4,
        "{}",
        served("served client 2")
    );
}

#[test]
fn edf_meets_every_deadline_at_98_percent() {
    let history = run(find("edf").unwrap().setup, 2_000, Options::default());
    let notes: Vec<_> = history.notes("scheduler").collect();
    assert!(notes.len() > 380, "{}", notes.len());
    assert!(notes.iter().all(|(_, text)| text.ends_with("done")));
    let worked: u64 = [10, 15, 28]
        .iter()
        .map(|period| history.ran(&format!("every {period} ms")))
        .sum();
    assert!(worked * 100 > history.end * 95);
}

#[test]
fn a_hundred_threads_share_ten_seconds() {
    let history = run_named("crowd");
    assert_eq!(history.actors.len(), 100);
    assert!(history.end >= 10_000_000);
    let mut sum = 0;
    for actor in &history.actors {
        let SchedParameters { budget, period, .. } = actor.time.unwrap();
        let (ran, periods) = (history.ran(&actor.name), history.end / period.0);
        // Each job works for at least 1/400 of the period.
        assert!(ran >= (periods - 1) * (period.0 / 400), "{}", actor.name);
        assert!(ran <= (periods + 1) * budget.0, "{}", actor.name);
        sum += ran;
    }
    // One thread at a time; and the processor idles only when no thread is ready.
    let runs = |status| matches!(status, Status::Runs(_));
    assert_eq!(covered(&history, runs), sum);
    assert_eq!(
        covered(&history, |status| runs(status) || status == Status::Ready),
        sum
    );
}

/// For how long at least one thread had such a status.
fn covered(history: &History, is: impl Fn(Status) -> bool) -> u64 {
    let mut spans: Vec<_> = (0..history.actors.len())
        .flat_map(|actor| history.spans(actor))
        .filter(|(.., status)| is(*status))
        .map(|(start, end, _)| (start, end))
        .collect();
    spans.sort_unstable();
    let (mut total, mut until) = (0, 0);
    for (start, end) in spans {
        total += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    total
}

#[test]
#[should_panic(expected = "the scenario notices")]
fn a_panic_of_a_program_ends_the_run() {
    fn setup(setup: &mut Setup) {
        setup.thread("doubtful", 1).run(|| {
            work(us(50));
            panic!("the scenario notices");
        });
    }
    run(setup, 1, Options::default());
}

#[test]
fn a_thread_that_ends_or_faults_without_handler_stops() {
    fn setup(setup: &mut Setup) {
        setup.thread("ends", 3).run(|| work(us(100)));
        setup.thread("faults", 2).run(|| {
            work(us(100));
            simulator::fault();
            simulator::note("not reached");
        });
        setup.thread("goes on", 1).run(|| {
            loop {
                work(ms(1));
            }
        });
    }
    let history = run(setup, 2, Options::default());
    assert_eq!(history.actors[0].changes.last().unwrap().1, Status::Stopped);
    assert_eq!(history.actors[1].changes.last().unwrap().1, Status::Stopped);
    assert!(history.marks.is_empty());
    assert!(history.ran("goes on") > 1_700);
}

#[test]
fn priorities_budgets_and_signals_are_the_kernel_s() {
    fn setup(setup: &mut Setup) {
        let bell: Notification = setup.create();
        let limited = SchedParameters::new(ms(1), ms(4));
        setup.thread("limited", 10).time(limited).run(move || {
            bell.wait();
            loop {
                work(ms(1));
            }
        });
        setup.thread("ringer", 20).run(move || {
            work(ms(1));
            bell.signal();
        });
    }
    let history = run(setup, 13, Options::default());
    let spans: Vec<_> = (history.spans(0))
        .filter(|(.., status)| matches!(status, Status::Runs(Some(0))))
        .map(|(start, end, _)| (start, end - start))
        .collect();
    // 1 ms in each 4 ms, the first from the signal on.
    assert_eq!(spans.len(), 3, "{spans:?}");
    for (period, (start, length)) in spans.iter().enumerate() {
        let due = 1_004 + period as u64 * 4_000;
        assert!(start.abs_diff(due) < 20, "{spans:?}");
        assert!((970..=1_001).contains(length), "{spans:?}");
    }
}

#[test]
fn traces_and_charts_show_the_record() {
    let history = run_named("passive-server");
    let trace: serde_json::Value = serde_json::from_str(&chrome(&history, "\"quoted\"")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events[0]["args"]["name"], "\"quoted\"");
    let runs = |event: &&serde_json::Value| event["ph"] == "X" && event["name"] == "runs";
    let total: u64 = (events.iter().filter(runs))
        .map(|event| event["dur"].as_u64().unwrap())
        .sum();
    let names = history.actors.iter().map(|actor| history.ran(&actor.name));
    assert_eq!(total, names.sum::<u64>());
    assert!(csv(&history).starts_with("time_us,thread,event,detail\n"));

    let window = Window {
        from: 0,
        to: history.end,
        width: 60,
    };
    let chart = chart(&history, window);
    let lines: Vec<_> = chart.lines().collect();
    assert_eq!(lines.len(), history.actors.len() + 3);
    for line in &lines[..lines.len() - 1] {
        assert_eq!(line.chars().count(), "client 1 ||".len() + 60, "{line}");
    }
    assert!(lines[1].contains('█') && lines[2].contains('~') && lines[1].contains('.'));
    assert_eq!(table(&history).lines().count(), 1 + history.actors.len());
}

#[test]
fn the_book_shows_what_the_command_prints() {
    let book = include_str!("../../docs/src/simulator.md");
    // As `cargo xtask sim passive-server --to 30 --width 60`.
    let history = run_named("passive-server");
    let window = Window {
        from: 0,
        to: 30_000,
        width: 60,
    };
    for shown in [chart(&history, window), table(&history)] {
        assert!(book.contains(&shown), "the page should show:\n{shown}");
    }
    let entries = format!("{} kernel entries", history.entries);
    assert!(book.contains(&entries), "the page should say {entries}");
}

/// Jobs of 1 ms with a budget of 3 ms in 10 ms; each fourth takes 4 ms, so it ends after the next
/// release. A higher-priority thread delays some releases.
fn jobs(setup: &mut Setup, wait: fn(&mut Periodic)) {
    let time = SchedParameters::new(ms(3), ms(10))
        .with_extra_refills(6)
        .sporadic();
    setup.thread("jobs", 10).time(time).run(move || {
        let mut periodic = Periodic::new(ms(10), us(0));
        for job in 0.. {
            simulator::note(String::new());
            work(if job % 4 == 1 { ms(4) } else { ms(1) });
            wait(&mut periodic);
        }
    });
    let time = SchedParameters::new(ms(2), ms(25)).sporadic();
    setup.thread("high", 20).time(time).repeat(|| {
        work(us(1_500));
        userlib::syscall::yield_now();
    });
}

#[test]
fn periodic_threads_miss_no_release() {
    let starts = |setup| -> Vec<_> {
        let history = run(setup, 400, Options::default());
        history.notes("jobs").map(|(time, _)| time).collect()
    };
    let yielded = starts(|setup| jobs(setup, |_| userlib::syscall::yield_now()));
    assert!(yielded.len() <= 33, "Yield alone: {yielded:?}");
    let starts = starts(|setup| {
        jobs(setup, |periodic| {
            periodic.wait(simulator::now);
        });
    });
    assert_eq!(starts.len(), 40);
    for (release, start) in starts.iter().enumerate() {
        let late = start - 10_000 * release as u64;
        assert!(late < 4_000, "release {release} is {late} us late");
    }
}
