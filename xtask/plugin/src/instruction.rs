//! The instructions that the plugin distinguishes, by their bytes.

/// A processor architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86 in 64-bit mode.
    X86_64,
    /// 32-bit Arm, in Arm state.
    Arm,
    /// 64-bit Arm.
    Aarch64,
}

/// The operand of mark 0; the number of a mark is added to it.
const MARK: u32 = 0x450;
/// The number of marks.
const MARKS: u32 = 16;
/// The mark that requests the instruction count.
pub const ASK: u32 = MARKS - 1;

impl Machine {
    /// The architecture called `name`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86-64" => Some(Self::X86_64),
            "arm" => Some(Self::Arm),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// Whether interrupts are enabled after this kernel instruction: it returns to user mode, or waits for an
    /// interrupt.
    pub fn is_leaving(self, bytes: &[u8]) -> bool {
        if self == Self::X86_64 {
            // SYSRET, IRET, HLT; the first two with a REX prefix.
            return matches!(bytes, [0x48, 0x0f, 0x07] | [0x48, 0xcf] | [0xf4]);
        }
        let Some(word) = word(bytes) else {
            return false;
        };
        if self == Self::Aarch64 {
            // ERET, WFI.
            return matches!(word, 0xd69f_03e0 | 0xd503_207f);
        }
        // MOVS PC and SUBS PC, LDM with PC and ^, RFE, WFI (also as CP15 operation).
        word & 0x0ff0_f000 == 0x01b0_f000
            || word & 0x0fff_f000 == 0x025e_f000
            || word & 0x0e50_8000 == 0x0850_8000
            || word & 0xfe50_ffff == 0xf810_0a00
            || word & 0x0fff_ffff == 0x0320_f003
            || word & 0x0fff_0fff == 0x0e07_0f90
    }

    /// Whether this instruction is the kernel's hint that its core waits for another one: PAUSE, YIELD.
    pub fn is_waiting(self, bytes: &[u8]) -> bool {
        match self {
            Self::X86_64 => bytes == [0xf3, 0x90],
            Self::Aarch64 => word(bytes) == Some(0xd503_203f),
            Self::Arm => word(bytes) == Some(0xe320_f001),
        }
    }

    /// The number of the mark, if the instruction is one: a NOP with an operand, a move to the zero register,
    /// or a preload.
    pub fn mark(self, bytes: &[u8]) -> Option<u32> {
        let number = match (self, bytes) {
            (Self::X86_64, [0x0f, 0x1f, 0x80, operand @ ..]) => word(operand)?,
            (Self::X86_64, _) => return None,
            (Self::Aarch64, _) => {
                let word = word(bytes)?;
                (word & 0xffe0_001f == 0xd280_001f).then_some(word >> 5 & 0xffff)?
            }
            (Self::Arm, _) => {
                let word = word(bytes)?;
                (word & 0xffff_f000 == 0xf55f_f000).then_some(word & 0xfff)?
            }
        };
        number.checked_sub(MARK).filter(|&number| number < MARKS)
    }
}

fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::ASK;
    use super::Machine::{self, Aarch64, Arm, X86_64};

    #[test]
    fn machines_have_names() {
        assert_eq!(Machine::named("aarch64"), Some(Aarch64));
        assert_eq!(Machine::named("i386"), None);
    }

    #[test]
    fn returns_are_known() {
        assert!(X86_64.is_leaving(&[0x48, 0x0f, 0x07]));
        assert!(X86_64.is_leaving(&[0x48, 0xcf]));
        assert!(!X86_64.is_leaving(&[0x48, 0x89, 0xc7]));
        for word in [
            0xe1b0_f00e,
            0xe25e_f004,
            0xe8fd_8fff,
            0xe8dd_ffff,
            0xf8bd_0a00_u32,
        ] {
            assert!(Arm.is_leaving(&word.to_le_bytes()), "{word:x}");
        }
        for word in [0xe8bd_8ff0, 0xe12f_ff1e, 0xe8dd_7fff_u32] {
            assert!(!Arm.is_leaving(&word.to_le_bytes()), "{word:x}");
        }
        assert!(Aarch64.is_leaving(&0xd69f_03e0_u32.to_le_bytes()));
        assert!(!Aarch64.is_leaving(&0xd65f_03c0_u32.to_le_bytes()));
    }

    #[test]
    fn hints_of_waiting_loops_are_known() {
        assert!(X86_64.is_waiting(&[0xf3, 0x90]));
        assert!(!X86_64.is_waiting(&[0x90]));
        assert!(Aarch64.is_waiting(&0xd503_203f_u32.to_le_bytes()));
        assert!(!Aarch64.is_waiting(&0xd503_207f_u32.to_le_bytes()));
        assert!(Arm.is_waiting(&0xe320_f001_u32.to_le_bytes()));
        assert!(!Arm.is_waiting(&0xe320_f003_u32.to_le_bytes()));
    }

    #[test]
    fn marks_are_read() {
        assert_eq!(X86_64.mark(&[0x0f, 0x1f, 0x80, 0x53, 0x04, 0, 0]), Some(3));
        assert_eq!(X86_64.mark(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]), None);
        assert_eq!(Arm.mark(&0xf55f_f450_u32.to_le_bytes()), Some(0));
        assert_eq!(Arm.mark(&0xf55f_f45f_u32.to_le_bytes()), Some(ASK));
        assert_eq!(Arm.mark(&0xf55f_f460_u32.to_le_bytes()), None);
        let movz = 0xd280_001f_u32 | 0x452 << 5;
        assert_eq!(Aarch64.mark(&movz.to_le_bytes()), Some(2));
        assert_eq!(Aarch64.mark(&0xd280_001f_u32.to_le_bytes()), None);
    }
}
