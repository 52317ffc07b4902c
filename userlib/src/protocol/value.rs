//! What can be an argument or a result.

use crate::Microseconds;
use core::fmt;

/// An argument or a result: a fixed number of words.
///
/// | type | words |
/// |---|---|
/// | `usize`, `isize`, `u8` to `i32`, `bool` | one; signed numbers are extended |
/// | `u64`, `Microseconds` | as many as it has, the low one first |
/// | arrays, tuples, types of [`value!`](crate::value!) | those of their parts, in order |
/// | enumerations of [`value!`](crate::value!) | one: the place of the variant, from 0 |
/// | `Option<T>` | 1, or 0 for none; then the value |
/// | `Result<T, E>` | 0, or 1 for an error; then the value, and zeros if the other type is longer |
/// | [`Text`] | its length in bytes; then the bytes, the first one lowest |
pub trait Value: Sized {
    /// How many words it takes.
    const WORDS: usize;

    /// Passes each word to `put`.
    fn write(&self, put: &mut impl FnMut(usize));

    /// Takes its words; none if they are no value of this type.
    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self>;
}

/// Writes a value into words that suffice for it.
pub fn write<'a>(value: &impl Value, words: &mut impl Iterator<Item = &'a mut usize>) {
    value.write(&mut |word| {
        if let Some(place) = words.next() {
            *place = word;
        }
    });
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl Value for $type {
            const WORDS: usize = 1;

            fn write(&self, put: &mut impl FnMut(usize)) {
                put(*self as usize);
            }

            fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
                let word = words.next()?;
                let value = word as Self;
                (value as usize == word).then_some(value)
            }
        }
    )*};
}

words! { u8 u16 u32 usize i8 i16 i32 isize }

impl Value for bool {
    const WORDS: usize = 1;

    fn write(&self, put: &mut impl FnMut(usize)) {
        put((*self).into());
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        match words.next()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Value for u64 {
    const WORDS: usize = size_of::<Self>() / size_of::<usize>();

    fn write(&self, put: &mut impl FnMut(usize)) {
        for place in 0..Self::WORDS as u32 {
            put((*self >> (place * usize::BITS)) as usize);
        }
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        (0..Self::WORDS as u32).try_fold(0, |value, place| {
            Some(value | (words.next()? as Self) << (place * usize::BITS))
        })
    }
}

impl Value for Microseconds {
    const WORDS: usize = u64::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) {
        self.0.write(put);
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        u64::read(words).map(Self)
    }
}

impl<T: Value> Value for Option<T> {
    const WORDS: usize = 1 + T::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) {
        self.is_some().write(put);
        match self {
            Some(value) => value.write(put),
            None => fill(T::WORDS, put),
        }
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        if bool::read(words)? {
            return T::read(words).map(Some);
        }
        skip(T::WORDS, words)?;
        Some(None)
    }
}

impl<T: Value, E: Value> Value for core::result::Result<T, E> {
    const WORDS: usize = 1 + longer(T::WORDS, E::WORDS);

    fn write(&self, put: &mut impl FnMut(usize)) {
        self.is_err().write(put);
        let length = match self {
            Ok(value) => {
                value.write(put);
                T::WORDS
            }
            Err(error) => {
                error.write(put);
                E::WORDS
            }
        };
        fill(Self::WORDS - 1 - length, put);
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        let (result, length) = match bool::read(words)? {
            false => (Ok(T::read(words)?), T::WORDS),
            true => (Err(E::read(words)?), E::WORDS),
        };
        skip(Self::WORDS - 1 - length, words)?;
        Some(result)
    }
}

const fn longer(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

fn fill(count: usize, put: &mut impl FnMut(usize)) {
    (0..count).for_each(|_| put(0));
}

/// Takes words that are zero.
fn skip(count: usize, words: &mut impl Iterator<Item = usize>) -> Option<()> {
    (0..count).try_for_each(|_| (words.next()? == 0).then_some(()))
}

impl<T: Value, const N: usize> Value for [T; N] {
    const WORDS: usize = N * T::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) {
        self.iter().for_each(|one| one.write(put));
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        let values = [(); N].map(|()| T::read(words));
        if values.iter().any(Option::is_none) {
            return None;
        }
        Some(values.map(|value| value.unwrap_or_else(|| unreachable!("all are there"))))
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        #[allow(non_snake_case, unused_variables, reason = "names of types serve as those of values")]
        #[allow(clippy::unused_unit, reason = "the shortest tuple is the unit")]
        impl<$($name: Value),*> Value for ($($name,)*) {
            const WORDS: usize = 0 $(+ $name::WORDS)*;

            fn write(&self, put: &mut impl FnMut(usize)) {
                let ($($name,)*) = self;
                $($name.write(put);)*
            }

            fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
                Some(($($name::read(words)?,)*))
            }
        }
    )*};
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }

/// A text of at most `N` bytes, in the message itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<const N: usize> {
    length: usize,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// The text, cut where it is too long.
    pub fn new(text: &str) -> Self {
        let length = text.floor_char_boundary(N);
        let mut bytes = [0; N];
        for (place, byte) in bytes.iter_mut().zip(text.bytes().take(length)) {
            *place = byte;
        }
        Self { length, bytes }
    }

    /// It as a string.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        // Both ways to make one have checked it.
        core::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self {
            length: 0,
            bytes: [0; N],
        }
    }
}

/// Appends; a part that does not fit is left out, and is an error.
impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl<const N: usize> Value for Text<N> {
    const WORDS: usize = 1 + N.div_ceil(size_of::<usize>());

    fn write(&self, put: &mut impl FnMut(usize)) {
        put(self.length);
        for chunk in self.bytes.chunks(size_of::<usize>()) {
            let mut word = [0; size_of::<usize>()];
            word.iter_mut()
                .zip(chunk)
                .for_each(|(place, byte)| *place = *byte);
            put(usize::from_le_bytes(word));
        }
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        let length = words.next().filter(|&length| length <= N)?;
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(size_of::<usize>()) {
            let word = words.next()?.to_le_bytes();
            chunk
                .iter_mut()
                .zip(word)
                .for_each(|(place, byte)| *place = byte);
        }
        core::str::from_utf8(bytes.get(..length)?).ok()?;
        Some(Self { length, bytes })
    }
}

/// Makes enumerations without fields, and structs of [values](Value), values themselves.
#[macro_export]
macro_rules! value {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident),+ $(,)?
    }) => {
        $(#[$meta])*
        $visibility enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $crate::protocol::Value for $name {
            const WORDS: usize = 1;

            fn write(&self, put: &mut impl FnMut(usize)) {
                let all = [$(::core::mem::discriminant(&Self::$variant)),+];
                let own = ::core::mem::discriminant(self);
                put(all.iter().position(|one| *one == own).unwrap_or_default());
            }

            fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
                let place = words.next()?;
                [$(Self::$variant),+].into_iter().nth(place)
            }
        }
    };
    ($(#[$meta:meta])* $visibility:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type,)+
        }

        impl $crate::protocol::Value for $name {
            const WORDS: usize = 0 $(+ <$type as $crate::protocol::Value>::WORDS)+;

            fn write(&self, put: &mut impl FnMut(usize)) {
                $($crate::protocol::Value::write(&self.$field, put);)+
            }

            fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
                Some(Self { $($field: $crate::protocol::Value::read(words)?,)+ })
            }
        }
    };
}
