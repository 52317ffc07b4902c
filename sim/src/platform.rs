//! What a description needs to know of a platform, from the platform's own file.

#[path = "../../platforms/board/description.rs"]
#[allow(dead_code, reason = "the rest is for the kernel of a board")]
mod description;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use system_description::{Device, Platform, Size};

/// The folder of the platforms of the checkout or SDK to which this crate belongs.
const PLATFORMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../platforms");

/// The part of a platform's file that descriptions depend on.
#[derive(Deserialize)]
struct File {
    #[serde(default = "one")]
    cores: u32,
    user: User,
    qemu: Qemu,
    #[serde(default, rename = "device")]
    devices: BTreeMap<String, Device>,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
struct User {
    elf: Elf,
}

#[derive(Deserialize)]
struct Elf {
    class: Class,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Class {
    Elf32,
    Elf64,
}

#[derive(Deserialize)]
struct Qemu {
    /// In MiB.
    memory: u32,
}

/// All platforms.
///
/// # Errors
/// A sentence.
pub(crate) fn all() -> Result<Vec<Platform>, String> {
    let platforms = Path::new(PLATFORMS);
    let entries = platforms.read_dir();
    let entries =
        entries.map_err(|error| format!("cannot read {}: {error}", platforms.display()))?;
    let names = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let is_platform = entry.path().join("platform.toml").is_file();
        is_platform.then(|| entry.file_name().to_string_lossy().into_owned())
    });
    let mut names: Vec<_> = names.collect();
    names.sort();
    let read = |name: String| {
        let file = description::read::<File>(platforms, &name)?;
        Ok(Platform {
            word_bits: match file.user.elf.class {
                Class::Elf32 => 32,
                Class::Elf64 => 64,
            },
            cores: file.cores,
            memory: Size::from_bytes(u64::from(file.qemu.memory) << 20),
            devices: file.devices,
            name,
        })
    };
    names.into_iter().map(read).collect()
}
