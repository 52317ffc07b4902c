//! How a test reports its end to the runner.
//!
//! Faults go to the runner, with badges that identify the thread; the end of the test's first thread is a
//! fault like others ([`userlib::Outcome`]). A failed test writes the reason to a shared page, and then sends
//! a message to the runner.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Names of the objects and values that the runner gives.
pub mod names {
    /// The endpoint for the test's end and for faults.
    pub const RUNNER: &str = "runner";
    /// The page for reasons.
    pub const REPORT: &str = "report";
    /// The index of the test's file.
    pub const GROUP: &str = "group";
    /// The index of the test in its file.
    pub const INDEX: &str = "index";
    /// 1 if time is the host's, 0 if it is virtual.
    pub const REAL_TIME: &str = "real-time";
    /// The root task's CNode.
    pub const ROOT_CNODE: &str = "root-cnode";
    /// The capability to make ASID pools.
    pub const ASID_CONTROL: &str = "asid-control";
    /// The capability to configure domains.
    pub const DOMAIN: &str = "domain";
    /// The scheduling context that the test runs on.
    pub const SCHED_CONTEXT: &str = "sched-context";
    /// The boot information, mapped.
    pub const BOOT_INFO: &str = "boot-info";
    /// The SchedControl capabilities of the cores other than the first, if there are any.
    pub const SCHED_CONTROLS: &[&str] = &["sched-control-1", "sched-control-2", "sched-control-3"];
    /// Registers of a timer, mapped; on boards with memory-mapped timers.
    pub const TIMER: &str = "timer";
}

/// log2 of the number of slots of a test's CNode.
pub const CNODE_BITS: usize = 12;

/// Label of the message that reports a failed test.
pub const FAILED: usize = 1001;

/// Label of the request to stop the ticks of the test clock for [`QUIET_SECONDS`].
pub const QUIET: usize = 1002;
/// The maximum duration of a test that sent [`QUIET`]; without ticks, only the test itself causes events.
pub const QUIET_SECONDS: u64 = 150;

/// Badge of the faults of the test's first thread; its end is the end of the test.
pub const BY_TEST: usize = 1;
/// Badge of all other messages of a test. Its further threads may end.
pub const BY_THREAD: usize = 2;
/// Badge of the clock that ends tests which take too long.
pub const BY_CLOCK: usize = 4;

/// The page that holds the reason of a failure: its length, then its bytes, one per word.
#[derive(Clone, Copy)]
pub struct Report(pub &'static [AtomicUsize]);

impl Report {
    /// Removes the reason.
    pub fn clear(self) {
        self.0[0].store(0, Relaxed);
    }

    /// Writes a reason, truncated to the page's size.
    pub fn set(mut self, reason: fmt::Arguments) {
        self.clear();
        // It never fails: text that is too long is truncated.
        let _ = self.write_fmt(reason);
    }

    /// Whether there is a reason.
    pub fn is_empty(self) -> bool {
        self.0[0].load(Relaxed) == 0
    }
}

impl Write for Report {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let (length, room) = (&self.0[0], &self.0[1..]);
        for byte in text.bytes() {
            let end = length.load(Relaxed);
            let Some(place) = room.get(end) else { break };
            // The test can write arbitrary words to this page, including the length.
            place.store(byte as usize, Relaxed);
            length.store(end + 1, Relaxed);
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let room = &self.0[1..];
        let length = self.0[0].load(Relaxed).min(room.len());
        for byte in &room[..length] {
            let byte = byte.load(Relaxed) as u8;
            let printable = matches!(byte, b' '..=b'~');
            out.write_char(if printable { byte as char } else { ' ' })?;
        }
        Ok(())
    }
}
