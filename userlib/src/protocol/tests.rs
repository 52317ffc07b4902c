//! The layout of messages, and a server that gets bad ones.

use super::{Bytes, Error, Part, Shared, Text, TooLong, Value, words};
use crate::server::{ABORTED, CallError};
use crate::{CPtr, Message};
use core::fmt::Write;
use core::sync::atomic::AtomicUsize;

crate::value! {
    /// Why not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// The shelf is full.
        Full,
        /// There is no such thing.
        Missing,
    }
}

crate::protocol! {
    /// A shelf.
    pub mod shelf, version 3 {
        /// Puts a thing there.
        fn put(thing: u32, is_heavy: bool) -> Result<u64, Refused>;
        /// Names a thing.
        fn name(name: Text<10>) -> Option<u8>;
        /// Clears it.
        fn clear();
    }
}

#[derive(Default)]
struct Shelf {
    calls: Vec<(usize, u32, bool)>,
    signals: usize,
}

impl shelf::Service for Shelf {
    fn put(&mut self, caller: usize, thing: u32, is_heavy: bool) -> Result<u64, Refused> {
        self.calls.push((caller, thing, is_heavy));
        match is_heavy {
            true => Err(Refused::Missing),
            false => Ok(u64::MAX - 1),
        }
    }

    fn name(&mut self, _: usize, name: Text<10>) -> Option<u8> {
        name.as_str().bytes().next()
    }

    fn clear(&mut self, _: usize) {
        self.calls.clear();
    }

    fn signals(&mut self, signals: usize) {
        self.signals |= signals;
    }
}

/// What a client gets for a message.
fn ask<T: Value>(shelf: &mut Shelf, message: Message) -> Result<T, Error> {
    super::result(crate::server::reply(shelf::answer(shelf, 7, &message)))
}

fn all(value: &impl Value) -> Vec<usize> {
    let mut all = Vec::new();
    value.write(&mut |word| all.push(word)).unwrap();
    all
}

/// That a value takes these words, and that they are this value.
fn is_laid_out_as<T: Value + PartialEq + core::fmt::Debug>(value: T, expected: &[usize]) {
    assert_eq!(all(&value), expected);
    assert_eq!(T::WORDS, expected.len());
    assert_eq!(T::read(&mut expected.iter().copied()), Some(value));
    let short = expected.len().saturating_sub(1);
    if !expected.is_empty() {
        assert_eq!(T::read(&mut expected.iter().copied().take(short)), None);
    }
}

#[test]
fn values_have_the_words_that_the_table_says() {
    is_laid_out_as((), &[]);
    is_laid_out_as(-2i8, &[usize::MAX - 1]);
    is_laid_out_as((true, 7u16), &[1, 7]);
    is_laid_out_as([1u8, 2], &[1, 2]);
    is_laid_out_as(None::<u8>, &[0, 0]);
    is_laid_out_as(Some(5u8), &[1, 5]);
    is_laid_out_as(Refused::Missing, &[1]);
    is_laid_out_as(Ok::<_, Refused>((5u8, 6u8)), &[0, 5, 6]);
    is_laid_out_as(Err::<(u8, u8), _>(Refused::Missing), &[1, 1, 0]);
    is_laid_out_as(
        Part {
            first: 3,
            length: 9,
        },
        &[3, 9],
    );
    is_laid_out_as(Text::<3>::new("ab"), &[2, 0x6261]);
    is_laid_out_as(Bytes::<3>::new(&[0xff, 2]).unwrap(), &[2, 0x2ff]);
    is_laid_out_as(Bytes::<0>::default(), &[0]);
    let long = 0x0102_0304_0506_0708u64;
    match usize::BITS {
        64 => is_laid_out_as(long, &[long as usize]),
        _ => is_laid_out_as(long, &[0x0506_0708, 0x0102_0304]),
    }
}

#[test]
fn words_that_are_no_value_are_refused() {
    fn is_none<T: Value>(words: &[usize]) -> bool {
        T::read(&mut words.iter().copied()).is_none()
    }
    assert!(is_none::<u8>(&[256]));
    assert!(is_none::<i8>(&[128]));
    assert!(is_none::<bool>(&[2]));
    assert!(is_none::<Refused>(&[2]));
    assert!(is_none::<Option<u8>>(&[2, 0]));
    assert!(is_none::<Option<u8>>(&[0, 1]), "padding is zero");
    assert!(is_none::<Result<(u8, u8), Refused>>(&[1, 0, 1]));
    assert!(is_none::<Text<3>>(&[4, 0]));
    assert!(is_none::<Text<3>>(&[1, 0xff]), "no UTF-8");
    assert!(is_none::<Text<3>>(&[1, 0x6261]), "padding is zero");
    assert!(is_none::<Bytes<3>>(&[3, 0x0163_6261]), "padding is zero");
    assert!(is_none::<[u8; 2]>(&[1, 300]));
}

#[test]
fn a_long_text_is_cut_between_letters() {
    assert_eq!(Text::<4>::new("ab\u{f6}\u{f6}").as_str(), "ab\u{f6}");
    assert_eq!(Text::<3>::new("ab\u{f6}").as_str(), "ab");
    let mut text = Text::<4>::default();
    write!(text, "{}ab", 12).unwrap();
    assert_eq!(text.as_str(), "12ab");
    assert!(write!(text, "c").is_err());
    assert_eq!(text.as_str(), "12ab");
}

#[test]
fn bytes_have_a_greatest_length() {
    let mut bytes = Bytes::<4>::new(&[1, 2]).unwrap();
    assert_eq!(bytes.append(&[3, 4, 5]), None);
    assert_eq!(bytes.as_slice(), [1, 2]);
    assert_eq!(bytes.append(&[3, 4]), Some(()));
    assert_eq!(bytes.as_slice(), [1, 2, 3, 4]);
    assert_eq!(Bytes::<4>::new(&[0; 5]), None);
}

/// Even numbers only.
struct Even(usize);

impl Value for Even {
    const WORDS: usize = 1;

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        (self.0 & 1 == 0).then_some(()).ok_or(TooLong)?;
        put(self.0);
        Ok(())
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        words.next().map(Self)
    }
}

#[test]
fn what_does_not_fit_is_not_sent() {
    let request = |numbers: [usize; 2]| {
        let arguments = (true, numbers.map(Even), Ok::<_, Refused>(Even(4)));
        super::request(0x300, &arguments, &mut [0; 5])
    };
    let sent = Message::new(0x300, &[1, 2, 6, 0, 4]);
    assert_eq!(request([2, 6]), Ok(sent));
    assert_eq!(request([2, 5]), Err(Error::TooLong));
    let result = |number| {
        let reply = super::done(&Some(Even(number)), &mut [0; 2]);
        let result = super::result::<Option<Even>>(crate::server::reply(reply));
        result.map(|even| even.map(|Even(number)| number))
    };
    assert_eq!(result(6), Ok(Some(6)));
    assert_eq!(result(7), Err(Error::ResultTooLong));
}

#[test]
fn operations_have_labels_and_results() {
    assert_eq!(shelf::label(shelf::Operation::put), 0x300);
    assert_eq!(shelf::label(shelf::Operation::clear), 0x302);
    let mut shelf = Shelf::default();
    let put = |heavy| Message::new(0x300, &[5, heavy]);
    assert_eq!(ask(&mut shelf, put(0)), Ok(Ok::<_, Refused>(u64::MAX - 1)));
    assert_eq!(ask(&mut shelf, put(1)), Ok(Err::<u64, _>(Refused::Missing)));
    assert_eq!(shelf.calls, [(7, 5, false), (7, 5, true)]);
    // More words than registers have.
    let name = Message::new(0x301, &all(&Text::<10>::new("abcdefghij")));
    assert_eq!(ask(&mut shelf, name), Ok(Some(b'a')));
    assert_eq!(ask(&mut shelf, Message::empty(0x302)), Ok(()));
    assert!(shelf.calls.is_empty());
}

#[test]
fn hostile_messages_get_errors_and_reach_no_service() {
    let mut shelf = Shelf::default();
    let mut refused = |message| ask::<Result<u64, Refused>>(&mut shelf, message);
    for label in [0, 0x200, 0x400, 0x1300, ABORTED] {
        let refusal = refused(Message::new(label, &[5, 0]));
        assert_eq!(refusal, Err(Error::OtherVersion(3)), "{label:x}");
    }
    for label in [0x303, 0x3ff] {
        assert_eq!(
            refused(Message::new(label, &[5, 0])),
            Err(Error::NoOperation)
        );
    }
    let malformed = Err(Error::Malformed);
    assert_eq!(refused(Message::empty(0x300)), malformed);
    assert_eq!(refused(Message::new(0x300, &[5])), malformed);
    assert_eq!(refused(Message::new(0x300, &[5, 0, 0])), malformed);
    assert_eq!(refused(Message::new(0x300, &[0; 120])), malformed);
    assert_eq!(refused(Message::new(0x300, &[5, 2])), malformed);
    let capabilities = Message::new(0x300, &[5, 0]).with_capabilities(&[CPtr(1)]);
    assert_eq!(refused(capabilities), malformed);
    assert!(shelf.calls.is_empty());
}

#[test]
fn replies_of_others_are_errors() {
    let result = |label, words: &[usize]| {
        super::result::<u8>(crate::server::reply(Message::new(label, words)))
    };
    assert_eq!(result(0, &[5]), Ok(5));
    assert_eq!(result(0, &[256]), Err(Error::BadReply));
    assert_eq!(result(0, &[5, 0]), Err(Error::BadReply));
    assert_eq!(result(9, &[5]), Err(Error::BadReply));
    assert_eq!(result(ABORTED, &[]), Err(Error::Call(CallError::Aborted)));
}

#[test]
fn parts_of_shared_memory_are_checked() {
    static MEMORY: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
    let shared = Shared::new(&MEMORY);
    let part = shared.put(1, b"hello, world").unwrap();
    let mut copy = [0; 16];
    assert_eq!(shared.copy(part, &mut copy), Some(&b"hello, world"[..]));
    assert_eq!(shared.put(3, b"hello, world"), None);
    assert_eq!(shared.copy(part, &mut [0; 11]), None, "it does not fit");
    for part in [
        Part {
            first: 4,
            length: 1,
        },
        Part {
            first: usize::MAX,
            length: 8,
        },
        Part {
            first: 3,
            length: 9,
        },
        Part {
            first: 0,
            length: usize::MAX,
        },
    ] {
        assert_eq!(shared.copy(part, &mut [0; 64]), None, "{part:?}");
    }
    assert!(words(&Message::new(0, &[1]), 2).is_none());
}
