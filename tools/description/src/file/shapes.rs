//! Shapes of values: with their places, as list or table, short or long.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::value::{
    I64Deserializer, MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer,
};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_spanned::Spanned;

use crate::report::Span;

/// A value and its place in the file.
#[derive(Clone, Debug, Default)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub span: Span,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let spanned = Spanned::deserialize(from)?;
        let span = spanned.span();
        let value = spanned.into_inner();
        Ok(Self { value, span })
    }
}

/// Named things, in the order of the file.
#[derive(Clone, Debug)]
pub struct Table<T>(pub Vec<(At<String>, T)>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Table<T>;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Table(entries))
            }
        }
        from.deserialize_map(Entries(PhantomData))
    }
}

/// A short form or a table with everything.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(untagged, inline))]
pub enum Either<S, L> {
    /// A text.
    Short(S),
    /// A table.
    Long(L),
}

impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Deserialize<'de> for Either<S, L> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Forms<S, L>(PhantomData<(S, L)>);
        impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Visitor<'de> for Forms<S, L> {
            type Value = Either<S, L>;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("a text or a table")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let text: StrDeserializer<E> = text.into_deserializer();
                S::deserialize(text).map(Either::Short)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                L::deserialize(MapAccessDeserializer::new(map)).map(Either::Long)
            }
        }
        from.deserialize_any(Forms(PhantomData))
    }
}

/// Named uses, in the order of the file: a table, or a list of names alone.
#[derive(Clone, Debug)]
pub struct Uses<T>(pub Vec<(At<String>, At<T>)>);

impl<T> Default for Uses<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// What an element of a list stands for.
pub trait FromName {
    /// The use of this name.
    fn from_name(name: &str) -> Self;
}

impl FromName for String {
    fn from_name(name: &str) -> Self {
        name.to_string()
    }
}

impl<L> FromName for Either<String, L> {
    fn from_name(name: &str) -> Self {
        Self::Short(name.to_string())
    }
}

impl FromName for super::Endpoint {
    fn from_name(_: &str) -> Self {
        Self::default()
    }
}

impl<'de, T: Deserialize<'de> + FromName> Deserialize<'de> for Uses<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Forms<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + FromName> Visitor<'de> for Forms<T> {
            type Value = Uses<T>;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("a list of names or a table")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Uses<T>, A::Error> {
                let names = Vec::<At<String>>::deserialize(SeqAccessDeserializer::new(list))?;
                let place = |name: At<String>| {
                    // `COMPONENT.ENDPOINT` is used under the name `ENDPOINT`.
                    let own = name.rsplit('.').next().unwrap_or_default().to_string();
                    let value = T::from_name(&name);
                    let span = name.span;
                    let name = At {
                        value: own,
                        span: span.clone(),
                    };
                    (name, At { value, span })
                };
                Ok(Uses(names.into_iter().map(place).collect()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Uses<T>, A::Error> {
                Ok(Uses(Table::deserialize(MapAccessDeserializer::new(map))?.0))
            }
        }
        from.deserialize_any(Forms(PhantomData))
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(untagged, inline))]
pub enum Many<T> {
    /// The same for all.
    One(T),
    /// One for each.
    List(Vec<At<T>>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Forms<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Forms<T> {
            type Value = Many<T>;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("one value or a list")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Many<T>, E> {
                let text: StrDeserializer<E> = text.into_deserializer();
                T::deserialize(text).map(Many::One)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Many<T>, E> {
                let number: I64Deserializer<E> = number.into_deserializer();
                T::deserialize(number).map(Many::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Many<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Many::List)
            }
        }
        from.deserialize_any(Forms(PhantomData))
    }
}

impl<T: Clone> At<Many<T>> {
    /// The values with their places; a single one stands for itself.
    pub fn values(&self) -> Vec<At<T>> {
        match &self.value {
            Many::One(value) => vec![At {
                value: value.clone(),
                span: self.span.clone(),
            }],
            Many::List(list) => list.clone(),
        }
    }
}
