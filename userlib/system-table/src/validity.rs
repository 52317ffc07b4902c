//! What must hold in a table beside its form.

use abi::config::MOST_DOMAINS;

use crate::{
    Component, Damage, Gift, Gifts, LONGEST_NAME, MOST_HEAP_PAGES, MOST_INTERRUPTS,
    MOST_MAPPED_PAGES, MOST_RECORDS, MOST_REGISTER_PAGES, MOST_TEXT, OnFault, OnTimeout, Table,
    Time,
};

/// The kernel's smallest budget.
const SMALLEST: u64 = 20;
/// A year, the longest period that every kernel takes.
const LONGEST: u64 = 365 * 86_400 * 1_000_000;
/// The most replenishments that a kernel on a 32-bit processor takes.
const MOST_REFILLS: u32 = 32_765;
/// Bytes of a page.
const PAGE: u64 = 4096;
/// The largest stack.
const MOST_STACK_PAGES: u16 = 256;

fn ensure(holds: bool, otherwise: &'static str) -> Result<(), Damage> {
    if holds {
        Ok(())
    } else {
        Err(Damage::new(otherwise))
    }
}

pub(crate) fn check(table: &Table) -> Result<(), Damage> {
    time(table.supervisor.time)?;
    for turn in table.turns() {
        ensure(
            usize::from(turn.domain) < MOST_DOMAINS,
            "a turn is that of a domain above 15",
        )?;
        ensure(
            (1..=LONGEST).contains(&turn.duration),
            "a turn takes no time, or more than a year",
        )?;
    }
    ensure(
        has_turn(table, table.supervisor.domain),
        "the supervisor's domain has no turn",
    )?;
    for one in table.endpoints() {
        ensure(
            one.threshold <= LONGEST,
            "a threshold is longer than a year",
        )?;
    }
    for one in table.regions() {
        ensure(
            (1..=MOST_MAPPED_PAGES).contains(&one.pages),
            "shared memory has no page, or is larger than 224 MiB",
        )?;
    }
    for (place, (component, gifts)) in (0..).zip(table.components()) {
        one(table, &component, gifts).map_err(|damage| Damage {
            component: Some(place),
            ..damage
        })?;
    }
    Ok(())
}

fn time(time: Time) -> Result<(), Damage> {
    ensure(
        (SMALLEST..=LONGEST).contains(&time.budget)
            && (time.budget..=LONGEST).contains(&time.period)
            && time.extra_refills <= MOST_REFILLS,
        "no context can have such a budget, period or number of replenishments",
    )
}

/// Whether a domain ever runs.
fn has_turn(table: &Table, domain: u8) -> bool {
    let mut turns = table.turns().peekable();
    match turns.peek() {
        Some(_) => turns.any(|turn| turn.domain == domain),
        None => domain == 0,
    }
}

fn is_name(name: &str) -> bool {
    let good = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(good)
}

fn one(table: &Table, component: &Component, gifts: Gifts) -> Result<(), Damage> {
    const NAME: &str = "a name is empty, has more than 32 letters, or others than A to Z, a to z, 0 to 9, `-`, `_`";
    ensure(is_name(component.name) && is_name(component.program), NAME)?;
    time(component.time)?;
    ensure(
        (1..=MOST_STACK_PAGES).contains(&component.stack_pages),
        "its stack is larger than 1 MiB, or empty",
    )?;
    ensure(
        component.heap_pages <= MOST_HEAP_PAGES,
        "its heap is larger than 1 GiB",
    )?;
    ensure(
        component.criticality <= 7 && component.max_controlled_criticality <= 7,
        "its criticality is above 7",
    )?;
    ensure(has_turn(table, component.domain), "its domain has no turn")?;
    let endpoint = |endpoint: u16| {
        ensure(
            endpoint < table.endpoints.count,
            "an endpoint does not exist",
        )
    };
    if let OnFault::Handler { endpoint: id, .. } = component.on_fault {
        endpoint(id)?;
    }
    match component.on_timeout {
        OnTimeout::Handler { endpoint: id, .. } => endpoint(id)?,
        OnTimeout::Emergency { time: context } => time(context)?,
        OnTimeout::Wait | OnTimeout::Supervisor { .. } => {}
    }
    let other = |component: u16| {
        ensure(
            component < table.components.count,
            "a component does not exist",
        )
    };
    let bit = |bit: u8| ensure(bit < 64, "a notification has no such bit");
    let (mut records, mut interrupts, mut texts) = (0, 0, 0);
    for (place, gift) in gifts.iter().enumerate() {
        ensure(is_name(gift.name()), NAME)?;
        let same = |earlier: Gift| earlier.name() == gift.name();
        ensure(
            !gifts.iter().take(place).any(same),
            "it gets two things under the same name",
        )?;
        records += gift.records();
        match gift {
            Gift::Serve { endpoint: id, .. } | Gift::Call { endpoint: id, .. } => endpoint(id)?,
            Gift::Signal {
                receiver: id,
                bit: its,
                ..
            } => {
                other(id)?;
                bit(its)?;
            }
            Gift::Watch { component: id, .. } => other(id)?,
            Gift::Memory { region, .. } => {
                ensure(region < table.regions.count, "shared memory does not exist")?;
            }
            Gift::Wait { bit: its, .. } => bit(its)?,
            Gift::Number { .. } | Gift::Supervisor { .. } => {}
            Gift::Text { value, .. } => texts += value.len(),
            Gift::Registers { address, pages, .. } => {
                let size = u64::from(pages) * PAGE;
                ensure(
                    (1..=MOST_REGISTER_PAGES).contains(&pages.into())
                        && address % PAGE == 0
                        && address.checked_add(size).is_some(),
                    "registers are no whole pages, or more than 256 KiB",
                )?;
            }
            Gift::Ports { first, last, .. } => ensure(first <= last, "a range of ports is empty")?,
            Gift::Interrupt { bit: its, .. } => {
                bit(its)?;
                interrupts += 1;
            }
        }
    }
    ensure(
        table.mapped_pages(gifts) <= u64::from(MOST_MAPPED_PAGES),
        "its shared memory and its registers are larger than 224 MiB",
    )?;
    ensure(texts <= MOST_TEXT, "its texts have more than 255 bytes")?;
    ensure(
        interrupts <= MOST_INTERRUPTS,
        "it has more than 8 interrupts",
    )?;
    ensure(
        records <= MOST_RECORDS,
        "it gets more than its startup page holds",
    )
}
