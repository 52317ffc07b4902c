use std::fs;

use system_analysis::partitions::partitions;
use system_analysis::{Figures, Instructions, Report, analyse};
use system_description::{Source, System, check};

use super::*;
use crate::system::System as Files;

fn figures(workspace: &Workspace, platform: &str) -> Figures {
    Figures::read(&fs::read_to_string(of_platform(workspace, platform)).unwrap()).unwrap()
}

/// The system that a text describes on a platform.
fn described(workspace: &Workspace, text: &str, platform: &str) -> System {
    let source = Source {
        path: "system.toml",
        text,
    };
    let checked = check(source, &Platform::all_for_descriptions(workspace).unwrap());
    assert!(checked.is_good(), "{}", checked.diagnostics[0].line(source));
    let mut systems = checked.systems.into_iter();
    systems.find(|one| one.platform == platform).unwrap()
}

fn report_on(text: &str, platform: &str) -> Report {
    let workspace = Workspace::find().unwrap();
    let system = described(&workspace, text, platform);
    analyse(&system, &figures(&workspace, platform)).unwrap()
}

fn report(text: &str) -> Report {
    report_on(text, "pc99")
}

fn text_of(name: &str) -> String {
    let workspace = Workspace::find().unwrap();
    fs::read_to_string(Files::file(&workspace, &format!("systems/{name}"))).unwrap()
}

#[test]
fn figures_are_those_of_the_reference_results() {
    let workspace = Workspace::find().unwrap();
    for name in measured(&workspace) {
        let written = fs::read_to_string(of_platform(&workspace, &name)).unwrap();
        let [section, switch, call, interrupt, timeout] =
            bench::figures(&workspace, &name).unwrap();
        let names = [section, switch, call, interrupt, timeout].map(|count| count.0);
        assert_eq!(names, ["section", "switch", "call", "interrupt", "timeout"]);
        let counts = Instructions {
            section: section.1,
            switch: switch.1,
            call: call.1,
            interrupt: interrupt.1,
            timeout: timeout.1,
        };
        assert!(
            written == Figures::from_instructions(&name, &counts),
            "write them again: cargo xtask analyse --write-figures"
        );
    }
}

/// The system whose threads get shares of the core and have no deadlines.
const SHARES: &str = "weights";

#[test]
fn the_example_systems_are_in_time() {
    let workspace = Workspace::find().unwrap();
    for name in Files::names(&workspace) {
        let system = Files::load(&workspace, &name).unwrap();
        let platforms = ["pc99", "kzm"].into_iter();
        for platform in platforms.filter(|platform| system.runs_on(platform)) {
            let report = report_on(&text_of(&name), platform);
            assert!(report.holds, "{name} on {platform}\n{}", report.text());
            let promises = report.rows.iter().any(|row| row.deadline.is_some());
            assert_eq!(promises, name != SHARES, "{name}");
        }
    }
}

/// Each system with one value that is too large, and the component to which that value belongs.
const OVERLOADS: &[(&str, &str, &str, &str)] = &[
    (
        "actions",
        "\"2 ms\"\nperiod = \"70 ms\"",
        "\"34 ms\"\nperiod = \"70 ms\"",
        "judge",
    ),
    ("apart", "5 ms", "18.9 ms", "second"),
    ("demo", "45 ms", "49 ms", "client-a"),
    ("edf", "40 ms", "45 ms", "first"),
    ("faults", "\"2 ms\"", "\"17 ms\"", "faulty"),
    ("gedf", "120 ms", "290 ms", "third"),
    (
        "gpio",
        "\"2 ms\"\nperiod = \"50 ms\"",
        "\"42 ms\"\nperiod = \"50 ms\"",
        "button",
    ),
    (
        "idlers",
        "service = \"4 ms\"",
        "service = \"140 ms\"",
        "bus",
    ),
    ("large", "12 ms", "19 ms", "store"),
    (
        "lines",
        "\"5 ms\"\nperiod = \"30",
        "\"20 ms\"\nperiod = \"30",
        "south",
    ),
    ("mcipc", "cost = \"2 ms\"", "cost = \"9 ms\"", "guard"),
    ("modes", "\"4 ms\"", "\"5.4 ms\"", "display"),
    ("modes-edf", "60 ms", "85 ms", "brake"),
    (
        "order",
        "\"5 ms\"\nperiod = \"10 ms\"",
        "\"72 us\"\nperiod = \"100 us\"",
        "prompt",
    ),
    (
        "overruns",
        "extend = \"1 ms\"",
        "extend = \"10.5 ms\"",
        "worker",
    ),
    (
        "partitions",
        "cost = \"2 ms\", period = \"40",
        "cost = \"3.4 ms\", period = \"40",
        "display",
    ),
    ("pieces", "\"100 us\"", "\"2240 us\"", "sampler"),
    (
        "protocol",
        "\"5 ms\"\nperiod = \"20",
        "\"14.5 ms\"\nperiod = \"20",
        "stranger",
    ),
    ("rates", "\"500 us\"", "\"900 us\"", "bus"),
    ("restarts", "\"15 ms\"", "\"38 ms\"", "client"),
    ("rtc", "\"5 ms\"", "\"80.4 ms\"", "watch"),
    (
        "serial",
        "\"4 ms\"\nperiod = \"25 ms\"",
        "\"16 ms\"\nperiod = \"25 ms\"",
        "south",
    ),
    ("shell", "\"3 ms\"", "\"8 ms\"", "shell"),
    (
        "timers",
        "\"5 ms\"\nperiod = \"20 ms\"\npriority = 100",
        "\"9.9 ms\"\nperiod = \"20 ms\"\npriority = 100",
        "judge",
    ),
    ("tolls", "\"5 ms\"", "\"12 ms\"", "saver"),
];

/// The first of the system's values that is `before` becomes `after`.
fn overloaded(name: &str, before: &str, after: &str) -> Report {
    let text = text_of(name);
    assert!(text.contains(before), "{name}: {before}");
    let system = Files::load(&Workspace::find().unwrap(), name).unwrap();
    let mut platforms = ["pc99", "sabre"].into_iter();
    let platform = platforms.find(|name| system.runs_on(name));
    report_on(&text.replacen(before, after, 1), platform.unwrap())
}

#[test]
fn an_overload_of_each_system_is_refused_with_its_culprit() {
    let workspace = Workspace::find().unwrap();
    let names: Vec<_> = OVERLOADS.iter().map(|(name, ..)| *name).collect();
    let mut all = Files::names(&workspace);
    all.retain(|name| name != SHARES);
    assert_eq!(names, all);
    for (name, before, after, culprit) in OVERLOADS {
        let report = overloaded(name, before, after);
        assert!(!report.holds, "{name}\n{}", report.text());
        let named = report.culprit().map(|change| &*change.component);
        assert_eq!(named, Some(*culprit), "{name}\n{}", report.text());
    }
}

#[test]
fn the_guests_of_the_book_have_partitions() {
    let workspace = Workspace::find().unwrap();
    let example = fs::read_to_string(workspace.path("docs/src/analysis/partitions.toml")).unwrap();
    let found = |text: &str| {
        let system = described(&workspace, text, "pc99");
        partitions(&system, &figures(&workspace, "pc99"))
    };
    assert!(found(&example).unwrap().holds());
    let Err(problem) = found(&text_of("demo")) else {
        panic!("the demo has no guests");
    };
    assert_eq!(problem.to_string(), "no component has a guest; add `guest`");
}

/// Each block of a chapter is part of one of the texts; but for those with one of the words in `left_out`.
#[track_caller]
fn shows(page: &str, printed: &[String], left_out: &[&str], least: usize) {
    let blocks: Vec<_> = page.split("\n```").collect();
    // Between two fences, without the line of the first.
    let blocks = blocks
        .iter()
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').unwrap().1);
    let mut count = 0;
    for block in blocks {
        if left_out.iter().any(|word| block.contains(word)) {
            continue;
        }
        let known = printed.iter().any(|text| text.contains(block));
        assert!(known, "the command does not print:\n{block}");
        count += 1;
    }
    assert!(count >= least, "{count}");
}

#[test]
fn the_chapter_of_the_demo_shows_what_the_command_prints() {
    let page = include_str!("../../../docs/src/analysis/demo.md");
    let printed = [
        report(&text_of("demo")).text(),
        overloaded("demo", "45 ms", "49 ms").text(),
        text_of("demo"),
        fs::read_to_string(of_platform(&Workspace::find().unwrap(), "pc99")).unwrap(),
    ];
    shows(page, &printed, &[], 5);
}

/// But for what a run has shown, which depends on the compiler.
#[test]
fn the_chapter_of_the_loop_shows_what_the_command_prints() {
    let page = include_str!("../../../docs/src/promised-and-seen.md");
    let printed = [
        report(&text_of("rates")).text(),
        overloaded("rates", "500 us", "900 us").text(),
        text_of("rates"),
    ];
    shows(page, &printed, &["jobs of", "In the trace"], 5);
}

#[test]
fn a_new_project_is_in_time() {
    let workspace = Workspace::find().unwrap();
    let text = include_str!("../../template/system.toml");
    for platform in measured(&workspace) {
        let report = report_on(text, &platform);
        assert!(report.holds, "{platform}: {}", report.text());
    }
}
