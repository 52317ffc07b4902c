//! Checks. A failed check in any thread ends the test.

use super::protocol::{FAILED, Report};
use core::fmt::{self, Debug};
use core::panic::Location;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::cap::Endpoint;
use userlib::{CPtr, Capability, Error, Message, Startup, runtime};

/// The result of a test.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A failed invocation that the test expected to succeed.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    error: Error,
    location: &'static Location<'static>,
}

impl From<Error> for Failure {
    #[track_caller]
    fn from(error: Error) -> Self {
        Self {
            error,
            location: Location::caller(),
        }
    }
}

impl Failure {
    /// Ends the test.
    pub fn report(&self) -> ! {
        fail_at(self.location, format_args!("{:?}", self.error))
    }
}

/// The address of the report page; 0 before [`start`].
static REPORT: AtomicUsize = AtomicUsize::new(0);
static REPORT_WORDS: AtomicUsize = AtomicUsize::new(0);
static RUNNER: AtomicUsize = AtomicUsize::new(0);

/// Stores the destinations of failure reports.
pub(crate) fn start(startup: &'static Startup) {
    use super::protocol::names;
    let words = startup.shared(names::REPORT);
    REPORT_WORDS.store(words.len(), Relaxed);
    REPORT.store(words.as_ptr() as usize, Relaxed);
    let runner: Endpoint = startup.capability(names::RUNNER);
    RUNNER.store(runner.cptr().0, Relaxed);
    runtime::set_panic_hook(|info| match info.location() {
        Some(location) => fail_at(location, format_args!("panicked: {}", info.message())),
        None => fail(format_args!("panicked: {}", info.message())),
    });
}

fn fail_at(location: &Location, reason: fmt::Arguments) -> ! {
    let words = REPORT.load(Relaxed) as *const AtomicUsize;
    if !words.is_null() {
        // SAFETY: `start` took both from a slice that lives as long as the component.
        let words = unsafe { core::slice::from_raw_parts(words, REPORT_WORDS.load(Relaxed)) };
        let (file, line) = (location.file(), location.line());
        Report(words).set(format_args!("{reason} ({file}:{line})"));
    }
    Endpoint(CPtr(RUNNER.load(Relaxed))).send(Message::empty(FAILED));
    // The runner does not reply, and a thread without a capability to the runner faults.
    runtime::exit_thread(FAILED)
}

/// Ends the test with a reason.
#[track_caller]
pub fn fail(reason: fmt::Arguments) -> ! {
    fail_at(Location::caller(), reason)
}

/// Ends the test if `left`, the value of the expression `text`, is not `right`.
#[track_caller]
pub fn same<L: Debug + PartialEq<R> + ?Sized, R: Debug + ?Sized>(text: &str, left: &L, right: &R) {
    if left != right {
        fail(format_args!("{text} is {left:?}, not {right:?}"));
    }
}

/// Ends the test if `condition`, the value of the expression `text`, is false.
#[track_caller]
pub fn is_true(text: &str, condition: bool) {
    if !condition {
        fail(format_args!("not true: {text}"));
    }
}

/// Ends the test if a condition is false.
#[macro_export]
macro_rules! check {
    ($condition:expr) => {
        $crate::support::is_true(stringify!($condition), $condition)
    };
    ($condition:expr, $($reason:tt)+) => {
        if !$condition {
            $crate::support::fail(format_args!($($reason)+))
        }
    };
}

/// Ends the test if the first value is not equal to the second, which is the expected one.
#[macro_export]
macro_rules! check_eq {
    ($left:expr, $right:expr) => {
        $crate::support::same(stringify!($left), &$left, &$right)
    };
}
