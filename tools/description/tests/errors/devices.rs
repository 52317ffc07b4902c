//! Texts in which devices are not where they can be driven.

use super::{Case, Kind};

pub(super) const CASES: &[Case] = &[
    (
        "platforms = [\"large\"]\n[component.a]\nslice = \"1 ms\"\ndevices = [\"serial\"]\n\
         [component.b]\nslice = \"1 ms\"\ndevices.uart = \"leds\"\n\
         [component.c]\nslice = \"1 ms\"\ninterrupts = [\"serial\"]",
        &[
            (
                Kind::TwoOwners,
                "s:7:16: error: `a` has the registers of `leds` already, as part of `serial`; let one component drive it, and the other call that one",
            ),
            (
                Kind::TwoOwners,
                "s:10:15: error: `a` has the interrupt of `serial` already; let one component drive it, and the other call that one",
            ),
        ],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ndevices = [\"old-serial\"]\n\
         [component.b]\nslice = \"1 ms\"\ndevices = [\"old-serial\"]",
        &[(
            Kind::TwoOwners,
            "s:6:12: error: `a` has the I/O ports of `old-serial` already; let one component drive it, and the other call that one",
        )],
    ),
    (
        r#"platforms = ["large"]
        [component.clock]
        passive = true
        core = 1
        serves = ["times"]
        devices = ["core-timer"]
        [component.there]
        slice = "1 ms"
        core = 1
        calls = ["clock"]
        [component.between]
        passive = true
        serves = ["e"]
        calls = ["clock"]
        [component.far]
        slice = "1 ms"
        calls = ["between"]"#,
        &[(
            Kind::OtherCore,
            "s:17:18: error: `clock` runs on core 0 for `far`, and its device `core-timer` consists of registers of core 1; give both the same core, or `clock` a budget and a period instead of `passive`",
        )],
    ),
];
