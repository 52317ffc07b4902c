//! Whether programs that allocate have a heap. Without this, a program that has none would not compile in a fresh target
//! folder, since the library `alloc` is only made for systems with a heap, and would panic otherwise.

use std::fs;
use std::path::Path;

use anyhow::bail;
use system_description::system::System;

use crate::Result;
use crate::crates::Crate;
use crate::project::COMPONENTS;

/// Refuses a program that has the feature `heap` of `userlib`, if a component of it has no heap. Its crate is beside the
/// description, or in the project's folder for components.
pub(super) fn require(system: &System, folder: &Path) -> Result<()> {
    let folders = [folder.to_path_buf(), folder.join(COMPONENTS)];
    let entries = folders.iter().filter_map(|folder| folder.read_dir().ok());
    for entry in entries.flatten().flatten() {
        let Ok(text) = fs::read_to_string(entry.path().join("Cargo.toml")) else {
            continue;
        };
        let Some(program) = Crate::parse(&entry.path(), &text)?.filter(allocates) else {
            continue;
        };
        let is_poor = |one: &&system_description::system::Component| {
            one.program.as_deref() == Some(&*program.name) && one.heap.as_bytes() == 0
        };
        if let Some(one) = system.components.iter().find(is_poor) {
            bail!(
                "`{}` has no heap, but its program `{}` allocates; add `heap = \"16 KiB\"` to [component.{0}], or leave \
                 out the feature `heap` of userlib",
                one.name,
                program.name
            );
        }
    }
    Ok(())
}

/// Whether a crate wants the feature `heap` of `userlib`.
fn allocates(program: &Crate) -> bool {
    let features = || {
        let userlib = program.manifest.get("dependencies")?.get("userlib")?;
        userlib.get("features")?.as_array()
    };
    features().is_some_and(|all| all.iter().any(|one| one.as_str() == Some("heap")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::table::tests::described;
    use crate::temporary;

    #[test]
    fn a_program_that_allocates_needs_a_heap() {
        const COMPONENT: &str = "[component.a]\nprogram = 'p'\nslice = '5 ms'\npriority = 1\n";
        let folder = temporary::Folder::new().unwrap();
        let manifest = |features: &str| {
            let text = format!(
                "package.name = 'p'\ndependencies.userlib = {{ path = 'u', features = [{features}] }}"
            );
            let crates = folder.path().join("components/p");
            fs::create_dir_all(&crates).unwrap();
            fs::write(crates.join("Cargo.toml"), text).unwrap();
        };
        let poor = described(COMPONENT);
        manifest("");
        require(&poor, folder.path()).unwrap();
        manifest("'heap'");
        require(
            &described(&format!("{COMPONENT}heap = '4 KiB'")),
            folder.path(),
        )
        .unwrap();
        assert_eq!(
            require(&poor, folder.path()).unwrap_err().to_string(),
            "`a` has no heap, but its program `p` allocates; add `heap = \"16 KiB\"` to [component.a], or leave out the \
             feature `heap` of userlib"
        );
    }
}
