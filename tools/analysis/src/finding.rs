//! Results that name their origin.

use std::fmt;

/// A published method.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The publication.
    pub source: &'static str,
    /// What must hold for its results to hold.
    pub assumptions: &'static [&'static str],
}

/// A value and the method that found it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding<T> {
    /// The value.
    pub value: T,
    /// The method.
    pub method: &'static Method,
}

/// Whether all deadlines hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They do.
    Holds,
    /// One can be missed.
    Fails,
    /// The method cannot show that they do; another one may.
    Unknown,
}

impl Verdict {
    /// Whether all deadlines are known to hold.
    pub fn holds(self) -> bool {
        self == Self::Holds
    }

    /// Of a test that is sufficient only.
    pub(crate) fn if_shown(shown: bool) -> Self {
        if shown { Self::Holds } else { Self::Unknown }
    }
}

impl Method {
    pub(crate) fn finds<T>(&'static self, value: T) -> Finding<T> {
        Finding {
            value,
            method: self,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})", self.name, self.source)?;
        for assumption in self.assumptions {
            writeln!(f, "  assumes: {assumption}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_method_prints_its_source_and_its_assumptions() {
        let printed = crate::guests::SWITCH.to_string();
        let lines: Vec<_> = printed.lines().collect();
        assert_eq!(
            lines[0],
            "cost of a switch as lost progress (Kaiser, ETFA 2009; HIRES 2018)"
        );
        assert!(lines.len() == 3 && lines[1].starts_with("  assumes: after a switch"));
    }
}
