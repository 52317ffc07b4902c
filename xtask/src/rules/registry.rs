//! Crates for a registry, which are those that do not say `publish`: each has what a registry asks for, and depends on no
//! private one, else `cargo package` fails.

use super::Repository;
use crate::crates::Crate;

const KEYS: [&str; 5] = ["description", "keywords", "categories", "readme", "license"];

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let crates = &repository.crates;
    let complain = |one: &Crate| -> Vec<String> {
        let missing = KEYS.iter().filter(|key| !has(one, key));
        let missing = missing.map(|key| format!("add `{key}`"));
        let private = one.dependencies().into_iter().filter(|name| {
            let other = crates.iter().find(|other| other.name == *name);
            other.is_some_and(Crate::is_private)
        });
        let private =
            private.map(|name| format!("`{name}` is private; publish it, or neither of the two"));
        let complaints = missing.chain(private);
        complaints
            .map(|what| format!("{}/Cargo.toml: {what}", one.folder.display()))
            .collect()
    };
    let published = crates.iter().filter(|one| !one.is_private());
    published.flat_map(complain).collect()
}

/// Whether the package has a key, or takes it from the workspace.
fn has(one: &Crate, key: &str) -> bool {
    let package = one.manifest.get("package");
    package.is_some_and(|package| package.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_crates_are_complete_and_depend_on_no_private_ones() {
        let good = "[package]\nname = 'a'\ndescription = ''\nkeywords = []\ncategories = []\nreadme = ''\n\
                    license.workspace = true\n[dependencies]\n";
        let uses = |name: &str| format!("{good}{name}.workspace = true");
        let (b, d) = (uses("a"), uses("c"));
        let files = [
            ("a/Cargo.toml", good),
            ("b/Cargo.toml", &*b),
            ("c/Cargo.toml", "package = { name = 'c', publish = false }"),
            ("d/Cargo.toml", &*d),
            ("e/Cargo.toml", &good.replace("readme = ''\n", "")),
        ];
        let complaints = complaints(&Repository::of(&files));
        assert_eq!(
            complaints,
            [
                "d/Cargo.toml: `c` is private; publish it, or neither of the two",
                "e/Cargo.toml: add `readme`"
            ]
        );
    }
}
