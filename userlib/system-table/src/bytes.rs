//! Numbers and texts as bytes: little-endian, and texts after their length.

use crate::Damage;

/// A value in a table.
pub(crate) trait Field<'a>: Sized {
    /// Appends the value.
    fn write(&self, out: &mut impl Extend<u8>);
    /// Takes the value from the beginning of the bytes.
    fn read(bytes: &mut &'a [u8]) -> Result<Self, Damage>;
}

const SHORT: Damage = Damage::new("it ends too early");

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl<'a> Field<'a> for $type {
            fn write(&self, out: &mut impl Extend<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn read(bytes: &mut &'a [u8]) -> Result<Self, Damage> {
                let (value, rest) = bytes.split_first_chunk().ok_or(SHORT)?;
                *bytes = rest;
                Ok(Self::from_le_bytes(*value))
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 }

impl<'a> Field<'a> for bool {
    fn write(&self, out: &mut impl Extend<u8>) {
        u8::from(*self).write(out);
    }

    fn read(bytes: &mut &'a [u8]) -> Result<Self, Damage> {
        match u8::read(bytes)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damage::new("a flag is neither set nor clear")),
        }
    }
}

impl<'a> Field<'a> for &'a str {
    fn write(&self, out: &mut impl Extend<u8>) {
        // Longer texts are cut, which the check of the table reports as an end in the wrong place.
        (self.len() as u8).write(out);
        out.extend(self.bytes());
    }

    fn read(bytes: &mut &'a [u8]) -> Result<Self, Damage> {
        let length = u8::read(bytes)?;
        let (text, rest) = bytes.split_at_checked(length.into()).ok_or(SHORT)?;
        *bytes = rest;
        core::str::from_utf8(text).map_err(|_| Damage::new("a text is not UTF-8"))
    }
}

/// A record: its fields one after the other.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name $(<$life>)? {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl<'a> $crate::bytes::Field<'a> for $name $(<$life>)? {
            fn write(&self, out: &mut impl Extend<u8>) {
                $(self.$field.write(out);)*
            }

            fn read(bytes: &mut &'a [u8]) -> Result<Self, $crate::Damage> {
                Ok(Self { $($field: $crate::bytes::Field::read(bytes)?,)* })
            }
        }
    };
}

/// An enumeration: the number of the variant, then its fields.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? {
        $($(#[$variant_doc:meta])* $variant:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })? = $tag:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name $(<$life>)? {
            $($(#[$variant_doc])* $variant $({ $($(#[$field_doc])* $field: $type,)* })?,)*
        }

        impl<'a> $crate::bytes::Field<'a> for $name $(<$life>)? {
            fn write(&self, out: &mut impl Extend<u8>) {
                match self {
                    $(Self::$variant $({ $($field,)* })? => {
                        out.extend([$tag]);
                        $($($field.write(out);)*)?
                    })*
                }
            }

            fn read(bytes: &mut &'a [u8]) -> Result<Self, $crate::Damage> {
                match u8::read(bytes)? {
                    $($tag => Ok(Self::$variant $({
                        $($field: $crate::bytes::Field::read(bytes)?,)*
                    })?),)*
                    _ => Err($crate::Damage::new(concat!("there is no such ", stringify!($name)))),
                }
            }
        }
    };
}

pub(crate) use {choice, record};
