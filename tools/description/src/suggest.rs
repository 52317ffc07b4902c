//! Which name was probably meant.

/// Names less alike than this, from 0 to 1, are not taken for each other.
const ALIKE: f64 = 0.6;

/// The known name that is most like `name`, if one is.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &'a str| (strsim::normalized_damerau_levenshtein(name, known), known);
    let alike = known
        .into_iter()
        .map(likeness)
        .filter(|(value, _)| *value >= ALIKE);
    alike
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_recognised() {
        let known = ["server", "client", "recovery"];
        assert_eq!(nearest("sevrer", known), Some("server"));
        assert_eq!(nearest("clients", known), Some("client"));
        assert_eq!(nearest("hog", known), None);
    }
}
