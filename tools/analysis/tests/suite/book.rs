//! The examples of the book: what a page says is what the crate computes.

use schedulability::edf::{self, virtual_deadlines};
use schedulability::fixed::{Interference, amc_rtb, blocking, response_time, thread_response};
use schedulability::guests::{Loss, Slots, SwitchCost, bound_beside, lowest_lag_first, proxy};
use schedulability::model::{
    Call, Context, Core, Overheads, Parameters, Priority, Releases, Replenishment, Server,
    ServerId, Task, Thread, charge,
};
use schedulability::partition::{Fit, exact, pack};
use schedulability::supply::{Processor, Recurring, Supply};
use schedulability::{Time, budget, global, sensitivity, shared};

const fn ms(time: u64) -> Time {
    Time::from_millis(time)
}

const fn us(time: u64) -> Time {
    Time::from_micros(time)
}

fn task(name: &str, cost: u64, period: u64, deadline: u64) -> Task {
    let mut parameters = Parameters::new(name, ms(cost), ms(period));
    parameters.deadline = ms(deadline);
    Task::new(parameters).unwrap()
}

/// A page has these lines, in this order.
fn says(page: &str, lines: &[String]) {
    lines.iter().for_each(|line| println!("{line}"));
    let mut rest = page;
    for line in lines {
        let Some((_, after)) = rest.split_once(&format!("\n{line}\n")) else {
            panic!("the page lacks, here or at all: {line}");
        };
        // The end of this line may begin the next.
        rest = &rest[rest.len() - after.len() - 1..];
    }
}

#[test]
fn fixed_priorities() {
    let three = [
        task("a", 3, 7, 7),
        task("b", 3, 12, 12),
        task("c", 5, 20, 20),
    ];
    let mut lines = Vec::new();
    for (place, task) in three.iter().enumerate() {
        let others: Vec<_> = three[..place].iter().map(Interference::of).collect();
        let found = response_time(task, &others, Time::ZERO, &Processor)
            .unwrap()
            .value;
        let (name, cost, period) = (task.name(), task.cost(), task.period());
        lines.push(format!("| {name} | {cost} | {period} | {} |", found.bound));
    }
    let late = task("late", 62, 100, 118);
    let others = [Interference::of(&task("early", 26, 70, 70))];
    let found = response_time(&late, &others, Time::ZERO, &Processor)
        .unwrap()
        .value;
    let (own, by, arrived) = (found.own, found.interference[0], found.arrived);
    lines.push(format!("    {own} + {by} - {arrived} = {}", found.bound));
    let mut burst = task("burst", 2, 1, 5).parameters().clone();
    burst.bursts = vec![ms(2), ms(20)];
    let burst = Task::new(burst).unwrap();
    let steady = task("steady", 5, 20, 20);
    let alone = response_time(&burst, &[], Time::ZERO, &Processor).unwrap();
    let below = [Interference::of(&burst)];
    let below = response_time(&steady, &below, Time::ZERO, &Processor).unwrap();
    let [alone, below] = [alone, below].map(|found| found.value.bound);
    lines.push(format!("    burst {alone}, steady {below}"));
    says(
        include_str!("../../../../docs/src/analysis/fixed-priorities.md"),
        &lines,
    );
}

#[test]
fn threads_and_servers() {
    let call = |server, count, length| Call {
        server: ServerId(server),
        count,
        length: ms(length),
    };
    let thread = |name, cost, period, priority, calls| {
        let mut thread = Thread::new(task(name, cost, period, period), Priority(priority));
        thread.calls = calls;
        thread
    };
    let server = |name: &str, ceiling| Server {
        name: name.into(),
        ceiling: Priority(ceiling),
        threshold: None,
        calls: Vec::new(),
        aborts: false,
    };
    let threads = vec![
        thread("high", 1, 20, 9, vec![call(0, 1, 1)]),
        thread("middle", 2, 40, 5, vec![call(0, 2, 3)]),
        thread("low", 4, 80, 1, vec![call(0, 1, 5), call(1, 1, 7)]),
    ];
    let servers = vec![server("disk", 9), server("log", 4)];
    let core = Core::new(threads, servers, Time::ZERO).unwrap();
    let mut lines = Vec::new();
    for (place, thread) in core.threads().iter().enumerate() {
        let (name, demand) = (thread.task.name(), core.demand(place));
        let blocked = blocking(&core, place).unwrap().value.time;
        let bound = thread_response(&core, place).unwrap().value.response.bound;
        lines.push(format!("| {name} | {demand} | {blocked} | {bound} |"));
    }
    let mut limited = thread("limited", 8, 80, 9, Vec::new());
    let context = Context::new(ms(3), ms(20), 0, Replenishment::Sporadic).unwrap();
    limited.context = Some(context);
    let core = Core::new(vec![limited], Vec::new(), Time::ZERO).unwrap();
    let found = thread_response(&core, 0).unwrap().value;
    let blackout = found.supply.unwrap().blackout();
    let bound = found.response.bound;
    lines.push(format!("    blackout {blackout}, response time {bound}"));
    says(
        include_str!("../../../../docs/src/analysis/threads.md"),
        &lines,
    );
}

#[test]
fn earliest_deadline_first() {
    let tasks = [task("a", 2, 6, 5), task("b", 2, 8, 6), task("c", 4, 14, 12)];
    let times = edf::response_times(&tasks, &Processor).unwrap().value;
    let mut lines: Vec<_> = (tasks.iter().zip(times))
        .map(|(task, bound)| {
            let (name, cost, period, deadline) =
                (task.name(), task.cost(), task.period(), task.deadline());
            format!("| {name} | {cost} | {period} | {deadline} | {bound} |")
        })
        .collect();
    for window in [5, 6, 11, 12, 14, 17] {
        let window = ms(window);
        lines.push(format!("| {window} | {} |", edf::demand(&tasks, window)));
    }
    let supply = Recurring::sliding(ms(9), ms(10)).unwrap();
    let misfit = edf::first_misfit(&tasks, &[], &supply).unwrap().unwrap();
    let (window, demand, supply) = (misfit.window, misfit.demand, misfit.supply);
    lines.push(format!(
        "    window {window}: demand {demand}, supply {supply}"
    ));
    says(include_str!("../../../../docs/src/analysis/edf.md"), &lines);
}

fn mixed(name: &str, costs: &[u64], period: u64) -> Task {
    let mut parameters = Parameters::new(name, ms(1), ms(period));
    parameters.costs = costs.iter().map(|cost| ms(*cost)).collect();
    parameters.criticality = u8::from(costs.len() > 1);
    Task::new(parameters).unwrap()
}

#[test]
fn mixed_criticality() {
    let tasks = [mixed("display", &[2], 4), mixed("brake", &[2, 6], 8)];
    let found = virtual_deadlines(&tasks).unwrap().value.unwrap();
    let deadline = found.deadlines[1];
    let mut lines = vec![format!(
        "    x = {}, virtual deadline of the brake {deadline}",
        found.factor
    )];
    let tasks = [
        mixed("sensor", &[1, 2], 10),
        mixed("display", &[3], 12),
        mixed("brake", &[4, 8], 40),
    ];
    let threads = tasks.iter().zip([9, 8, 7]);
    let threads = threads.map(|(task, priority)| Thread::new(task.clone(), Priority(priority)));
    let core = Core::new(threads.collect(), Vec::new(), Time::ZERO).unwrap();
    for (place, task) in tasks.iter().enumerate() {
        let found = amc_rtb(&core, place).unwrap().value.unwrap();
        let high = found.high.map_or("-".into(), |time| time.to_string());
        lines.push(format!("| {} | {} | {high} |", task.name(), found.low));
    }
    let drained = shared::mc_ipc(2, 2, ms(1)).unwrap().value;
    lines.push(format!("    (1 + 2 * 2 * 2) * 1 ms = {drained}"));
    says(
        include_str!("../../../../docs/src/analysis/mixed-criticality.md"),
        &lines,
    );
}

#[test]
fn global_edf() {
    let tasks = [
        task("a", 2, 10, 10),
        task("b", 3, 10, 8),
        task("c", 5, 15, 12),
        task("d", 6, 20, 20),
    ];
    let names = [
        "GFB",
        "BAK",
        "BCL",
        "BCL iterative",
        "RTA",
        "load",
        "BAR",
        "FF-DBF",
    ];
    let tight = [
        task("a", 3, 17, 12),
        task("b", 5, 11, 6),
        task("c", 115, 242, 173),
    ];
    let mut lines = Vec::new();
    for (name, test) in names.into_iter().zip(global::TESTS) {
        let shown = [&tasks[..], &tight].map(|tasks| test(tasks, 2).unwrap().value.holds());
        let [first, second] = shown.map(|shown| if shown { "yes" } else { "unknown" });
        lines.push(format!("| {name} | {first} | {second} |"));
    }
    let full = [task("a", 2, 3, 3), task("b", 2, 3, 3), task("c", 2, 3, 3)];
    let late = global::tardiness(&full, 2).unwrap().value[0];
    lines.push(format!("    tardiness {late}"));
    says(
        include_str!("../../../../docs/src/analysis/global-edf.md"),
        &lines,
    );
}

#[test]
fn choices() {
    let holds = |tasks: &[Task], supply: &dyn Supply| {
        Ok(edf::schedulable(tasks, &[], supply)?.value.holds())
    };
    let tasks = [6, 5, 3, 2, 4].map(|cost| task("task", cost, 10, 10));
    let accepts = |_, places: &[usize]| {
        let chosen: Vec<_> = places.iter().map(|place| tasks[*place].clone()).collect();
        holds(&chosen, &Processor)
    };
    let shown =
        |found: Option<Vec<usize>>| found.map_or("none".into(), |cores| format!("{cores:?}"));
    let mut lines = Vec::new();
    for (name, fit) in [
        ("first", Fit::First),
        ("best", Fit::Best),
        ("worst", Fit::Worst),
    ] {
        let found = pack(&tasks, 2, fit, accepts).unwrap().value;
        lines.push(format!("| {name} fit | {} |", shown(found)));
    }
    lines.push(format!(
        "| exact | {} |",
        shown(exact(&tasks, 2, |_| true, accepts).unwrap().value)
    ));
    let two = [task("a", 2, 20, 20), task("b", 3, 30, 30)];
    for period in [1, 2, 5, 10] {
        let period = ms(period);
        let found = budget::smallest_budget(period, |supply| holds(&two, supply)).unwrap();
        lines.push(format!("| {period} | {} |", found.value.unwrap()));
    }
    let largest = sensitivity::largest_cost(&two, 0, |tasks| holds(tasks, &Processor));
    let scale = sensitivity::largest_scale(&two, |tasks| holds(tasks, &Processor)).unwrap();
    lines.push(format!(
        "    a: up to {}; all: {} parts per million",
        largest.unwrap().value.unwrap(),
        scale.value
    ));
    says(
        include_str!("../../../../docs/src/analysis/choices.md"),
        &lines,
    );
}

#[test]
pub fn overheads() {
    let tasks = [task("a", 1, 10, 10), task("b", 3, 20, 20)];
    let overheads = |releases| Overheads {
        tick_period: ms(1),
        tick: us(5),
        release: us(2),
        release_latency: us(1),
        schedule: us(3),
        context_switch: us(4),
        remote_reschedule: us(6),
        releases,
    };
    let mut lines = Vec::new();
    for (by, releases) in [
        ("a handler", Releases::Handler),
        ("a thread", Releases::Thread),
    ] {
        let charged = charge(&tasks, &[us(10), us(20)], &overheads(releases), 1);
        lines.extend(charged.unwrap().value.iter().map(|task| {
            let (name, cost, period) = (task.name(), task.cost(), task.period());
            format!("| {by} | {name} | {cost} | {period} |")
        }));
    }
    says(
        include_str!("../../../../docs/src/analysis/overheads.md"),
        &lines,
    );
}

#[test]
fn guests() {
    let tasks = [
        task("a", 2, 20, 20),
        task("b", 4, 40, 40),
        task("c", 5, 50, 50),
    ];
    let mut lines = Vec::new();
    for (name, slots) in [
        ("fixed slots", Slots::Fixed),
        ("sliding budgets", Slots::Sliding),
    ] {
        let found = proxy(&tasks, slots).unwrap().value.unwrap();
        let blackout = found.supply().unwrap().blackout();
        lines.push(format!(
            "| {name} | {} | {} | {:.3} | {blackout} |",
            found.budget, found.period, found.price
        ));
    }
    lines.push(format!("    at most {:.4}", bound_beside(0.5, 3)));
    let cost = SwitchCost {
        progress: 0.131,
        recovery: us(210),
    };
    for (name, loss) in [
        ("flood", Loss::Flood),
        ("linear", Loss::Linear),
        ("exponential", Loss::Exponential),
    ] {
        let lost = [1_000_000, 500_000, 333_333, 200_000]
            .map(|slice| format!("{:.1} %", cost.lost(loss, Time::from_nanos(slice)) * 100.0));
        lines.push(format!("| {name} | {} |", lost.join(" | ")));
    }
    for micros in [200, 500, 1_000, 2_000, 5_000, 10_000] {
        let run = |loss| {
            let slices = 1_200_000 / micros as u32;
            let found = lowest_lag_first(&[3, 2, 1], us(micros), slices, &cost, loss);
            found.unwrap().value
        };
        let all = [Loss::Flood, Loss::Linear, Loss::Exponential].map(run);
        let lost = all
            .each_ref()
            .map(|found| format!("{:.1} %", found.lost * 100.0));
        let (slice, wait) = (us(micros), all[0].longest_wait);
        lines.push(format!("| {slice} | {} | {wait} |", lost.join(" | ")));
    }
    says(
        include_str!("../../../../docs/src/analysis/guests.md"),
        &lines,
    );
}
