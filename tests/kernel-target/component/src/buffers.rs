//! IPC buffers: which words the kernel reads and writes, and with which rights.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, Test};
use crate::{check, check_eq};
use abi::registers::MESSAGE_REGISTERS;
use abi::{IPC_BUFFER_BITS, IpcBuffer, MAX_MESSAGE_LENGTH, Rights};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use userlib::cap::{Endpoint, Frame, Tcb};
use userlib::environment::SharedPage;
use userlib::{Message, Result};

tests![
    readable_buffers_send,
    readable_buffers_do_not_receive,
    readable_buffers_take_no_results,
    unreadable_buffers_do_not_send,
    buffers_lie_anywhere_in_a_frame,
    only_the_words_of_the_message_are_written,
    badges_are_written_where_capabilities_were,
];

/// The index of a word in a buffer.
const fn word(offset: usize) -> usize {
    offset / size_of::<usize>()
}

const MESSAGE: usize = word(offset_of!(IpcBuffer, message));
const WORDS: usize = word(size_of::<IpcBuffer>());
const PATTERN: usize = 0x5a5a_0000;

/// A page for a buffer; each word holds a distinct number.
fn page(test: &mut Test) -> Result<SharedPage> {
    let page = test.create_shared_page()?;
    for (index, word) in page.words.iter().enumerate() {
        word.store(PATTERN + index, Relaxed);
    }
    Ok(page)
}

/// The address of a page.
fn address(page: &SharedPage) -> usize {
    page.words.as_ptr() as usize
}

/// Whether the words of a page from `first` to `end` are unchanged.
fn is_untouched(page: &SharedPage, first: usize, end: usize) -> bool {
    (first..end).all(|index| page.words[index].load(Relaxed) == PATTERN + index)
}

/// A thread sends ten words, of which those beyond the registers are in the page. Returns the received
/// message.
fn sender(test: &mut Test, page: &SharedPage, frame: Frame) -> Outcome<Message> {
    let endpoint: Endpoint = test.create()?;
    let thread = test.thread(ABOVE, move || endpoint.send(Message::new(1, &[7; 10])))?;
    thread.tcb.set_ipc_buffer(address(page), frame)?;
    thread.start()?;
    Ok(endpoint.wait().message.unwrap_or(Message::empty(0)))
}

/// A thread that receives and notes the number of received words, as a letter.
fn receiver(test: &mut Test, page: &SharedPage, frame: Frame) -> Outcome<Endpoint> {
    let endpoint: Endpoint = test.create()?;
    let thread = test.thread(ABOVE, move || {
        let length = endpoint.wait().message.map_or(0, |message| message.length());
        note((b'a' + length as u8) as char);
    })?;
    thread.tcb.set_ipc_buffer(address(page), frame)?;
    thread.start()?;
    Ok(endpoint)
}

fn readable_buffers_send(test: &mut Test) -> Outcome {
    let page = page(test)?;
    let frame = test.restrict(page.frame, Rights::READ)?;
    let message = sender(test, &page, frame)?;
    check_eq!(message.length(), 10);
    for index in 0..10 {
        let sent = if index < MESSAGE_REGISTERS {
            7
        } else {
            PATTERN + MESSAGE + index
        };
        check_eq!(message.word(index), sent);
    }
    Ok(())
}

fn readable_buffers_do_not_receive(test: &mut Test) -> Outcome {
    let page = page(test)?;
    let frame = test.restrict(page.frame, Rights::READ)?;
    let endpoint = receiver(test, &page, frame)?;
    endpoint.send(Message::new(0, &[9; 10]));
    check_eq!(noted(), "e");
    check!(is_untouched(&page, 0, page.words.len()));
    Ok(())
}

fn readable_buffers_take_no_results(test: &mut Test) -> Outcome {
    use abi::registers::COUNT;
    let page = page(test)?;
    let frame = test.restrict(page.frame, Rights::READ)?;
    let read: Tcb = test.bare_thread()?;
    let thread = test.thread(ABOVE, move || {
        let label = abi::Method::TcbReadRegisters.number();
        let answer = userlib::syscall::call(read.0, Message::new(label, &[0, COUNT]));
        check_eq!(answer.label(), 0);
        note((b'a' + answer.length() as u8) as char);
    })?;
    thread.tcb.set_ipc_buffer(address(&page), frame)?;
    thread.start()?;
    check_eq!(noted(), "e");
    check!(is_untouched(&page, 0, page.words.len()));
    Ok(())
}

fn unreadable_buffers_do_not_send(test: &mut Test) -> Outcome {
    let page = page(test)?;
    for rights in [Rights::WRITE, Rights::NONE] {
        let frame = test.restrict(page.frame, rights)?;
        let message = sender(test, &page, frame)?;
        check_eq!(message.length(), MESSAGE_REGISTERS);
    }
    Ok(())
}

fn buffers_lie_anywhere_in_a_frame(test: &mut Test) -> Outcome {
    let page = page(test)?;
    let words = 1 << IPC_BUFFER_BITS >> size_of::<usize>().ilog2();
    for buffer in 0..page.words.len() / words {
        let endpoint: Endpoint = test.create()?;
        let thread = test.thread(ABOVE, move || endpoint.send(Message::new(1, &[7; 10])))?;
        // The address is the program's view of the buffer: the kernel uses only its offset in the frame.
        let seen = 0x7000_0000 + (buffer << IPC_BUFFER_BITS);
        thread.tcb.set_ipc_buffer(seen, page.frame)?;
        thread.start()?;
        let message = endpoint.wait().message.unwrap_or(Message::empty(0));
        check_eq!(message.word(9), PATTERN + buffer * words + MESSAGE + 9);
    }
    Ok(())
}

fn only_the_words_of_the_message_are_written(test: &mut Test) -> Outcome {
    const LENGTH: usize = 20;
    let page = page(test)?;
    let endpoint = receiver(test, &page, page.frame)?;
    endpoint.send(Message::new(0, &[9; LENGTH]));
    check_eq!(noted(), "u");
    // The userlib's own word, and the message words that are in registers.
    check!(is_untouched(&page, 0, MESSAGE + MESSAGE_REGISTERS));
    for index in MESSAGE_REGISTERS..LENGTH {
        check_eq!(page.words[MESSAGE + index].load(Relaxed), 9);
    }
    check!(is_untouched(&page, MESSAGE + LENGTH, page.words.len()));
    Ok(())
}

fn badges_are_written_where_capabilities_were(test: &mut Test) -> Outcome {
    let page = page(test)?;
    let endpoint = receiver(test, &page, page.frame)?;
    let badged = test.badge(endpoint, 0x77)?;
    let message = Message::new(0, &[9; MAX_MESSAGE_LENGTH]).with_capabilities(&[badged.0]);
    endpoint.send(message);
    let places = word(offset_of!(IpcBuffer, caps_or_badges));
    check_eq!(page.words[places].load(Relaxed), 0x77);
    check!(is_untouched(&page, MESSAGE + MAX_MESSAGE_LENGTH, places));
    check!(is_untouched(&page, places + 1, page.words.len()));
    check_eq!(
        page.words[MESSAGE + MAX_MESSAGE_LENGTH - 1].load(Relaxed),
        9
    );
    check_eq!(places + 6, WORDS);
    Ok(())
}
