//! Backtraces: the guest prints registers and some words of the stack (`userlib/src/process/inspection.rs`), and the
//! program's call frame information says where each function has the return address and what it has saved: its
//! section is `.debug_frame`, or `.eh_frame` where the compiler makes tables for unwinding (AArch64).

use std::collections::HashMap;

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EndianSlice, LittleEndian, Register, RegisterRule,
    UnwindContext, UnwindSection,
};
use object::{Architecture, Object, ObjectSection};

use crate::Result;

/// The most callers.
const MOST: usize = 32;

/// Registers and words of the stack of a thread, as they were printed.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    registers: HashMap<String, u64>,
    stack: HashMap<u64, u64>,
}

impl Snapshot {
    /// Reads `NAME 0x…, NAME 0x…`.
    pub(crate) fn of_registers(text: &str) -> Option<Self> {
        let registers = text.trim_end().split(',').map(|pair| {
            let (name, value) = pair.trim().split_once(' ')?;
            Some((name.to_string(), number(value)?))
        });
        Some(Self {
            registers: registers.collect::<Option<_>>()?,
            stack: HashMap::new(),
        })
    }

    /// Adds `0xADDRESS 0xWORD, 0xADDRESS 0xWORD`.
    pub(crate) fn with_stack(mut self, text: &str) -> Option<Self> {
        for pair in text.trim_end().split(',').filter(|pair| !pair.is_empty()) {
            let (address, word) = pair.trim().split_once(' ')?;
            self.stack.insert(number(address)?, number(word)?);
        }
        Some(self)
    }

    /// The value of the program counter and the return addresses, the innermost first, as far as they are known.
    pub(crate) fn addresses(&self, file: &object::File<'_>) -> Result<Vec<u64>> {
        let Some(mut machine) = Machine::of(file, self) else {
            return Ok(Vec::new());
        };
        let section = |name| {
            let section = file.section_by_name(name);
            section.map(|section| section.data()).transpose()
        };
        let size = if file.is_64() { 8 } else { 4 };
        Ok(match section(".debug_frame")? {
            Some(data) => {
                let mut frames = DebugFrame::new(data, LittleEndian);
                frames.set_address_size(size);
                machine.chain(&frames, &self.stack)
            }
            None => {
                let data = section(".eh_frame")?.unwrap_or_default();
                let mut frames = EhFrame::new(data, LittleEndian);
                frames.set_address_size(size);
                machine.chain(&frames, &self.stack)
            }
        })
    }
}

/// A hexadecimal number with its prefix.
pub(crate) fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The registers of a function in the chain of calls.
struct Machine {
    pc: u64,
    /// By their numbers in call frame information.
    registers: HashMap<u16, u64>,
    /// The number of the stack pointer.
    sp: u16,
    /// The register with the return address at a call; none if a call pushes it.
    link: Option<u16>,
    word: u64,
}

impl Machine {
    fn of(file: &object::File<'_>, snapshot: &Snapshot) -> Option<Self> {
        // x86-64 psABI, table 3.36; DWARF for the Arm architecture, table 1, and for the 64-bit one, section 4.1.
        const X86: [&str; 16] = [
            "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11",
            "r12", "r13", "r14", "r15",
        ];
        let (pc, sp, link, word) = match file.architecture() {
            Architecture::X86_64 => ("rip", 7, None, 8),
            Architecture::Aarch64 => ("pc", 31, Some(30), 8),
            Architecture::Arm => ("pc", 13, Some(14), 4),
            _ => return None,
        };
        let place = |name: &str| match name {
            "sp" => Some(sp),
            _ if link.is_none() => X86.iter().position(|&it| it == name).map(|it| it as u16),
            _ => name.strip_prefix(['x', 'r'])?.parse().ok(),
        };
        let registers = snapshot.registers.iter();
        Some(Self {
            pc: *snapshot.registers.get(pc)?,
            registers: registers
                .filter_map(|(name, &value)| Some((place(name)?, value)))
                .collect(),
            sp,
            link,
            word,
        })
    }

    /// The value of the program counter and the return addresses.
    fn chain<'a>(
        &mut self,
        frames: &impl UnwindSection<EndianSlice<'a, LittleEndian>>,
        stack: &HashMap<u64, u64>,
    ) -> Vec<u64> {
        let mut addresses = vec![self.pc];
        while addresses.len() < MOST
            && let Some(caller) = self.step(frames, stack, addresses.len() == 1)
        {
            addresses.push(caller);
        }
        addresses
    }

    /// Goes back to the caller; returns its address.
    fn step<'a, S: UnwindSection<EndianSlice<'a, LittleEndian>>>(
        &mut self,
        frames: &S,
        stack: &HashMap<u64, u64>,
        is_first: bool,
    ) -> Option<u64> {
        // A return address may be that after the function's end.
        let address = if is_first {
            self.pc
        } else {
            self.pc.checked_sub(1)?
        };
        // The section is not in the target's memory: it has the address 0.
        let bases = BaseAddresses::default().set_eh_frame(0);
        let found = frames.fde_for_address(&bases, address, S::cie_from_offset);
        let Ok(entry) = found else {
            // No function is there: a call of what is none has just taken place.
            return is_first.then(|| self.just_called(stack)).flatten();
        };
        let mut context = UnwindContext::new();
        let row = entry
            .unwind_info_for_address(frames, &bases, &mut context, address)
            .ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
            return None;
        };
        let frame = self.registers.get(&register.0)?.wrapping_add_signed(offset);
        let before = |register: u16, value: Option<u64>| match row.register(Register(register)) {
            RegisterRule::Undefined | RegisterRule::SameValue => value,
            RegisterRule::Offset(offset) => stack.get(&frame.wrapping_add_signed(offset)).copied(),
            RegisterRule::Register(other) => self.registers.get(&other.0).copied(),
            _ => None,
        };
        let to = entry.cie().return_address_register().0;
        let mut registers: HashMap<u16, u64> = self
            .registers
            .iter()
            .filter_map(|(&register, &value)| Some((register, before(register, Some(value))?)))
            .collect();
        let caller = before(to, self.registers.get(&to).copied())?;
        if caller == 0 {
            return None;
        }
        // The call has overwritten it: a caller that has not saved it is the end of the chain.
        registers.remove(&to);
        registers.insert(self.sp, frame);
        (self.registers, self.pc) = (registers, caller);
        Some(caller)
    }

    /// Goes back from the first instruction of a function.
    fn just_called(&mut self, stack: &HashMap<u64, u64>) -> Option<u64> {
        let sp = *self.registers.get(&self.sp)?;
        self.pc = match self.link {
            Some(link) => *self.registers.get(&link)?,
            None => {
                self.registers.insert(self.sp, sp.wrapping_add(self.word));
                *stack.get(&sp)?
            }
        };
        Some(self.pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_registers_and_words_are_read() {
        let snapshot = Snapshot::of_registers("rip 0x401000, rsp 0x4ffe0000\r").unwrap();
        let snapshot = snapshot.with_stack("0x4ffe0008 0x401234, 0x4ffe0010 0x4ffe0020");
        let snapshot = snapshot.unwrap();
        assert_eq!(snapshot.registers["rsp"], 0x4ffe_0000);
        assert_eq!(snapshot.stack[&0x4ffe_0008], 0x40_1234);
        assert!(Snapshot::of_registers("rip 401000").is_none());
        assert!(Snapshot::default().with_stack("0x1").is_none());
    }

    /// A thread with these words on its stack.
    fn thread(pc: u64, link: Option<u16>) -> (Machine, HashMap<u64, u64>) {
        let machine = Machine {
            pc,
            registers: [(7, 0x9000), (6, 1), (30, 0x2010)].into(),
            sp: 7,
            link,
            word: 8,
        };
        let stack = [(0x9000, 0x2010), (0x9010, 5), (0x9018, 0x3010)];
        (machine, stack.into())
    }

    #[test]
    fn a_call_of_nothing_comes_from_its_caller() {
        let none = DebugFrame::new(&[], LittleEndian);
        let (mut pushed, stack) = thread(0, None);
        assert_eq!(pushed.step(&none, &stack, true), Some(0x2010));
        assert_eq!(pushed.registers[&7], 0x9008);
        // A program can have any stack pointer.
        let (mut high, mut stack) = thread(0, None);
        high.registers.insert(7, u64::MAX);
        stack.insert(u64::MAX, 0x2010);
        assert_eq!(high.step(&none, &stack, true), Some(0x2010));
        let (mut linked, stack) = thread(0, Some(30));
        assert_eq!(linked.step(&none, &stack, true), Some(0x2010));
        assert_eq!(linked.registers[&7], 0x9000);
        assert_eq!(linked.step(&none, &stack, false), None);
    }

    #[test]
    fn a_caller_gets_what_the_function_has_saved() {
        // The frame begins 8 bytes above register 7, and the return address, 16, is its first word.
        let mut bytes = vec![20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1, 0x78, 16];
        bytes.extend([0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0]);
        // The function at 0x1000 has a frame of 32 bytes, and saves register 6 in the second word.
        bytes.extend([28, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(0x1000_u64.to_le_bytes());
        bytes.extend(0x100_u64.to_le_bytes());
        bytes.extend([0x0e, 32, 0x86, 2, 0, 0, 0, 0]);
        let mut frames = DebugFrame::new(&bytes, LittleEndian);
        frames.set_address_size(8);
        let (mut machine, stack) = thread(0x1010, None);
        assert_eq!(machine.step(&frames, &stack, true), Some(0x3010));
        assert_eq!((machine.registers[&7], machine.registers[&6]), (0x9020, 5));
        // What its caller is, it does not know.
        assert_eq!(machine.step(&frames, &stack, false), None);
    }
}
