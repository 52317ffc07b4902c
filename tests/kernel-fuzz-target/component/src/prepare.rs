//! Generation of calls: plausible ones from forms, and noise.

use abi::registers::{self, MESSAGE_REGISTERS};
use abi::{GuardData, MessageInfo, Method, ObjectType, Syscall, WORD_BITS, sizes};
use kernel_fuzz_methods::{METHODS, method};
use suite::support::Random;

use crate::arch;
use crate::call::{Call, WORDS, is_contained};
use crate::forms::{COMMON, Form, Part};
use crate::kind::Kind;
use crate::ledger::{ADDRESSES, HOME, Ledger, OTHER_RADIX, OWN, PAGES, PRIORITY, RADIX, SLOTS};

/// The system calls of the interface.
const CALLS: [Syscall; 12] = [
    Syscall::Call,
    Syscall::ReplyRecv,
    Syscall::NBSendRecv,
    Syscall::NBSendWait,
    Syscall::Send,
    Syscall::NBSend,
    Syscall::Recv,
    Syscall::NBRecv,
    Syscall::Wait,
    Syscall::NBWait,
    Syscall::Yield,
    Syscall::SetTlsBase,
];
/// System calls that never block.
const PROMPT: [Syscall; 3] = [Syscall::NBSend, Syscall::NBRecv, Syscall::NBWait];
/// Kinds of capabilities to which messages are sent.
const MEETING: [Kind; 3] = [Kind::Endpoint, Kind::Notification, Kind::Reply];

/// A generator of calls.
pub struct Author<'a> {
    /// The random number generator.
    pub random: &'a mut Random,
    /// The kinds of the capabilities at all addresses.
    pub ledger: Ledger,
    /// Slots that the call changes if it succeeds.
    pub touched: [usize; 4],
    count: usize,
}

impl<'a> Author<'a> {
    /// A generator of one call.
    pub fn new(random: &'a mut Random, ledger: Ledger) -> Self {
        Self {
            random,
            ledger,
            touched: [0; 4],
            count: 0,
        }
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.random.below(number) == 0
    }

    fn kind(&self, address: usize) -> Kind {
        use core::sync::atomic::Ordering::Relaxed;
        Kind::from_number(self.ledger.kind(address).load(Relaxed))
    }

    /// A random address for which `holds` is true; rarely one of the component's own objects, so that it
    /// survives for a while.
    fn any(&mut self, addresses: usize, holds: impl Fn(&Self, usize) -> bool) -> Option<usize> {
        let own = self.one_in(32);
        let fits = |author: &Self, address: &usize| {
            (own || !OWN.contains(address)) && holds(author, *address)
        };
        let count = (0..addresses).filter(|address| fits(self, address)).count();
        if count == 0 {
            return None;
        }
        let chosen = self.random.below(count);
        (0..addresses)
            .filter(|address| fits(self, address))
            .nth(chosen)
    }

    /// The address of a capability of a kind; often its own CNode.
    fn pick(&mut self, kind: Kind) -> usize {
        if kind == Kind::CNode && !self.one_in(4) {
            return HOME;
        }
        self.any(ADDRESSES, |author, address| author.kind(address) == kind)
            .unwrap_or(0)
    }

    /// A random form.
    pub fn form(&mut self) -> &'static Form {
        let index = self.random.below(COMMON.len() + arch::FORMS.len());
        COMMON
            .get(index)
            .unwrap_or_else(|| &arch::FORMS[index - COMMON.len()])
    }

    /// A call of a form; none if there is no such object, or no such method in this build.
    pub fn plausible(&mut self, form: &Form) -> Option<Call> {
        let label = form.method.checked_number()?;
        let target = self.pick(form.on);
        if target == 0 {
            return None;
        }
        let mut call = Call::new(Syscall::Call, target);
        for (cap, kind) in call.caps.iter_mut().zip(form.caps) {
            *cap = self.pick(*kind);
        }
        let caps = call.caps;
        let cnode = |number: usize| {
            let address = number.checked_sub(1).map_or(target, |index| caps[index]);
            address == HOME
        };
        let mut length = 0;
        for part in form.words {
            length += self.write(*part, &cnode, &mut call.words[length..]);
        }
        call.registers.info = MessageInfo::new(label, form.caps.len(), length).0;
        Some(call)
    }

    /// Writes the words for a part; returns their number.
    fn write(&mut self, part: Part, is_home: &dyn Fn(usize) -> bool, words: &mut [usize]) -> usize {
        let time = 64 / WORD_BITS;
        match part {
            Part::Any => words[0] = self.random.interesting(),
            Part::Below(limit) => words[0] = self.random.below(limit),
            Part::Empty(cnode) => {
                (words[0], words[1]) = self.slot(is_home(cnode), true);
                return 2;
            }
            Part::Full(cnode) => {
                (words[0], words[1]) = self.slot(is_home(cnode), false);
                return 2;
            }
            Part::Range(cnode) => {
                let (slot, _) = self.slot(is_home(cnode), true);
                (words[0], words[1], words[2]) = (0, 0, slot);
                return 3;
            }
            Part::Object => {
                (words[0], words[1]) = self.object();
                return 2;
            }
            Part::Rights => words[0] = self.random.below(16),
            Part::Data => words[0] = self.data(),
            Part::Priority => words[0] = self.random.below(usize::from(PRIORITY) + 2),
            Part::Budget => {
                let period = 100 + self.random.below(9_900);
                let budget = if self.one_in(3) {
                    period
                } else {
                    20 + period / 8
                };
                words[..2 * time].fill(0);
                (words[0], words[time]) = (budget, period);
                return 2 * time;
            }
            Part::Microseconds => {
                words[..time].fill(0);
                words[0] = self.random.below(1 << 14);
                return time;
            }
            Part::Ticks => {
                words[..time].fill(0);
                words[0] = self.random.below(1 << 20);
                return time;
            }
            Part::Page => words[0] = self.page(),
            Part::Span => {
                let start = self.page() + self.random.below(2048);
                (words[0], words[1]) = (start, start + self.random.below(2049));
                return 2;
            }
            Part::Registers => return self.registers(words),
            Part::Port => {
                words[0] = self.random.choose(&[0x80, 0x81, 0x83, 0x88, 0x8b, 0x8f]);
            }
        }
        1
    }

    /// Index and depth of a slot of the component's own CNode, or of another.
    fn slot(&mut self, home: bool, empty: bool) -> (usize, usize) {
        if !home {
            return (self.random.below(1 << OTHER_RADIX), OTHER_RADIX);
        }
        let index = self
            .any(SLOTS, |author, index| {
                (author.kind(index) == Kind::None) == empty
            })
            .unwrap_or(0);
        self.touched[self.count % 4] = index;
        self.count += 1;
        (index, RADIX)
    }

    /// Type and size of an object.
    fn object(&mut self) -> (usize, usize) {
        let kind = match self.random.below(8) {
            0 => arch::SPACE,
            1 => self.random.choose(arch::FRAMES),
            2 => self.random.choose(arch::TABLES).0,
            _ => ObjectType::from_number(self.random.below(ObjectType::COUNT))
                .unwrap_or(ObjectType::Untyped),
        };
        let size = match kind {
            ObjectType::Untyped => sizes::MIN_UNTYPED_BITS + self.random.below(10),
            ObjectType::CNode => OTHER_RADIX,
            ObjectType::SchedContext => sizes::MIN_SCHED_CONTEXT_BITS + self.random.below(2),
            _ => 0,
        };
        (kind.checked_number().unwrap_or(0), size)
    }

    fn data(&mut self) -> usize {
        match self.random.below(4) {
            0 => 0,
            1 => self.random.below(16),
            // With this guard, the component's own CNode is a whole CSpace.
            2 => GuardData {
                guard: 0,
                size: WORD_BITS - RADIX,
            }
            .word(),
            _ => self.random.interesting(),
        }
    }

    /// Pages of an unused region, few enough to be chosen repeatedly.
    fn page(&mut self) -> usize {
        PAGES + (self.random.below(3) << 21) + (self.random.below(8) << 12)
    }

    /// Count and registers of a thread that makes two calls and faults.
    fn registers(&mut self, words: &mut [usize]) -> usize {
        let (count, context) = (registers::COUNT, &mut words[1..]);
        for word in &mut context[..count] {
            *word = self.random.interesting();
        }
        let call = self.meeting(&CALLS);
        context[registers::PC] = arch::probe as *const () as usize;
        context[registers::SYSCALL] = call.number;
        context[registers::CAP] = call.registers.cap;
        context[registers::REPLY] = call.registers.reply;
        context[registers::DESTINATION] = call.registers.destination;
        context[registers::INFO] = call.registers.info;
        words[0] = count;
        1 + count
    }

    /// A call that sends or receives, or a call without an object.
    fn meeting(&mut self, syscalls: &[Syscall]) -> Call {
        let place = self.random.choose(&MEETING);
        let address = self.pick(place);
        let mut call = Call::new(self.random.choose(syscalls), address);
        call.registers.reply = self.pick(Kind::Reply);
        let other = self.random.choose(&MEETING);
        call.registers.destination = self.pick(other);
        if call.number == Syscall::NBSendWait.number() {
            call.registers.reply = self.pick(other);
        }
        for word in &mut call.words {
            *word = self.random.word();
        }
        for cap in &mut call.caps {
            *cap = self.random.below(ADDRESSES);
        }
        let (caps, length) = (self.random.below(4), self.random.below(WORDS));
        call.registers.info = MessageInfo::new(self.random.below(5), caps, length).0;
        call
    }

    /// A message, mostly without blocking.
    pub fn message(&mut self) -> Call {
        if self.one_in(16) {
            self.meeting(&CALLS)
        } else {
            self.meeting(&PROMPT)
        }
    }

    /// Changes a part of a call.
    pub fn mutate(&mut self, call: &mut Call) {
        let info = MessageInfo(call.registers.info);
        match self.random.below(8) {
            0 => call.registers.info = self.random.interesting(),
            1 => {
                let label = self.label();
                let keep = MessageInfo::new(label, info.extra_caps(), info.length());
                call.registers.info = keep.0;
            }
            2 => {
                let length = self.random.below(abi::MAX_MESSAGE_LENGTH + 1);
                call.registers.info = MessageInfo::new(info.label(), info.extra_caps(), length).0;
            }
            3 => {
                let caps = self.random.below(4);
                call.registers.info = MessageInfo::new(info.label(), caps, info.length()).0;
            }
            4 => {
                let index = self.random.below(call.caps.len());
                call.caps[index] = self.address();
            }
            5 => call.registers.cap = self.address(),
            6 if self.one_in(8) => call.number = self.random.choose(&CALLS).number(),
            6 => call.number = Syscall::NBSend.number(),
            _ => {
                let index = self.random.below(8 + MESSAGE_REGISTERS);
                // I/O ports with devices must not be accessed, so words of port invocations stay as they are.
                if self.kind(call.registers.cap) != Kind::Ports
                    && self.kind(call.registers.cap) != Kind::PortsControl
                {
                    call.words[index] = self.random.interesting();
                }
            }
        }
        self.contain(call);
    }

    /// The label of a method, or one just beyond those.
    fn label(&mut self) -> usize {
        let index = self.random.below(METHODS + 2);
        method(index)
            .and_then(Method::checked_number)
            .unwrap_or(index)
    }

    /// An address of a capability, or of an empty slot, or an arbitrary number.
    fn address(&mut self) -> usize {
        if self.one_in(64) {
            self.random.interesting()
        } else {
            self.random.below(ADDRESSES)
        }
    }

    /// An arbitrary call.
    pub fn noise(&mut self) -> Call {
        let mut call = Call::new(Syscall::Call, self.address());
        for word in &mut call.words {
            *word = match self.random.below(3) {
                0 => self.random.below(ADDRESSES),
                _ => self.random.interesting(),
            };
        }
        for cap in &mut call.caps {
            *cap = self.address();
        }
        call.registers.reply = self.address();
        call.registers.destination = self.address();
        call.registers.info = match self.random.below(4) {
            0 => self.random.interesting(),
            _ => {
                let (caps, length) = (self.random.below(4), self.random.below(12));
                MessageInfo::new(self.label(), caps, length).0
            }
        };
        match self.random.below(64) {
            0 => call.number = self.random.interesting(),
            1 => call.number = self.random.below(64).wrapping_neg(),
            2..6 => call.number = self.random.choose(&CALLS).number(),
            6..24 => call.number = self.random.choose(&PROMPT).number(),
            _ => {}
        }
        // A blocked component must be restarted by the parent, which takes time, so most sends do not block.
        if self.kind(call.registers.cap) == Kind::Endpoint && !self.one_in(8) {
            call.number = Syscall::NBSend.number();
        }
        self.contain(&mut call);
        call
    }

    /// Replaces calls that no kernel could confine: those of debug kernels, and accesses to I/O ports of
    /// devices, which are authority over the machine.
    fn contain(&mut self, call: &mut Call) {
        if !is_contained(call.number) {
            call.number = Syscall::Call.number();
        }
        let kind = self.kind(call.registers.cap);
        if matches!(kind, Kind::Ports | Kind::PortsControl) || call.registers.cap >= ADDRESSES {
            call.words[0] = 0x80;
            call.words[1] = 0x80;
        }
    }
}
