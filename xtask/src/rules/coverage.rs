//! The table of test coverage must list the whole interface, and only tests that exist; the latter also holds
//! for the rest of the book.

mod interface;
mod tests_of;

use std::path::Path;

use super::Repository;
use interface::{Item, TABLES};
use tests_of::{Suite, is_test_name};

const PAGE: &str = "docs/src/reference/coverage.md";

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let Some(page) = repository.text(PAGE) else {
        // The tool's own tests use small repositories without this page.
        return Vec::new();
    };
    let suite = Suite::read(repository);
    let mut complaints = Vec::new();
    for (path, text) in repository.texts(&[".md"]) {
        for (line, code) in (1..).zip(text.lines()).flat_map(|(line, text)| {
            let code = text.split('`').skip(1).step_by(2);
            code.map(move |code| (line, code))
        }) {
            if suite.lacks(code) {
                let path = path.display();
                complaints.push(format!("{path}:{line}: there is no test `{code}`"));
            }
        }
    }
    for table in TABLES {
        let items = table.items(repository);
        let rows = rows(page, table.heading);
        if items.is_empty() {
            complaints.push(format!("{}: nothing found for {PAGE}", table.file));
        }
        for (index, item) in items.iter().enumerate() {
            match rows.get(index) {
                Some(row) if row.name == item.name => row.check(item, &suite, &mut complaints),
                _ => {
                    let (heading, name) = (table.heading, &item.name);
                    complaints.push(format!(
                        "{PAGE}: row {} of \"{heading}\" should be `{name}`",
                        index + 1
                    ));
                    break;
                }
            }
        }
        for row in rows.iter().skip(items.len()) {
            let (line, name) = (row.line, row.name);
            complaints.push(format!("{PAGE}:{line}: there is no `{name}`"));
        }
    }
    complaints
}

/// A row of the page.
#[derive(Debug)]
struct Row<'a> {
    line: usize,
    name: &'a str,
    cell: &'a str,
}

/// The rows of the table under a heading.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Row<'a>> {
    let mut lines = (1..).zip(page.lines());
    let found = lines.find(|(_, line)| line.strip_prefix("## ") == Some(heading));
    if found.is_none() {
        return Vec::new();
    }
    lines
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter_map(|(line, text)| {
            let (name, cell) = text.strip_prefix("| `")?.split_once("` |")?;
            let cell = cell.trim().trim_end_matches('|').trim();
            Some(Row { line, name, cell })
        })
        .collect()
}

impl Row<'_> {
    fn check(&self, item: &Item, suite: &Suite, complaints: &mut Vec<String>) {
        let Self { line, name, cell } = self;
        let tests: Vec<_> = cell
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|code| is_test_name(code))
            .collect();
        // Text outside of backquotes is an explanation, or the commas between tests.
        let explained = cell
            .split('`')
            .step_by(2)
            .any(|prose| prose.contains(char::is_alphabetic));
        for architecture in suite.architectures() {
            let covered = tests.iter().any(|test| suite.runs_on(test, architecture));
            if item.exists_on(architecture) && !covered && !explained {
                complaints.push(format!(
                    "{PAGE}:{line}: no test of `{name}` on {architecture}, and no reason"
                ));
            }
        }
    }
}

impl Repository {
    /// The text of one file.
    fn text(&self, path: &str) -> Option<&str> {
        let found = self.files.iter().find(|(file, _)| file == Path::new(path));
        found.and_then(|(_, text)| text.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str =
        "groups![\n    both,\n    #[cfg(target_arch = \"arm\")]\n    arm_only,\n];\n";
    const METHODS: &str = "ordered! {\n    pub enum Method {\n        /// First.\n        A if true,\n        B if X86_64,\n        C if IOMMU,\n    }\n}\n";

    /// The complaints about the table of methods.
    fn about(methods: &str) -> Vec<String> {
        let page = format!("## Methods\n\n| method | tests |\n|---|---|\n{methods}\n## Else\n");
        let files = [
            (PAGE, &*page),
            ("kernel/abi/src/method.rs", METHODS),
            ("platforms/p/platform.toml", "target = \"x86_64-none\"\n"),
            ("platforms/q/platform.toml", "target = \"armv7a-none\"\n"),
            ("tests/kernel-target/component/src/lib.rs", LIBRARY),
            (
                "tests/kernel-target/component/src/both.rs",
                "tests![\n    one,\n    two,\n];\n",
            ),
            (
                "tests/kernel-target/component/src/arm_only.rs",
                "tests![three];\n",
            ),
        ];
        let complaints = complaints(&Repository::of(&files));
        let others = |complaint: &String| !complaint.contains("nothing found");
        complaints.into_iter().filter(others).collect()
    }

    #[test]
    fn a_full_table_is_accepted() {
        let rows = "| `A` | `both::one`, `arm_only::three` |\n| `B` | `both::two` |\n\
                    | `C` | No such hardware. |\n";
        assert!(about(rows).is_empty());
    }

    #[test]
    fn missing_rows_are_found() {
        let complaints = about("| `A` | `both::one` |\n| `C` | None. |\n");
        assert_eq!(
            complaints,
            [format!("{PAGE}: row 2 of \"Methods\" should be `B`")]
        );
    }

    #[test]
    fn rows_of_nothing_are_found() {
        let rows = "| `A` | `both::one` |\n| `B` | `both::two` |\n| `C` | No. |\n| `D` | No. |\n";
        assert_eq!(about(rows), [format!("{PAGE}:8: there is no `D`")]);
    }

    #[test]
    fn tests_must_exist_where_the_row_does() {
        let rows = "| `A` | `arm_only::three`, `both::zero` |\n| `B` | `arm_only::three` |\n\
                    | `C` | |\n";
        let reason = "and no reason";
        assert_eq!(
            about(rows),
            [
                format!("{PAGE}:5: there is no test `both::zero`"),
                format!("{PAGE}:5: no test of `A` on x86_64, {reason}"),
                format!("{PAGE}:6: no test of `B` on x86_64, {reason}"),
                format!("{PAGE}:7: no test of `C` on x86_64, {reason}"),
            ]
        );
    }
}
