//! The root task of a simulated system: it makes what the description asks for, and starts the components.

use abi::SlotRegion;
use abi::endpoint_flags::{DONATION_REQUIRED, LIMIT, TELL_BUDGET};
use system_description::file::{Argument, Replenishment};
use system_description::system::{
    self, Component, Context, FaultAction, Handler, System, Time, TimeoutAction,
};
use userlib::Microseconds;
use userlib::cap::{Capability, Endpoint, Notification, Reply, SchedParameters};
use userlib::startup::{CLOCK, NOTIFICATION, RecordKind, Startup};

use super::supervisor::{Member, Reports, Supervisor};
use super::{Arrivals, Behaviour};
use crate::Setup;

/// The supervisor's time if the system has a root task of its own.
const SUPERVISOR: SchedParameters = SchedParameters::new(Microseconds(1_000), Microseconds(20_000));

/// What the components share.
struct Objects {
    system: System,
    endpoints: Vec<Endpoint>,
    replies: Vec<Reply>,
    /// For each component.
    notifications: Vec<Notification>,
    /// The addresses of shared memory.
    regions: Vec<usize>,
}

/// Sets the system up: those of its components that do something, and its supervisor.
pub(super) fn build(
    setup: &mut Setup,
    system: System,
    behaviours: &[Option<Behaviour>],
    mut arrivals: Vec<(usize, String, Arrivals)>,
    reports: Reports,
) {
    let region = |region: &system::Region| {
        let words = region.size.as_bytes() as usize / size_of::<usize>();
        // The startup page has its address as a number.
        vec![0_usize; words].leak().as_ptr() as usize
    };
    let objects = Objects {
        endpoints: (system.endpoints.iter())
            .map(|one| endpoint(setup, one))
            .collect(),
        replies: system.endpoints.iter().map(|_| setup.create()).collect(),
        notifications: system.components.iter().map(|_| setup.create()).collect(),
        regions: system.regions.iter().map(region).collect(),
        system,
    };
    let faults: Endpoint = setup.create();
    let mut members = Vec::new();
    for (index, one) in objects.system.components.iter().enumerate() {
        members.push(behaviours[index].clone().map(|behaviour| {
            let given = gifts(setup, &objects, index, &mut arrivals);
            let own = setup.badge(faults, index + 1);
            let mut of = |handler: Handler| {
                let endpoint = objects.endpoints[handler.endpoint.0];
                setup.badge(endpoint, handler.badge as usize)
            };
            let on_fault = match one.on_fault {
                FaultAction::Handler(handler) => of(handler),
                FaultAction::Stop | FaultAction::Restart => own,
            };
            let on_timeout = match one.on_timeout {
                TimeoutAction::Wait => None,
                TimeoutAction::Handler(handler) => Some(of(handler)),
                _ => Some(own),
            };
            let notification = objects.notifications[index];
            let thread = setup
                .thread(&*one.name, one.priority.unwrap_or_default())
                .criticality(one.criticality)
                .on_core(one.core as usize)
                .time(parameters(one.time).with_badge(index + 1))
                .on_fault(on_fault);
            let thread = match one.time.is_passive() {
                true => thread.lent_by(notification),
                false => thread.signalled_by(notification),
            };
            let thread = match on_timeout {
                Some(handler) => thread.on_timeout(handler),
                None => thread,
            };
            let thread = thread.run(move || behaviour(given));
            let served = one.serves.iter().map(|id| {
                let slot = setup.allocator.slot(objects.endpoints[id.0]);
                (slot, objects.replies[id.0])
            });
            Member {
                thread,
                served: served.collect(),
            }
        }));
    }
    let own = objects.system.supervisor;
    let reply = setup.create();
    let priority = own.map_or(u8::MAX, |one| one.priority);
    let core = own.map_or(0, |one| one.core as usize);
    let time = own.map_or(SUPERVISOR, |one| of_context(one.time));
    let supervisor = Supervisor::new(objects.system, members, reports);
    let thread = setup.thread("supervisor", priority).on_core(core);
    thread.time(time).run(move || supervisor.run(faults, reply));
}

/// Makes a thread that changes the criticality level of all cores at these times, if there are some.
pub(super) fn change_levels(setup: &mut Setup, levels: Vec<(Microseconds, u8)>) {
    if levels.is_empty() {
        return;
    }
    let (timer, controls) = (setup.timer(), setup.sched_controls.clone());
    // It runs at any level.
    let thread = setup.thread("level", u8::MAX).criticality(7);
    thread.run(move || {
        for &(time, level) in &levels {
            timer.wait_until(time).expect("the line is its own");
            for control in &controls {
                let changed = control.set_criticality_level(level);
                changed.expect("a level is 0 to 7");
            }
        }
    });
}

fn endpoint(setup: &mut Setup, one: &system::Endpoint) -> Endpoint {
    let endpoint = setup.create();
    let flag = |set: bool, flag: usize| if set { flag } else { 0 };
    let flags = flag(one.limit, LIMIT)
        | flag(one.donation_required, DONATION_REQUIRED)
        | flag(one.tell_budget, TELL_BUDGET);
    let threshold = one.threshold.map_or(0, |threshold| threshold.as_micros());
    let slot = setup.allocator.slot(endpoint);
    let set = slot.set_endpoint_threshold(Microseconds(threshold), flags);
    set.expect("the endpoint is there");
    endpoint
}

fn parameters(time: Time) -> SchedParameters {
    match time {
        Time::Context(context) | Time::Passive(context) => of_context(context),
        Time::Slice(slice) => SchedParameters::round_robin(Microseconds(slice.as_micros())),
    }
}

fn of_context(context: Context) -> SchedParameters {
    SchedParameters {
        budget: Microseconds(context.budget.as_micros()),
        period: Microseconds(context.period.as_micros()),
        extra_refills: context.extra_refills as usize,
        badge: 0,
        sporadic: context.replenishment == Replenishment::Sporadic,
        idling: context.idling,
    }
}

/// The startup page of a component. Devices are not on it, but their interrupts are.
fn gifts(
    setup: &mut Setup,
    objects: &Objects,
    index: usize,
    arrivals: &mut Vec<(usize, String, Arrivals)>,
) -> &'static Startup {
    let system = &objects.system;
    let one: &Component = &system.components[index];
    let mut page = Box::new(Startup::new(0, 0..0, 0, SlotRegion::default()));
    let mut add = |name: &str, kind, value, size| {
        assert!(
            page.add(name, kind, value, size),
            "`{}` gets too much",
            one.name
        );
    };
    // Microseconds, as the simulator's time stamps.
    add(CLOCK, RecordKind::Number, 1, 0);
    let notification = objects.notifications[index];
    add(
        NOTIFICATION,
        RecordKind::Capability,
        notification.cptr().0,
        0,
    );
    for &id in &one.serves {
        let (name, endpoint) = (&system[id].name, objects.endpoints[id.0]);
        add(name, RecordKind::Capability, endpoint.cptr().0, 0);
        let reply = objects.replies[id.0];
        add(name, RecordKind::Reply, reply.cptr().0, 0);
    }
    for call in &one.calls {
        let badged = setup.badge(objects.endpoints[call.to.0], call.badge as usize);
        add(&call.name, RecordKind::Capability, badged.cptr().0, 0);
    }
    for &id in &one.waits {
        let signal = &system[id];
        add(&signal.name, RecordKind::Number, signal.bit as usize, 0);
    }
    for (name, id) in &one.signals {
        let signal = &system[*id];
        let notification = objects.notifications[signal.receiver.0];
        let badged = setup.badge(notification, 1 << signal.bit);
        add(name, RecordKind::Capability, badged.cptr().0, 0);
    }
    for map in &one.maps {
        let bytes = system[map.region].size.as_bytes() as usize;
        let address = objects.regions[map.region.0];
        add(&map.name, RecordKind::Memory, address, bytes);
    }
    for interrupt in &one.interrupts {
        let is_it = |(component, name, _): &(usize, String, Arrivals)| {
            *component == index && *name == interrupt.name
        };
        let known = arrivals.iter().position(is_it);
        let arrivals: Arrivals = match known {
            Some(place) => arrivals.swap_remove(place).2,
            None => Box::new(|_| None),
        };
        let bit = interrupt.bit as usize;
        let (_, handler) = setup.interrupt(notification, bit, arrivals);
        add(
            &interrupt.name,
            RecordKind::Interrupt,
            handler.cptr().0,
            bit,
        );
    }
    for (name, value) in &one.arguments {
        match value {
            Argument::Flag(flag) => add(name, RecordKind::Number, usize::from(*flag), 0),
            Argument::Number(number) => {
                add(name, RecordKind::Number, number.cast_unsigned() as usize, 0);
            }
            Argument::Text(_) => {}
        }
    }
    for (name, value) in &one.arguments {
        if let Argument::Text(text) = value {
            assert!(
                page.add_text(name, text),
                "the texts of `{}` are too long",
                one.name
            );
        }
    }
    Box::leak(page)
}
