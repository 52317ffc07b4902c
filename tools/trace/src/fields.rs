//! The fields of each kind of event.

use trace_format::{Blocking, End, Event, Kind, Mark, Move, Reason};

/// A field: its name, the part of the event that it has, and what that means.
pub(crate) type Field = (&'static str, Part, Meaning);

/// A part of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// The number of the kind.
    Kind,
    /// The subject.
    Subject,
    /// Detail `a`.
    A,
    /// The lower half of `a`.
    LowerA,
    /// The upper half of `a`.
    UpperA,
    /// Detail `b`.
    B,
}

impl Part {
    /// Its value in an event.
    pub(crate) const fn of(self, event: &Event) -> u64 {
        match self {
            Self::Kind => event.kind as u64,
            Self::Subject => event.subject.0 as u64,
            Self::A => event.a,
            Self::LowerA => event.a & 0xffff_ffff,
            Self::UpperA => event.a >> 32,
            Self::B => event.b,
        }
    }
}

/// What a part of an event means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// A number.
    Number,
    /// A time or a duration, in ticks.
    Ticks,
    /// A number with a sign.
    Signed,
    /// A kernel object.
    Object,
    /// A thread, which has one more field with its name.
    Thread,
    /// A scheduling context, which has one more field with its name.
    Context,
    /// A number with a name.
    Code(Code),
    /// The name of a thread, in both details.
    Name,
    /// The text of a mark that has one.
    Text,
}

/// The codes of the trace format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    Reason,
    Mark,
    End,
    Move,
    Blocking,
}

/// All values of a code.
macro_rules! all {
    ($code:ident) => {
        $code::ALL
            .iter()
            .map(|it| (it.number(), it.name()))
            .collect()
    };
}

impl Code {
    /// Its numbers and their names.
    pub(crate) fn values(self) -> Vec<(u8, &'static str)> {
        match self {
            Self::Reason => all!(Reason),
            Self::Mark => all!(Mark),
            Self::End => all!(End),
            Self::Move => all!(Move),
            Self::Blocking => all!(Blocking),
        }
    }
}

/// The fields of a kind of event, in order; of `None`, those of events that this version does not know.
pub(crate) fn fields(kind: Option<Kind>) -> Vec<Field> {
    let Some(kind) = kind else {
        return vec![
            ("kind", Part::Kind, Meaning::Number),
            ("subject", Part::Subject, Meaning::Object),
            ("a", Part::A, Meaning::Number),
            ("b", Part::B, Meaning::Number),
        ];
    };
    let subject = if kind.is_about_context() {
        ("context", Part::Subject, Meaning::Context)
    } else {
        ("thread", Part::Subject, Meaning::Thread)
    };
    [&[subject], details(kind)].concat()
}

/// The fields in the details of a kind, as [`Kind`] documents them. There is an arm for each kind, so that the compiler
/// finds one that is missing.
const fn details(kind: Kind) -> &'static [Field] {
    use Meaning::{Context, Name, Number, Object, Signed, Text, Thread, Ticks};
    use Part::{A, B, LowerA, UpperA};
    match kind {
        Kind::Run
        | Kind::Use
        | Kind::Waited
        | Kind::Stopped
        | Kind::ThreadCreated
        | Kind::ThreadDeleted
        | Kind::ContextCreated
        | Kind::ContextDeleted => &[],
        Kind::Entry => &[
            ("reason", A, Meaning::Code(Code::Reason)),
            ("number", B, Signed),
        ],
        Kind::Exit => &[("context", A, Context), ("deadline_ticks", B, Ticks)],
        Kind::Invocation => &[("tag", A, Number), ("label", B, Number)],
        Kind::Configured => &[("budget_ticks", A, Ticks), ("period_ticks", B, Ticks)],
        Kind::Flags => &[("flags", A, Number), ("badge", B, Number)],
        Kind::Charged => &[("amount_ticks", A, Ticks), ("consumed_ticks", B, Ticks)],
        Kind::Head | Kind::Added => &[("time_ticks", A, Ticks), ("amount_ticks", B, Ticks)],
        Kind::GivenUp => &[("used_ticks", A, Ticks)],
        Kind::Idled => &[("amount_ticks", A, Ticks)],
        Kind::Consumed => &[("consumed_ticks", A, Ticks)],
        Kind::Exhausted => &[("end", A, Meaning::Code(Code::End)), ("thread", B, Thread)],
        Kind::Moved => &[
            ("reason", UpperA, Meaning::Code(Code::Move)),
            ("from", LowerA, Thread),
            ("to", B, Thread),
        ],
        Kind::Limited => &[("limit_ticks", A, Ticks), ("thread", B, Thread)],
        Kind::Blocked => &[
            ("reason", A, Meaning::Code(Code::Blocking)),
            ("object", B, Object),
        ],
        Kind::Woken => &[("running", A, Thread)],
        Kind::Postponed => &[("time_ticks", A, Ticks), ("context", B, Context)],
        Kind::Deferred => &[("context", A, Context), ("threshold_ticks", B, Ticks)],
        Kind::Faulted => &[("label", A, Number)],
        Kind::Timeout => &[("context", A, Context), ("badge", B, Number)],
        Kind::Yielded => &[("context", A, Context), ("end_ticks", B, Ticks)],
        Kind::Priority => &[("priority", A, Number)],
        Kind::Criticality => &[("criticality", A, Number)],
        Kind::Level => &[("level", A, Number)],
        Kind::Domain => &[("domain", A, Number)],
        Kind::ThreadMigrated | Kind::ContextMigrated => &[("core", A, Number)],
        Kind::Exclusive => &[("waited_ticks", A, Ticks)],
        Kind::Named => &[("name", A, Name)],
        Kind::Marked => &[
            ("task", LowerA, Number),
            ("mark", UpperA, Meaning::Code(Code::Mark)),
            ("value", B, Number),
            ("text", B, Text),
        ],
    }
}
