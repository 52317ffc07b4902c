//! What a description needs to know of a platform.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Size;

/// A platform, as far as descriptions depend on it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Platform {
    /// Its name.
    pub name: String,
    /// The size of a machine word: 32 or 64.
    pub word_bits: u32,
    /// The number of cores that a kernel for it can use.
    pub cores: u32,
    /// The amount of memory.
    pub memory: Size,
    /// Its devices that components may drive, by name.
    pub devices: BTreeMap<String, Device>,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Device {
    /// What it is, for people.
    pub title: String,
    /// The pages with its registers.
    pub registers: Vec<Registers>,
    /// Its I/O ports: ranges with first and last.
    pub ports: Vec<[u16; 2]>,
    /// Its interrupt.
    pub interrupt: Option<Interrupt>,
}

/// Registers of a device in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// The physical address, of a page.
    pub address: u64,
    /// The size in bytes, of whole pages.
    pub size: u64,
}

/// An interrupt line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    /// The number by which the kernel knows the line.
    pub line: u32,
    /// When it is raised.
    #[serde(default)]
    pub trigger: Trigger,
    /// On PCs the input of the first I/O APIC.
    #[serde(default)]
    pub pin: Option<u32>,
}

/// When an interrupt is raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// As long as the line is active.
    #[default]
    Level,
    /// When the line becomes active.
    Edge,
}

impl Platform {
    /// The number of bits of a badge.
    pub const fn badge_bits(&self) -> u32 {
        if self.word_bits == 32 { 28 } else { 64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_survives_as_json() {
        let platform = Platform {
            name: "board".to_string(),
            word_bits: 32,
            cores: 2,
            memory: Size::from_bytes((1 << 20) + 1),
            devices: BTreeMap::from([(
                "timer".to_string(),
                Device {
                    title: "a timer".to_string(),
                    registers: vec![Registers {
                        address: u64::MAX,
                        size: 4096,
                    }],
                    ports: vec![[1, 2]],
                    interrupt: Some(Interrupt {
                        line: 7,
                        trigger: Trigger::Edge,
                        pin: Some(2),
                    }),
                },
            )]),
        };
        let text = serde_json::to_string(&platform).unwrap();
        let read: Platform = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{platform:?}"));
    }
}
