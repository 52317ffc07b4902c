//! Marks of programs in a trace.

/// What a program says at a point of a trace, with [`Syscall::TraceMark`](crate::Syscall::TraceMark).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// A job was released. The value is its number.
    Released = 1,
    /// A job begins.
    Begun = 2,
    /// A job is done.
    Done = 3,
    /// A job has missed its deadline.
    Missed = 4,
    /// The value is a number that the program wants to show.
    Number = 5,
    /// The value is a text of up to eight bytes, the first of them in the lowest byte.
    Text = 6,
    /// The job that begins next was released so many microseconds ago.
    Late = 7,
}
