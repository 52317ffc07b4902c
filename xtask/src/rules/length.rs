//! Rust files stay short enough to be read in one sitting.

use super::Repository;

const MAX_LINES: usize = 600;

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    repository
        .texts(&[".rs"])
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|&(_, lines)| lines > MAX_LINES)
        .map(|(path, lines)| {
            format!(
                "{}: {lines} lines; split it, {MAX_LINES} is the limit",
                path.display()
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_found() {
        let (short, long) = ("//\n".repeat(600), "//\n".repeat(601));
        let files = [
            ("short.rs", &*short),
            ("long.rs", &*long),
            ("long.md", &*long),
        ];
        let complaints = complaints(&Repository::of(&files));
        assert_eq!(
            complaints,
            ["long.rs: 601 lines; split it, 600 is the limit"]
        );
    }
}
