//! Machine code of mutants, made from the code of the instruction that they change.

use super::lines::{HIGHEST_FIELD, LOWEST_FIELD};
use crate::image::elf::Machine;

/// Instructions of no effect.
const X86_NOP: u8 = 0x90;
const ARM_NOP: u32 = 0xe1a0_0000;
const AARCH64_NOP: u32 = 0xd503_201f;

/// The code with the change to the text `after` of the instruction of `length` bytes at the beginning of `code`.
/// Nothing if there is no such change.
pub(super) fn changed(
    machine: Machine,
    code: &[u8],
    length: usize,
    after: &str,
) -> Option<Vec<u8>> {
    if matches!(machine, Machine::I386 | Machine::X86_64) {
        return x86(code, length, after);
    }
    let word = u32::from_le_bytes(code.get(..4)?.try_into().ok()?);
    let word = match machine {
        Machine::Aarch64 => aarch64(word, after)?,
        _ => arm(word, after)?,
    };
    Some(word.to_le_bytes().to_vec())
}

fn aarch64(word: u32, after: &str) -> Option<u32> {
    /// Bits from `low` on, as a signed number.
    fn signed(word: u32, low: u32, bits: u32) -> u32 {
        ((word << (32 - low - bits)).cast_signed() >> (32 - bits)).cast_unsigned()
    }
    let (name, operands) = after.split_once(' ').unwrap_or((after, ""));
    Some(match name {
        "" => AARCH64_NOP,
        "b" => {
            // A comparison with zero and a conditional branch have 19 bits of distance, a test of a bit has 14.
            let distance = match word >> 25 & 0x3f {
                0b01_1010 | 0b10_1010 => signed(word, 5, 19),
                0b01_1011 => signed(word, 5, 14),
                _ => return None,
            };
            0x1400_0000 | distance & 0x03ff_ffff
        }
        "cmp" => 0xeb00_001f,
        "mov" => {
            // An `orr` with the zero register.
            let source: u32 = operands.rsplit(['x', 'w']).next()?.trim().parse().ok()?;
            word & !(0x1f << 16 | 0x1f << 5) | source << 16 | 0x1f << 5
        }
        _ => return None,
    })
}

fn arm(word: u32, after: &str) -> Option<u32> {
    const ALWAYS: u32 = 0xe000_0000;
    let (name, operands) = after.split_once(' ').unwrap_or((after, ""));
    Some(match (name, operands) {
        ("", _) => ARM_NOP,
        ("b" | "bx" | "str" | "strb", _) => word & 0x0fff_ffff | ALWAYS,
        ("cmp", "r0, r0") => 0xe150_0000,
        ("cmp", "sp, #0") => 0xe35d_0000,
        ("cmpcs", "sp, #0") => 0x235d_0000,
        ("mov" | "movs", _) => {
            let source: u32 = operands.rsplit('r').next()?.trim().parse().ok()?;
            word & !(0xf << 16 | 0xf) | 1 << 21 | source
        }
        _ => return None,
    })
}

fn x86(code: &[u8], length: usize, after: &str) -> Option<Vec<u8>> {
    let mut code = code.to_vec();
    let old = &code[..length];
    let new = match (after, old) {
        ("", _) => vec![],
        (LOWEST_FIELD | HIGHEST_FIELD, _) => {
            let end = length + without_field(&mut code, length, after == LOWEST_FIELD)?;
            return Some(code[..end].to_vec());
        }
        ("test rax, rax", _) => vec![0x48, 0x85, 0xc0],
        ("test al, al", _) => vec![0x84, 0xc0],
        ("xor eax, eax", _) => vec![0x31, 0xc0],
        // The distance is relative to the end of the instruction.
        (_, [0x70..=0x7f, distance]) => vec![0xeb, *distance],
        (_, [0x0f, 0x80..=0x8f, distance @ ..]) => [&[X86_NOP, 0xe9], distance].concat(),
        _ => return None,
    };
    let rest = length.checked_sub(new.len())?;
    Some([new, vec![X86_NOP; rest]].concat())
}

/// Code begins with an `and` of a mask and the comparison with a value. Removes one of several fields from
/// both; a field is a group of adjacent ones in the mask. Returns the length of the comparison.
fn without_field(code: &mut [u8], length: usize, lowest: bool) -> Option<usize> {
    let (place, 4) = immediate(code)? else {
        return None;
    };
    let mask = u32::from_le_bytes(code[place..length].try_into().ok()?);
    let field = match lowest {
        true => lowest_field(mask),
        false => lowest_field(mask.reverse_bits()).reverse_bits(),
    };
    if field == mask {
        return None;
    }
    let (and, compare) = code.split_at_mut(length);
    let (at, bytes) = immediate(compare)?;
    and[place..].copy_from_slice(&(mask & !field).to_le_bytes());
    for (byte, field) in compare[at..at + bytes].iter_mut().zip(field.to_le_bytes()) {
        *byte &= !field;
    }
    Some(at + bytes)
}

/// Place and length of the immediate operand of an `and` or `cmp` of a 32-bit register.
fn immediate(code: &[u8]) -> Option<(usize, usize)> {
    // A prefix for the upper eight registers.
    let prefix = usize::from(*code.first()? == 0x41);
    match code.get(prefix)? {
        0x81 => Some((prefix + 2, 4)),
        0x83 => Some((prefix + 2, 1)),
        0x25 | 0x3d => Some((prefix + 1, 4)),
        _ => None,
    }
}

fn lowest_field(mask: u32) -> u32 {
    let lowest = mask & mask.wrapping_neg();
    mask & !mask.wrapping_add(lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm_word(machine: Machine, word: u32, after: &str) -> u32 {
        let code = changed(machine, &word.to_le_bytes(), 4, after).unwrap();
        u32::from_le_bytes(code.try_into().unwrap())
    }

    #[test]
    fn aarch64_branches_keep_their_distance() {
        let of = |word, after| arm_word(Machine::Aarch64, word, after);
        // b.eq, cbz x13, and tbnz w9, each 8 bytes back.
        for word in [0x54ff_ffc0, 0xb4ff_ffcd, 0x3707_ffc9] {
            assert_eq!(of(word, "b 3f"), 0x17ff_fffe, "{word:x}");
        }
        assert_eq!(of(0x5400_0040, "b 3f"), 0x1400_0002);
        assert_eq!(of(0x5400_0040, ""), AARCH64_NOP);
        // orr x13, x13, x14; its `mov`s.
        assert_eq!(of(0xaa0e_01ad, "mov x13, x14"), 0xaa0e_03ed);
        assert_eq!(of(0xaa0e_01ad, "mov x13, x13"), 0xaa0d_03ed);
        assert_eq!(of(0x2a08_0129, "mov w9, w8"), 0x2a08_03e9);
    }

    #[test]
    fn arm_instructions_lose_their_condition() {
        let of = |word, after| arm_word(Machine::Arm, word, after);
        assert_eq!(of(0x0a00_0010, "b 5f"), 0xea00_0010);
        assert_eq!(of(0x812f_ff1e, "bx lr"), 0xe12f_ff1e);
        // orrs r7, r7, r6; its `movs`.
        assert_eq!(of(0xe197_7006, "movs r7, r6"), 0xe1b0_7006);
        assert_eq!(of(0xe197_7006, "movs r7, r7"), 0xe1b0_7007);
    }

    #[test]
    fn x86_instructions_keep_their_length() {
        let of = |code: &[u8], after| x86(code, code.len(), after).unwrap();
        assert_eq!(of(&[0x74, 5], "jmp 2f"), [0xeb, 5]);
        assert_eq!(
            of(&[0x0f, 0x84, 1, 2, 3, 4], "jmp 2f"),
            [0x90, 0xe9, 1, 2, 3, 4]
        );
        assert_eq!(of(&[0x75, 5], ""), [0x90, 0x90]);
        let or = [0x48, 0x0b, 0x43, 8];
        assert_eq!(of(&or, "test rax, rax"), [0x48, 0x85, 0xc0, 0x90]);
    }

    #[test]
    fn x86_masks_lose_a_field() {
        // and r12d, 0x401f; cmp r12d, 0x4003; jne
        let code = [
            0x41, 0x81, 0xe4, 0x1f, 0x40, 0, 0, 0x41, 0x81, 0xfc, 3, 0x40, 0, 0, 0x75,
        ];
        let of = |after| x86(&code, 7, after).unwrap();
        let (lowest, highest) = (of(LOWEST_FIELD), of(HIGHEST_FIELD));
        assert_eq!(
            (lowest[3..7].to_vec(), lowest[10..].to_vec()),
            (vec![0, 0x40, 0, 0], vec![0, 0x40, 0, 0])
        );
        assert_eq!(
            (highest[3..7].to_vec(), highest[10..].to_vec()),
            (vec![0x1f, 0, 0, 0], vec![3, 0, 0, 0])
        );
        // and eax, 3; cmp eax, 1
        assert_eq!(
            x86(&[0x25, 3, 0, 0, 0, 0x83, 0xf8, 1], 5, LOWEST_FIELD),
            None
        );
    }
}
