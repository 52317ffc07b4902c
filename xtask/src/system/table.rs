//! The table from which the generic initialiser sets up a system, made of its description. What the initialiser
//! cannot do yet is refused here.

use anyhow::{anyhow, bail};
use system_description::file::{Argument, Replenishment, Rights};
use system_description::system::{
    Component, Context, DeviceUse, FaultAction, System, Time as Source, TimeoutAction,
};
use system_description::{Duration, Size, Trigger};
use system_table::{
    Action, Endpoint, Gift, MOST_COMPONENTS, MOST_ENDPOINTS, MOST_RECORDS, MOST_REGIONS, MOST_TEXT,
    OnFault, OnTimeout, Region, Supervisor, Table, Time, TimeSource, Turn,
};

use super::about::about;
use super::given::SUPERVISOR;
use crate::Result;

/// How often a component is restarted if its description does not say it: so often within so many microseconds.
const RESTARTS: (u32, u64) = (5, 10_000_000);

/// The table of a system.
pub(super) fn of(system: &System) -> Result<Vec<u8>> {
    refuse(system)?;
    let Some(supervisor) = system.supervisor else {
        bail!("it has a root task of its own");
    };
    let supervisor = Supervisor {
        time: time(supervisor.time),
        priority: supervisor.priority,
        core: supervisor.core,
        domain: supervisor.domain.0 as u8,
    };
    let turns = system.schedule.iter().map(|turn| Turn {
        domain: turn.domain.0 as u8,
        duration: us(turn.duration),
    });
    let turns: Vec<_> = turns.collect();
    let endpoints: Vec<_> = system.endpoints.iter().map(endpoint).collect();
    let regions: Vec<_> = system
        .regions
        .iter()
        .map(|one| Region {
            pages: pages(one.size),
            cacheable: one.cacheable,
        })
        .collect();
    let gifts: Vec<_> = system
        .components
        .iter()
        .map(|one| gifts(system, one))
        .collect();
    let components: Vec<_> = system
        .components
        .iter()
        .zip(&gifts)
        .map(|(one, gifts)| (component(one), &gifts[..]))
        .collect();
    let mut bytes = Vec::new();
    system_table::write(
        &mut bytes,
        &supervisor,
        &turns,
        &endpoints,
        &regions,
        &components,
    );
    Table::parse(&bytes).map_err(|damage| {
        let place = damage.component.map(usize::from);
        match place.and_then(|place| system.components.get(place)) {
            Some(one) => about(
                &one.name,
                format!("component `{}`: {}", one.name, damage.what),
            ),
            None => anyhow!("{}", damage.what),
        }
    })?;
    Ok(bytes)
}

/// Refuses what the initialiser cannot do yet.
fn refuse(system: &System) -> Result<()> {
    let own =
        "the generic initialiser cannot do this yet; write a root task, and name it as `root`";
    for one in &system.components {
        let name = &one.name;
        let text = |(_, argument): &(String, Argument)| match argument {
            Argument::Text(text) => text.len(),
            _ => 0,
        };
        if let Some(device) = one.devices.iter().find(|device| parts(device) > 1) {
            let device = &device.name;
            let message =
                format!("`{device}` of `{name}` has registers or ports in several places; {own}");
            return Err(about(name, message));
        }
        let texts: usize = one.arguments.iter().map(text).sum();
        if texts > MOST_TEXT {
            let message =
                format!("the texts of `{name}` have {texts} bytes; shorten them to {MOST_TEXT}");
            return Err(about(name, message));
        }
        if let Some(call) = one.calls.iter().find(|call| call.grant) {
            let message = format!("`{name}` may send capabilities to `{}`; {own}", call.name);
            return Err(about(name, message));
        }
        if gifts(system, one).iter().map(Gift::records).sum::<usize>() > MOST_RECORDS {
            let message = format!("`{name}` gets too many things; reduce them to {MOST_RECORDS}");
            return Err(about(name, message));
        }
    }
    for (count, most, what) in [
        (system.components.len(), MOST_COMPONENTS, "components"),
        (system.endpoints.len(), MOST_ENDPOINTS, "endpoints"),
        (
            system.regions.len(),
            MOST_REGIONS,
            "regions of shared memory",
        ),
    ] {
        if count > most {
            bail!("there are {count} {what}, more than {most}; {own}");
        }
    }
    Ok(())
}

/// How many ranges of registers and ports a device has.
fn parts(device: &DeviceUse) -> usize {
    device.resources.registers.len() + device.resources.ports.len()
}

/// Microseconds.
fn us(duration: Duration) -> u64 {
    duration.as_micros()
}

fn pages(size: Size) -> u32 {
    u32::try_from(size.as_bytes() / Size::PAGE.as_bytes()).unwrap_or(u32::MAX)
}

fn time(context: Context) -> Time {
    Time {
        budget: us(context.budget),
        period: us(context.period),
        extra_refills: context.extra_refills,
        sporadic: context.replenishment == Replenishment::Sporadic,
        idling: context.idling,
    }
}

/// The context of a component, and whose time it uses.
fn time_of(source: Source) -> (Time, TimeSource) {
    match source {
        Source::Context(context) => (time(context), TimeSource::Own),
        Source::Passive(context) => (time(context), TimeSource::Callers),
        Source::Slice(slice) => {
            let slice = Time {
                budget: us(slice),
                period: us(slice),
                extra_refills: 0,
                sporadic: false,
                idling: false,
            };
            (slice, TimeSource::Own)
        }
    }
}

fn endpoint(one: &system_description::system::Endpoint) -> Endpoint {
    Endpoint {
        threshold: one.threshold.map_or(0, us),
        limit: one.limit,
        donation_required: one.donation_required,
        tell_budget: one.tell_budget,
    }
}

fn component(one: &Component) -> system_table::Component<'_> {
    let (own, time_source) = time_of(one.time);
    let restarts = one.restarts.map(|(most, within)| (most, us(within)));
    let (most_restarts, restarts_within) = restarts.unwrap_or(RESTARTS);
    system_table::Component {
        name: &one.name,
        program: one.program.as_deref().unwrap_or_default(),
        stack_pages: u16::try_from(pages(one.stack)).unwrap_or(u16::MAX),
        heap_pages: pages(one.heap),
        time: own,
        time_source,
        priority: one.priority.unwrap_or_default(),
        max_controlled_priority: one.max_controlled_priority,
        criticality: one.criticality,
        max_controlled_criticality: one.max_controlled_criticality,
        core: one.core,
        domain: one.domain.0 as u8,
        on_fault: match one.on_fault {
            FaultAction::Stop => OnFault::Supervisor {
                action: Action::Stop,
            },
            FaultAction::Restart => OnFault::Supervisor {
                action: Action::Restart,
            },
            FaultAction::Handler(handler) => OnFault::Handler {
                endpoint: handler.endpoint.0 as u16,
                badge: handler.badge,
            },
        },
        on_timeout: match one.on_timeout {
            TimeoutAction::Report => OnTimeout::Supervisor {
                action: Action::Report,
            },
            TimeoutAction::Stop => OnTimeout::Supervisor {
                action: Action::Stop,
            },
            TimeoutAction::Restart => OnTimeout::Supervisor {
                action: Action::Restart,
            },
            TimeoutAction::Handler(handler) => OnTimeout::Handler {
                endpoint: handler.endpoint.0 as u16,
                badge: handler.badge,
            },
            TimeoutAction::Wait | TimeoutAction::Extend(_) | TimeoutAction::Emergency(_) => {
                match one.emergency() {
                    Some((_, context)) => OnTimeout::Emergency {
                        time: time(context),
                    },
                    None => OnTimeout::Wait,
                }
            }
        },
        most_restarts,
        restarts_within,
        ends_run: one.ends_run,
        floating_point: one.floating_point,
    }
}

/// What a component gets.
fn gifts<'a>(system: &'a System, one: &'a Component) -> Vec<Gift<'a>> {
    let serves = one.serves.iter().map(|&id| Gift::Serve {
        name: &system[id].name,
        endpoint: id.0 as u16,
    });
    let calls = one.calls.iter().map(|call| Gift::Call {
        name: &call.name,
        endpoint: call.to.0 as u16,
        badge: call.badge,
    });
    let waits = one.waits.iter().map(|&id| Gift::Wait {
        name: &system[id].name,
        bit: system[id].bit as u8,
    });
    let signals = one.signals.iter().map(|(name, id)| Gift::Signal {
        name,
        receiver: system[*id].receiver.0 as u16,
        bit: system[*id].bit as u8,
    });
    let maps = one.maps.iter().map(|map| Gift::Memory {
        name: &map.name,
        region: map.region.0 as u16,
        write: map.rights == Rights::ReadWrite,
        execute: map.rights == Rights::ReadExecute,
    });
    let arguments = one.arguments.iter().map(|(name, value)| match value {
        Argument::Flag(flag) => Gift::Number {
            name,
            value: u64::from(*flag),
        },
        Argument::Number(number) => Gift::Number {
            name,
            value: number.cast_unsigned(),
        },
        Argument::Text(value) => Gift::Text { name, value },
    });
    let watches = one.watches.iter().map(|&id| Gift::Watch {
        name: &system[id].name,
        component: id.0 as u16,
        time: time_of(system[id].time).0,
    });
    let registers = one.devices.iter().flat_map(|device| {
        let ranges = device.resources.registers.iter();
        ranges.map(|range| Gift::Registers {
            name: &device.name,
            address: range.address,
            pages: u16::try_from(pages(Size::from_bytes(range.size))).unwrap_or(u16::MAX),
        })
    });
    let ports = one.devices.iter().flat_map(|device| {
        let ranges = device.resources.ports.iter();
        ranges.map(|&[first, last]| Gift::Ports {
            name: &device.name,
            first,
            last,
        })
    });
    let interrupts = one.interrupts.iter().map(|one| Gift::Interrupt {
        name: &one.name,
        line: one.interrupt.line,
        pin: one.interrupt.pin.unwrap_or_default(),
        edge: one.interrupt.trigger == Trigger::Edge,
        bit: one.bit as u8,
    });
    let gifts = serves.chain(calls).chain(waits).chain(signals).chain(maps);
    let supervisor = one
        .asks_supervisor
        .then_some(Gift::Supervisor { name: SUPERVISOR });
    let gifts = gifts
        .chain(supervisor)
        .chain(registers)
        .chain(ports)
        .chain(interrupts);
    gifts.chain(arguments).chain(watches).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use system_description::{Device, Interrupt, Platform, Registers, check};

    const SYSTEM: &str = r#"
        [component.server]
        program = "server"
        passive = true
        priority = 9
        serves.requests = { threshold = "250 us", limit = true }
        on-timeout = "restart"
        [component.client]
        program = "client"
        budget = "2 ms"
        period = "10 ms"
        priority = 8
        calls = ["server"]
        memory.report = "read-write"
        devices = ["serial"]
        arguments = { loud = true, rate = 7 }
        ends-run = true
        [component.view]
        program = "view"
        slice = "5 ms"
        priority = 7
        watches = ["client"]
        memory.report = "read"
        [memory]
        report.size = "8 KiB"
    "#;

    /// A device of the board.
    fn serial() -> Device {
        Device {
            title: "serial port".to_string(),
            registers: vec![Registers {
                address: 0x900_0000,
                size: 0x2000,
            }],
            ports: Vec::new(),
            interrupt: Some(Interrupt {
                line: 33,
                trigger: Trigger::Edge,
                pin: Some(5),
            }),
        }
    }

    /// The system that a text describes, on a board.
    pub(crate) fn described(text: &str) -> System {
        let board = Platform {
            name: "board".to_string(),
            word_bits: 64,
            cores: 2,
            memory: Size::from_bytes(2 << 30),
            devices: [("serial".to_string(), serial())].into(),
        };
        let source = system_description::Source { path: "s", text };
        let mut checked = check(source, &[board]);
        let lines: Vec<_> = checked
            .diagnostics
            .iter()
            .map(|one| one.line(source).to_string())
            .collect();
        assert!(checked.is_good(), "{lines:?}");
        checked.systems.remove(0)
    }

    #[test]
    fn a_description_becomes_a_table() {
        let bytes = of(&described(SYSTEM)).unwrap();
        let table = Table::parse(&bytes).unwrap();
        assert_eq!(table.supervisor().priority, 255);
        let (server, _) = table.component(0).unwrap();
        assert_eq!((server.name, server.program), ("server", "server"));
        assert_eq!(server.time_source, TimeSource::Callers);
        assert!(server.may_restart());
        assert_eq!((server.most_restarts, server.restarts_within), RESTARTS);
        let (client, gifts) = table.component(1).unwrap();
        assert!(client.ends_run && !client.may_restart());
        assert!(!client.floating_point);
        let names: Vec<_> = gifts.iter().map(|gift| gift.name()).collect();
        let device = ["serial", "serial-interrupt"];
        assert_eq!(names[..2], ["server", "report"]);
        assert_eq!(names[2..4], device);
        assert_eq!(names[4..], ["loud", "rate"]);
        let registers = Gift::Registers {
            name: "serial",
            address: 0x900_0000,
            pages: 2,
        };
        let interrupt = Gift::Interrupt {
            name: "serial-interrupt",
            line: 33,
            pin: 5,
            edge: true,
            bit: 0,
        };
        assert!(gifts.iter().skip(2).take(2).eq([registers, interrupt]));
        let (view, gifts) = table.component(2).unwrap();
        assert_eq!(view.time.budget, view.time.period);
        let watched = Gift::Watch {
            name: "client",
            component: 1,
            time: client.time,
        };
        assert_eq!(gifts.iter().nth(1), Some(watched));
        let region = Region {
            pages: 2,
            cacheable: true,
        };
        assert_eq!(table.regions().next(), Some(region));
        assert_eq!(table.endpoints().next().unwrap().threshold, 250);
    }

    #[test]
    fn texts_are_short() {
        let long = format!("loud = \"{}\"", "x".repeat(256));
        let text = SYSTEM.replace("loud = true", &long);
        assert_eq!(
            of(&described(&text)).unwrap_err().to_string(),
            "the texts of `client` have 256 bytes; shorten them to 255"
        );
        let bytes = of(&described(&text.replace("xx", "x"))).unwrap();
        let (client, gifts) = Table::parse(&bytes).unwrap().component(1).unwrap();
        assert_eq!(client.heap_pages, 0);
        let is_text =
            |gift: Gift| matches!(gift, Gift::Text { name: "loud", value } if value.len() == 128);
        assert!(gifts.iter().any(is_text));
    }

    #[test]
    fn further_time_is_a_context() {
        let text = SYSTEM
            .replace(
                "on-timeout = \"restart\"",
                "on-timeout = { emergency = { budget = \"1 ms\", period = \"9 ms\" } }",
            )
            .replace("limit = true", "limit = false");
        let client = "[component.late]\nprogram = \"late\"\nbudget = \"2 ms\"\nperiod = \"8 ms\"\npriority = 1\n\
                      on-timeout = { extend = \"3 ms\" }\n";
        let bytes = of(&described(&format!("{client}{text}"))).unwrap();
        let table = Table::parse(&bytes).unwrap();
        let times: Vec<_> = table
            .components()
            .filter_map(|(one, _)| match one.on_timeout {
                OnTimeout::Emergency { time } => Some((one.name, time.budget, time.period)),
                _ => None,
            })
            .collect();
        assert_eq!(times, [("late", 3_000, 8_000), ("server", 1_000, 9_000)]);
    }

    #[test]
    fn devices_are_in_one_place() {
        let mut system = described(SYSTEM);
        system.components[1].devices[0].resources.ports = vec![[1, 2]];
        assert_eq!(
            of(&system).unwrap_err().to_string(),
            "`serial` of `client` has registers or ports in several places; the generic initialiser cannot do this yet; write a root task, and name it as `root`"
        );
    }

    #[test]
    fn what_the_initialiser_cannot_do_is_refused_by_name() {
        for (more, complaint) in [
            (
                "heap = \"1025 MiB\"",
                "component `client`: its heap is larger than 1 GiB",
            ),
            (
                "arguments.server = 1",
                "component `client`: it gets two things under the same name",
            ),
        ] {
            let text = SYSTEM
                .replace("arguments = { loud = true, rate = 7 }", "")
                .replace("ends-run = true", more);
            assert_eq!(of(&described(&text)).unwrap_err().to_string(), complaint);
        }
    }
}
