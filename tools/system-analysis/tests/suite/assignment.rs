//! Cores, priorities and budgets: what is proposed holds when it is written into the description.

use std::collections::BTreeMap;

use schedulability::Time;
use system_analysis::assignment::{Assignment, Outcome, assign};
use system_analysis::{Figures, Verdict, analyse};
use system_description::system::Time as Given;
use system_description::{Device, Duration, System};

use crate::common::{applied, board_with, figures, system};

fn found(text: &str, each: &str, cores: u32) -> Assignment {
    let system = system(text).expect("the description is good");
    assign(&system, &figures(each), Some(cores)).unwrap()
}

/// The lines of an assignment, after a check that the description with them is in time.
#[track_caller]
fn lines(text: &str, each: &str, cores: u32) -> Vec<String> {
    let found = found(text, each, cores);
    assert!(found.holds(), "{}", found.text());
    let lines = found.lines();
    let written = applied(text, &lines.join("\n"));
    let again = system(&written).unwrap_or_else(|| panic!("this is no description:\n{written}"));
    let report = analyse(&again, &figures(each)).unwrap();
    assert!(report.holds, "{written}\n{}", report.text());
    lines
}

/// Jobs of the given shares of 10 ms, in tenths.
fn jobs(shares: &[u32]) -> String {
    let one = |(place, share): (usize, &u32)| {
        format!(
            "[component.t{place}]\nslice = \"1 s\"\n\
             job = {{ cost = \"{share} ms\", period = \"10 ms\" }}\n"
        )
    };
    shares.iter().enumerate().map(one).collect()
}

/// The lines that assign cores.
fn of_cores(mut lines: Vec<String>) -> Vec<String> {
    lines.retain(|line| line.contains(".core"));
    lines
}

/// A board with a serial port.
fn serial() -> BTreeMap<String, Device> {
    BTreeMap::from([("serial".to_string(), Device::default())])
}

fn packings(found: &Assignment) -> Vec<(&'static str, usize, Outcome)> {
    let tried = found.tried.iter();
    tried
        .map(|one| (one.packing.name(), one.cores, one.outcome))
        .collect()
}

/// 0.6, 0.5, 0.3, 0.2 and 0.4 on two cores: 0.5 + 0.3 + 0.2 and 0.6 + 0.4, which worst fit does not find.
#[test]
fn tasks_are_assigned_to_cores() {
    use Outcome::{InTime, NotInTime};
    let text = jobs(&[6, 5, 3, 2, 4]);
    // More cores than two are not tried.
    let found = found(&text, "0 us", 4);
    let expected = [
        ("as described", 1, NotInTime),
        ("worst fit", 1, NotInTime),
        ("worst fit", 2, NotInTime),
        ("first fit", 2, InTime),
        ("best fit", 2, InTime),
    ];
    assert_eq!(packings(&found), expected);
    let cores = of_cores(lines(&text, "0 us", 2));
    let expected = [1, 2, 3].map(|place| format!("component.t{place}.core = 1"));
    assert_eq!(cores, expected);
    let text = found.text();
    assert!(
        text.contains("On 2 cores: in time: first fit, best fit; not in time: worst fit."),
        "{text}"
    );
}

/// 5 + 3 + 2 and 4 + 2 + 2 + 2 tenths, which no fit finds.
#[test]
fn an_exhaustive_search_comes_last() {
    let found = found(&jobs(&[5, 4, 3, 2, 2, 2, 2]), "0 us", 2);
    let last = packings(&found)
        .into_iter()
        .rfind(|one| one.1 == 2)
        .unwrap();
    assert_eq!(last.2, Outcome::InTime);
    // Thirteen jobs where twelve fit.
    let hopeless = self::found(&jobs(&[3; 13]), "0 us", 4);
    let outcome = packings(&hopeless)
        .into_iter()
        .rfind(|one| one.0 == "exact")
        .unwrap()
        .2;
    assert_eq!(outcome, Outcome::GivenUp);
    assert!(hopeless.text().contains("given up: exact"));
    // More components than an exhaustive search takes.
    let many = self::found(&jobs(&[9; 21]), "0 us", 2);
    assert!(!many.holds());
}

/// Three jobs just fit, and their budgets do not: each is longer by what a replenishment loses.
#[test]
fn a_proposal_passes_the_check_of_descriptions() {
    let one = |name: &str| {
        format!(
            "[component.{name}]\nslice = \"1 s\"\njob = {{ cost = \"3.31 ms\", period = \"10 ms\" }}\n"
        )
    };
    let text = one("a") + &one("b") + &one("c");
    assert!(
        analyse(&system(&text).unwrap(), &figures("10 us"))
            .unwrap()
            .holds
    );
    assert!(!found(&text, "10 us", 1).holds());
    lines(&text, "10 us", 2);
}

/// A core whose interrupts take time is not like an empty one.
#[test]
fn interrupts_make_a_core_different() {
    let text = "interrupt.tick.gap = \"100 us\"\n".to_string()
        + &jobs(&[9, 5]).replacen("9 ms", "9.5 ms", 1);
    // An interrupt takes a tenth of core 0.
    let system = system(&text).unwrap();
    let figures = Figures {
        interrupt: Duration::from_micros(10),
        ..figures("0 us")
    };
    let found = assign(&system, &figures, Some(2)).unwrap();
    assert!(found.holds(), "{}", found.text());
    let moved = of_cores(found.lines());
    assert_eq!(moved, ["component.t0.core = 1"]);
}

#[test]
fn what_does_not_fit_is_not_assigned() {
    let found = found(&jobs(&[6, 6, 6]), "0 us", 2);
    assert!(!found.holds() && found.lines().is_empty());
    let text = found.text();
    assert!(text.contains("No assignment was found"), "{text}");
    assert!(text.contains("the analysis as described"), "{text}");
    // With the kernel's costs, two halves do not fit on a core.
    assert!(self::found(&jobs(&[5, 5]), "0 us", 1).holds());
    assert!(!self::found(&jobs(&[5, 5]), "10 us", 1).holds());
    assert!(self::found(&jobs(&[5, 5]), "10 us", 2).holds());
}

/// Each kernel entry waits for each other core that is used, also while a core is looked at alone; and not for more.
#[test]
fn other_cores_count() {
    let with = |text: &str, each: u64, cores: u32| {
        let figures = Figures {
            other_core: Duration::from_micros(each),
            ..figures("0 us")
        };
        assign(&system(text).unwrap(), &figures, Some(cores)).unwrap()
    };
    // A job has two entries, and is delayed by a section: three waits for three cores in the millisecond that is left.
    let text = jobs(&[9, 9, 9, 9]);
    assert!(with(&text, 100, 4).holds());
    assert!(!with(&text, 120, 4).holds());
    // First fit would put 5 and 5 on a core if waits did not count there; with them, they need a core each.
    let text = jobs(&[5, 5, 9]);
    let found = with(&text, 50, 3);
    let fit = found
        .tried
        .iter()
        .find(|one| one.outcome == Outcome::InTime)
        .unwrap();
    assert_eq!(fit.cores, 3, "{}", found.text());
    assert!(with(&jobs(&[9, 9]), 120, 4).holds());
}

/// A driver on core 0 makes a second core of one that waits for it, and not a third one.
#[test]
fn what_stays_counts_once() {
    let driver = "[component.driver]\nslice = \"1 s\"\ndevices = [\"serial\"]\n\
                  job = { cost = \"1 ms\", period = \"10 ms\" }\n";
    let text = driver.to_string() + &jobs(&[9, 5]);
    let figures = Figures {
        other_core: Duration::from_micros(200),
        ..figures("0 us")
    };
    let found = assign(&board_with(&text, serial()).unwrap(), &figures, Some(2)).unwrap();
    assert!(found.holds(), "{}", found.text());
    let moved = of_cores(found.lines());
    assert_eq!(moved, ["component.t0.core = 1"]);
}

/// A client and a passive server, and work that leaves no room beside the client.
#[test]
fn a_passive_server_stays_with_its_callers() {
    let text = r#"
[component.client]
slice = "1 s"
priority = 10
job = { cost = "1 ms", period = "10 ms" }
calls = ["server"]
[component.server]
passive = true
priority = 20
serves.requests = { cost = "1 ms" }
[component.busy]
slice = "1 s"
priority = 30
job = { cost = "9 ms", period = "10 ms" }
"#;
    let lines = lines(text, "0 us", 2);
    assert!(!lines.is_empty());
    let core = |name: &str| lines.contains(&format!("component.{name}.core = 1"));
    assert_eq!(core("client"), core("server"));
    assert_ne!(core("client"), core("busy"));
}

/// A driver stays on the core of its interrupts.
#[test]
fn drivers_stay() {
    // The second one, of the same size: without the device, it would be the one that moves.
    let text = jobs(&[9, 9]);
    let (first, second) = text.split_at(text.find("[component.t1]").unwrap());
    let text = first.to_string() + &second.replacen("job =", "devices = [\"serial\"]\njob =", 1);
    let one = board_with(&text, serial()).expect("the description is good");
    let found = assign(&one, &figures("0 us"), Some(2)).unwrap();
    let moved = of_cores(found.lines());
    assert_eq!(moved, ["component.t0.core = 1"]);
}

/// Lehoczky's example (RTSS 1990): with deadlines beyond periods, the shorter deadline first is not the best.
#[test]
fn priorities_are_found_where_deadline_monotonic_ones_fail() {
    let text = r#"
[component.a]
slice = "1 s"
job = { cost = "52 ms", period = "100 ms", deadline = "110 ms" }
[component.b]
slice = "1 s"
job = { cost = "52 ms", period = "140 ms", deadline = "154 ms" }
"#;
    assert!(
        !analyse(&system(text).unwrap(), &figures("0 us"))
            .unwrap()
            .holds
    );
    let found = found(text, "0 us", 1);
    assert!(found.holds(), "{}", found.text());
    let system = found.system.as_ref().unwrap();
    assert!(system.components[0].priority < system.components[1].priority);
    // Priorities that the description gives stay.
    let given = text.replace("slice = \"1 s\"", "slice = \"1 s\"\npriority = 9");
    assert!(!self::found(&given, "0 us", 1).holds());
}

/// A job without a budget gets the smallest with which it is in time.
#[test]
fn budgets_are_the_smallest() {
    let text = "[component.a]\nslice = \"1 s\"\njob = { cost = \"3 ms\", period = \"20 ms\", deadline = \"6 ms\" }\n";
    for each in ["0 us", "10 us"] {
        let found = found(text, each, 1);
        let system = found.system.as_ref().unwrap();
        let Given::Context(context) = system.components[0].time else {
            panic!("there is no budget");
        };
        let mut smaller = system.clone();
        let with = system_description::system::Context {
            budget: Duration::from_micros(context.budget.as_micros() - 1),
            ..context
        };
        smaller.components[0].time = Given::Context(with);
        let report = analyse(&smaller, &figures(each)).unwrap();
        assert_eq!(report.rows[0].verdict, Verdict::Fails, "{}", report.text());
        let bound = found.report.rows[0].bound.unwrap();
        assert!(bound <= Time::from_millis(6), "{bound}");
        lines(text, each, 1);
    }
}

#[test]
fn what_is_in_time_stays_as_it_is() {
    let text = jobs(&[5, 4]).replace(
        "slice = \"1 s\"",
        "budget = \"5 ms\"\nperiod = \"10 ms\"\npriority = 7",
    );
    let found = found(&text, "0 us", 1);
    assert!(found.holds());
    assert_eq!(found.lines(), Vec::<String>::new());
    assert!(
        found.text().contains("All deadlines hold as described."),
        "{}",
        found.text()
    );
}

#[test]
fn forms_say_the_same() {
    let found = found(&jobs(&[6, 5, 3, 2, 4]), "0 us", 2);
    let json: serde_json::Value = serde_json::from_str(&found.json()).unwrap();
    assert_eq!(json["holds"], true);
    assert_eq!(json["lines"].as_array().unwrap().len(), found.lines().len());
    assert_eq!(json["tried"][1]["packing"], "worst fit");
    assert_eq!(json["tried"][3]["outcome"], "in-time");
    assert_eq!(json["components"][1]["core"], 1);
    let page = found.html();
    for line in found.lines() {
        let escaped = line.replace('"', "&quot;");
        assert!(page.contains(&escaped), "{line}");
    }
    assert!(page.ends_with("</body></html>\n"));
}

#[test]
fn what_is_not_for_this_command_is_refused() {
    let refused = |text: &str| {
        let system = system(text).expect("the description is good");
        assign(&system, &figures("0 us"), None)
            .err()
            .unwrap()
            .join("\n")
    };
    let domains = "schedule = [{ domain = \"a\", duration = \"1 ms\" }, { domain = \"b\", duration = \"1 ms\" }]\n\
                   [component.a]\nslice = \"1 s\"\ndomain = \"a\"\n[component.b]\nslice = \"1 s\"\ndomain = \"b\"\n";
    assert!(refused(domains).contains("`cargo xtask analyse guests`"));
    let scheduler = "[scheduler.s]\npolicy = \"edf\"\ndecision = \"1 us\"\n[component.a]\nscheduler = \"s\"\nslice = \"1 s\"\n\
                     job = { cost = \"1 ms\", period = \"10 ms\" }\n";
    assert!(refused(scheduler).contains("user-level scheduler"));
    let handled = "[component.handler]\nslice = \"1 s\"\nserves = [\"faults\"]\n".to_string()
        + &jobs(&[5]).replace("job =", "on-fault.handler = \"handler\"\njob =");
    assert!(refused(&handled).contains("give all components priorities"));
    let instances = jobs(&[5]).replace("slice =", "instances = 2\nslice =");
    assert!(refused(&instances).contains("instances of a component"));
    let text = jobs(&[5]).replace("job =", "core = 2\ndevices = [\"serial\"]\njob =");
    let error = assign(
        &board_with(&text, serial()).unwrap(),
        &figures("0 us"),
        Some(2),
    );
    let error = error.err().unwrap().join("\n");
    assert!(
        error.contains("stays on core 2") && error.contains("`--cores 3`"),
        "{error}"
    );
    // Fewer cores than the description uses are not what it describes.
    let two = jobs(&[5, 5]).replacen("job =", "core = 1\njob =", 1);
    assert_eq!(lines(&two, "0 us", 1)[0], "component.t0.core = 0");
}

/// The page of the book shows the description, and the beginning of what the command prints.
#[test]
fn the_page_shows_what_the_command_prints() {
    let page = include_str!("../../../../docs/src/analysis/choices.md");
    let text = include_str!("../../../../docs/src/analysis/assign.toml");
    let figures = Figures::read(include_str!("../../../../benches/overheads/pc99.toml")).unwrap();
    let system = System {
        platform: "pc99".into(),
        ..system(text).unwrap()
    };
    let printed = assign(&system, &figures, Some(2)).unwrap().text();
    assert!(page.contains(&format!("```toml\n{text}```\n")));
    let (_, shown) = page.split_once("```text\nFive jobs").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert!(
        printed.starts_with(&format!("Five jobs{shown}")),
        "{printed}"
    );
}
