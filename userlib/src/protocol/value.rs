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
/// | [`Bytes`], [`Text`] | its length in bytes; then the bytes, the first one lowest, and zeros |
///
/// The crate `encoded` adds types that serde knows, in so many bytes at most.
pub trait Value: Sized {
    /// How many words it takes.
    const WORDS: usize;

    /// Passes each word to `put`.
    ///
    /// # Errors
    /// If the value does not fit into them. Plain values always do.
    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong>;

    /// Takes its words; none if they are no value of this type.
    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self>;
}

/// A value does not fit into the words of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Writes a value into as many words as its type takes.
pub(super) fn write(value: &impl Value, words: &mut [usize]) -> Result<(), TooLong> {
    let mut words = words.iter_mut();
    value.write(&mut |word| {
        if let Some(place) = words.next() {
            *place = word;
        }
    })
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl Value for $type {
            const WORDS: usize = 1;

            fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
                put(*self as usize);
                Ok(())
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

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        put((*self).into());
        Ok(())
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

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        for place in 0..Self::WORDS as u32 {
            put((*self >> (place * usize::BITS)) as usize);
        }
        Ok(())
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        (0..Self::WORDS as u32).try_fold(0, |value, place| {
            Some(value | (words.next()? as Self) << (place * usize::BITS))
        })
    }
}

impl Value for Microseconds {
    const WORDS: usize = u64::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        self.0.write(put)
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        u64::read(words).map(Self)
    }
}

impl<T: Value> Value for Option<T> {
    const WORDS: usize = 1 + T::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        self.is_some().write(put)?;
        match self {
            Some(value) => value.write(put)?,
            None => fill(T::WORDS, put),
        }
        Ok(())
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

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        self.is_err().write(put)?;
        let length = match self {
            Ok(value) => {
                value.write(put)?;
                T::WORDS
            }
            Err(error) => {
                error.write(put)?;
                E::WORDS
            }
        };
        fill(Self::WORDS - 1 - length, put);
        Ok(())
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

fn is_zero(padding: &[u8]) -> Option<()> {
    padding.iter().all(|byte| *byte == 0).then_some(())
}

/// Takes words that are zero.
fn skip(count: usize, words: &mut impl Iterator<Item = usize>) -> Option<()> {
    (0..count).try_for_each(|_| (words.next()? == 0).then_some(()))
}

impl<T: Value, const N: usize> Value for [T; N] {
    const WORDS: usize = N * T::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        self.iter().try_for_each(|one| one.write(put))
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

            fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
                let ($($name,)*) = self;
                $($name.write(put)?;)*
                Ok(())
            }

            fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
                Some(($($name::read(words)?,)*))
            }
        }
    )*};
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }

/// At most `N` bytes, in the message itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes<const N: usize> {
    length: usize,
    /// Zeros after the length.
    bytes: [u8; N],
}

impl<const N: usize> Bytes<N> {
    /// These bytes; none if there are too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut all = Self::default();
        all.append(bytes)?;
        Some(all)
    }

    /// Appends bytes; none, and nothing is appended, if there is no room for them.
    pub fn append(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length.checked_add(bytes.len())?;
        let place = self.bytes.get_mut(self.length..end)?;
        place.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    /// All of them.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self {
            length: 0,
            bytes: [0; N],
        }
    }
}

impl<const N: usize> Value for Bytes<N> {
    const WORDS: usize = 1 + N.div_ceil(size_of::<usize>());

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        put(self.length);
        for chunk in self.bytes.chunks(size_of::<usize>()) {
            let mut word = [0; size_of::<usize>()];
            word.iter_mut()
                .zip(chunk)
                .for_each(|(place, byte)| *place = *byte);
            put(usize::from_le_bytes(word));
        }
        Ok(())
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        let length = words.next().filter(|&length| length <= N)?;
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(size_of::<usize>()) {
            let word = words.next()?.to_le_bytes();
            let (own, beyond) = word.split_at(chunk.len());
            chunk.copy_from_slice(own);
            is_zero(beyond)?;
        }
        is_zero(bytes.get(length..)?)?;
        Some(Self { length, bytes })
    }
}

/// A text of at most `N` bytes, in the message itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Text<const N: usize>(Bytes<N>);

impl<const N: usize> Text<N> {
    /// The text, cut where it is too long.
    pub fn new(text: &str) -> Self {
        let (text, _) = text.split_at(text.floor_char_boundary(N));
        Self(Bytes::new(text.as_bytes()).unwrap_or_default())
    }

    /// It as a string.
    pub fn as_str(&self) -> &str {
        // All ways to make one have checked it.
        core::str::from_utf8(self.0.as_slice()).unwrap_or_default()
    }
}

/// Appends; a part that does not fit is left out, and is an error.
impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.append(text.as_bytes()).ok_or(fmt::Error)
    }
}

impl<const N: usize> Value for Text<N> {
    const WORDS: usize = Bytes::<N>::WORDS;

    fn write(&self, put: &mut impl FnMut(usize)) -> Result<(), TooLong> {
        self.0.write(put)
    }

    fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
        let bytes = Bytes::read(words)?;
        core::str::from_utf8(bytes.as_slice()).ok()?;
        Some(Self(bytes))
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

            fn write(&self, put: &mut impl FnMut(usize)) -> ::core::result::Result<(), $crate::protocol::TooLong> {
                let all = [$(::core::mem::discriminant(&Self::$variant)),+];
                let own = ::core::mem::discriminant(self);
                put(all.iter().position(|one| *one == own).unwrap_or_default());
                Ok(())
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

            fn write(&self, put: &mut impl FnMut(usize)) -> ::core::result::Result<(), $crate::protocol::TooLong> {
                $($crate::protocol::Value::write(&self.$field, put)?;)+
                Ok(())
            }

            fn read(words: &mut impl Iterator<Item = usize>) -> Option<Self> {
                Some(Self { $($field: $crate::protocol::Value::read(words)?,)+ })
            }
        }
    };
}
