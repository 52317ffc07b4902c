//! From texts to verdicts.

use schedulability::Time;
use system_analysis::{Report, Source as Origin, Verdict, analyse};

use crate::common::{figures, system};

#[track_caller]
fn report_with(text: &str, each: &str) -> Report {
    let system = system(text).expect("the description is good");
    analyse(&system, &figures(each)).unwrap()
}

/// On a kernel that costs nothing.
#[track_caller]
fn report(text: &str) -> Report {
    report_with(text, "0 us")
}

#[track_caller]
fn bounds(text: &str) -> Vec<Option<u64>> {
    let rows = report(text).rows;
    let micros = |time: Time| u64::try_from(time.nanos() / 1_000).unwrap();
    rows.iter().map(|row| row.bound.map(micros)).collect()
}

fn problems(text: &str) -> String {
    let system = system(text).expect("the description is good");
    analyse(&system, &figures("0 us")).unwrap_err().join("\n")
}

const THREE: &str = r#"
[component.a]
slice = "1 s"
job = { cost = "3 ms", period = "7 ms" }
[component.b]
slice = "1 s"
job = { cost = "3 ms", period = "12 ms" }
[component.c]
slice = "1 s"
job = { cost = "5 ms", period = "20 ms" }
"#;

/// The example of the page on fixed priorities; priorities are those of the deadlines.
#[test]
fn a_bare_task_set_is_analysed() {
    assert_eq!(bounds(THREE), [3_000, 6_000, 20_000].map(Some));
    assert!(report(THREE).holds);
    let late = report(&THREE.replace("5 ms", "5.001 ms"));
    assert_eq!(late.rows[2].verdict, Verdict::Fails);
    assert_eq!(late.culprit().unwrap().component, "a");
}

/// Every cost of the kernel makes the bound longer: 1 us for the release, 1 for the end, 1 for the section.
#[test]
fn the_kernel_is_charged() {
    let text = "[component.a]\nslice = \"1 s\"\njob = { cost = \"3 ms\", period = \"7 ms\" }";
    let report = report_with(text, "1 us");
    assert_eq!(report.rows[0].bound, Some(Time::from_micros(3_003)));
    let with_interrupts = format!("{text}\n[interrupt.x]\ngap = \"1 ms\"");
    let report = report_with(&with_interrupts, "1 us");
    assert_eq!(report.rows[0].bound, Some(Time::from_micros(3_007)));
}

/// The example of the page on fixed priorities.
#[test]
fn bursts_are_analysed() {
    let text = r#"
[component.burst]
slice = "1 s"
job = { cost = "2 ms", arrivals = ["1 ms", "2 ms", "20 ms"], deadline = "4 ms" }
[component.steady]
slice = "1 s"
job = { cost = "5 ms", period = "20 ms" }
"#;
    assert_eq!(bounds(text), [4_000, 11_000].map(Some));
    assert!(!report(&text.replace("\"4 ms\"", "\"3 ms\"")).holds);
}

const SERVER: &str = r#"
[component.high]
budget = "5 ms"
period = "20 ms"
priority = 9
job = { cost = "1 ms", period = "20 ms" }
calls.disk = { to = "disk.blocks", cost = "1 ms" }
[component.low]
budget = "20 ms"
period = "80 ms"
priority = 1
job = { cost = "4 ms", period = "80 ms" }
calls = ["disk.blocks"]
[component.disk]
passive = true
priority = 9
serves.blocks = { cost = "5 ms" }
"#;

#[test]
fn requests_block_and_are_named() {
    let report = report(SERVER);
    let high = &report.rows[0];
    assert_eq!(high.bound, Some(Time::from_millis(1 + 1 + 5)));
    let blocking = high
        .parts
        .iter()
        .find(|part| part.source == Origin::Blocking)
        .unwrap();
    assert_eq!(blocking.by, "disk.blocks for low");
    assert_eq!(blocking.time, Time::from_millis(5));
    // The low thread: 4 + 5, and one job of the high one.
    assert_eq!(report.rows[1].bound, Some(Time::from_millis(11)));
    let nested = SERVER.replace(
        "cost = \"5 ms\" }",
        "cost = \"5 ms\" }\ncalls = [\"files.e\"]",
    ) + "[component.files]\npassive = true\npriority = 9\nserves.e = { cost = \"2 ms\" }";
    assert_eq!(
        bounds(&nested)[0],
        Some(1_000 + 1_000 + 2_000 + 5_000 + 2_000)
    );
    let unknown = SERVER.replace("{ cost = \"5 ms\" }", "{}");
    assert_eq!(
        problems(&unknown),
        "`low` calls `disk.blocks` for an unknown time; add `cost = \"...\"` to the endpoint or to the call"
    );
}

/// A budget below the job: the blackout counts, and a request in its middle needs a threshold or a handler.
#[test]
fn small_budgets_wait() {
    let small = SERVER.replace("20 ms\"\nperiod = \"80 ms\"", "10 ms\"\nperiod = \"80 ms\"");
    assert!(report(&small).holds);
    let small = SERVER.replace("20 ms\"\nperiod = \"80 ms\"", "6 ms\"\nperiod = \"30 ms\"");
    let found = report(&small);
    assert!(!found.holds);
    assert!(
        found.rows[1]
            .note
            .contains("set a threshold of at least 5 ms"),
        "{}",
        found.rows[1].note
    );
    let limited = small.replace(
        "{ cost = \"5 ms\" }",
        "{ cost = \"5 ms\", threshold = \"5.1 ms\" }",
    );
    let limited = limited.replace("budget = \"5 ms\"", "budget = \"8 ms\"");
    let found = report(&limited);
    let low = &found.rows[1];
    assert!(
        low.parts.iter().any(|part| part.source == Origin::Blackout),
        "{low:?}"
    );
}

#[test]
fn a_thread_without_a_bound_is_named() {
    let text = THREE.to_string() + "[component.hog]\nslice = \"1 ms\"\n";
    let text = text.replace("slice = \"1 s\"", "slice = \"1 s\"\npriority = 5");
    let report = report(&text.replace("slice = \"1 ms\"", "slice = \"1 ms\"\npriority = 6"));
    assert!(!report.holds);
    assert!(
        report.rows[0]
            .note
            .starts_with("`hog`, of priority 6, may run for ever before it")
    );
}

#[test]
fn waiting_for_active_servers_counts() {
    let text = r#"
[component.bus]
budget = "1 ms"
period = "4 ms"
priority = 9
serves.e = { service = "4 ms" }
[component.first]
slice = "1 s"
priority = 5
job = { cost = "1 ms", period = "100 ms" }
calls = ["bus"]
[component.second]
slice = "1 s"
priority = 4
job = { cost = "1 ms", period = "100 ms" }
calls = ["bus"]
"#;
    let rows = report(text).rows;
    let waits = |place: usize| {
        rows[place]
            .parts
            .iter()
            .find(|part| part.source == Origin::Waiting)
            .unwrap()
            .time
    };
    // One of lower priority and its own; two of the first, which may come late, and its own.
    assert_eq!([waits(1), waits(2)], [8, 12].map(Time::from_millis));
    assert!(problems(&text.replace("service = \"4 ms\"", "")).contains("add `service = \"...\"`"));
    let free = text.replace(
        "\njob = { cost = \"1 ms\", period = \"100 ms\" }\ncalls = [\"bus\"]\n[component.second]",
        "\ncalls = [\"bus\"]\n[component.second]",
    );
    assert!(problems(&free).contains("which `first` can call as often as it likes"));
}

#[test]
fn schedulers_guests_and_domains_are_analysed() {
    let edf = THREE.replace("slice = \"1 s\"", "slice = \"1 s\"\nscheduler = \"s\"")
        + "[scheduler.s]\npolicy = \"edf\"\ndecision = \"0 us\"\n";
    let found = report(&edf);
    assert!(found.holds, "{}", found.text());
    assert_eq!(
        found.methods()[0].name,
        "processor demand, by quick convergence (QPA)"
    );
    assert!(!report(&edf.replace("decision = \"0 us\"", "decision = \"300 us\"")).holds);
    let many = edf.replace("decision", "cores = [0, 1]\ndecision");
    assert!(report(&many).holds);
    let guest = r#"
[component.guest]
budget = "5 ms"
period = "10 ms"
[component.guest.guest]
policy = "rate-monotonic"
task.fast = { cost = "2 ms", period = "60 ms" }
task.slow = { cost = "5 ms", period = "100 ms" }
"#;
    let found = report(guest);
    let names: Vec<_> = found.rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["guest", "guest/fast", "guest/slow"]);
    // Blackout 2 * 10 + 5 - 3 * 5.
    assert_eq!(found.rows[1].bound, Some(Time::from_millis(10 + 2)));
    assert_eq!(found.rows[2].bound, Some(Time::from_millis(10 + 10 + 2)));
    let domains = r#"
schedule = [{ domain = "x", duration = "6 ms" }, { domain = "y", duration = "4 ms" }]
[component.a]
slice = "1 s"
domain = "x"
job = { cost = "7 ms", period = "50 ms" }
[component.b]
slice = "1 s"
domain = "y"
job = { cost = "5 ms", period = "50 ms" }
"#;
    assert_eq!(
        bounds(domains),
        [4 + 6 + 4 + 1, 6 + 4 + 6 + 1].map(|time| Some(time * 1_000))
    );
}

/// What the report tells is what a program sets: overheads come off it as they come off other deadlines.
#[test]
fn virtual_deadlines_count_from_releases() {
    let text = r#"
[component.brake]
slice = "1 s"
criticality = 1
scheduler = "s"
job = { cost = ["20 ms", "60 ms"], period = "100 ms" }
[component.display]
slice = "1 s"
scheduler = "s"
job = { cost = "18 ms", period = "40 ms" }
[scheduler.s]
policy = "edf-vd"
decision = "50 us"
"#;
    let found = report(text);
    assert!(found.holds, "{}", found.text());
    let display = found.rows.iter().find(|row| row.name == "display");
    let note = &display.unwrap().note;
    assert!(note.contains("Its virtual deadline is 40 ms."), "{note}");
}

/// A release takes a decision although it preempts nothing, and a budget is looked at before it ends: with three decisions of
/// 200 us for each job, these tasks need 104 % of the core.
#[test]
fn a_scheduler_decides_at_each_release() {
    let set = |decision: &str| {
        let task = |number: u32| {
            format!(
                "[component.t{number}]\nslice = \"1 s\"\nscheduler = \"s\"\n\
                 job = {{ cost = \"2 ms\", period = \"10 ms\" }}\n"
            )
        };
        let tasks: String = (0..4).map(task).collect();
        format!("{tasks}[scheduler.s]\npolicy = \"edf\"\ndecision = \"{decision}\"\n")
    };
    assert!(report(&set("20 us")).holds);
    assert!(!report(&set("200 us")).holds);
}

/// With overheads a job may be longer than its deadline, and a scheduler may need the whole core: such a set fails, and the
/// report says why.
#[test]
fn a_job_that_cannot_meet_its_deadline_with_overheads_is_a_verdict() {
    let set = |decision: &str| {
        format!(
            "[component.tight]\nslice = \"1 s\"\nscheduler = \"s\"\n\
             job = {{ cost = \"9 ms\", period = \"50 ms\", deadline = \"10 ms\" }}\n\
             [component.other]\nslice = \"1 s\"\nscheduler = \"s\"\n\
             job = {{ cost = \"1 ms\", period = \"50 ms\" }}\n\
             [scheduler.s]\npolicy = \"edf\"\ndecision = \"{decision}\"\n"
        )
    };
    assert!(report(&set("20 us")).holds);
    for (decision, reason) in [
        ("500 us", "task `tight`: with overheads, a job of "),
        ("30 ms", "use up the processor; lengthen the periods."),
    ] {
        let found = report(&set(decision));
        assert!(!found.holds);
        for row in &found.rows {
            assert_eq!(row.verdict, Verdict::Fails, "{}", row.name);
            assert!(row.note.contains(reason), "{}", row.note);
        }
        assert!(found.text().contains(reason), "{}", found.text());
    }
}

/// Below criticality 1, the display comes first; at that level only the brake counts, with its higher cost.
#[test]
fn levels_are_analysed() {
    let text = r#"
[component.display]
slice = "1 s"
priority = 9
job = { cost = "3 ms", period = "12 ms" }
[component.brake]
slice = "1 s"
priority = 7
criticality = 1
job = { cost = ["4 ms", "8 ms"], period = "40 ms" }
"#;
    let found = report(text);
    let rows: Vec<_> = (found.rows.iter())
        .map(|row| {
            (
                &*row.name,
                row.level,
                row.bound.unwrap().nanos() / 1_000_000,
            )
        })
        .collect();
    // With the change in its middle: 8, and one job of the display.
    assert_eq!(rows, [("display", 0, 3), ("brake", 0, 7), ("brake", 1, 11)]);
}

#[test]
fn reports_have_three_forms() {
    let report = report(&SERVER.replace("{ cost = \"5 ms\" }", "{ cost = \"19 ms\" }"));
    assert!(!report.holds);
    let text = report.text();
    assert!(text.contains("can be missed: high"), "{text}");
    let html = report.html();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(
        !html.contains("http://")
            && !html.contains("https://")
            && html.contains("prefers-color-scheme:dark")
    );
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["holds"], false);
    assert_eq!(json["rows"][0]["deadline"], 20_000_000);
    let hostile = "title = \"<script>&\"\n".to_string() + THREE;
    assert!(!self::report(&hostile).html().contains("<script>"));
}

/// Whatever a description says, the answer is a report or sentences.
#[test]
fn changed_descriptions_are_no_danger() {
    let words = [
        "0 us",
        "1 ns",
        "1 ms",
        "3 s",
        "9 min",
        "31536000 s",
        "1",
        "0",
        "255",
        "5",
        "\"edf\"",
        "true",
        "a",
        "b",
    ];
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut analysed = 0;
    for round in 0..1_500 {
        let text = if round % 2 == 0 { SERVER } else { THREE };
        let mut parts: Vec<_> = text.split_inclusive('"').map(str::to_string).collect();
        for _ in 0..1 + next(3) {
            let place = next(parts.len());
            if parts[place].ends_with("s\"") {
                parts[place] = format!("{}\"", words[next(words.len())]);
            }
        }
        let Some(system) = system(&parts.concat()) else {
            continue;
        };
        analysed += 1;
        match analyse(&system, &figures(["0 us", "10 us", "1 s"][next(3)])) {
            Ok(report) => {
                assert!(report.text().len() + report.html().len() + report.json().len() > 500)
            }
            Err(problems) => assert!(problems.iter().all(|problem| !problem.is_empty())),
        }
    }
    assert!(analysed > 300, "{analysed}");
}
