//! Relative links in Markdown must have existing targets.

use std::path::{Component, Path, PathBuf};

use super::Repository;

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in repository.texts(&[".md"]) {
        for (number, link) in links(text) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || is_absolute(target) {
                continue;
            }
            let folder = path.parent().unwrap_or(Path::new(""));
            let leads = resolve(folder, target).is_some_and(|target| repository.holds(&target));
            if !leads {
                let path = path.display();
                complaints.push(format!("{path}:{number}: the link `{link}` leads nowhere"));
            }
        }
    }
    complaints
}

/// The targets of the inline links outside of code, each with its line.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every other piece between backquotes is code.
        for prose in line.split('`').step_by(2) {
            let targets = prose
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split_once(')'));
            links.extend(targets.map(|(target, _)| (number, target.trim())));
        }
    }
    links
}

/// Whether a link names a scheme (`https:`, `mailto:`) or a site's root.
fn is_absolute(target: &str) -> bool {
    target.starts_with('/')
        || target
            .split_once(':')
            .is_some_and(|(scheme, _)| !scheme.contains('/'))
}

/// `folder/target` without dots; none if it leaves the repository.
fn resolve(folder: &Path, target: &str) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for component in folder.join(target).components() {
        match component {
            Component::Normal(part) => resolved.push(part),
            Component::ParentDir => resolved.pop().then_some(())?,
            _ => {}
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let text = "[a](b.md) [c](../README.md#top) [d](gone.md)\n[`e`](gone/too.md)";
        let files = [
            ("docs/a.md", text),
            ("docs/b.md", ""),
            ("README.md", "[x](docs)"),
        ];
        let complaints = complaints(&Repository::of(&files));
        assert_eq!(
            complaints,
            [
                "docs/a.md:1: the link `gone.md` leads nowhere",
                "docs/a.md:2: the link `gone/too.md` leads nowhere",
            ]
        );
    }

    #[test]
    fn only_relative_links_in_prose_count() {
        let text = "[a](https://example.org/x) [b](mailto:x) [c](#here)\n\
                    `[d](code)`\n```\n[e](fenced)\n```\n";
        assert!(complaints(&Repository::of(&[("a.md", text)])).is_empty());
    }

    #[test]
    fn links_out_of_the_repository_are_found() {
        assert_eq!(
            complaints(&Repository::of(&[("a.md", "[x](../a.md)")])).len(),
            1
        );
    }
}
