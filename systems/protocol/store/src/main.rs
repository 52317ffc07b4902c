//! Keeps a text for each of two clients, which it tells apart by their badges.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use encoded::Encoded;
use protocol_words::{Found, Letter, Refused, Wanted, store};
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

impl Store {
    /// The memory that a client shares: the second one has none.
    fn shared_with(&self, caller: usize) -> Result<Shared, Refused> {
        let memory = self.memory.filter(|_| caller == 1);
        memory.ok_or(Refused::Elsewhere)
    }
}

impl store::Service for Store {
    fn put(&mut self, caller: usize, text: Part) -> Result<u64, Refused> {
        let mut copy = [0; 256];
        let bytes = self.shared_with(caller)?.copy(text, &mut copy);
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

    fn search(
        &mut self,
        caller: usize,
        Encoded(wanted): Encoded<Wanted, 8>,
    ) -> Result<Encoded<Found, 10>, Refused> {
        let text = self.texts[caller - 1].ok_or(Refused::Empty)?;
        let is_wanted = |letter: char| match wanted {
            Wanted::Space => letter == ' ',
            Wanted::Letter(one) => letter == one,
            Wanted::Range { from, to } => letter >= from && to.is_none_or(|to| letter <= to),
        };
        let mut places = (0..)
            .zip(text.as_str().chars())
            .filter(|(_, letter)| is_wanted(*letter))
            .map(|(place, _)| place);
        Ok(Encoded(Found {
            wanted,
            places: [places.next(), places.next()],
        }))
    }

    fn count(&mut self, caller: usize, letter: Part) -> Result<usize, Refused> {
        let mut copy = [0; 512];
        let letter: Option<Letter<'_>> = encoded::get(self.shared_with(caller)?, letter, &mut copy);
        let letter = letter.ok_or(Refused::Garbled)?;
        Ok(letter.text.split_whitespace().count())
    }
}
