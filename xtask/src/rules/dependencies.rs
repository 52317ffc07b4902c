//! Dependencies between the repository's crates follow the layers: abi <- kernel <- arch <- platforms, and
//! abi <- userlib <- systems.

use super::Repository;
use crate::crates::{Crate, Layer};

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for one in &repository.crates {
        for name in one.dependencies() {
            let Some(other) = repository.crates.iter().find(|other| other.name == name) else {
                continue;
            };
            if !may_use(one, other) {
                complaints.push(format!(
                    "{}/Cargo.toml: a crate there may not depend on `{name}`; dependencies point \
                     abi <- kernel <- arch <- platforms and abi <- userlib <- systems",
                    one.folder.display(),
                ));
            }
        }
    }
    complaints
}

fn may_use(one: &Crate, other: &Crate) -> bool {
    use Layer::{Abi, Arch, Host, Kernel, Platform, System, Userlib};
    match one.layer {
        Abi => false,
        // The kernel is one crate; further crates in its folder belong to it.
        Kernel => matches!(other.layer, Abi | Kernel),
        Arch => matches!(other.layer, Abi | Kernel | Arch),
        Platform => matches!(other.layer, Abi | Kernel | Arch),
        Userlib => matches!(other.layer, Abi | Userlib),
        System => matches!(other.layer, Abi | Userlib | System),
        // Host tests and the simulator compile all portable crates.
        Host => !matches!(other.layer, Platform | System),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(user: &str, used: &str, dependency: &str) -> bool {
        let user_file = format!("{user}/Cargo.toml");
        let used_file = format!("{used}/Cargo.toml");
        let text = format!("package.name = 'user'\n{dependency}");
        let files = [
            (&*user_file, &*text),
            (&*used_file, "package.name = 'used'"),
        ];
        complaints(&Repository::of(&files)).is_empty()
    }

    #[test]
    fn dependencies_point_one_way() {
        let accepts = |user, used| accepts(user, used, "dependencies.used.workspace = true");
        let layers = ["kernel/abi", "kernel", "arch/x", "platforms/x"];
        for (height, upper) in layers.iter().enumerate() {
            for lower in &layers[..height] {
                assert!(accepts(upper, lower), "{upper} uses {lower}");
                assert!(!accepts(lower, upper), "{lower} uses {upper}");
            }
        }
        assert!(accepts("userlib", "kernel/abi") && accepts("systems/x/y", "userlib"));
        assert!(!accepts("userlib", "kernel") && !accepts("systems/x", "kernel"));
        assert!(!accepts("userlib", "systems/x") && !accepts("xtask", "platforms/x"));
        assert!(accepts("arch/armv8", "arch/arm") && accepts("tests/host-machine", "kernel"));
    }

    #[test]
    fn dependencies_are_found_wherever_they_stand() {
        for dependency in [
            "target.'cfg(unix)'.dependencies.used.path = 'x'",
            "build-dependencies.used = '1'",
            "dependencies.other = { package = 'used', path = 'x' }",
        ] {
            assert!(
                !accepts("kernel", "platforms/x", dependency),
                "{dependency}"
            );
        }
        let test_only = "dev-dependencies.used.workspace = true";
        assert!(accepts("kernel", "platforms/x", test_only));
    }
}
