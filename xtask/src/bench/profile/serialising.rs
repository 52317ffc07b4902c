//! Instructions that are expensive although QEMU counts each as one: those that serialise, that flush or clear something, and
//! that save or load much state.

use crate::image::elf::{Executable, Machine};

/// Counts such instructions on a path through the kernel, as `2 mov cr3, 1 verw`.
pub(super) fn count(path: &[u64], kernel: &Executable) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let machine = kernel.format.machine;
    for name in path
        .iter()
        .filter_map(|&address| name(machine, code(kernel, address)?))
    {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let words: Vec<_> = (counts.iter())
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    match &*words {
        [] => "none".to_string(),
        words => words.join(", "),
    }
}

/// The kernel's code from an address on.
fn code(kernel: &Executable, address: u64) -> Option<&[u8]> {
    kernel.segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.virtual_address)?;
        segment.data.get(usize::try_from(offset).ok()?..)
    })
}

/// The name of the instruction with which `code` begins.
fn name(machine: Machine, code: &[u8]) -> Option<&'static str> {
    if matches!(machine, Machine::I386 | Machine::X86_64) {
        return name_on_x86(code);
    }
    let word = u32::from_le_bytes(*code.first_chunk()?);
    match machine {
        Machine::Aarch64 => name_on_aarch64(word),
        _ => name_on_arm(word),
    }
}

/// Intel SDM vol. 2.
fn name_on_x86(code: &[u8]) -> Option<&'static str> {
    let (is_repeated, code) = match code {
        [0xf3, rest @ ..] => (true, rest),
        code => (false, code),
    };
    let (is_wide, code) = match code {
        [rex @ 0x40..=0x4f, rest @ ..] => (rex & 8 != 0, rest),
        code => (false, code),
    };
    match code {
        [0x0f, 0x22, 0xd8..=0xdf, ..] => Some("mov cr3"),
        [0x0f, 0x30, ..] => Some("wrmsr"),
        [0x0f, 0x07, ..] if is_wide => Some("sysretq"),
        [0x0f, 0xae, operand, ..] => match (operand >> 3 & 7, *operand >= 0xc0) {
            (0, true) if is_repeated => Some("rdfsbase"),
            (1, true) if is_repeated => Some("rdgsbase"),
            (2, true) if is_repeated => Some("wrfsbase"),
            (3, true) if is_repeated => Some("wrgsbase"),
            (4, false) => Some("xsave"),
            (5, false) => Some("xrstor"),
            (5, true) if !is_repeated => Some("lfence"),
            _ => None,
        },
        [0x0f, 0x00, operand, ..] if operand >> 3 & 7 == 5 => Some("verw"),
        [0x0f, 0x01, 0xf8, ..] => Some("swapgs"),
        [0x0f, 0x01, operand, ..] if operand >> 3 & 7 == 7 && *operand < 0xc0 => Some("invlpg"),
        [0xcf, ..] => Some("iretq"),
        _ => None,
    }
}

/// Arm Architecture Reference Manual for A-profile, section C6.2. The operations on a system register are the writes of
/// TTBR0_EL1.
fn name_on_aarch64(word: u32) -> Option<&'static str> {
    match word {
        _ if word & 0xffff_f0ff == 0xd503_30df => Some("isb"),
        _ if word & 0xffff_f0ff == 0xd503_309f => Some("dsb"),
        _ if word & 0xfff8_f000 == 0xd508_8000 => Some("tlbi"),
        _ if word & 0xffff_ffe0 == 0xd518_2000 => Some("msr ttbr0_el1"),
        0xd69f_03e0 => Some("eret"),
        _ => None,
    }
}

/// Arm Architecture Reference Manual for ARMv7, section A8.8. ARMv6 has barriers by `mcr`, too.
fn name_on_arm(word: u32) -> Option<&'static str> {
    match word {
        _ if word & 0xffff_fff0 == 0xf57f_f060 => Some("isb"),
        _ if word & 0xffff_fff0 == 0xf57f_f040 => Some("dsb"),
        _ if word & 0x0f10_0f10 == 0x0e00_0f10 => Some("mcr"),
        _ if word & 0x0ff0_0f00 == 0x0c40_0f00 => Some("mcrr"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::name;
    use crate::image::elf::Machine;

    #[test]
    fn instructions_of_x86_are_recognised() {
        let known: [(&[u8], _); 16] = [
            (&[0x0f, 0x22, 0xd8], Some("mov cr3")),
            (&[0x41, 0x0f, 0x22, 0xdb], Some("mov cr3")),
            (&[0x0f, 0x22, 0xe0], None),
            (&[0x0f, 0x30], Some("wrmsr")),
            (&[0x0f, 0xae, 0xe8], Some("lfence")),
            (&[0x0f, 0xae, 0xf0], None),
            (&[0x0f, 0x00, 0x6c, 0x24, 0xf8], Some("verw")),
            (&[0x0f, 0x01, 0x38], Some("invlpg")),
            (&[0x0f, 0x01, 0xf8], Some("swapgs")),
            (&[0x0f, 0x01, 0xf9], None),
            (&[0x48, 0xcf], Some("iretq")),
            (&[0x48, 0x0f, 0x07], Some("sysretq")),
            (&[0xf3, 0x48, 0x0f, 0xae, 0xd0], Some("wrfsbase")),
            (&[0xf3, 0x49, 0x0f, 0xae, 0xcb], Some("rdgsbase")),
            (&[0x48, 0x0f, 0xae, 0x67, 0x40], Some("xsave")),
            (&[0x48, 0x0f, 0xae, 0x6f, 0x40], Some("xrstor")),
        ];
        for (code, expected) in known {
            assert_eq!(name(Machine::X86_64, code), expected, "{code:x?}");
        }
    }

    #[test]
    fn instructions_of_arm_are_recognised() {
        for (machine, word, expected) in [
            (Machine::Aarch64, 0xd503_3fdf_u32, Some("isb")),
            (Machine::Aarch64, 0xd503_3b9f, Some("dsb")),
            (Machine::Aarch64, 0xd503_3bbf, None),
            (Machine::Aarch64, 0xd508_871f, Some("tlbi")),
            (Machine::Aarch64, 0xd518_2003, Some("msr ttbr0_el1")),
            (Machine::Aarch64, 0xd518_4000, None),
            (Machine::Aarch64, 0xd69f_03e0, Some("eret")),
            (Machine::Arm, 0xf57f_f06f, Some("isb")),
            (Machine::Arm, 0xf57f_f04f, Some("dsb")),
            (Machine::Arm, 0xee02_0f10, Some("mcr")),
            (Machine::Arm, 0xee12_0f10, None),
            (Machine::Arm, 0xec42_0f12, Some("mcrr")),
            (Machine::Arm, 0xe12f_ff1e, None),
        ] {
            assert_eq!(name(machine, &word.to_le_bytes()), expected, "{word:x}");
        }
    }
}
