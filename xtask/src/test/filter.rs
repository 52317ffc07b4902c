//! Which tests are wanted, by parts of their names.

use std::fmt;

/// Texts of which a wanted test's name contains one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter<'a>(Vec<&'a str>);

impl<'a> Filter<'a> {
    /// The texts that an argument separates by commas. Without any, all tests are wanted.
    pub(super) fn new(argument: Option<&'a str>) -> Self {
        let texts = argument.unwrap_or_default().split(',');
        Self(texts.filter(|text| !text.is_empty()).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The texts.
    pub(super) fn texts(&self) -> &[&'a str] {
        &self.0
    }

    /// Whether a name contains one of the texts.
    pub(super) fn finds(&self, name: &str) -> bool {
        self.0.iter().any(|text| name.contains(text))
    }

    /// Whether a test is wanted: all are if there are no texts.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.is_empty() || self.finds(name)
    }

    /// Whether one of the texts is this name.
    pub(super) fn names(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// Those texts that begin with the name of a kind of tests.
    pub(super) fn of(&self, kind: &str) -> Self {
        self.only(|text| text.starts_with(kind))
    }

    /// Those texts of which this holds.
    pub(super) fn only(&self, holds: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().copied().filter(|text| holds(text)).collect())
    }

    /// As the tests on the target take it; `usual` if there are no texts.
    pub(super) fn or(&self, usual: &str) -> String {
        match self.is_empty() {
            true => usual.to_string(),
            false => self.to_string(),
        }
    }
}

/// As the tests on the target take it.
impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_contains_one_of_the_texts() {
        let filter = Filter::new(Some("system::a,,fuzz,"));
        assert_eq!(filter.to_string(), "system::a,fuzz");
        assert!(filter.wants("system::abc") && filter.wants("fuzz::any"));
        assert!(!filter.wants("system::demo") && !filter.names("system::abc"));
        assert!(filter.names("fuzz"));
        assert_eq!(filter.of("fuzz").or("usual"), "fuzz");
        assert_eq!(filter.of("stress").or("usual"), "usual");
    }

    #[test]
    fn without_texts_all_are_wanted() {
        for nothing in [None, Some(""), Some(",")] {
            let filter = Filter::new(nothing);
            assert!(filter.is_empty() && filter.wants("any") && !filter.finds("any"));
        }
    }
}
