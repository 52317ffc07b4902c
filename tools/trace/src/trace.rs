//! A trace: the events of all cores in the order of time.

use std::collections::{BTreeMap, HashMap};

use trace_format::{Clocks, Costs, Detail, Event, Kinds, Mode, ObjectId, RingReader};

use crate::{Answer, File, Unreadable};

/// What is missing of the events of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Events for which there was no room.
    pub at_the_end: u64,
    /// The same in a stream, which continues when there is room again.
    pub in_between: u64,
    /// Events that later ones have overwritten.
    pub at_the_beginning: u64,
    /// Events that are not in the file, although the ring had them.
    pub cut_off: u64,
}

impl Lost {
    /// All of them.
    pub const fn all(self) -> u64 {
        self.at_the_end
            .saturating_add(self.in_between)
            .saturating_add(self.at_the_beginning)
            .saturating_add(self.cut_off)
    }
}

/// An event, and its number on its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The number, from 0.
    pub number: u64,
    /// The event.
    pub event: Event,
}

/// A trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Where it comes from.
    pub platform: String,
    /// Ticks in a second.
    pub frequency: u64,
    /// How the clocks of the cores relate.
    pub clocks: Clocks,
    /// Whether events have details.
    pub has_details: bool,
    /// Whether it has events of all kinds.
    pub is_full: bool,
    /// All events: those of a core in the order in which they were written, and those of several cores by time.
    pub events: Vec<Numbered>,
    /// What is missing, by core.
    pub lost: BTreeMap<u8, Lost>,
    /// What an event cost, by core, if that is known.
    pub costs: BTreeMap<u8, Costs>,
    /// The time of the end, in ticks.
    pub end: u64,
    /// Names of threads and contexts that the file has.
    pub names: HashMap<ObjectId, String>,
    /// What the kernel answers at the end.
    pub answers: Vec<Answer>,
}

impl Trace {
    /// The trace in the bytes of a file, and sentences about what is damaged in it.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<String>), Unreadable> {
        let (file, mut damage) = File::parse(bytes)?;
        let mut trace = Self {
            platform: file.platform,
            frequency: 0,
            clocks: Clocks::Unknown,
            has_details: true,
            is_full: true,
            events: Vec::new(),
            lost: BTreeMap::new(),
            costs: BTreeMap::new(),
            end: 0,
            names: file.names.into_iter().collect(),
            answers: file.answers,
        };
        for ring in &file.rings {
            match RingReader::new(ring) {
                Ok(ring) => trace.add(ring),
                Err(reason) => damage.push(reason.to_string()),
            }
        }
        if trace.frequency == 0 {
            return Err(Unreadable::NoRing);
        }
        // Stable: events with one time stay in order.
        trace.events.sort_by_key(|one| one.event.time);
        let last = trace.events.last().map_or(0, |one| one.event.time);
        trace.end = file.end.unwrap_or(last).max(last);
        Ok((trace, damage))
    }

    fn add(&mut self, ring: RingReader<'_>) {
        let settings = ring.settings;
        (self.frequency, self.clocks) = (settings.frequency, settings.clocks);
        self.has_details &= matches!(settings.detail, Detail::Full);
        self.is_full &= settings.kinds == Kinds::ALL;
        let (at_the_end, in_between) = match settings.mode {
            Mode::Stream => (0, ring.lost),
            Mode::Stop | Mode::Overwrite => (ring.lost, 0),
        };
        let lost = Lost {
            at_the_end,
            in_between,
            at_the_beginning: ring.overwritten(),
            cut_off: ring.missing(),
        };
        self.lost.insert(settings.core, lost);
        self.costs
            .extend(ring.costs.map(|costs| (settings.core, costs)));
        let events = ring.events();
        self.events
            .extend(events.map(|(number, event)| Numbered { number, event }));
    }

    /// The time of the first event.
    pub fn start(&self) -> u64 {
        self.events.first().map_or(self.end, |one| one.event.time)
    }

    /// The number of events that are missing, of all cores.
    pub fn lost_events(&self) -> u64 {
        // A damaged header can say anything.
        let lost = self.lost.values().map(|lost| lost.all());
        lost.fold(0, u64::saturating_add)
    }

    /// A time or a duration in microseconds.
    pub fn microseconds(&self, ticks: u64) -> f64 {
        ticks as f64 * 1e6 / self.frequency as f64
    }

    /// The ticks of so many microseconds, rounded down.
    pub fn ticks(&self, microseconds: u64) -> u64 {
        let ticks = u128::from(microseconds) * u128::from(self.frequency) / 1_000_000;
        ticks.try_into().unwrap_or(u64::MAX)
    }

    /// A time or a duration in nanoseconds, rounded down.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency);
        nanoseconds.try_into().unwrap_or(u64::MAX)
    }
}
