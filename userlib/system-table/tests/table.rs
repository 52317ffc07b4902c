//! Tables are read as they were written, and whatever else is read is refused or is a valid table.

use proptest::prelude::*;
use system_table::{
    Action, ArenaSize, Component, Endpoint, Gift, MOST_COMPONENTS, MOST_MAPPED_PAGES, OnFault,
    OnTimeout, Region, Supervisor, Table, Time, TimeSource, Turn, write,
};

const TIME: Time = Time {
    budget: 1_000,
    period: 20_000,
    extra_refills: 8,
    sporadic: true,
    idling: false,
};

const REGION: Region = Region {
    pages: 2,
    cacheable: false,
};

const SUPERVISOR: Supervisor = Supervisor {
    time: TIME,
    priority: 255,
    core: 0,
    domain: 0,
};

const TURNS: [Turn; 2] = [
    Turn {
        domain: 0,
        duration: 1_013,
    },
    Turn {
        domain: 3,
        duration: 20_000,
    },
];

fn component(name: &str) -> Component<'_> {
    Component {
        name,
        program: "program",
        stack_pages: 4,
        heap_pages: 16,
        time: TIME,
        time_source: TimeSource::Callers,
        priority: 150,
        max_controlled_priority: 0,
        criticality: 1,
        max_controlled_criticality: 0,
        core: 0,
        domain: 0,
        on_fault: OnFault::Supervisor {
            action: Action::Restart,
        },
        on_timeout: OnTimeout::Handler {
            endpoint: 0,
            badge: 9,
        },
        most_restarts: 5,
        restarts_within: 1_000_000,
        ends_run: false,
        floating_point: true,
    }
}

const ENDPOINT: Endpoint = Endpoint {
    threshold: 250,
    limit: true,
    donation_required: false,
    tell_budget: false,
};

const GIFTS: [Gift; 9] = [
    Gift::Serve {
        name: "requests",
        endpoint: 0,
    },
    Gift::Memory {
        name: "report",
        region: 0,
        write: true,
        execute: false,
    },
    Gift::Watch {
        name: "other",
        component: 1,
        time: TIME,
    },
    Gift::Number {
        name: "rate",
        value: u64::MAX,
    },
    Gift::Registers {
        name: "uart",
        address: 0x900_0000,
        pages: 1,
    },
    Gift::Ports {
        name: "port",
        first: 0x2f8,
        last: 0x2ff,
    },
    INTERRUPT,
    Gift::Supervisor { name: "supervisor" },
    Gift::Text {
        name: "says",
        value: "a text \u{e9}",
    },
];

const INTERRUPT: Gift = Gift::Interrupt {
    name: "uart-interrupt",
    line: 33,
    pin: 0,
    edge: false,
    bit: 63,
};

fn good() -> Vec<u8> {
    let mut bytes = Vec::new();
    let components = [(component("server"), &GIFTS[..]), (component("other"), &[])];
    write(
        &mut bytes,
        &SUPERVISOR,
        &TURNS,
        &[ENDPOINT],
        &[REGION],
        &components,
    );
    bytes
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let bytes = good();
    let table = Table::parse(&bytes).unwrap();
    assert_eq!(table.supervisor(), SUPERVISOR);
    assert_eq!(table.turns().collect::<Vec<_>>(), TURNS);
    assert_eq!(table.endpoints().collect::<Vec<_>>(), [ENDPOINT]);
    assert_eq!(table.regions().collect::<Vec<_>>(), [REGION]);
    let (server, gifts) = table.component(0).unwrap();
    assert_eq!(server, component("server"));
    assert_eq!(gifts.iter().collect::<Vec<_>>(), GIFTS);
    assert_eq!(table.components().count(), 2);
    assert!(table.component(2).is_none());
}

#[test]
fn every_cut_is_refused() {
    let bytes = good();
    for end in 0..bytes.len() {
        assert!(Table::parse(&bytes[..end]).is_err(), "{end}");
    }
    let longer = [&bytes[..], &[0]].concat();
    let error = Table::parse(&longer).unwrap_err();
    assert_eq!(error.what, "something follows after its end");
}

/// The complaint about a system with these endpoints, and a component that gets these.
fn complaint(endpoints: &[Endpoint], one: Component, gifts: &[Gift]) -> &'static str {
    let mut bytes = Vec::new();
    write(
        &mut bytes,
        &SUPERVISOR,
        &[],
        endpoints,
        &[],
        &[(one, gifts)],
    );
    Table::parse(&bytes).unwrap_err().what
}

#[test]
fn mistakes_have_words() {
    let handled = component("one");
    assert_eq!(complaint(&[], handled, &[]), "an endpoint does not exist");
    let one = Component {
        on_timeout: OnTimeout::Wait,
        ..handled
    };
    let of = |gifts: &[Gift]| complaint(&[], one, gifts);
    assert_eq!(of(&GIFTS[..1]), "an endpoint does not exist");
    assert_eq!(of(&GIFTS[1..2]), "shared memory does not exist");
    assert_eq!(of(&GIFTS[2..3]), "a component does not exist");
    let twice = [GIFTS[3], GIFTS[3]];
    assert_eq!(of(&twice), "it gets two things under the same name");
    let nameless = Component { name: "", ..one };
    let words = "a name is empty, has more than 32 letters, or others than A to Z, a to z, 0 to 9, `-`, `_`";
    assert_eq!(complaint(&[], nameless, &[]), words);
    let long = "x".repeat(300);
    let nameless = Component { name: &long, ..one };
    assert!(!complaint(&[], nameless, &[]).is_empty());
    let timeless = Component {
        time: Time {
            budget: 30_000,
            ..TIME
        },
        ..one
    };
    let words = "no context can have such a budget, period or number of replenishments";
    assert_eq!(complaint(&[], timeless, &[]), words);
    let timeless = Component {
        on_timeout: OnTimeout::Emergency {
            time: timeless.time,
        },
        ..one
    };
    assert_eq!(complaint(&[], timeless, &[]), words);
    let many: Vec<_> = (0..=MOST_COMPONENTS).map(|_| (one, &[][..])).collect();
    let mut bytes = Vec::new();
    write(&mut bytes, &SUPERVISOR, &[], &[], &[], &many);
    assert!(Table::parse(&bytes).is_err());
}

#[test]
fn each_domain_has_a_turn_that_the_kernel_takes() {
    let one = Component {
        on_timeout: OnTimeout::Wait,
        ..component("one")
    };
    let of = |turns: &[(u8, u64)], supervisor: u8, domain: u8| {
        let turns = turns
            .iter()
            .map(|&(domain, duration)| Turn { domain, duration });
        let turns: Vec<_> = turns.collect();
        let supervisor = Supervisor {
            domain: supervisor,
            ..SUPERVISOR
        };
        let component = Component { domain, ..one };
        let mut bytes = Vec::new();
        write(
            &mut bytes,
            &supervisor,
            &turns,
            &[],
            &[],
            &[(component, &[])],
        );
        Table::parse(&bytes).err().map(|damage| damage.what)
    };
    let both = [(1, 10), (3, u64::from(u32::MAX))];
    assert_eq!(of(&both, 1, 3), None);
    assert_eq!(of(&both, 1, 0), Some("its domain has no turn"));
    assert_eq!(of(&both, 0, 3), Some("the supervisor's domain has no turn"));
    assert_eq!(of(&[], 0, 1), Some("its domain has no turn"));
    assert_eq!(
        of(&[(16, 10)], 16, 16),
        Some("a turn is that of a domain above 15")
    );
    let long = Some("a turn takes no time, or more than a year");
    assert_eq!(of(&[(0, 0)], 0, 0), long);
    assert_eq!(of(&[(0, u64::MAX)], 0, 0), long);
    assert_eq!(of(&[(0, 10); 99], 0, 0), None);
    assert!(of(&[(0, 10); 100], 0, 0).is_some());
}

#[test]
fn heaps_and_texts_have_limits() {
    let one = Component {
        on_timeout: OnTimeout::Wait,
        ..component("one")
    };
    let large = Component {
        heap_pages: 1 + (1 << 18),
        ..one
    };
    assert_eq!(complaint(&[], large, &[]), "its heap is larger than 1 GiB");
    let half = "x".repeat(128);
    let text = |name| Gift::Text { name, value: &half };
    let words = "its texts have more than 255 bytes";
    assert_eq!(complaint(&[], one, &[text("a"), text("b")]), words);
}

#[test]
fn devices_have_limits() {
    let one = Component {
        on_timeout: OnTimeout::Wait,
        ..component("one")
    };
    let of = |gift: Gift| complaint(&[], one, &[gift]);
    for (address, pages) in [(0x900_0800, 1), (0x900_0000, 0), (0, 65), (!0xfff, 2)] {
        let name = "uart";
        let gift = Gift::Registers {
            name,
            address,
            pages,
        };
        let words = "registers are no whole pages, or more than 256 KiB";
        assert_eq!(of(gift), words, "{address:#x}, {pages}");
    }
    let gift = Gift::Ports {
        name: "port",
        first: 2,
        last: 1,
    };
    assert_eq!(of(gift), "a range of ports is empty");
    let Gift::Interrupt {
        name,
        line,
        pin,
        edge,
        ..
    } = INTERRUPT
    else {
        unreachable!()
    };
    let with = |name, bit| Gift::Interrupt {
        name,
        line,
        pin,
        edge,
        bit,
    };
    assert_eq!(of(with(name, 64)), "a notification has no such bit");
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let many = names.map(|name| with(name, 1));
    assert_eq!(complaint(&[], one, &many), "it has more than 8 interrupts");
}

#[test]
fn what_is_mapped_has_limits() {
    let of = |pages: &[u32]| {
        let regions = pages.iter().map(|&pages| Region {
            pages,
            cacheable: true,
        });
        let regions: Vec<_> = regions.collect();
        let gift = |(name, region)| Gift::Memory {
            name,
            region,
            write: true,
            execute: false,
        };
        let names = ["a", "b"].into_iter().zip(0..regions.len() as u16);
        let gifts: Vec<_> = names.map(gift).collect();
        let one = Component {
            on_timeout: OnTimeout::Wait,
            ..component("one")
        };
        let mut bytes = Vec::new();
        write(
            &mut bytes,
            &SUPERVISOR,
            &[],
            &[],
            &regions,
            &[(one, &gifts[..])],
        );
        Table::parse(&bytes).err().map(|damage| damage.what)
    };
    let most = MOST_MAPPED_PAGES;
    assert_eq!(of(&[most]), None);
    assert_eq!(of(&[most - 1, 1]), None);
    let words = "its shared memory and its registers are larger than 224 MiB";
    assert_eq!(of(&[most - 1, 2]), Some(words));
    for pages in [0, most + 1, u32::MAX] {
        let words = "shared memory has no page, or is larger than 224 MiB";
        assert_eq!(of(&[pages]), Some(words));
    }
}

#[test]
fn an_arena_takes_its_cnode_too() {
    let all = 1 << 15;
    let size = ArenaSize::of_frames(all);
    assert_eq!(size.bytes(), Some(128 << 20));
    assert_eq!(size.most_pages(), all + 512 + 4 + 256);
    // With one slot more, the CNode is twice as large.
    let size = ArenaSize::of_frames(all + 1);
    assert_eq!(size.most_pages(), all + 1 + 512 + 4 + 512);
    assert_eq!(ArenaSize::of_frames(u64::MAX).bytes(), None);
    let size = |pages, slots| ArenaSize { pages, slots };
    assert_eq!(ArenaSize::of_component(100, 154), size(129, 313));
    // With one page more, another table.
    assert_eq!(ArenaSize::of_component(100, 155), size(130, 315));
}

#[test]
fn another_version_is_refused() {
    let mut bytes = good();
    bytes[4] += 1;
    let error = Table::parse(&bytes).unwrap_err().to_string();
    assert_eq!(
        error,
        "the system's table cannot be used: it has the format of another version of the tool"
    );
}

/// Uses every index of a table, as the initialiser does.
fn walk(table: &Table) {
    let (endpoints, regions) = (table.endpoints().count(), table.regions().count());
    let components = table.components().count();
    for (component, gifts) in table.components() {
        assert!(component.time.budget <= component.time.period);
        for gift in gifts.iter() {
            match gift {
                Gift::Serve { endpoint, .. } | Gift::Call { endpoint, .. } => {
                    assert!(usize::from(endpoint) < endpoints);
                }
                Gift::Memory { region, .. } => assert!(usize::from(region) < regions),
                Gift::Signal { receiver: id, .. } | Gift::Watch { component: id, .. } => {
                    assert!(usize::from(id) < components);
                }
                Gift::Interrupt { bit, .. } => assert!(bit < 64),
                Gift::Registers { pages, .. } => assert!(usize::from(pages) <= 64),
                Gift::Wait { .. }
                | Gift::Number { .. }
                | Gift::Ports { .. }
                | Gift::Supervisor { .. } => {}
                Gift::Text { value, .. } => assert!(value.len() <= 255),
            }
        }
    }
}

proptest! {
    #[test]
    fn garbage_is_refused_or_valid(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let headed = [&good()[..6], &bytes].concat();
        for bytes in [&bytes, &headed] {
            if let Ok(table) = Table::parse(bytes) {
                walk(&table);
            }
        }
    }

    #[test]
    fn damaged_tables_are_refused_or_valid(
        damage in proptest::collection::vec((0usize..1000, any::<u8>()), 1..4),
    ) {
        let mut bytes = good();
        for (place, value) in damage {
            let length = bytes.len();
            bytes[place % length] = value;
        }
        if let Ok(table) = Table::parse(&bytes) {
            walk(&table);
        }
    }
}
