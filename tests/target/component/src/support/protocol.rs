//! How a test tells the runner about its end.
//!
//! Faults go to the runner, under badges that say whose; and the end of the test's first thread is a
//! fault like others ([`userlib::Outcome`]). A test that fails writes the reason on a page that both
//! share, and sends a message that it is there.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Names of what the runner gives.
pub mod names {
    /// Where the end is told, and where faults go: an endpoint.
    pub const RUNNER: &str = "runner";
    /// The page for reasons.
    pub const REPORT: &str = "report";
    /// Which file of tests.
    pub const GROUP: &str = "group";
    /// Which test of the file.
    pub const INDEX: &str = "index";
    /// The root task's CNode.
    pub const ROOT_CNODE: &str = "root-cnode";
    /// The right to make ASID pools.
    pub const ASID_CONTROL: &str = "asid-control";
    /// Domains.
    pub const DOMAIN: &str = "domain";
    /// The scheduling context that the test runs on.
    pub const SCHED_CONTEXT: &str = "sched-context";
    /// The boot information, mapped.
    pub const BOOT_INFO: &str = "boot-info";
    /// The rights to hand out time on the cores behind the first, as far as there are such.
    pub const SCHED_CONTROLS: &[&str] = &["sched-control-1", "sched-control-2", "sched-control-3"];
    /// Registers of a timer, mapped; on boards where timers have some.
    pub const TIMER: &str = "timer";
}

/// Label of the message that a test has failed.
pub const FAILED: usize = 1001;

/// Label of the request that the clock which ends tests be silent for a long time: [`QUIET_SECONDS`].
pub const QUIET: usize = 1002;
/// A test that asked for silence may take so long, and until then nothing happens but what it does.
pub const QUIET_SECONDS: u64 = 150;

/// Badge of the faults of the test's first thread, whose end is that of the test.
pub const BY_TEST: usize = 1;
/// Badge of everything else that a test sends. Its further threads may end.
pub const BY_THREAD: usize = 2;
/// Badge of the clock that ends tests which do not.
pub const BY_CLOCK: usize = 4;

/// The page that holds the reason of a failure: its length, then its bytes, one a word.
#[derive(Clone, Copy)]
pub struct Report(pub &'static [AtomicUsize]);

impl Report {
    /// Forgets what was written.
    pub fn clear(self) {
        self.0[0].store(0, Relaxed);
    }

    /// Writes a reason; cut to what fits.
    pub fn set(mut self, reason: fmt::Arguments) {
        self.clear();
        // It never fails: what is too long is cut.
        let _ = self.write_fmt(reason);
    }

    /// Whether there is one.
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
            // The page is the test's, who may write anything to it.
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
