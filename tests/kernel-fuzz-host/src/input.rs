//! Encoding of histories as bytes.
//!
//! Any byte string is a valid history, and decoding inverts encoding. Small numbers take one byte, so
//! that a fuzzer that changes one byte changes one value.

use abi::{MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH};

/// A step of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The running thread makes a system call.
    Call(Call),
    /// The running thread makes a system call with these registers: number, capability, reply,
    /// destination, message information, and the message words in registers.
    Registers([usize; 9]),
    /// The running thread sets its receive slot: CNode, index, depth.
    Receive([usize; 3]),
    /// The running thread causes an exception.
    Fault,
    /// Time passes.
    Time(usize),
    /// Time passes, and the timer interrupt is late.
    Late(usize),
    /// A device interrupts.
    Interrupt(usize),
    /// A device raises its line (second) after this many preemption points (first).
    Ambush(usize, usize),
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number, negated; 1 is `Call`.
    pub number: u8,
    /// The capability that is invoked.
    pub cap: usize,
    /// The reply register.
    pub reply: usize,
    /// The destination register.
    pub destination: usize,
    /// The label of the message.
    pub label: usize,
    /// The words of the message.
    pub words: Vec<usize>,
    /// Addresses of the extra capabilities.
    pub caps: Vec<usize>,
}

/// The first byte value that introduces a longer number.
const WIDE: u8 = 0xe0;
/// The first code of steps other than method calls.
const OTHERS: u8 = 0xc0;

/// The input that is not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// The next number: a byte below [`WIDE`]; or a byte with the count of the bytes that follow,
    /// least significant first, and a flag that they are those of the complement.
    fn number(&mut self) -> Option<usize> {
        let first = self.byte()?;
        if first < WIDE {
            return Some(first.into());
        }
        let (length, negative) = (first & 7, first & 8 != 0);
        let mut number = 0;
        for index in 0..=length {
            number |= usize::from(self.byte()?) << (8 * index);
        }
        Some(if negative { !number } else { number })
    }

    fn numbers<const N: usize>(&mut self) -> Option<[usize; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }

    fn list(&mut self, most: usize) -> Option<Vec<usize>> {
        let length = usize::from(self.byte()?) % (most + 1);
        (0..length).map(|_| self.number()).collect()
    }

    /// The next step; `None` if too few bytes are left.
    pub fn step(&mut self) -> Option<Step> {
        let code = self.byte()?;
        if code < OTHERS {
            // Method calls do not use the reply and destination registers.
            let [cap, label] = self.numbers()?;
            return Some(Step::Call(Call {
                number: 1,
                cap,
                reply: 0,
                destination: 0,
                label,
                words: self.list(MAX_MESSAGE_LENGTH)?,
                caps: self.list(MAX_EXTRA_CAPS)?,
            }));
        }
        Some(match code % 8 {
            0 => {
                let number = self.byte()?;
                let [cap, reply, destination, label] = self.numbers()?;
                Step::Call(Call {
                    number,
                    cap,
                    reply,
                    destination,
                    label,
                    words: self.list(MAX_MESSAGE_LENGTH)?,
                    caps: self.list(MAX_EXTRA_CAPS)?,
                })
            }
            1 => Step::Registers(self.numbers()?),
            2 => Step::Receive(self.numbers()?),
            3 => Step::Fault,
            4 => Step::Time(self.number()?),
            5 => Step::Late(self.number()?),
            6 => Step::Interrupt(self.number()?),
            _ => {
                let [looks, line] = self.numbers()?;
                Step::Ambush(looks, line)
            }
        })
    }
}

fn put_number(bytes: &mut Vec<u8>, number: usize) {
    if number < WIDE.into() {
        bytes.push(number as u8);
        return;
    }
    let negative = number > usize::MAX / 2;
    let value = if negative { !number } else { number };
    let length = (value.checked_ilog2().unwrap_or(0) / 8) as u8;
    bytes.push(WIDE | u8::from(negative) << 3 | length);
    bytes.extend_from_slice(&value.to_le_bytes()[..=length.into()]);
}

fn put_list(bytes: &mut Vec<u8>, list: &[usize]) {
    bytes.push(list.len() as u8);
    list.iter().for_each(|number| put_number(bytes, *number));
}

impl Step {
    /// Encodes the step for [`Bytes::step`].
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let mut put = |code: u8, numbers: &[usize]| {
            bytes.push(OTHERS + code);
            numbers.iter().for_each(|number| put_number(bytes, *number));
        };
        match self {
            Self::Call(call) => call.write(bytes),
            Self::Registers(registers) => put(1, registers),
            Self::Receive(place) => put(2, place),
            Self::Fault => put(3, &[]),
            Self::Time(time) => put(4, &[*time]),
            Self::Late(time) => put(5, &[*time]),
            Self::Interrupt(line) => put(6, &[*line]),
            Self::Ambush(looks, line) => put(7, &[*looks, *line]),
        }
    }
}

impl Call {
    fn write(&self, bytes: &mut Vec<u8>) {
        if self.number == 1 && (self.reply, self.destination) == (0, 0) {
            bytes.push(0);
            put_number(bytes, self.cap);
        } else {
            bytes.extend([OTHERS, self.number]);
            for number in [self.cap, self.reply, self.destination] {
                put_number(bytes, number);
            }
        }
        put_number(bytes, self.label);
        put_list(bytes, &self.words);
        put_list(bytes, &self.caps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let call = Call {
            number: 1,
            cap: 7,
            reply: 0,
            destination: 0,
            label: 0xe5c02,
            words: vec![
                0,
                223,
                224,
                255,
                256,
                1 << 40,
                usize::MAX,
                usize::MAX - 300,
                1 << 63,
            ],
            caps: vec![1, 2, 3],
        };
        let combined = Call {
            number: 3,
            reply: 9,
            destination: 300,
            ..call.clone()
        };
        let steps = [
            Step::Call(call),
            Step::Call(combined),
            Step::Registers([usize::MAX, 1, 2, 3, 4, 5, 6, 7, 1 << 33]),
            Step::Receive([1, 2, 64]),
            Step::Fault,
            Step::Time(1000),
            Step::Late(3),
            Step::Interrupt(2),
            Step::Ambush(4, 1),
        ];
        let mut bytes = Vec::new();
        steps.iter().for_each(|step| step.write(&mut bytes));
        let mut bytes = Bytes(&bytes);
        for step in steps {
            assert_eq!(bytes.step(), Some(step));
        }
        assert_eq!(bytes.step(), None);
    }
}
