//! Events in order: threads note letters, the test compares the resulting text.

use core::fmt;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

const ROOM: usize = 512;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static EVENTS: [AtomicU8; ROOM] = [const { AtomicU8::new(0) }; ROOM];

/// Notes an event.
pub fn note(event: char) {
    let place = COUNT.fetch_add(1, Relaxed);
    if let Some(place) = EVENTS.get(place) {
        place.store(event as u8, Relaxed);
    }
}

/// Noted events.
#[derive(Clone, Copy)]
pub struct Events {
    bytes: [u8; ROOM],
    count: usize,
}

/// The events noted so far.
pub fn noted() -> Events {
    let mut bytes = [0; ROOM];
    for (byte, event) in bytes.iter_mut().zip(&EVENTS) {
        *byte = event.load(Relaxed);
    }
    let count = COUNT.load(Relaxed).min(ROOM);
    Events { bytes, count }
}

/// The number of noted events, which may exceed the number kept.
pub fn count() -> usize {
    COUNT.load(Relaxed)
}

/// Clears the noted events.
pub fn forget() {
    COUNT.store(0, Relaxed);
}

impl Events {
    /// Whether an event was noted.
    pub fn contains(&self, event: &str) -> bool {
        self.text().contains(event)
    }

    fn text(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.count]).unwrap_or("?")
    }
}

impl PartialEq<&str> for Events {
    fn eq(&self, other: &&str) -> bool {
        self.text() == *other
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        self.text().fmt(out)
    }
}
