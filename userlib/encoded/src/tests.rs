//! Values through a server and back, and what hostile clients send.

use super::{Encoded, get, put};
use core::sync::atomic::AtomicUsize;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use userlib::protocol::{Error, Part, Shared, Value, request, result};
use userlib::{Message, server};

/// What a robot is to do: with texts and lists of any length, and itself in one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// An enumeration's plain variant.
    Stop,
    /// One with data.
    Move(i32, f32),
    /// One with names.
    Say {
        /// What.
        text: String,
        /// To which robot.
        to: Option<u64>,
    },
    /// One with others.
    All(Vec<Command>),
}

/// What it has done, in a type that needs no heap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its name.
    pub name: heapless::String<12>,
    /// The last places.
    pub places: heapless::Vec<(i16, char), 3>,
}

userlib::value! {
    /// Why not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// It rests.
        Tired,
    }
}

userlib::protocol! {
    /// A robot.
    pub mod robot, version 2 {
        /// Performs a command.
        fn perform(command: Encoded<Command, 64>) -> Result<Encoded<Report, 40>, Refused>;
        /// Repeats what it is told.
        fn repeat(times: u8, command: Encoded<Command, 64>) -> Encoded<Command, 64>;
    }
}

#[derive(Default)]
struct Robot {
    commands: Vec<Command>,
}

impl robot::Service for Robot {
    fn perform(
        &mut self,
        _: usize,
        Encoded(command): Encoded<Command, 64>,
    ) -> Result<Encoded<Report, 40>, Refused> {
        if command == Command::Stop {
            return Err(Refused::Tired);
        }
        self.commands.push(command);
        Ok(Encoded(report()))
    }

    fn repeat(
        &mut self,
        _: usize,
        times: u8,
        Encoded(command): Encoded<Command, 64>,
    ) -> Encoded<Command, 64> {
        self.commands.push(command.clone());
        Encoded(Command::All(vec![command; times.into()]))
    }
}

fn report() -> Report {
    Report {
        name: "Robby".try_into().unwrap(),
        places: heapless::Vec::from_slice(&[(-300, 'x'), (5, '\u{10348}')]).unwrap(),
    }
}

/// What a client gets for its arguments.
fn ask<A: Value, R: Value>(
    robot: &mut Robot,
    operation: robot::Operation,
    arguments: A,
) -> Result<R, Error> {
    let mut words = vec![0; A::WORDS];
    let request = request(robot::label(operation), &arguments, &mut words)?;
    result(server::reply(robot::answer(robot, 7, &request)))
}

/// The words of an encoding, whether it is one or not.
fn words(length: usize, bytes: &[u8]) -> Vec<usize> {
    let mut words = vec![length];
    for chunk in bytes.chunks(size_of::<usize>()) {
        let mut word = [0; size_of::<usize>()];
        word[..chunk.len()].copy_from_slice(chunk);
        words.push(usize::from_le_bytes(word));
    }
    words
}

/// The label of the reply to a request with these bytes, of which `length` are the encoding.
fn reply_to(robot: &mut Robot, length: usize, bytes: &[u8]) -> usize {
    let mut all = [0; 64];
    all[..bytes.len()].copy_from_slice(bytes);
    let label = robot::label(robot::Operation::perform);
    let request = Message::new(label, &words(length, &all));
    robot::answer(robot, 7, &request).label()
}

const DONE: usize = 0;
const MALFORMED: usize = 0xf_fff2;

#[test]
fn an_encoding_has_the_words_of_its_length_and_its_bytes() {
    let value = Encoded::<_, 4>((7u8, Some(300u16)));
    let mut all = Vec::new();
    value.write(&mut |word| all.push(word)).unwrap();
    assert_eq!(all, words(4, &[7, 1, 0xac, 2]));
    assert_eq!(Encoded::read(&mut all.into_iter()), Some(value));
}

#[test]
fn values_of_any_shape_go_to_a_server_and_back() {
    let mut robot = Robot::default();
    let mut perform = |command| {
        ask(
            &mut robot,
            robot::Operation::perform,
            (Encoded::<_, 64>(command),),
        )
    };
    let done = perform(Command::Move(-1, 0.5));
    assert_eq!(done, Ok(Ok::<_, Refused>(Encoded::<_, 40>(report()))));
    assert_eq!(perform(Command::Stop), Ok(Err(Refused::Tired)));
    assert_eq!(robot.commands, [Command::Move(-1, 0.5)]);
}

#[test]
fn what_is_too_long_is_an_error_and_not_a_part_of_it() {
    let mut robot = Robot::default();
    let say = |length: usize| Command::Say {
        text: "x".repeat(length),
        to: None,
    };
    let mut repeat = |times: u8, command| {
        let arguments = (times, Encoded::<_, 64>(command));
        ask::<_, Encoded<Command, 64>>(&mut robot, robot::Operation::repeat, arguments)
    };
    // The variant, the length of the text, and whether there is a number.
    let longest = 64 - 3;
    assert!(repeat(0, say(longest)).is_ok());
    assert_eq!(repeat(0, say(longest + 1)), Err(Error::TooLong));
    assert_eq!(repeat(1, say(longest)), Err(Error::ResultTooLong));
    assert_eq!(robot.commands, [say(longest), say(longest)]);
}

#[test]
fn another_version_is_told_before_anything_is_decoded() {
    let mut robot = Robot::default();
    let label = robot::label(robot::Operation::perform) - 0x100;
    let request = Message::new(label, &words(1, &[0; 64]));
    let reply = result::<Encoded<Report, 40>>(Ok(robot::answer(&mut robot, 7, &request)));
    assert_eq!(reply, Err(Error::OtherVersion(2)));
}

#[test]
fn what_is_no_encoding_reaches_no_service() {
    let mut robot = Robot::default();
    let mut label = |length, bytes: &[u8]| reply_to(&mut robot, length, bytes);
    assert_eq!(label(4, &[2, 1, b'x', 0]), DONE);
    // Too short, too long, longer than the message.
    assert_eq!(label(3, &[2, 1, b'x']), MALFORMED);
    assert_eq!(label(5, &[2, 1, b'x', 0, 0]), MALFORMED);
    assert_eq!(label(4, &[2, 1, b'x', 0, 1]), MALFORMED);
    assert_eq!(label(65, &[2, 1, b'x', 0]), MALFORMED);
    assert_eq!(label(usize::MAX, &[2, 1, b'x', 0]), MALFORMED);
    // No variant, no UTF-8, no option, a number with too many bits.
    assert_eq!(label(1, &[4]), MALFORMED);
    assert_eq!(label(4, &[2, 1, 0xff, 0]), MALFORMED);
    assert_eq!(label(4, &[2, 1, b'x', 2]), MALFORMED);
    let number = [0xff; 10];
    assert_eq!(
        label(14, &[&[2, 1, b'x', 1][..], &number[..]].concat()),
        MALFORMED
    );
    // Texts and lists that claim to be longer than any memory.
    let longest = [&[0xff; 9][..], &[1]].concat();
    for variant in [2, 3] {
        let claim = [&[variant][..], &longest[..]].concat();
        assert_eq!(label(claim.len(), &claim), MALFORMED);
        assert_eq!(label(64, &claim), MALFORMED);
    }
    assert_eq!(robot.commands.len(), 1);
}

#[test]
fn lists_in_lists_are_no_deeper_than_they_have_bytes() {
    let mut robot = Robot::default();
    let deepest = [3, 1].repeat(32);
    assert_eq!(reply_to(&mut robot, 64, &deepest), MALFORMED);
    let ended = [&deepest[..62], &[3, 0]].concat();
    assert_eq!(reply_to(&mut robot, 64, &ended), DONE);
}

/// A letter, in the bytes in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Letter<'a> {
    to: &'a str,
    seal: &'a [u8],
    #[serde(borrow)]
    answers: Option<&'a str>,
}

#[test]
fn shared_memory_holds_what_is_longer() {
    static MEMORY: [AtomicUsize; 32] = [const { AtomicUsize::new(0) }; 32];
    let memory = Shared::new(&MEMORY);
    let text = "a long letter ".repeat(10);
    let letter = Letter {
        to: "the store",
        seal: &[0, 0xff],
        answers: Some(&text),
    };
    let mut buffer = [0; 200];
    let part = put(memory, 1, &letter, &mut buffer).unwrap();
    assert_eq!(get(memory, part, &mut buffer), Some(letter));
    assert_eq!(put(memory, 31, &letter, &mut buffer), None, "no room");
    assert_eq!(put(memory, 1, &letter, &mut [0; 100]), None);
    let read = |part, length| get::<Letter<'_>>(memory, part, &mut vec![0; length]).is_some();
    assert!(read(part, part.length) && !read(part, part.length - 1));
    for length in [part.length - 1, part.length + 1, usize::MAX] {
        let other = Part { length, ..part };
        assert!(!read(other, 200), "{length}");
    }
}

fn commands() -> impl Strategy<Value = Command> {
    let text = prop::collection::vec(any::<char>(), 0..8);
    let text = text.prop_map(|letters| letters.into_iter().collect::<String>());
    let one = prop_oneof![
        Just(Command::Stop),
        (any::<i32>(), prop::num::f32::NORMAL).prop_map(|(x, y)| Command::Move(x, y)),
        (text, any::<Option<u64>>()).prop_map(|(text, to)| Command::Say { text, to }),
    ];
    let several = prop::collection::vec(one.clone(), 0..6).prop_map(Command::All);
    prop_oneof![one, several]
}

proptest! {
    #[test]
    fn every_value_that_fits_arrives(command in commands()) {
        let mut robot = Robot::default();
        let arguments = (1u8, Encoded::<_, 64>(command.clone()));
        let told = ask::<_, Encoded<Command, 64>>(&mut robot, robot::Operation::repeat, arguments);
        match postcard::experimental::serialized_size(&command).unwrap() {
            ..=62 => prop_assert_eq!(told, Ok(Encoded(Command::All(vec![command])))),
            63..=64 => prop_assert_eq!(told, Err(Error::ResultTooLong)),
            65.. => prop_assert_eq!(told, Err(Error::TooLong)),
        }
    }

    #[test]
    fn no_bytes_make_a_server_panic(length in 0..70usize, bytes: [u8; 32], more: [u8; 32]) {
        let mut robot = Robot::default();
        let label = reply_to(&mut robot, length, &[bytes, more].concat());
        let was_called = !robot.commands.is_empty();
        prop_assert!(label == DONE || label == MALFORMED && !was_called);
    }

    #[test]
    fn no_change_of_an_encoding_makes_a_server_panic(command in commands(), place in 0..64usize, byte: u8) {
        let mut all = [0; 64];
        let length = postcard::to_slice(&command, &mut all).map_or(64, |bytes| bytes.len());
        all[place] = byte;
        let mut robot = Robot::default();
        let label = reply_to(&mut robot, length, &all);
        let was_called = !robot.commands.is_empty();
        prop_assert!(label == DONE || label == MALFORMED && !was_called);
    }

    #[test]
    fn no_bytes_in_shared_memory_make_a_server_panic(
        first in 0..9usize,
        length in 0..70usize,
        bytes: [u8; 32],
    ) {
        static MEMORY: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
        let memory = Shared::new(&MEMORY);
        memory.put(0, &bytes).unwrap();
        let mut buffer = [0; 48];
        if let Some(letter) = get::<Letter<'_>>(memory, Part { first, length }, &mut buffer) {
            prop_assert!(letter.to.len() + letter.seal.len() <= length);
        }
    }
}
