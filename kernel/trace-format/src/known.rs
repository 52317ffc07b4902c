//! What is known of a ring when the program that writes it is built.

use crate::{Detail, Kinds, Mode};

/// What the program that writes a ring knows of it when it is built: it has no code for other rings.
pub trait Known {
    /// How much is written of each event.
    const DETAIL: Option<Detail>;
    /// What happens when the ring is full.
    const MODE: Option<Mode>;
    /// The kinds of events that a ring may have.
    const KINDS: Kinds = Kinds::ALL;
    /// The number of the core.
    const CORE: Option<u8> = None;
}

/// Nothing is known before the program runs.
#[derive(Debug)]
pub enum AtRunTime {}

impl Known for AtRunTime {
    const DETAIL: Option<Detail> = None;
    const MODE: Option<Mode> = None;
}
