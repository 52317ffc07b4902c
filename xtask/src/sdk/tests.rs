use super::*;
use crate::cli::Kernel;
use crate::system::System;
use crate::temporary;
use std::process::Command;
use system_description::{Source, check};

/// An SDK for kzm, without the files of its kernels and crates of the registry, in a temporary folder.
fn unpacked() -> (temporary::Folder, Workspace) {
    let workspace = Workspace::find().unwrap();
    let platform = Platform::load(&workspace, "kzm").unwrap();
    let kernels = kernels::of(&platform, &[Kernel::Debug], &[]);
    let files = sources(&workspace, &kernels).unwrap();
    let folder = temporary::Folder::new().unwrap();
    let path = folder.path().join("sdk.tar");
    write(&path, "sdk", &files).unwrap();
    let bytes = fs::read(&path).unwrap();
    tar::Archive::new(&*bytes).unpack(folder.path()).unwrap();
    let workspace = Workspace::at(&folder.path().join("sdk"));
    (folder, workspace)
}

#[test]
fn an_unpacked_sdk_takes_the_place_of_a_checkout() {
    let (_folder, workspace) = unpacked();
    let platform = Platform::load(&workspace, "kzm").unwrap();
    let sdk = Sdk::of(&workspace).unwrap().unwrap();
    assert_eq!(sdk.version, VERSION);
    let none = Hardening::default();
    let kernel = &kernels::of(&platform, &[Kernel::Debug], &[])[0];
    let file = sdk.kernel(&workspace, &platform, &kernel.recipe(&none));
    assert_eq!(file.unwrap(), workspace.path("kernels/kzm/debug.elf"));
    for file in [
        "LICENSE-MIT",
        "docs/src/ten-minutes.md",
        "tools/analyser/src/system.rs",
        "tools/trace/src/main.rs",
        "tools/description/system.schema.json",
        "sim/src/system.rs",
        "userlib/component.ld",
    ] {
        assert!(workspace.path(file).is_file(), "{file}");
    }
    for file in [
        "arch",
        "xtask/plugin",
        "platforms/pc99/Cargo.toml",
        "tests/kernel-host",
    ] {
        assert!(!workspace.path(file).exists(), "{file}");
    }
    let error = require_checkout(&workspace, "bench").unwrap_err();
    assert!(error.to_string().starts_with("`bench` needs kernels"));
    assert!(error.to_string().ends_with("call: cargo xtask bench"));
}

#[test]
fn an_sdk_knows_platforms_for_which_it_has_no_kernels() {
    let (_folder, workspace) = unpacked();
    let boards = Platform::all_for_descriptions(&workspace).unwrap();
    for name in System::names(&workspace) {
        let path = System::file(&workspace, &format!("systems/{name}"));
        let text = fs::read_to_string(path).unwrap();
        let source = Source {
            path: &name,
            text: &text,
        };
        assert_eq!(check(source, &boards).diagnostics, [], "{name}");
    }
    let with_kernels = platforms(&workspace).unwrap();
    let names: Vec<_> = with_kernels.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["kzm"]);
    require_kernels(&workspace, &with_kernels[0]).unwrap();
    let other = Platform::load(&workspace, "hikey").unwrap();
    let error = require_kernels(&workspace, &other).unwrap_err().to_string();
    assert!(
        error.starts_with("the SDK has no kernels for hikey, only for kzm; "),
        "{error}"
    );
}

#[test]
fn cargo_finds_all_that_the_crates_of_an_sdk_need() {
    let (_folder, workspace) = unpacked();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(workspace.root())
        .args([
            "tree",
            "--workspace",
            "--offline",
            "--depth=0",
            "--prefix=none",
        ])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("warning"), "{errors}");
    let names = String::from_utf8_lossy(&output.stdout);
    for name in CRATES.into_iter().chain(["abi", "lines-client"]) {
        let begin = format!("{name} v{VERSION}");
        assert!(names.lines().any(|line| line.starts_with(&begin)), "{name}");
    }
}

#[test]
fn a_checkout_is_not_an_sdk() {
    let workspace = Workspace::find().unwrap();
    assert!(Sdk::of(&workspace).unwrap().is_none());
    assert!(require_checkout(&workspace, "bench").is_ok());
    let all = platforms(&workspace).unwrap();
    let names: Vec<_> = all.iter().map(|one| &*one.name).collect();
    assert_eq!(names, Platform::names(&workspace));
}
