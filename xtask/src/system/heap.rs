//! Whether the programs are there, and whether those that allocate have a heap. Without this, a program that has none would
//! not compile in a fresh target folder, since the library `alloc` is only made for systems with a heap, and would panic
//! otherwise.

use std::fs;
use std::path::Path;

use system_description::system::System;

use super::about::about;
use crate::Result;
use crate::crates::Crate;
use crate::project::COMPONENTS;

/// Refuses a program of a project that is not among its crates, and one that has the feature `heap` of `userlib` if a
/// component of it has no heap. Crates are beside the description, or in the project's folder for components.
pub(super) fn require(system: &System, folder: &Path) -> Result<()> {
    let components = folder.join(COMPONENTS);
    let folders = [folder, &components];
    let entries = folders.iter().filter_map(|folder| folder.read_dir().ok());
    let mut programs = Vec::new();
    for entry in entries.flatten().flatten() {
        if let Ok(text) = fs::read_to_string(entry.path().join("Cargo.toml")) {
            programs.extend(Crate::parse(&entry.path(), &text)?);
        }
    }
    for one in &system.components {
        let Some(wanted) = &one.program else { continue };
        match programs.iter().find(|program| program.name == *wanted) {
            None if components.is_dir() => {
                let mut names: Vec<_> = programs.iter().map(|program| &*program.name).collect();
                names.sort_unstable();
                let names = names.join(", ");
                let message = format!(
                    "there is no crate `{wanted}` for the component `{}`; make one in {COMPONENTS}/, where there are: {names}",
                    one.name
                );
                return Err(about(&one.name, message));
            }
            Some(program) if one.heap.as_bytes() == 0 && allocates(program) => {
                let message = format!(
                    "`{}` has no heap, but its program `{wanted}` allocates; add `heap = \"16 KiB\"` to [component.{0}], \
                     or leave out the feature `heap` of userlib",
                    one.name
                );
                return Err(about(&one.name, message));
            }
            _ => {}
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

    #[test]
    fn a_program_of_a_project_is_one_of_its_crates() {
        let folder = temporary::Folder::new().unwrap();
        let system = described("[component.a]\nprogram = 'q'\nslice = '5 ms'\npriority = 1\n");
        // Programs of the repository may be anywhere.
        require(&system, folder.path()).unwrap();
        for name in ["p", "o"] {
            let crates = folder.path().join("components").join(name);
            fs::create_dir_all(&crates).unwrap();
            fs::write(
                crates.join("Cargo.toml"),
                format!("package.name = '{name}'"),
            )
            .unwrap();
        }
        assert_eq!(
            require(&system, folder.path()).unwrap_err().to_string(),
            "there is no crate `q` for the component `a`; make one in components/, where there are: o, p"
        );
    }
}
