//! Operations of the root task.

use abi::{ErrorCode, LookupFailure, Method, ObjectType, Syscall, slots};
use kernel::invoke::Error;

use super::entry::Operands;
use super::{BELL, Bell, Machine, Message, Received, Task};
use crate::CPtr;

/// Result of an invocation: words, or an error.
pub type Answer = Result<Vec<usize>, Error>;

impl Machine {
    /// The root task invokes a capability; it is woken first if it rests.
    ///
    /// # Errors
    /// The error that the kernel reports.
    ///
    /// # Panics
    /// If an invariant is violated.
    pub fn invoke(&mut self, cap: CPtr, method: Method, words: &[usize], caps: &[CPtr]) -> Answer {
        self.by_root(|machine, root| machine.invoke_as(root, cap, method, words, caps))
    }

    /// The root task does something; it is woken first if it rests.
    ///
    /// # Panics
    /// If it can't run.
    pub fn by_root<T>(&mut self, work: impl FnOnce(&mut Self, Task) -> T) -> T {
        self.on(0, |machine| machine.by_root_here(work))
    }

    fn by_root_here<T>(&mut self, work: impl FnOnce(&mut Self, Task) -> T) -> T {
        let root = self.root;
        let rests = !self.runs(root);
        if rests {
            self.ring();
            // It may have to wait until its domain runs.
            self.advance_until(|machine| machine.runs(root));
        }
        let result = work(self, root);
        if rests {
            self.rest();
        }
        result
    }

    /// A running task invokes a capability.
    ///
    /// # Errors
    /// The error that the kernel reports.
    ///
    /// # Panics
    /// As [`Machine::syscall`].
    pub fn invoke_as(
        &mut self,
        task: Task,
        cap: CPtr,
        method: Method,
        words: &[usize],
        caps: &[CPtr],
    ) -> Answer {
        let message = Message::new(method.number(), words).with_caps(caps);
        self.call(task, cap, &message);
        answer(self.received(task))
    }

    /// The root task rests, so that other tasks run.
    ///
    /// # Panics
    /// If it does not run.
    pub fn rest(&mut self) {
        let bell = match self.bell {
            Some(bell) => bell,
            None => self.install_bell(),
        };
        let ack = self.invoke_as(self.root, bell.handler, Method::IrqAckIrq, &[], &[]);
        assert_eq!(ack, Ok(vec![]));
        let operands = Operands {
            cap: bell.notification,
            ..Operands::default()
        };
        self.syscall(self.root, Syscall::Wait, operands, &Message::default());
    }

    fn install_bell(&mut self) -> Bell {
        let notification = self.create(ObjectType::Notification, 0);
        let handler = self.issue_irq(BELL.0).expect("the bell's line is free");
        self.invoke(handler, Method::IrqSetIrqHandler, &[], &[notification])
            .expect("a notification can be signalled");
        let bell = Bell {
            notification,
            handler,
        };
        self.bell = Some(bell);
        bell
    }

    /// A handler capability for an interrupt line.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn issue_irq(&mut self, line: usize) -> Result<CPtr, Error> {
        let slot = self.slot();
        let words = [line, slot, abi::WORD_BITS];
        let root = [slots::INIT_THREAD_CNODE];
        self.invoke(
            slots::IRQ_CONTROL,
            Method::IrqIssueIrqHandler,
            &words,
            &root,
        )
        .map(|_| slot)
    }
}

/// Decodes the reply of a call on a kernel object, as a user-level library does.
pub fn answer(received: Received) -> Answer {
    let Received { label, words, .. } = received;
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let (error, length) = match ErrorCode::from_number(label).expect("a known error") {
        ErrorCode::NoError => return Ok(words),
        ErrorCode::InvalidArgument => (Error::InvalidArgument(word(0)), 1),
        ErrorCode::InvalidCapability => (Error::InvalidCapability(word(0)), 1),
        ErrorCode::IllegalOperation => (Error::IllegalOperation, 0),
        ErrorCode::RangeError => {
            let (minimum, maximum) = (word(0), word(1));
            (Error::Range { minimum, maximum }, 2)
        }
        ErrorCode::AlignmentError => (Error::Alignment, 0),
        ErrorCode::FailedLookup => {
            let description = [word(1), word(2), word(3), word(4)];
            let failure = LookupFailure::from_words(description).expect("a known failure");
            let source = word(0) != 0;
            (Error::Lookup { source, failure }, 1 + failure.words().1)
        }
        ErrorCode::TruncatedMessage => (Error::Truncated, 0),
        ErrorCode::DeleteFirst => (Error::DeleteFirst, 0),
        ErrorCode::RevokeFirst => (Error::RevokeFirst, 0),
        ErrorCode::NotEnoughMemory => (Error::NotEnoughMemory(word(0)), 1),
        ErrorCode::BudgetTooSmall => {
            let (needed, budget) = (word(0), word(1));
            (Error::BudgetTooSmall { needed, budget }, 2)
        }
        ErrorCode::LimitReached => panic!("no method of the kernel lends time"),
    };
    assert_eq!(words.len(), length, "the length of the answer to {error:?}");
    Err(error)
}
