//! The result of a run that is judged by times, too.

use core::fmt;

/// How a run was. Of several runs, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All is as it should be.
    Good,
    /// What must hold on any host does, but jobs were late in host time, as a busy host delays every program.
    Late,
    /// Something is wrong.
    Bad,
}

impl Verdict {
    /// Of a run for which `holds` what must hold on any host, whose jobs were `in_time` or not. In virtual time they must be.
    pub const fn new(holds: bool, in_time: bool, is_in_host_time: bool) -> Self {
        match (holds, in_time) {
            (true, true) => Self::Good,
            (true, false) if is_in_host_time => Self::Late,
            _ => Self::Bad,
        }
    }

    /// What a root task ends with: 0 unless something is wrong.
    pub fn exit_code(self) -> usize {
        usize::from(self == Self::Bad)
    }
}

/// In words, for the end of a run.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "as it should be",
            Self::Late => "as it can be on a busy host; on an idle one all would be in time",
            Self::Bad => "not as it should be",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_jobs_are_excused_in_host_time_only() {
        let of = |holds, in_time| [false, true].map(|host| Verdict::new(holds, in_time, host));
        assert_eq!(of(true, true), [Verdict::Good; 2]);
        assert_eq!(of(true, false), [Verdict::Bad, Verdict::Late]);
        assert_eq!(of(false, true), [Verdict::Bad; 2]);
        assert_eq!(of(false, false), [Verdict::Bad; 2]);
    }

    #[test]
    fn of_several_runs_the_worst_counts() {
        assert_eq!(Verdict::Good.max(Verdict::Late).exit_code(), 0);
        assert_eq!(Verdict::Late.max(Verdict::Bad).exit_code(), 1);
    }
}
