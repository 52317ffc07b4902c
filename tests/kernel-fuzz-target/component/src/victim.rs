//! Well-behaved components: a client, which works in each of its periods, and a passive server.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::cap::{Endpoint, Notification, Reply};
use userlib::time::Clock;
use userlib::{Message, Startup, syscall};

use crate::names;

/// The words of the record.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Word {
    /// The number of pieces of work done.
    Done,
    /// The number of wrong answers or words of memory.
    Wrong,
    /// The longest time between the beginnings of two pieces of work, in microseconds.
    Gap,
    /// The longest duration of a piece of work, in microseconds.
    Longest,
}

/// Calls in a piece of work.
const CALLS: usize = 4;

/// The server's answer to a question.
const fn answer(question: usize) -> usize {
    question.rotate_left(7) ^ 0x5a5a
}

/// Works, records the results, and sleeps until its next period.
pub fn client(startup: &'static Startup) {
    let record = startup.shared(names::LEDGER);
    let memory = startup.shared(names::MEMORY);
    let server: Endpoint = startup.capability(names::ENDPOINT);
    let clock = Clock::from_startup(startup);
    let mut last = clock.now();
    for round in 1.. {
        let start = clock.now();
        let mut wrong = 0;
        for call in 0..CALLS {
            let question = round * CALLS + call;
            let reply = server.call(Message::new(call, &[question, call]));
            let right = reply.label() == call && reply.word(0) == answer(question);
            wrong += usize::from(!right);
        }
        wrong += renew(memory, round);
        let end = clock.now();
        if round > 1 {
            raise(&record[Word::Gap as usize], (start - last).0);
        }
        raise(&record[Word::Longest as usize], (end - start).0);
        record[Word::Wrong as usize].fetch_add(wrong, Relaxed);
        record[Word::Done as usize].store(round, Relaxed);
        last = start;
        syscall::yield_now();
    }
}

fn raise(word: &AtomicUsize, value: u64) {
    word.fetch_max(value as usize, Relaxed);
}

/// Counts the words that differ from the values of the last round, and changes all.
fn renew(memory: &[AtomicUsize], round: usize) -> usize {
    let contents = |round: usize, index: usize| round.wrapping_mul(index + 0x101);
    let mut wrong = 0;
    for (index, word) in memory.iter().enumerate() {
        let found = word.swap(contents(round, index), Relaxed);
        wrong += usize::from(round > 1 && found != contents(round - 1, index));
    }
    wrong
}

/// Signals that it waits for calls, and answers them.
pub fn server(startup: &'static Startup) {
    let endpoint: Endpoint = startup.capability(names::ENDPOINT);
    let reply: Reply = startup.capability(names::REPLY);
    let ready: Notification = startup.capability(names::READY);
    let mut received = syscall::nb_send_recv(ready.0, Message::empty(0), endpoint.0, reply.0);
    loop {
        let message = match received.message {
            Some(question) => Message::new(question.label(), &[answer(question.word(0))]),
            None => Message::empty(0),
        };
        received = syscall::reply_recv(endpoint.0, message, reply.0);
    }
}
