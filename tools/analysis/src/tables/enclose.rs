//! Super-schedules: one table around the local tables of guests.

use std::collections::HashSet;

use num_integer::Integer;
use num_traits::{One, Zero};

use super::{TimeTable, frame};
use crate::{Error, Finding, Method, Ratio, Result, Time};

/// [`enclose`] and its sources.
pub const ENCLOSE: Method = Method {
    name: "super-schedule of local time tables",
    source: "Kaiser, HIRES 2018; Korst, Aarts, Lenstra and Wessels, 1991: windows by common divisors; own: search",
    assumptions: &[
        "each guest's table begins at a phase of its period, the same for ever",
        "the windows already contain what a switch takes",
    ],
};

/// Steps of a search for phases.
const MOST_STEPS: u32 = 1_000_000;

/// The most windows of a table.
const MOST_WINDOWS: i128 = 1 << 16;

/// The table that a guest is made for, or the slot that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTable {
    /// The guest's name, for messages.
    pub name: String,
    /// After this time the guest's table begins again.
    pub period: Time,
    /// Begin and length of its windows, in order, within the period.
    pub windows: Vec<(Time, Time)>,
}

/// A table that contains all local tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuperSchedule {
    /// When each guest's period begins, counted from the start of the table.
    pub phases: Vec<Time>,
    /// The turns, owned by the guests.
    pub table: TimeTable,
}

/// Finds the phases at which no windows overlap, if there are any, and the table of at most so many turns.
///
/// Two windows never overlap if they do not in the common divisor of their periods. If there are phases at all, there
/// are some where each guest but the first has a window that begins right at the end of another's: move all guests as
/// early as the order of the windows allows. So only such phases are tried.
///
/// # Errors
/// If a local table is impossible, no phases exist, the search was given up, or the table has too many turns.
pub fn enclose(guests: &[LocalTable], turns: usize) -> Result<Finding<SuperSchedule>> {
    let Some(first) = guests.first() else {
        return refuse(
            "super-schedule",
            "there are no guests; name at least one".into(),
        );
    };
    guests.iter().try_for_each(LocalTable::check)?;
    let needed = guests.iter().map(LocalTable::share);
    if needed.fold(Ratio::zero(), |sum, share| sum + share) > Ratio::one() {
        let why = "the guests need more than the processor; shorten windows or lengthen periods";
        return refuse("super-schedule", why.into());
    }
    for (place, one) in guests.iter().enumerate() {
        for other in &guests[..place] {
            one.check_beside(other)?;
        }
    }
    let frame = frame(guests.iter().map(|guest| guest.period))?;
    // The table begins with a window of the first guest, so that none extends over its end.
    let begin = Time::of(
        (Time::ZERO - first.windows[0].0)
            .nanos()
            .rem_euclid(first.period.nanos()),
    );
    let mut search = Phases {
        guests,
        tried: HashSet::new(),
        left: MOST_STEPS,
    };
    let mut phases = vec![None; guests.len()];
    phases[0] = Some(begin);
    if !search.extend(&mut phases)? {
        let why = "there are no phases at which no windows overlap; shorten windows, or choose periods that divide each \
                   other";
        return refuse("super-schedule", why.into());
    }
    let phases: Vec<_> = phases.into_iter().flatten().collect();
    let table = table(guests, &phases, frame, turns)?;
    Ok(ENCLOSE.finds(SuperSchedule { phases, table }))
}

fn refuse<T>(what: &str, why: String) -> Result<T> {
    Err(Error::impossible(what, why))
}

impl LocalTable {
    fn refuse(&self, why: String) -> Result<()> {
        refuse(&format!("guest `{}`", self.name), why)
    }

    fn check(&self) -> Result<()> {
        if self.period <= Time::ZERO || self.period > Time::LONGEST {
            return self.refuse(format!("a period of {} is impossible", self.period));
        }
        if self.windows.is_empty() {
            return self.refuse("its table has no windows; name at least one".into());
        }
        let mut free = Time::ZERO;
        for (begin, length) in &self.windows {
            if *begin < free
                || *length <= Time::ZERO
                || *length > self.period
                || *begin > self.period - *length
            {
                return self.refuse(format!(
                    "a window of {length} at {begin} is impossible after one up to {free} in a period of {}; windows \
                     are in order, apart, and within the period",
                    self.period
                ));
            }
            free = *begin + *length;
        }
        Ok(())
    }

    fn share(&self) -> Ratio {
        let all: Time = self.windows.iter().map(|window| window.1).sum();
        all.over(self.period)
    }

    /// Each pair of windows has room in the common divisor of the periods.
    fn check_beside(&self, other: &Self) -> Result<()> {
        let divisor = Time::of(self.period.nanos().gcd(&other.period.nanos()));
        let [own, others] =
            [self, other].map(|guest| guest.windows.iter().map(|window| window.1).max());
        let (own, others) = (own.unwrap_or_default(), others.unwrap_or_default());
        if own + others <= divisor {
            return Ok(());
        }
        self.refuse(format!(
            "its window of {own} and that of {others} of guest `{}` overlap at all phases, because {divisor} is the \
             common divisor of their periods, {} and {}; shorten them, or choose periods that divide each other",
            other.name, self.period, other.period
        ))
    }

    /// Whether windows never overlap at these phases.
    fn is_apart(&self, phase: Time, other: &Self, others: Time) -> bool {
        let divisor = self.period.nanos().gcd(&other.period.nanos());
        self.windows.iter().all(|(begin, length)| {
            other.windows.iter().all(|(at, long)| {
                let after = (others + *at - phase - *begin).nanos().rem_euclid(divisor);
                after >= length.nanos() && after + long.nanos() <= divisor
            })
        })
    }
}

/// The search for phases.
struct Phases<'a> {
    guests: &'a [LocalTable],
    /// What did not lead to a solution.
    tried: HashSet<Vec<Option<Time>>>,
    /// Steps before the search is given up.
    left: u32,
}

impl Phases<'_> {
    fn step(&mut self) -> Result<()> {
        self.left -= 1;
        if self.left > 0 {
            return Ok(());
        }
        Err(Error::NotApplicable {
            method: ENCLOSE.name,
            why: format!(
                "no phases were found in {MOST_STEPS} steps; choose periods that divide each other"
            ),
        })
    }

    /// Gives phases to all guests that have none, if that is possible.
    fn extend(&mut self, phases: &mut Vec<Option<Time>>) -> Result<bool> {
        if phases.iter().all(Option::is_some) {
            return Ok(true);
        }
        if !self.tried.insert(phases.clone()) {
            return Ok(false);
        }
        for place in 0..self.guests.len() {
            if phases[place].is_some() {
                continue;
            }
            for other in 0..self.guests.len() {
                let Some(phase) = phases[other] else { continue };
                if self.follow(phases, place, other, phase)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Tries all phases of a guest at which one of its windows follows one of another guest.
    fn follow(
        &mut self,
        phases: &mut Vec<Option<Time>>,
        place: usize,
        other: usize,
        phase: Time,
    ) -> Result<bool> {
        let (guest, before) = (&self.guests[place], &self.guests[other]);
        let divisor = guest.period.nanos().gcd(&before.period.nanos());
        for (at, long) in &before.windows {
            for (begin, _) in &guest.windows {
                let earliest = (phase + *at + *long - *begin).nanos().rem_euclid(divisor);
                for count in 0..guest.period.nanos() / divisor {
                    self.step()?;
                    let own = Time::of(earliest + count * divisor);
                    let is_apart = |(one, other): (&LocalTable, &Option<Time>)| {
                        other.is_none_or(|other| guest.is_apart(own, one, other))
                    };
                    if !self.guests.iter().zip(phases.iter()).all(is_apart) {
                        continue;
                    }
                    phases[place] = Some(own);
                    if self.extend(phases)? {
                        return Ok(true);
                    }
                    phases[place] = None;
                }
            }
        }
        Ok(false)
    }
}

/// The turns.
fn table(guests: &[LocalTable], phases: &[Time], frame: Time, turns: usize) -> Result<TimeTable> {
    let too_many = |count: i128| {
        let why = format!(
            "{count} turns were needed, and there are {turns}; choose periods with a smaller common multiple"
        );
        refuse("super-schedule", why)
    };
    let windows = |guest: &LocalTable| frame.whole(guest.period) * guest.windows.len() as i128;
    let count: i128 = guests.iter().map(windows).sum();
    if count > MOST_WINDOWS {
        return too_many(count);
    }
    let mut all = Vec::new();
    for (owner, (guest, phase)) in guests.iter().zip(phases).enumerate() {
        for (begin, length) in &guest.windows {
            for turn in 0..frame.whole(guest.period) {
                let begin = *phase + *begin + guest.period * turn;
                all.push((begin - frame * begin.whole(frame), *length, owner));
            }
        }
    }
    all.sort_unstable();
    let mut table = TimeTable::default();
    for (begin, length, owner) in all {
        table.add(None, begin - table.frame());
        table.add(Some(owner), length);
    }
    table.add(None, frame - table.frame());
    if table.turns.len() > turns {
        return too_many(table.turns.len() as i128);
    }
    Ok(table)
}
