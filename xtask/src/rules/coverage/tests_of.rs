//! The on-target tests, and the architectures on which they run.

use std::path::Path;

use super::Repository;

const FOLDER: &str = "tests/kernel-target/component/src";

/// The on-target tests.
#[derive(Debug)]
pub(super) struct Suite {
    tests: Vec<Test>,
    architectures: Vec<&'static str>,
}

#[derive(Debug)]
struct Test {
    /// `group::name`.
    name: String,
    /// The attributes of its group and of itself.
    attributes: String,
}

/// Whether a piece of code is the name of a test.
pub(super) fn is_test_name(code: &str) -> bool {
    let part = |part: &str| {
        let of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !part.is_empty() && part.chars().all(of_name)
    };
    code.split_once("::")
        .is_some_and(|(group, name)| part(group) && part(name))
}

impl Suite {
    pub(super) fn read(repository: &Repository) -> Self {
        let read = |file: &str| repository.text(&format!("{FOLDER}/{file}")).unwrap_or("");
        let mut tests = Vec::new();
        for (group, outer) in names(read("lib.rs"), "groups![") {
            for (name, inner) in names(read(&format!("{group}.rs")), "tests![") {
                tests.push(Test {
                    name: format!("{group}::{name}"),
                    attributes: format!("{outer}{inner}"),
                });
            }
        }
        Self {
            tests,
            architectures: architectures(repository),
        }
    }

    /// The architectures with platforms.
    pub(super) fn architectures(&self) -> impl Iterator<Item = &'static str> {
        self.architectures.iter().copied()
    }

    /// Whether a piece of code names a test in a file that has tests, but not this one.
    pub(super) fn lacks(&self, code: &str) -> bool {
        let of_group = |test: &Test| {
            let group = test.name.split("::").next();
            group == code.split("::").next()
        };
        is_test_name(code)
            && self.tests.iter().any(of_group)
            && !self.tests.iter().any(|test| test.name == code)
    }

    pub(super) fn runs_on(&self, name: &str, architecture: &str) -> bool {
        let quoted = format!("\"{architecture}\"");
        self.tests.iter().any(|test| {
            let attributes = &test.attributes;
            let named = attributes.contains(&quoted);
            let chosen = if attributes.contains("not(") {
                !named
            } else {
                named || !attributes.contains("target_arch")
            };
            test.name == name && chosen
        })
    }
}

/// The names in a list that starts with `head`, each with the attributes before it.
fn names<'a>(text: &'a str, head: &str) -> Vec<(&'a str, String)> {
    let start = text.find(&format!("\n{head}")).map(|at| at + 1);
    let start = start.or_else(|| text.starts_with(head).then_some(0));
    let Some(list) = start.and_then(|start| text[start + head.len()..].split_once("];")) else {
        return Vec::new();
    };
    // `tests![if CONDITION; ...]`: only some builds of the ABI run these tests.
    let list = match list.0.strip_prefix("if ") {
        Some(rest) => rest.split_once(';').map_or(rest, |(_, list)| list),
        None => list.0,
    };
    let mut names = Vec::new();
    let mut attributes = String::new();
    for line in list.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push_str(line);
        } else if !line.starts_with("//") {
            for name in line
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
            {
                names.push((name, core::mem::take(&mut attributes)));
            }
        }
    }
    names
}

/// The architectures of all platforms, as Rust calls them.
fn architectures(repository: &Repository) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (path, text) in repository.texts(&["platform.toml"]) {
        if !path.starts_with(Path::new("platforms")) {
            continue;
        }
        let target = text
            .lines()
            .find_map(|line| line.strip_prefix("target = \""));
        found.extend(target.and_then(|target| match target {
            _ if target.starts_with("x86_64") => Some("x86_64"),
            _ if target.starts_with("aarch64") => Some("aarch64"),
            _ if target.starts_with("arm") || target.starts_with("thumb") => Some("arm"),
            _ => None,
        }));
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_with_attributes() {
        let text = "macro!();\ngroups![\n    a,\n    #[cfg(x)]\n    // Why.\n    b,\n];\n";
        assert_eq!(
            names(text, "groups!["),
            [("a", String::new()), ("b", "#[cfg(x)]".to_string())]
        );
        assert_eq!(names("tests![one, two];", "tests![").len(), 2);
        let conditional = names("tests![if DEBUG; one];", "tests![");
        assert_eq!(conditional, [("one", String::new())]);
    }

    #[test]
    fn names_of_tests_are_told_from_other_code() {
        assert!(is_test_name("irq::numbers_have_a_limit"));
        assert!(!is_test_name("--abi iommu") && !is_test_name("bench") && !is_test_name("a::b()"));
    }
}
