//! The kernel's log: defmt frames on a channel of their own, decoded by the host.
//!
//! A frame holds an index into the image's string table and the raw values, so a log line costs some tens of
//! bytes and no formatting. Below the level selected at build time (`DEFMT_LOG`), and without the feature
//! `log`, it costs nothing.
//!
//! All cores write to the same channel, one frame at a time.

#[cfg(feature = "log")]
mod frames;

#[cfg(feature = "log")]
pub use frames::Frames;

/// Logs at level *trace*: every system call on the slow path.
macro_rules! trace {
    ($($argument:tt)*) => {{
        #[cfg(feature = "log")]
        defmt::trace!($($argument)*);
    }};
}

/// Logs at level *debug*: the ends of timeslices, and each choice of a thread.
macro_rules! debug {
    ($($argument:tt)*) => {{
        #[cfg(feature = "log")]
        defmt::debug!($($argument)*);
    }};
}

/// Logs at level *info*: faults.
macro_rules! info {
    ($($argument:tt)*) => {{
        #[cfg(feature = "log")]
        defmt::info!($($argument)*);
    }};
}

pub(crate) use {debug, info, trace};
