//! The manifests of an SDK. What only the repository's tests need is left out, so that cargo looks for nothing that
//! is not there.

use anyhow::{Context, bail};
use toml::{Table, Value};

use crate::Result;

/// The tables that are left out.
const TESTS: &str = "dev-dependencies";

/// The manifest of a crate. The rest of the text stays as it is, because users read it.
pub(super) fn of_crate(text: &str) -> Result<String> {
    let mut kept = String::new();
    let mut keeps = true;
    for line in text.lines() {
        // A comment between two tables belongs to the second one.
        if line.starts_with('[') || !keeps && line.is_empty() {
            let is_header = |line: &str| line.starts_with('[') && line.contains(TESTS);
            keeps = !is_header(line);
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    let mut wanted: Table = text.parse()?;
    remove_tests(&mut wanted);
    if kept.parse::<Table>().ok() != Some(wanted) {
        bail!("the tables `{TESTS}` are not written as `[{TESTS}]`, so they cannot be left out");
    }
    Ok(kept)
}

fn remove_tests(manifest: &mut Table) {
    manifest.remove(TESTS);
    let Some(targets) = manifest.get_mut("target").and_then(Value::as_table_mut) else {
        return;
    };
    for (_, target) in targets.iter_mut() {
        target.as_table_mut().map(|target| target.remove(TESTS));
    }
    targets.retain(|_, target| !target.as_table().is_some_and(Table::is_empty));
    if targets.is_empty() {
        manifest.remove("target");
    }
}

/// The manifest of the workspace, whose members are the crates with these folders and names.
pub(super) fn of_workspace(text: &str, members: &[(String, String)]) -> Result<String> {
    let mut manifest: Table = text.parse()?;
    let folders = members
        .iter()
        .map(|(folder, _)| Value::from(folder.as_str()));
    let workspace = manifest.get_mut("workspace").and_then(Value::as_table_mut);
    workspace
        .context("the repository's Cargo.toml has no `workspace`")?
        .insert("members".to_string(), Value::Array(folders.collect()));
    let profiles = manifest.get_mut("profile").and_then(Value::as_table_mut);
    for (_, profile) in profiles
        .into_iter()
        .flat_map(|profiles| profiles.iter_mut())
    {
        let packages = profile.get_mut("package").and_then(Value::as_table_mut);
        if let Some(packages) = packages {
            // Cargo warns about others.
            packages.retain(|name, _| name == "*" || members.iter().any(|(_, one)| one == name));
        }
    }
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_need_is_left_out() {
        let text = "[package]\nname = 'a' # kept\n\n[dev-dependencies]\nb = '1'\n\n# Kept, too.\n[features]\nc = []\n";
        assert_eq!(
            of_crate(text).unwrap(),
            "[package]\nname = 'a' # kept\n\n\n# Kept, too.\n[features]\nc = []\n"
        );
        let text =
            "[target.'cfg(unix)'.dev-dependencies]\nb = '1'\n[dev-dependencies.c]\npath = 'c'\n";
        assert_eq!(of_crate(text).unwrap(), "");
        let error = of_crate("dev-dependencies.a = '1'\n")
            .unwrap_err()
            .to_string();
        assert!(error.contains("so they cannot be left out"), "{error}");
    }

    #[test]
    fn the_workspace_has_the_members_that_are_there() {
        let text = "[workspace]\nmembers = ['a', 'b']\n[profile.tool.package.b]\nopt-level = 1\n\
                    [profile.tool.package.a]\nopt-level = 2\n[profile.tool.package.'*']\ndebug = false\n";
        let members = [("folder/a".to_string(), "a".to_string())];
        let manifest: Table = of_workspace(text, &members).unwrap().parse().unwrap();
        let wanted = "[workspace]\nmembers = ['folder/a']\n[profile.tool.package.a]\nopt-level = 2\n\
                      [profile.tool.package.'*']\ndebug = false\n";
        assert_eq!(manifest, wanted.parse().unwrap());
    }
}
