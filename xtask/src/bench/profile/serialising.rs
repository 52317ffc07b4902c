//! Instructions of x86 that are expensive although QEMU counts each as one: those that serialise, or flush or
//! clear something.

use crate::image::elf::{Executable, Machine};

/// Counts such instructions on a path through the kernel, as `2 mov cr3, 1 verw`. Nothing for other machines.
pub(super) fn count(path: &[u64], kernel: &Executable) -> Option<String> {
    if kernel.format.machine != Machine::X86_64 {
        return None;
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in path
        .iter()
        .filter_map(|&address| name(code(kernel, address)?))
    {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let words: Vec<_> = (counts.iter())
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    Some(match &*words {
        [] => "none".to_string(),
        words => words.join(", "),
    })
}

/// The kernel's code from an address on.
fn code(kernel: &Executable, address: u64) -> Option<&[u8]> {
    kernel.segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.virtual_address)?;
        segment.data.get(usize::try_from(offset).ok()?..)
    })
}

/// The name of the instruction with which `code` begins (Intel SDM vol. 2).
fn name(code: &[u8]) -> Option<&'static str> {
    let code = match code {
        [0x40..=0x4f, rest @ ..] => rest,
        code => code,
    };
    match code {
        [0x0f, 0x22, 0xd8..=0xdf, ..] => Some("mov cr3"),
        [0x0f, 0x30, ..] => Some("wrmsr"),
        [0x0f, 0xae, 0xe8, ..] => Some("lfence"),
        [0x0f, 0x00, operand, ..] if operand >> 3 & 7 == 5 => Some("verw"),
        [0x0f, 0x01, operand, ..] if operand >> 3 == 7 => Some("invlpg"),
        [0xcf, ..] => Some("iretq"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn instructions_are_recognised() {
        let known: [(&[u8], _); 8] = [
            (&[0x0f, 0x22, 0xd8], Some("mov cr3")),
            (&[0x41, 0x0f, 0x22, 0xdb], Some("mov cr3")),
            (&[0x0f, 0x22, 0xe0], None),
            (&[0x0f, 0x30], Some("wrmsr")),
            (&[0x0f, 0xae, 0xe8], Some("lfence")),
            (&[0x0f, 0x00, 0x6c, 0x24, 0xf8], Some("verw")),
            (&[0x0f, 0x01, 0x38], Some("invlpg")),
            (&[0x48, 0xcf], Some("iretq")),
        ];
        for (code, expected) in known {
            assert_eq!(name(code), expected, "{code:x?}");
        }
        // swapgs
        assert_eq!(name(&[0x0f, 0x01, 0xf8]), None);
    }
}
