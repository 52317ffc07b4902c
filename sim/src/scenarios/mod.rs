//! The scenarios, one file each. New ones must be added to the list below.

use crate::Setup;

/// A scenario.
pub struct Scenario {
    /// The name on the command line.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// The default duration, in milliseconds.
    pub duration: u64,
    /// The root task.
    pub setup: fn(&mut Setup),
}

macro_rules! scenarios {
    ($($module:ident, $name:literal, $duration:literal ms: $about:literal;)*) => {
        $(mod $module;)*

        /// All scenarios.
        pub const ALL: &[Scenario] = &[$(Scenario {
            name: $name,
            about: $about,
            duration: $duration,
            setup: $module::setup,
        }),*];
    };
}

scenarios! {
    sporadic_servers, "sporadic-servers", 100 ms:
        "bursts of events, served by a sporadic server and by constant bandwidth";
    passive_server, "passive-server", 60 ms:
        "three clients pay for a server that has no time of its own";
    thundering_herd, "thundering-herd", 20 ms:
        "one signal a period, and all threads want to run at once";
    timeout, "timeout", 60 ms:
        "a client's budget ends inside of a server, and a handler sorts it out";
    threshold, "threshold", 60 ms:
        "the same server asks for enough time, and never runs out of it";
    traced, "traced", 60 ms:
        "a bit of everything, of which boards write the same trace";
    edf, "edf", 120 ms:
        "earliest deadline first, as a scheduler at user level";
    crowd, "crowd", 10000 ms:
        "a hundred periodic threads with random periods, for ten seconds";
}

/// The scenario of a name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}
