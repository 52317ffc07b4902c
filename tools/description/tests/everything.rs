//! What a description turns into.

mod common;

use system_description::file::{Argument, GuestPolicy, Policy, Replenishment, Rights, Typed};
use system_description::system::{Context, FaultAction, System, Time, TimeoutAction};
use system_description::{Duration, Outline, Size, Source, check, outline};

const SOURCE: Source = Source {
    path: "everything.toml",
    text: include_str!("everything.toml"),
};

fn systems() -> Vec<System> {
    let checked = check(SOURCE, &common::boards());
    let lines: Vec<_> = checked
        .diagnostics
        .iter()
        .map(|one| one.line(SOURCE).to_string())
        .collect();
    assert_eq!(lines, [""; 0]);
    checked.systems
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn names_are_resolved() {
    let system = &systems()[0];
    let names: Vec<_> = system.components.iter().map(|one| &*one.name).collect();
    assert_eq!(
        names,
        [
            "sensors",
            "control",
            "display-0",
            "display-1",
            "doctor",
            "planner",
            "guest"
        ]
    );
    assert_eq!(
        system.programs,
        [
            "pump-control",
            "pump-display",
            "pump-doctor",
            "pump-guest",
            "pump-planner",
            "pump-sensors"
        ]
    );
    let control = &system.components[1];
    let calls: Vec<_> = control
        .calls
        .iter()
        .map(|call| {
            (
                &*call.name,
                system.endpoint_name(call.to),
                call.badge,
                call.grant,
                call.times,
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("sensors", "sensors.values".to_string(), 7, false, 2),
            ("setup", "sensors.settings".to_string(), 1, true, 1),
        ]
    );
    assert_eq!(
        system[control.maps[0].region].size,
        Size::from_bytes(8 << 10)
    );
    assert_eq!(control.maps[0].rights, Rights::Read);
    let bits: Vec<_> = control
        .waits
        .iter()
        .map(|id| (&*system[*id].name, system[*id].bit))
        .collect();
    assert_eq!(bits, [("tick", 0), ("stop", 1)]);
    assert_eq!(
        (&*control.interrupts[0].name, control.interrupts[0].bit),
        ("clock", 2)
    );
    let sensors = &system.components[0];
    assert_eq!(
        (&*sensors.devices[0].name, &*sensors.devices[0].device),
        ("bus", "serial")
    );
    assert_eq!(sensors.interrupts[0].name, "bus-interrupt");
    assert_eq!(sensors.interrupts[0].interrupt.line, 5);
}

#[test]
fn time_is_that_of_the_kernel() {
    let system = &systems()[0];
    let [sensors, control, display, _, doctor, ..] = &*system.components else {
        panic!()
    };
    let time = |budget, period, replenishment, extra_refills, idling| Context {
        budget,
        period,
        replenishment,
        extra_refills,
        idling,
    };
    let startup = time(ms(1), ms(20), Replenishment::Sporadic, 0, false);
    assert_eq!(sensors.time, Time::Passive(startup));
    let own = time(ms(2), ms(10), Replenishment::Sporadic, 6, false);
    assert_eq!(control.time, Time::Context(own));
    let idle = time(ms(1), ms(40), Replenishment::ConstantBandwidth, 8, true);
    assert_eq!(display.time, Time::Context(idle));
    assert_eq!(doctor.time, Time::Slice(ms(5)));
    assert_eq!(
        (control.priority, control.max_controlled_priority),
        (Some(120), 120)
    );
    assert_eq!(
        (control.criticality, control.max_controlled_criticality),
        (1, 1)
    );
    let job = control.job.as_ref().unwrap();
    assert_eq!(job.costs, [ms(1), Duration::from_micros(1_600)]);
    assert_eq!((job.period, job.deadline), (Some(ms(10)), Some(ms(8))));
    assert_eq!(system.domains, ["control", "comfort"]);
    assert_eq!(display.domain.0, 1);
    // 2 of 10 and the extension, twice 1 of 40 and its emergency time, the guest's 1 of 40, and the supervisor.
    let shares: Vec<_> = system
        .contexts(0)
        .iter()
        .map(|(_, _, context)| context.share())
        .collect();
    assert_eq!(shares.iter().sum::<u64>(), 337_000_000);
    let supervisor = system.supervisor.unwrap();
    assert_eq!(
        (supervisor.time.budget, supervisor.priority),
        (Duration::from_micros(500), 255)
    );
}

#[test]
fn handlers_are_resolved() {
    let system = &systems()[0];
    let [sensors, control, first, second, ..] = &*system.components else {
        panic!()
    };
    assert_eq!(sensors.on_fault, FaultAction::Restart);
    assert_eq!(sensors.restarts, Some((5, ms(10_000))));
    assert_eq!(
        control.on_timeout,
        TimeoutAction::Extend(Duration::from_micros(500))
    );
    let badge = |action| match action {
        FaultAction::Handler(handler) => {
            assert_eq!(system.endpoint_name(handler.endpoint), "doctor.faults");
            handler.badge
        }
        _ => panic!("{action:?}"),
    };
    assert_eq!([badge(first.on_fault), badge(second.on_fault)], [1, 2]);
    assert!(matches!(first.on_timeout, TimeoutAction::Emergency(_)));
    let arguments = [
        ("target".to_string(), Argument::Number(42)),
        ("verbose".to_string(), Argument::Flag(false)),
        ("name".to_string(), Argument::Text("pump".to_string())),
    ];
    assert_eq!(control.arguments, arguments);
}

#[test]
fn a_variant_is_laid_over_the_description() {
    let [large, small] = &*systems() else {
        panic!()
    };
    let budget = |system: &System| system.components[1].time.budget();
    assert_eq!([budget(large), budget(small)], [Some(ms(2)), Some(ms(3))]);
    assert_eq!([&*large.platform, &*small.platform], ["large", "small"]);
}

#[test]
fn an_error_of_a_variant_names_its_platform() {
    let text = "[component.a]\nslice = \"1 ms\"\n[platform.small]\ncomponent.a.core = 1\n";
    let source = Source { path: "s", text };
    let found: Vec<_> = check(source, &common::boards()).diagnostics;
    let lines: Vec<_> = found
        .iter()
        .map(|one| one.line(source).to_string())
        .collect();
    assert_eq!(
        lines,
        ["s:4:20: error: on small: there is no core 1; the only core is 0"]
    );
}

#[test]
fn components_may_be_for_some_platforms() {
    let text = "[component.a]\nslice = \"1 ms\"\n[component.b]\nslice = \"1 ms\"\nplatforms = [\"small\"]\n";
    let systems = check(Source { path: "s", text }, &common::boards()).systems;
    let counts: Vec<_> = systems
        .iter()
        .map(|system| system.components.len())
        .collect();
    assert_eq!(counts, [1, 2]);
}

#[test]
fn a_build_needs_only_the_outline() {
    let text = r#"
        root = "r"
        programs = ["z", "a"]
        platforms = ["large"]
        test.fails-after = ["bang"]
        test.prints = ["hello"]
        test.types = [{ after = "> ", line = "go" }]
        component.x.program = "m"
        component.y.core = [0, 2]
        platform.large.component.x.program = "n"
        platform.large.scheduler.s = { policy = "edf", cores = [1, 3], decision = "1 us" }
    "#;
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        outline(Source { path: "s", text }),
        Ok(Outline {
            root: Some("r".to_string()),
            programs: names(&["a", "m", "n", "z"]),
            platforms: Some(names(&["large"])),
            cores: 3,
            cores_on: [("large".to_string(), 4)].into(),
            has_domains: false,
            fails_after: names(&["bang"]),
            prints: names(&["hello"]),
            types: vec![Typed {
                after: "> ".to_string(),
                line: "go".to_string(),
            }],
        })
    );
    let wrong = outline(Source {
        path: "s",
        text: "rot = 'r'",
    })
    .unwrap_err();
    assert_eq!(wrong[0].help, "did you mean `root`?");
}

#[test]
fn each_platform_has_its_own_cores() {
    let text = r#"
        supervisor.core = 1
        component.x = { program = "x", core = 2 }
        component.y = { program = "y", core = 4, platforms = ["large", "huge"] }
        platform.huge.component.x.core = 5
        platform.small = { supervisor.core = 0, component.x.core = 0 }
    "#;
    let outline = outline(Source { path: "s", text }).unwrap();
    assert_eq!(outline.cores, 3);
    let cores = ["huge", "large", "small"].map(|name| outline.cores_on[name]);
    assert_eq!(cores, [6, 5, 1]);
    let text = "component.x.program = \"x\"\nsupervisor.core = 1";
    let outline = system_description::outline(Source { path: "s", text }).unwrap();
    assert_eq!(outline.cores, 2);
}

#[test]
fn what_an_analysis_needs_is_resolved() {
    let system = &systems()[0];
    let [.., planner, guest] = &*system.components else {
        panic!()
    };
    let scheduler = &system[planner.scheduler.unwrap()];
    assert_eq!((&*scheduler.name, scheduler.policy), ("plans", Policy::Edf));
    assert_eq!(scheduler.decision, Duration::from_micros(20));
    let guest = guest.guest.as_ref().unwrap();
    assert_eq!((guest.policy, guest.phase), (GuestPolicy::TimeTable, ms(5)));
    let task = &guest.tasks[0];
    assert_eq!(
        (
            &*task.name,
            task.cost,
            task.period,
            task.deadline,
            task.offset
        ),
        ("logging", ms(1), ms(400), ms(300), ms(50))
    );
    let rate = &system.interrupts[0];
    assert_eq!((&*rate.name, rate.gap, rate.core), ("serial", ms(2), 0));
    let control = &system.components[1];
    // The caller's own cost, and the default, which is the endpoint's: none.
    let costs: Vec<_> = control.calls.iter().map(|call| call.cost).collect();
    assert_eq!(costs, [Some(Duration::from_micros(150)), None]);
    let doctor = &system.components[4];
    assert_eq!(system[doctor.serves[0]].service, Some(ms(1)));
    let watched: Vec<_> = doctor.watches.iter().map(|&id| &*system[id].name).collect();
    assert_eq!((watched, doctor.ends_run), (vec!["control"], true));
    assert!(doctor.asks_supervisor && !control.asks_supervisor);
    assert!(doctor.floating_point && !control.floating_point);
}
