//! Keeps a text for each of two clients, which it tells apart by their badges.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use protocol_words::{Refused, store};
use userlib::protocol::{Part, Shared, Text};

userlib::component!(main);

#[derive(Default)]
struct Store {
    memory: Option<Shared>,
    texts: [Option<Text<16>>; 2],
}

fn main(given: Given) {
    given.texts.serve(Store {
        memory: Some(Shared::new(given.letters)),
        ..Store::default()
    })
}

impl store::Service for Store {
    fn put(&mut self, caller: usize, text: Part) -> Result<u64, Refused> {
        // The other client shares no memory.
        let memory = self.memory.filter(|_| caller == 1);
        let mut copy = [0; 256];
        let bytes = memory.and_then(|memory| memory.copy(text, &mut copy));
        let bytes = bytes.ok_or(Refused::Elsewhere)?;
        let place = &mut self.texts[caller - 1];
        if place.is_some() {
            return Err(Refused::Full);
        }
        let first = bytes.iter().take(16).copied();
        let mut letters = Text::default();
        for byte in first {
            // There is room for 16.
            let _ = core::fmt::Write::write_char(&mut letters, byte.into());
        }
        *place = Some(letters);
        Ok(bytes.iter().map(|&byte| u64::from(byte)).sum())
    }

    fn first(&mut self, caller: usize) -> Option<Text<16>> {
        self.texts[caller - 1]
    }

    fn add(&mut self, _: usize, small: u8, large: u64, is_negative: bool) -> isize {
        let sum = (u64::from(small) + large) as isize;
        if is_negative { -sum } else { sum }
    }
}
