//! Every crate takes the workspace's lints.

use super::Repository;

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let inherits = |manifest: &toml::Table| {
        manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace")?.as_bool())
            == Some(true)
    };
    repository
        .crates
        .iter()
        .filter(|one| !inherits(&one.manifest))
        .map(|one| {
            format!(
                "{}/Cargo.toml: add `lints.workspace = true`",
                one.folder.display()
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_without_the_lints_are_found() {
        let good = "package.name = 'a'\nlints.workspace = true";
        let bad = "package.name = 'b'\n[lints.rust]\nunsafe_code = 'deny'";
        let files = [
            ("a/Cargo.toml", good),
            ("b/Cargo.toml", bad),
            ("Cargo.toml", "[workspace]"),
        ];
        let complaints = complaints(&Repository::of(&files));
        assert_eq!(complaints, ["b/Cargo.toml: add `lints.workspace = true`"]);
    }
}
