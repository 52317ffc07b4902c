//! Two boards for tests.

use std::collections::BTreeMap;

use system_description::{Device, Interrupt, Platform, Registers, Size, Trigger};

fn device(address: u64, line: Option<u32>) -> Device {
    Device {
        registers: vec![Registers {
            address,
            size: 0x1000,
        }],
        interrupt: line.map(|line| Interrupt {
            line,
            trigger: Trigger::Level,
            pin: None,
        }),
        ..Device::default()
    }
}

/// A board with 64 bits and two cores, and one with 32 bits and one core.
pub fn boards() -> [Platform; 2] {
    let mut devices = BTreeMap::from([
        ("serial".to_string(), device(0x1000, Some(5))),
        ("timer".to_string(), device(0x2000, Some(6))),
        ("leds".to_string(), device(0x1000, None)),
        (
            "old-serial".to_string(),
            Device {
                ports: vec![[0x2f8, 0x2ff]],
                ..Device::default()
            },
        ),
    ]);
    let of_core = Device {
        interrupt: Some(Interrupt {
            line: 30,
            trigger: Trigger::Level,
            pin: None,
        }),
        ..Device::default()
    };
    devices.insert("core-timer".to_string(), of_core);
    let large = Platform {
        name: "large".to_string(),
        word_bits: 64,
        cores: 2,
        memory: Size::from_bytes(64 << 20),
        devices: devices.clone(),
    };
    devices.remove("leds");
    devices.remove("core-timer");
    let small = Platform {
        name: "small".to_string(),
        word_bits: 32,
        cores: 1,
        memory: Size::from_bytes(16 << 20),
        devices,
    };
    [large, small]
}
