//! Time tables against exhaustive searches and against a replay in steps of one nanosecond.

use std::collections::HashSet;

use schedulability::generate::Generator;
use schedulability::model::{Parameters, Task};
use schedulability::tables::{
    Limits, LocalTable, TimeTable, Turn, check, check_super_schedule, enclose, in_turns, synthesise,
};
use schedulability::{Error, Time};

use super::random::between;
use super::simulator::{hyperperiod, ns};

const ANY: usize = 1_000;

fn limits(lost: i128) -> Limits {
    Limits {
        grid: ns(1),
        lost: ns(lost),
        turns: ANY,
    }
}

/// A task whose jobs are released and due within their periods.
fn task(name: &str, offset: i128, cost: i128, deadline: i128, period: i128) -> Task {
    let mut parameters = Parameters::new(name, ns(cost), ns(period));
    parameters.offset = ns(offset);
    parameters.deadline = ns(deadline);
    Task::new(parameters).unwrap()
}

fn set(random: &mut Generator) -> Vec<Task> {
    let count = between(random, 1, 4);
    let one = |place| {
        let period = [4, 6, 8, 12][random.below(4) as usize];
        let deadline = between(random, 1, period);
        let offset = between(random, 0, period - deadline);
        let cost = between(random, 1, deadline.min(1 + period / count));
        task(&format!("t{place}"), offset, cost, deadline, period)
    };
    (0..count).map(one).collect()
}

/// The jobs of a frame: task, release, deadline, cost.
fn jobs(tasks: &[Task], frame: i128) -> Vec<(usize, i128, i128, i128)> {
    let mut jobs = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let mut begin = 0;
        while begin < frame {
            let release = begin + task.parameters().offset.nanos();
            let due = release + task.deadline().nanos();
            jobs.push((place, release, due, task.cost().nanos()));
            begin += task.period().nanos();
        }
    }
    jobs
}

/// Tries everything: each step is any task's or no task's, and the first steps of a turn are lost.
struct Exhaustive {
    jobs: Vec<(usize, i128, i128, i128)>,
    lost: i128,
    frame: i128,
    dead: HashSet<(i128, Vec<i128>, Option<usize>, i128)>,
}

impl Exhaustive {
    fn finds(tasks: &[Task], lost: i128) -> bool {
        let frame = hyperperiod(tasks);
        let jobs = jobs(tasks, frame);
        let left = jobs.iter().map(|job| job.3).collect();
        let dead = HashSet::new();
        let mut search = Self {
            jobs,
            lost,
            frame,
            dead,
        };
        search.from(0, left, None, 0)
    }

    fn from(&mut self, now: i128, left: Vec<i128>, last: Option<usize>, switch: i128) -> bool {
        let is_late =
            |(job, left): (&(usize, i128, i128, i128), &i128)| now + left > job.2.max(now);
        if self.jobs.iter().zip(&left).any(is_late) {
            return false;
        }
        if now == self.frame {
            return true;
        }
        let last = last.filter(|_| self.lost > 0);
        let key = (now, left.clone(), last, switch);
        if self.dead.contains(&key) {
            return false;
        }
        for job in 0..self.jobs.len() {
            let (task, release, due, _) = self.jobs[job];
            if left[job] == 0 || release > now || due <= now {
                continue;
            }
            let switch = if last == Some(task) {
                switch
            } else {
                self.lost
            };
            let mut after = left.clone();
            if switch == 0 {
                after[job] -= 1;
            }
            if self.from(now + 1, after, Some(task), (switch - 1).max(0)) {
                return true;
            }
        }
        if self.from(now + 1, left, None, 0) {
            return true;
        }
        self.dead.insert(key);
        false
    }
}

/// Whether all jobs get their costs in time, step by step.
fn replay(tasks: &[Task], table: &TimeTable, lost: i128) -> bool {
    let mut steps = Vec::new();
    let mut before = None;
    for turn in &table.turns {
        let lost = if turn.owner == before { 0 } else { lost };
        for step in 0..turn.length.nanos() {
            steps.push(turn.owner.filter(|_| step >= lost));
        }
        before = turn.owner;
    }
    let frame = steps.len() as i128;
    if frame == 0 || frame % hyperperiod(tasks) != 0 {
        return false;
    }
    jobs(tasks, frame)
        .into_iter()
        .all(|(task, release, due, cost)| {
            let own = (release..due).filter(|at| steps[(at % frame) as usize] == Some(task));
            own.count() as i128 >= cost
        })
}

/// Without the time of switches, a table is found exactly when there is one.
#[test]
fn tables_are_found_whenever_there_are_any() {
    let mut random = Generator::new(71);
    let (mut found, mut impossible) = (0, 0);
    for _ in 0..400 {
        let tasks = set(&mut random);
        let exists = Exhaustive::finds(&tasks, 0);
        match synthesise(&tasks, &limits(0)) {
            Ok(table) => {
                assert!(exists && replay(&tasks, &table.value, 0), "{tasks:?}");
                check(&tasks, &table.value, Time::ZERO).unwrap();
                found += 1;
            }
            Err(error) => {
                assert!(!exists, "{error}: {tasks:?}");
                impossible += 1;
            }
        }
    }
    assert!(found > 80 && impossible > 80, "{found} {impossible}");
}

/// With it, what is found holds, what is called impossible is so, and little is missed.
#[test]
fn tables_hold_with_the_time_of_switches() {
    let mut random = Generator::new(72);
    let (mut found, mut missed) = (0, 0);
    for _ in 0..400 {
        let tasks = set(&mut random);
        match synthesise(&tasks, &limits(1)) {
            Ok(table) => {
                assert!(replay(&tasks, &table.value, 1), "{tasks:?} {table:?}");
                check(&tasks, &table.value, ns(1)).unwrap();
                found += 1;
            }
            Err(Error::NotApplicable { .. }) => missed += u32::from(Exhaustive::finds(&tasks, 1)),
            Err(error) => assert!(!Exhaustive::finds(&tasks, 1), "{error} {tasks:?}"),
        }
    }
    assert!(found > 60 && missed * 20 <= found, "{found} {missed}");
}

/// The check agrees with the replay about tables that were changed at random.
#[test]
fn the_check_is_a_replay() {
    let mut random = Generator::new(73);
    let (mut good, mut bad) = (0, 0);
    while good < 300 || bad < 300 {
        let tasks = set(&mut random);
        let lost = between(&mut random, 0, 1);
        let Ok(table) = synthesise(&tasks, &limits(lost)) else {
            continue;
        };
        let mut turns = table.value.turns;
        let [one, other] = [(); 2].map(|()| random.below(turns.len() as u64) as usize);
        match random.below(4) {
            0 => turns.swap(one, other),
            1 => turns[one].owner = turns[other].owner,
            2 if turns[one].length > ns(1) => {
                turns[one].length -= ns(1);
                turns[other].length += ns(1);
            }
            _ => turns.extend(turns.clone()),
        }
        let table = TimeTable { turns };
        let holds = replay(&tasks, &table, lost);
        let checked = check(&tasks, &table, ns(lost));
        assert_eq!(checked.is_ok(), holds, "{checked:?} {tasks:?} {table:?}");
        good += u32::from(holds);
        bad += u32::from(!holds);
    }
}

/// Jobs go on where deadlines allow it: EDF would need six turns.
#[test]
fn tables_have_few_turns() {
    let tasks = [task("short", 0, 1, 4, 4), task("long", 0, 6, 12, 12)];
    let table = synthesise(&tasks, &limits(0)).unwrap().value;
    let turns: Vec<_> = table.turns.iter().map(|turn| turn.owner).collect();
    assert_eq!(turns, [Some(0), Some(1), Some(0), None]);
}

#[test]
fn tables_that_cannot_be_are_refused_with_a_sentence() {
    let refused = |tasks: &[Task], limits: Limits, text: &str| {
        let error = synthesise(tasks, &limits).unwrap_err().to_string();
        assert!(error.contains(text) && !error.contains('\n'), "{error}");
    };
    refused(&[], limits(0), "there are no tasks");
    let full = [task("a", 0, 3, 4, 4), task("b", 0, 3, 8, 8)];
    refused(&full, limits(0), "more than the processor");
    let tight = [task("a", 0, 2, 2, 8), task("b", 0, 2, 3, 8)];
    refused(
        &tight,
        limits(0),
        "job of task `b` that is released at 0 ns done by 3 ns",
    );
    let prime = [
        task("a", 0, 1, 9, 999_999_937),
        task("b", 0, 1, 9, 999_999_893),
    ];
    refused(&prime, limits(0), "no common multiple");
    let many = [task("a", 0, 1, 9, 10), task("b", 0, 1, 9, 1_000_000)];
    refused(&many, limits(0), "has 100001 jobs, above 1024");
    let late = [task("a", 3, 1, 9, 10)];
    refused(&late, limits(0), "due 12 ns after the start");
    let few = Limits {
        turns: 3,
        ..limits(0)
    };
    refused(
        &[task("a", 0, 1, 2, 4), task("b", 0, 1, 8, 8)],
        few,
        "5 turns were needed",
    );
    let coarse = Limits {
        grid: ns(3),
        ..limits(0)
    };
    refused(
        &[task("a", 0, 1, 8, 8)],
        coarse,
        "no multiple of the grid of 3 ns",
    );
    let none = Limits {
        grid: Time::ZERO,
        ..limits(0)
    };
    refused(&[task("a", 0, 1, 8, 8)], none, "the grid must be positive");
    let close = [task("a", 0, 4, 8, 8), task("b", 0, 4, 8, 8)];
    refused(&close, limits(1), "if switches take nothing");
    let mut late = Parameters::new("late", ns(1), ns(8));
    late.jitter = ns(1);
    refused(&[Task::new(late).unwrap()], limits(0), "jitter");
}

#[test]
fn checks_name_what_is_wrong() {
    let tasks = [task("a", 0, 2, 4, 4)];
    let of = |turns: &[(Option<usize>, i128)]| TimeTable {
        turns: (turns.iter())
            .map(|(owner, length)| Turn {
                owner: *owner,
                length: Time::from_nanos(1) * *length,
            })
            .collect(),
    };
    let wrong = |turns: &[(Option<usize>, i128)], lost, text: &str| {
        let error = check(&tasks, &of(turns), ns(lost)).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    check(&tasks, &of(&[(Some(0), 2), (None, 2)]), ns(0)).unwrap();
    wrong(&[], 0, "no turns");
    wrong(&[(Some(0), 4), (None, 0)], 0, "turn 1 has a length of 0 ns");
    wrong(
        &[(Some(0), 5), (None, -1)],
        0,
        "turn 1 has a length of -1 ns",
    );
    wrong(&[(Some(1), 4)], 0, "for number 1, and there are 1");
    wrong(&[(Some(0), 5)], 0, "no multiple");
    wrong(
        &[(Some(0), 2), (None, 2)],
        1,
        "gets 1 ns of 2 ns up to 4 ns",
    );
}

fn local(name: &str, period: i128, windows: &[(i128, i128)]) -> LocalTable {
    let windows = windows
        .iter()
        .map(|(begin, length)| (ns(*begin), ns(*length)));
    LocalTable {
        name: name.into(),
        period: ns(period),
        windows: windows.collect(),
    }
}

fn guests(random: &mut Generator) -> Vec<LocalTable> {
    let count = between(random, 1, 3);
    let one = |place| {
        let period = [4, 6, 8, 12][random.below(4) as usize];
        let mut windows = Vec::new();
        let mut at = between(random, 0, period - 1);
        for _ in 0..between(random, 1, 2) {
            let length = between(random, 1, 2);
            if at + length <= period {
                windows.push((at, length));
            }
            at += length + between(random, 0, 3);
        }
        if windows.is_empty() {
            windows.push((0, 1));
        }
        local(&format!("g{place}"), period, &windows)
    };
    (0..count).map(one).collect()
}

/// Whether some phases let no windows overlap, step by step.
fn some_phases(guests: &[LocalTable]) -> bool {
    fn place(guests: &[LocalTable], taken: &[bool]) -> bool {
        let Some((guest, rest)) = guests.split_first() else {
            return true;
        };
        let frame = taken.len();
        let period = guest.period.nanos() as usize;
        (0..period).any(|phase| {
            let mut now = taken.to_vec();
            for turn in 0..frame / period {
                for (begin, length) in &guest.windows {
                    for step in 0..length.nanos() as usize {
                        let at = phase + turn * period + begin.nanos() as usize + step;
                        if std::mem::replace(&mut now[at % frame], true) {
                            return false;
                        }
                    }
                }
            }
            place(rest, &now)
        })
    }
    place(guests, &[false; 24])
}

#[test]
fn super_schedules_are_found_whenever_there_are_any() {
    let mut random = Generator::new(74);
    let (mut found, mut impossible) = (0, 0);
    for _ in 0..600 {
        let guests = guests(&mut random);
        let exists = some_phases(&guests);
        match enclose(&guests, ANY) {
            Ok(schedule) => {
                assert!(exists, "{guests:?}");
                check_super_schedule(&guests, &schedule.value).unwrap();
                found += 1;
            }
            Err(error) => {
                assert!(!exists, "{error} {guests:?}");
                impossible += 1;
            }
        }
    }
    assert!(found > 80 && impossible > 80, "{found} {impossible}");
}

#[test]
fn super_schedules_that_are_wrong_are_noticed() {
    let guests = [local("a", 8, &[(0, 2), (4, 1)]), local("b", 8, &[(0, 3)])];
    let good = enclose(&guests, ANY).unwrap().value;
    check_super_schedule(&guests, &good).unwrap();
    let mut moved = good.clone();
    moved.phases[1] += ns(1);
    let error = check_super_schedule(&guests, &moved)
        .unwrap_err()
        .to_string();
    assert!(error.contains("window of guest `b`"), "{error}");
    let mut short = good.clone();
    short.phases.pop();
    check_super_schedule(&guests, &short).unwrap_err();
    let mut longer = good;
    longer.table.add(None, ns(1));
    let error = check_super_schedule(&guests, &longer)
        .unwrap_err()
        .to_string();
    assert!(error.contains("no multiple"), "{error}");
}

#[test]
fn super_schedules_that_cannot_be_are_refused_with_a_sentence() {
    let refused = |guests: &[LocalTable], turns, text: &str| {
        let error = enclose(guests, turns).unwrap_err().to_string();
        assert!(error.contains(text) && !error.contains('\n'), "{error}");
    };
    refused(&[], ANY, "no guests");
    refused(&[local("a", 8, &[])], ANY, "no windows");
    refused(&[local("a", 8, &[(7, 2)])], ANY, "a window of 2 ns at 7 ns");
    refused(
        &[local("a", 8, &[(2, 2), (3, 1)])],
        ANY,
        "after one up to 4 ns",
    );
    refused(&[local("a", 0, &[(0, 1)])], ANY, "a period of 0 ns");
    let full = [local("a", 8, &[(0, 5)]), local("b", 8, &[(0, 4)])];
    refused(&full, ANY, "more than the processor");
    let odd = [local("a", 7, &[(0, 1)]), local("b", 9, &[(0, 1)])];
    refused(
        &odd,
        ANY,
        "of 1 ns of guest `a` overlap at all phases, because 1 ns",
    );
    let huge = [
        local("a", 2 * 999_999_937, &[(0, 1)]),
        local("b", 2 * 999_999_893, &[(0, 1)]),
    ];
    refused(&huge, ANY, "no common multiple");
    let many = [local("a", 2, &[(0, 1)]), local("b", 2_000_000, &[(0, 1)])];
    refused(&many, ANY, "turns were needed");
    let meeting = [local("a", 4, &[(0, 2)]), local("b", 8, &[(0, 1), (2, 1)])];
    refused(&meeting, ANY, "no phases");
    // A billion phases, none of which is free.
    let endless = [
        local("a", 4, &[(0, 2)]),
        local("b", 4_000_000_000, &[(0, 1), (2, 1)]),
    ];
    refused(&endless, ANY, "in 1000000 steps");
}

/// The longest response times in turns, step by step, over ten frames.
fn ticked(tasks: &[Task], phase: i128, turns: &[(i128, bool)], lost: i128) -> Vec<i128> {
    let mut there = Vec::new();
    let mut before = false;
    for (length, own) in turns {
        let lost = if before { 0 } else { lost };
        there.extend((0..*length).map(|step| *own && step >= lost));
        before = *own;
    }
    let frame = there.len() as i128;
    let mut longest = vec![0; tasks.len()];
    let mut open: Vec<(i128, usize, i128, i128)> = Vec::new();
    for now in 0..frame * 12 {
        for (place, task) in tasks.iter().enumerate() {
            let since = now - phase - task.parameters().offset.nanos();
            if since >= 0 && since % task.period().nanos() == 0 && now < frame * 10 {
                let due = now + task.deadline().nanos();
                open.push((due, place, now, task.cost().nanos()));
            }
        }
        if there[(now % frame) as usize]
            && let Some(first) = (0..open.len()).min_by_key(|job| open[*job])
        {
            open[first].3 -= 1;
            if open[first].3 == 0 {
                let (_, task, release, _) = open.swap_remove(first);
                longest[task] = longest[task].max(now + 1 - release);
            }
        }
    }
    longest
}

#[test]
fn response_times_in_turns_are_those_of_a_replay() {
    let mut random = Generator::new(75);
    let (mut compared, mut overloads) = (0, 0);
    while compared < 400 || overloads < 50 {
        let mut tasks = set(&mut random);
        tasks.truncate(2);
        let mut turns: Vec<(i128, bool)> = Vec::new();
        let mut left = 24;
        while left > 0 {
            let length = between(&mut random, 1, 8).min(left);
            turns.push((length, random.below(2) == 0));
            left -= length;
        }
        let (lost, phase) = (between(&mut random, 0, 1), between(&mut random, 0, 30));
        let given: Vec<_> = turns
            .iter()
            .map(|(length, own)| (ns(*length), *own))
            .collect();
        match in_turns(&tasks, ns(phase), &given, ns(lost)) {
            Ok(found) => {
                let bounds: Vec<_> = found.value.iter().map(|time| time.nanos()).collect();
                assert_eq!(
                    bounds,
                    ticked(&tasks, phase, &turns, lost),
                    "{tasks:?} {turns:?}"
                );
                compared += 1;
            }
            Err(Error::Overload { .. }) => overloads += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A table that is found for several guests gives each what it needs in its own turns.
#[test]
fn synthesised_tables_are_good_turns() {
    let mut random = Generator::new(76);
    let mut compared = 0;
    while compared < 200 {
        let tasks = set(&mut random);
        let Ok(table) = synthesise(&tasks, &limits(1)) else {
            continue;
        };
        for (place, task) in tasks.iter().enumerate() {
            let turns = table.value.turns.iter();
            let turns: Vec<_> = turns
                .map(|turn| (turn.length, turn.owner == Some(place)))
                .collect();
            let found = in_turns(std::slice::from_ref(task), Time::ZERO, &turns, ns(1));
            assert!(found.unwrap().value[0] <= task.deadline(), "{tasks:?}");
            assert!(table.value.supply(place, ns(1)).is_ok());
            compared += 1;
        }
    }
}

#[test]
fn turns_that_cannot_be_are_refused_with_a_sentence() {
    let one = [task("a", 0, 2, 4, 4)];
    let refused = |phase, turns: &[(i128, bool)], text: &str| {
        let turns: Vec<_> = turns
            .iter()
            .map(|(length, own)| (ns(*length), *own))
            .collect();
        let error = in_turns(&one, ns(phase), &turns, ns(0))
            .unwrap_err()
            .to_string();
        assert!(error.contains(text) && !error.contains('\n'), "{error}");
    };
    refused(0, &[], "a frame of 0 ns");
    refused(
        0,
        &[(5, true)],
        "no multiple of the period of 4 ns of task `a`",
    );
    refused(
        0,
        &[(1, true), (3, false)],
        "needs 50.0001 % of the processor and 25.0000 %",
    );
    refused(0, &[(4_000_000, true)], "1000000 jobs in a frame");
    let late = in_turns(&one, ns(1), &[(ns(2), true), (ns(2), false)], ns(0));
    assert_eq!(late.unwrap().value, [ns(4)]);
}
