//! Partitions for guests: what is proposed holds when it is written into the description.

use schedulability::Time;
use system_analysis::partitions::{Partitions, partitions};
use system_analysis::{Configured, Figures, InForce, Observed, Report, Shown, Verdict, analyse};

use crate::common::{applied, figures, system};

fn found(text: &str, each: &str) -> Partitions {
    let system = system(text).expect("the description is good");
    partitions(&system, &figures(each)).unwrap()
}

fn report(text: &str, each: &str) -> Report {
    let system = system(text).unwrap_or_else(|| panic!("this is no description:\n{text}"));
    analyse(&system, &figures(each)).unwrap()
}

/// The part of the text between two headings.
fn part<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("\nas {heading}\n")).unwrap();
    rest.split_once("\n\n").unwrap().0
}

const PLANE: &str = r#"
[component.control]
slice = "1 s"
[component.control.guest]
policy = "time-table"
task.sample = { cost = "1 ms", period = "10 ms", deadline = "3 ms" }
task.move = { cost = "2 ms", period = "10 ms", offset = "5 ms", deadline = "4 ms" }
[component.display]
budget = "1 ms"
period = "20 ms"
[component.display.guest]
policy = "rate-monotonic"
task.fast = { cost = "2 ms", period = "40 ms" }
task.slow = { cost = "6 ms", period = "70 ms" }
[component.logger]
slice = "1 s"
job = { cost = "3 ms", period = "100 ms" }
"#;

#[test]
fn a_schedule_holds_when_it_is_written_down() {
    for each in ["0 us", "10 us"] {
        let found = found(PLANE, each);
        let text = found.text();
        assert!(found.holds(), "{text}");
        let written = applied(PLANE, part(&text, "a schedule of domains"));
        let report = report(&written, each);
        assert!(report.holds, "{written}\n{}", report.text());
        let promised = report
            .rows
            .iter()
            .filter(|row| row.verdict == Verdict::Holds);
        assert_eq!(promised.count(), 5, "{}", report.text());
    }
}

/// By hand, on a kernel that costs nothing: six and twice two must come within 70 for the display. Three slots have ended
/// after (20 - C) + 2 * 20 + C = 60, the fourth only after 80. So three slots have 10.
#[test]
fn a_schedule_is_the_one_made_by_hand() {
    let found = found(PLANE, "0 us");
    let schedule = found.schedule.as_ref().unwrap();
    let turns: Vec<_> = (schedule.system.schedule.iter())
        .map(|turn| {
            let name = schedule.system[turn.domain].as_str();
            (name, turn.duration.as_micros())
        })
        .collect();
    assert_eq!(
        turns,
        [
            ("control", 1_000),
            ("display", 3_334),
            ("rest", 666),
            ("control", 2_000),
            ("rest", 3_000),
            ("control", 1_000),
            ("rest", 4_000),
            ("control", 2_000),
            ("rest", 3_000),
        ]
    );
    let needs = &found.needs[1];
    let [fixed, sliding] = needs.proxies.map(Option::unwrap);
    assert_eq!(
        (fixed.period, sliding.period),
        (Time::from_millis(40), Time::from_millis(10))
    );
    assert_eq!(needs.used, 135_715);
    assert!(needs.interfaces.iter().all(Option::is_some));
    assert_eq!(found.needs[0].interfaces, [None; 2]);
}

#[test]
fn forms_say_the_same() {
    let found = found(PLANE, "0 us");
    let (text, page) = (found.text(), found.html());
    let json: serde_json::Value = serde_json::from_str(&found.json()).unwrap();
    assert_eq!(json["schedule"]["turns"][1]["duration"], 3_334_000);
    assert_eq!(json["guests"][1]["smallest"]["fixed"]["period"], 10_000_000);
    let lines = json["schedule"]["lines"].as_array().unwrap();
    let lines: Vec<_> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!(lines.join("\n"), part(&text, "a schedule of domains"));
    for line in lines {
        assert!(page.contains(&line.replace('"', "&quot;")), "{line}");
    }
    // There are no contexts for a guest with a time table; both say why.
    let why = json["contexts"]["why"].as_str().unwrap();
    assert!(
        text.contains(why) && page.contains("has a time table"),
        "{why}"
    );
    assert!(page.matches("<rect").count() == 9 && page.ends_with("</body></html>\n"));
    assert!(!page.contains("http://") && !page.contains("https://"));
}

/// The supervisor of systems that are built runs beside the components without guests, and takes no guest's turn.
#[test]
fn a_proposal_says_where_the_supervisor_is() {
    let built = PLANE
        .replace("slice =", "program = \"p\"\npriority = 5\nslice =")
        .replace("budget =", "program = \"q\"\npriority = 6\nbudget =");
    let text = found(&built, "0 us").text();
    let written = applied(&built, part(&text, "a schedule of domains"));
    let again = system(&written).unwrap();
    let supervisor = again.supervisor.unwrap();
    assert_eq!(again[supervisor.domain], "rest");
    assert_eq!(again[again.schedule[0].domain], "control");
    let report = report(&written, "0 us");
    assert!(report.holds, "{written}\n{}", report.text());
}

/// A wrong phase, and a turn that is too short, are noticed.
#[test]
fn schedules_that_are_wrong_are_refused() {
    let text = found(PLANE, "0 us").text();
    let good = applied(PLANE, part(&text, "a schedule of domains"));
    let late = good.replace("phase = \"0 ns\"", "phase = \"1 ms\"");
    assert_ne!(late, good);
    assert!(!report(&late, "0 us").holds);
    let short = good.replace("3.334 ms", "3.333 ms");
    let longer = short.replace("666 us", "667 us");
    assert_ne!(short, good);
    assert_ne!(longer, short);
    let report = report(&longer, "0 us");
    let late: Vec<_> = (report.rows.iter())
        .filter(|row| row.verdict == Verdict::Fails)
        .map(|row| &*row.name)
        .collect();
    assert_eq!(late, ["display/slow"], "{}", report.text());
}

const TWO: &str = r#"
[component.radio]
slice = "1 s"
priority = 20
[component.radio.guest]
policy = "edf"
task.receive = { cost = "1 ms", period = "10 ms" }
task.send = { cost = "2 ms", period = "25 ms" }
[component.display]
slice = "1 s"
priority = 10
[component.display.guest]
policy = "rate-monotonic"
task.fast = { cost = "2 ms", period = "40 ms" }
task.slow = { cost = "6 ms", period = "80 ms" }
[component.logger]
slice = "1 s"
priority = 1
"#;

/// Contexts suffice when they are written down, and none of their budgets can be less.
#[test]
fn contexts_are_the_smallest_that_hold() {
    for each in ["0 us", "5 us"] {
        let found = found(TWO, each);
        let text = found.text();
        let proposed = part(&text, "contexts");
        let written = applied(TWO, proposed);
        let good = report(&written, each);
        assert!(good.holds, "{written}\n{}", good.text());
        for name in ["radio", "display"] {
            let contexts = &found.contexts.as_ref().unwrap().system;
            let one = contexts
                .components
                .iter()
                .find(|one| one.name == name)
                .unwrap();
            let budget = one.time.budget().unwrap();
            let less = budget.as_micros() - 1;
            let line = format!("component.{name}.budget = \"{budget}\"");
            assert!(proposed.contains(&line), "{proposed}");
            let proposed =
                proposed.replace(&line, &format!("component.{name}.budget = \"{less} us\""));
            let written = applied(TWO, &proposed);
            assert!(!report(&written, each).holds, "{written}");
        }
    }
}

#[test]
fn partitions_that_cannot_be_are_refused_with_a_sentence() {
    let plain = system("[component.a]\nslice = \"1 s\"\n").unwrap();
    let error = partitions(&plain, &figures("0 us")).err().unwrap();
    assert_eq!(error, "no component has a guest; add `guest`");
    let why = |text: &str| {
        let found = found(text, "0 us");
        let [schedule, contexts] = [found.schedule.err(), found.contexts.err()];
        let text = [schedule, contexts].map(Option::unwrap_or_default);
        assert!(text.iter().all(|text| !text.contains('\n')), "{text:?}");
        text
    };
    let [_, contexts] = why(PLANE);
    assert!(
        contexts.contains("guest `control` has a time table"),
        "{contexts}"
    );
    let guest = |name: &str, cost: &str, period: &str| {
        format!(
            "[component.{name}]\nslice = \"1 s\"\n[component.{name}.guest]\npolicy = \"edf\"\n\
             task.t = {{ cost = \"{cost}\", period = \"{period}\" }}\n"
        )
    };
    let many: String = ('a'..='q')
        .map(|name| guest(&name.to_string(), "100 us", "10 ms"))
        .collect();
    assert!(why(&many)[0].starts_with("there are 17 guests, and the kernel has 16 domains"));
    let much = guest("a", "6 ms", "10 ms") + &guest("b", "6 ms", "10 ms");
    let [schedule, contexts] = why(&much);
    assert!(schedule.contains("more than the processor"), "{schedule}");
    assert!(contexts.starts_with("no budget of guest `"), "{contexts}");
    let odd = guest("a", "1 ms", "7 ms") + &guest("b", "1 ms", "9 ms");
    assert!(why(&odd)[0].contains("overlap at all phases"));
    let prime = guest("a", "1 us", "999999937 us") + &guest("b", "1 us", "999999893 us");
    assert!(!why(&prime)[0].is_empty());
}

/// The example of the book, with the kernel's costs on pc99: the page shows what the command prints.
#[test]
fn the_page_about_partitions_shows_what_is_found() {
    let page = include_str!("../../../../docs/src/analysis/partitions.md");
    let text = include_str!("../../../../docs/src/analysis/partitions.toml");
    let figures = Figures::read(include_str!("../../../../benches/overheads/pc99.toml")).unwrap();
    let mut system = system(text).unwrap();
    system.platform = "pc99".into();
    let found = partitions(&system, &figures).unwrap();
    assert!(found.holds() && page.contains(text));
    let printed = found.text();
    assert!(
        page.contains(printed.trim_end()),
        "the command prints:\n{printed}"
    );
}

/// Guests and schedulers in a domain have its turns only.
#[test]
fn turns_count_for_guests_and_schedulers() {
    let text = r#"
schedule = [{ domain = "x", duration = "6 ms" }, { domain = "y", duration = "4 ms" }]
[component.a]
slice = "1 s"
domain = "x"
[component.a.guest]
policy = "rate-monotonic"
task.t = { cost = "7 ms", period = "50 ms" }
[component.b]
slice = "1 s"
domain = "y"
scheduler = "s"
job = { cost = "5 ms", period = "50 ms" }
[scheduler.s]
policy = "edf"
decision = "0 us"
"#;
    let report = report(text, "0 us");
    let bound = |name: &str| {
        let row = report.rows.iter().rfind(|row| row.name == name);
        row.unwrap().bound
    };
    assert_eq!(bound("a/t"), Some(Time::from_millis(4 + 6 + 4 + 1)));
    assert_eq!(bound("b"), Some(Time::from_millis(6 + 4 + 6 + 1)));
    let several = text.replace("\"edf\"\ndecision", "\"edf-vd\"\ndecision");
    let system = system(&several).unwrap();
    let problems = analyse(&system, &figures("0 us")).unwrap_err().join("\n");
    assert!(
        problems.contains("there are turns of domains"),
        "{problems}"
    );
}

#[test]
fn guests_with_time_tables_need_turns_of_their_own() {
    let note = |text: &str| {
        let report = report(text, "0 us");
        assert!(!report.holds);
        report
            .rows
            .iter()
            .map(|row| row.note.clone())
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(note(PLANE).contains("there is no schedule of domains"));
    let schedule = "schedule = [{ domain = \"x\", duration = \"10 ms\" }]\n";
    let with =
        |time: &str| format!("{schedule}{PLANE}").replace(time, &format!("domain = \"x\"\n{time}"));
    let shared =
        with("slice = \"1 s\"").replace("budget = \"1 ms\"", "domain = \"x\"\nbudget = \"1 ms\"");
    assert!(note(&shared).contains("runs in its domain, too"));
    let budget = shared.replacen(
        "slice = \"1 s\"",
        "budget = \"1 ms\"\nperiod = \"10 ms\"",
        1,
    );
    assert!(note(&budget).contains("give it a slice"));
}

/// Other threads take time from the components of a scheduler, which only plain EDF on one core takes into account.
#[test]
fn schedulers_that_are_analysed_on_whole_cores_have_them() {
    let text = |policy: &str, priority: u8, core: u32| {
        format!(
            r#"
[component.driver]
budget = "2 ms"
period = "10 ms"
priority = {priority}
core = {core}
job = {{ cost = "2 ms", period = "10 ms" }}
[component.a]
slice = "1 s"
priority = 50
scheduler = "s"
job = {{ cost = "9 ms", period = "10 ms" }}
[scheduler.s]
policy = "{policy}"
decision = "0 us"
"#
        )
    };
    let problems = |policy: &str, priority, core| {
        let system = system(&text(policy, priority, core)).unwrap();
        analyse(&system, &figures("0 us"))
            .err()
            .map(|all| all.join("\n"))
    };
    for priority in [100, 50] {
        let found = problems("edf-vd", priority, 0).unwrap();
        assert!(
            found.contains("`driver` can run before its components"),
            "{found}"
        );
    }
    assert_eq!(problems("edf-vd", 49, 0), None);
    // Plain EDF on one core knows what is left: 8 of 10 ms.
    assert_eq!(problems("edf", 100, 0), None);
    let report = report(&text("edf", 100, 0), "0 us");
    assert!(!report.holds);
}

/// What a run has shown stands beside the bounds, and a response above its bound is an error.
#[test]
fn observed_responses_are_compared_with_the_bounds() {
    let text = r#"
[component.a]
budget = "2 ms"
period = "10 ms"
priority = 50
job = { cost = "1 ms", period = "10 ms" }
[component.b]
budget = "2 ms"
period = "10 ms"
priority = 40
"#;
    let observed = |name: &str, longest: u64| Observed {
        shown: Shown::Jobs,
        name: name.into(),
        count: 7,
        longest: Time::from_nanos(longest),
    };
    let mut found = report(text, "0 us");
    let bound = found.rows[0].bound.unwrap().nanos() as u64;
    assert!(found.holds);
    // A component without a job has no response to compare, and one that is not described is left out.
    let whole = &InForce::WHOLE;
    let all = [
        observed("a", bound),
        observed("b", 1 << 40),
        observed("c", 1),
    ];
    found.observe(&all, whole);
    assert!(found.holds, "the bound is reached, which is allowed");
    assert!(
        found.text().contains("7 jobs took at most"),
        "{}",
        found.text()
    );
    assert!(found.json().contains("\"longest\""));
    found.observe(&[observed("a", bound + 1)], whole);
    assert!(!found.holds);
    assert!(found.text().contains("ABOVE THE BOUND"), "{}", found.text());
    assert!(found.html().contains("ABOVE THE BOUND"));
}

/// At level 1 nothing is before the brake. A run at level 0 is compared with the bound of that.
#[test]
fn a_budget_of_several_levels_has_the_bound_of_the_lowest() {
    let text = r#"
[component.brake]
budget = "20 ms"
period = "50 ms"
priority = 100
criticality = 1
[component.display]
budget = "4 ms"
period = "10 ms"
priority = 120
"#;
    let mut found = report(text, "0 us");
    let rows = found.rows.iter().filter(|row| row.name == "brake");
    let bounds: Vec<_> = rows.map(|row| row.bound.unwrap()).collect();
    assert!(bounds.len() == 2 && bounds[0] > bounds[1], "{bounds:?}");
    let observed = |longest: Time| Observed {
        name: "brake".into(),
        shown: Shown::Budgets,
        count: 3,
        longest,
    };
    let whole = &InForce::WHOLE;
    found.observe(&[observed(bounds[0]), observed(bounds[1])], whole);
    assert!(found.holds, "{}", found.text());
    let text = found.text();
    assert!(text.contains("6 whole budgets took at most"), "{text}");
    found.observe(&[observed(bounds[0] + Time::from_nanos(1))], whole);
    assert!(!found.holds);
}

/// A bound speaks of the budgets of the description, which a program may change.
#[test]
fn a_run_is_compared_while_the_budgets_of_the_description_are_in_force() {
    let text = r#"
[component.a]
budget = "2 ms"
period = "10 ms"
priority = 50
[component.b]
budget = "3 ms"
period = "20 ms"
priority = 40
[component.c]
slice = "5 ms"
priority = 30
"#;
    let system = system(text).unwrap();
    let ms = Time::from_millis;
    let at = |time, component: &str, context, budget, period| Configured {
        component: component.into(),
        context,
        time: ms(time),
        budget,
        period: ms(period),
    };
    let part = |configured: &[Configured]| InForce::of(&system, configured);
    assert_eq!(part(&[]), InForce::WHOLE);
    // Ticks are no whole microseconds, a slice may change, and a context in reserve has another budget.
    let a = at(1, "a", 1, ms(2) - Time::from_nanos(999), 10);
    let (b, b_again) = (at(2, "b", 2, ms(3), 20), at(70, "b", 2, ms(3), 20));
    let usual = [
        a.clone(),
        b.clone(),
        at(3, "c", 3, ms(5), 0),
        at(4, "a", 4, ms(1), 10),
        at(60, "c", 3, ms(9), 10),
        at(60, "a", 4, ms(9), 10),
        at(60, "other", 5, ms(1), 10),
        b_again.clone(),
    ];
    assert_eq!(part(&usual), InForce::WHOLE);
    for changed in [
        at(50, "a", 1, ms(2) + Time::from_micros(1), 10),
        at(50, "a", 1, ms(2), 11),
        at(50, "a", 1, ms(5), 0),
    ] {
        let back = at(80, "a", 1, ms(2), 10);
        let found = part(&[a.clone(), b.clone(), changed, b_again.clone(), back]);
        assert_eq!(found.to_string(), "the trace until 50 ms");
        assert!(found.contains(ms(40), ms(10)));
        assert!(!found.contains(ms(41), ms(10)) && !found.contains(ms(90), ms(1)));
    }
    // It begins with another budget.
    let provisional = at(1, "b", 2, ms(1), 20);
    let found = part(&[provisional, a, b, at(9, "a", 1, ms(1), 10)]);
    assert_eq!(found.to_string(), "the trace from 2 ms until 9 ms");
    assert!(found.contains(ms(2), ms(7)) && !found.contains(ms(1), ms(3)));
    let mut report = report(text, "0 us");
    let late = Observed {
        name: "a".into(),
        shown: Shown::Budgets,
        count: 7,
        longest: ms(1),
    };
    report.observe(&[late], &found);
    let words = report.text();
    assert!(words.contains("In the trace from 2 ms until 9 ms, 7 whole budgets took at most 1 ms"));
    assert!(words.contains("The run is compared in the trace from 2 ms until 9 ms"));
}

/// A scheduler's own program is no such thread, as its decisions are charged; a passive server and the supervisor are.
#[test]
fn a_scheduler_may_run_before_its_components_and_others_may_not() {
    let text = |more: &str| {
        format!(
            r#"
{more}
[component.scheduler]
program = "p"
slice = "5 ms"
priority = 255
serves = ["events"]
[component.a]
program = "p"
slice = "1 s"
priority = 50
scheduler = "s"
job = {{ cost = "5 ms", period = "10 ms" }}
on-fault.handler = "scheduler"
on-timeout.handler = "scheduler"
[scheduler.s]
policy = "edf-vd"
decision = "0 us"
"#
        )
    };
    let problems = |more: &str| {
        let system = system(&text(more)).unwrap_or_else(|| panic!("no description: {more}"));
        analyse(&system, &figures("0 us"))
            .err()
            .map(|all| all.join("\n"))
    };
    let elsewhere = "supervisor = { core = 1 }";
    assert_eq!(problems(elsewhere), None);
    let supervisor = problems("").unwrap();
    assert!(
        supervisor.contains("the supervisor can run before"),
        "{supervisor}"
    );
    let server = format!(
        "{elsewhere}\n[component.server]\nprogram = \"p\"\npassive = true\npriority = 200\nserves = [\"requests\"]\n\
         [component.low]\nprogram = \"p\"\nslice = \"1 s\"\npriority = 1\ncalls = [\"server\"]"
    );
    let server = problems(&server).unwrap();
    assert!(server.contains("`server` can run before"), "{server}");
}
