//! From TOML to the types of [`crate::file`], with all errors at once.
//!
//! Serde ends at the first error. So the entry that has the error is reported, left out, and everything is
//! decoded again.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_spanned::Spanned;
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use toml::de::{DeTable, DeValue};

use crate::report::{Diagnostic, Kind, Report, Span};
use crate::suggest::nearest;

/// A file with more errors than this is not worth a complete list.
const MOST_ERRORS: usize = 100;

/// Where something was left out: the keys that lead to it.
pub(crate) type Gap = Vec<String>;

/// Decodes a table; reports what is wrong with it, and returns what had to be left out.
pub(crate) fn decode<T: DeserializeOwned>(
    table: &Spanned<DeTable>,
    report: &mut Report,
) -> Option<(T, Vec<Gap>)> {
    let mut skip = BTreeSet::new();
    let mut gaps = Vec::new();
    while skip.len() < MOST_ERRORS {
        let root = Table {
            table: table.get_ref(),
            span: table.span(),
            skip: &skip,
        };
        match T::deserialize(root) {
            Ok(value) => return Some((value, gaps)),
            Err(mut fault) => {
                gaps.push(std::mem::take(&mut fault.path));
                let entry = fault.entry;
                if !fault.follows {
                    report.add(fault.diagnose());
                }
                match entry {
                    Some(start) if !skip.contains(&start) => skip.insert(start),
                    _ => return None,
                };
            }
        }
    }
    None
}

/// The key or element at which a value begins names it for leaving it out.
type Skip = BTreeSet<usize>;

/// Why decoding ended.
#[derive(Debug)]
pub(crate) struct Fault {
    kind: Kind,
    message: Box<str>,
    help: Box<str>,
    span: Option<Span>,
    /// Where the innermost entry that contains it begins.
    entry: Option<usize>,
    /// The keys that lead to it.
    path: Gap,
    missing: Option<&'static str>,
    /// It is only a consequence of an entry that was left out.
    follows: bool,
}

impl Fault {
    fn new(kind: Kind, message: String, help: String) -> Self {
        Self {
            kind,
            message: message.into(),
            help: help.into(),
            span: None,
            entry: None,
            path: Vec::new(),
            missing: None,
            follows: false,
        }
    }

    fn at(mut self, span: &Span) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }

    fn inside(mut self, entry: &Span, value: &Span) -> Self {
        self.entry.get_or_insert(entry.start);
        self.at(value)
    }

    fn diagnose(self) -> Diagnostic {
        let span = self.span.unwrap_or_default();
        Diagnostic::error(self.kind, &span, self.message).help(self.help)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// The names as a list for people.
fn list(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The known name that is meant, or all of them.
fn meant(name: &str, known: &'static [&'static str]) -> String {
    let normal = name.replace('_', "-");
    match nearest(&normal, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {}", list(known)),
    }
}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let message = message.to_string();
        let (message, help) = message.split_once("; ").unwrap_or((&message, ""));
        Self::new(Kind::BadValue, message.to_string(), help.to_string())
    }

    fn invalid_type(unexpected: de::Unexpected, expected: &dyn de::Expected) -> Self {
        let found = match unexpected {
            de::Unexpected::Str(text) => format!("`{text}`"),
            de::Unexpected::Signed(number) => number.to_string(),
            de::Unexpected::Bool(flag) => flag.to_string(),
            de::Unexpected::Map => "a table".to_string(),
            de::Unexpected::Seq => "a list".to_string(),
            other => other.to_string(),
        };
        let message = format!("{found} is not what belongs here");
        let help = match &*expected.to_string() {
            "a boolean" => "write true or false".to_string(),
            "i64" => "write a whole number".to_string(),
            "a string" => "write a text in quotes".to_string(),
            expected => format!("write {expected}"),
        };
        Self::new(Kind::BadValue, message, help)
    }

    fn invalid_value(unexpected: de::Unexpected, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("there is no key `{field}` here");
        Self::new(Kind::UnknownKey, message, meant(field, expected))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("`{variant}` is none of the values of this key");
        Self::new(Kind::BadValue, message, meant(variant, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        let message = format!("the key `{field}` is missing here");
        Self {
            missing: Some(field),
            ..Self::new(Kind::MissingKey, message, format!("add `{field} = ...`"))
        }
    }
}

/// A value and what to leave out of it.
struct Value<'de> {
    value: &'de Spanned<DeValue<'de>>,
    skip: &'de Skip,
}

/// A table and what to leave out of it.
struct Table<'de> {
    table: &'de DeTable<'de>,
    span: Span,
    skip: &'de Skip,
}

impl<'de> Table<'de> {
    fn visit<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Fault> {
        let entries = Entries {
            entries: Box::new(self.table.iter()),
            value: None,
            skip: self.skip,
        };
        visitor.visit_map(entries).map_err(|mut fault| {
            if let Some(missing) = fault.missing.take() {
                let mut keys = self.table.keys();
                fault.follows = keys
                    .any(|key| key.get_ref() == missing && self.skip.contains(&key.span().start));
            }
            fault.at(&self.span)
        })
    }
}

impl<'de> Deserializer<'de> for Table<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let span = self.value.span();
        let result = match self.value.get_ref() {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => visitor.visit_i64(number),
                    Err(_) => Err(de::Error::custom(format_args!(
                        "{number} is too large; write a smaller number"
                    ))),
                }
            }
            DeValue::Float(number) => Err(de::Error::custom(format_args!(
                "{} is no whole number; write a whole number, or a text with a unit",
                number.as_str()
            ))),
            DeValue::Datetime(_) => Err(de::Error::custom(
                "no key has a date as its value; write a text in quotes, or a number",
            )),
            DeValue::Array(list) => visitor.visit_seq(Elements {
                list: Box::new(list.iter()),
                skip: self.skip,
            }),
            DeValue::Table(table) => {
                let span = span.clone();
                let skip = self.skip;
                return Table { table, span, skip }.visit(visitor);
            }
        };
        result.map_err(|fault| fault.at(&span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if is_spanned(name) {
            let span = self.value.span();
            return visitor.visit_map(SpannedDeserializer::<_, Fault>::new(self, span));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let span = self.value.span();
        let result = match self.value.get_ref() {
            DeValue::String(text) => {
                let text: StrDeserializer<Fault> = (&**text).into_deserializer();
                visitor.visit_enum(text)
            }
            DeValue::Table(table) if table.len() == 1 => {
                let entries = Entries {
                    entries: Box::new(table.iter()),
                    value: None,
                    skip: self.skip,
                };
                visitor.visit_enum(de::value::MapAccessDeserializer::new(entries))
            }
            DeValue::Table(_) => Err(de::Error::custom(
                "this table has no or several keys; write one of them",
            )),
            _ => self.deserialize_any(visitor),
        };
        result.map_err(|fault| fault.at(&span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Fault> for Value<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

type Entry<'de> = (
    &'de Spanned<toml::de::DeString<'de>>,
    &'de Spanned<DeValue<'de>>,
);

/// The entries of a table.
struct Entries<'de> {
    entries: Box<dyn Iterator<Item = Entry<'de>> + 'de>,
    value: Option<Entry<'de>>,
    skip: &'de Skip,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let skip = self.skip;
        let mut wanted = self
            .entries
            .by_ref()
            .filter(|(key, _)| !skip.contains(&key.span().start));
        let Some(entry) = wanted.next() else {
            return Ok(None);
        };
        self.value = Some(entry);
        let key = seed.deserialize(Key(entry.0));
        let span = entry.0.span();
        key.map(Some).map_err(|fault| fault.inside(&span, &span))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, value) = self.value.take().expect("serde asks for the key first");
        let skip = self.skip;
        let span = value.span();
        seed.deserialize(Value { value, skip })
            .map_err(|mut fault| {
                fault.path.insert(0, key.get_ref().to_string());
                fault.inside(&key.span(), &span)
            })
    }
}

/// The elements of a list.
struct Elements<'de> {
    list: Box<dyn Iterator<Item = &'de Spanned<DeValue<'de>>> + 'de>,
    skip: &'de Skip,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let skip = self.skip;
        let mut wanted = self
            .list
            .by_ref()
            .filter(|value| !skip.contains(&value.span().start));
        let Some(value) = wanted.next() else {
            return Ok(None);
        };
        let element = seed.deserialize(Value { value, skip });
        let span = value.span();
        element
            .map(Some)
            .map_err(|fault| fault.inside(&span, &span))
    }
}

/// A key.
struct Key<'de>(&'de Spanned<toml::de::DeString<'de>>);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0.get_ref())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if is_spanned(name) {
            let span = self.0.span();
            return visitor.visit_map(SpannedDeserializer::<_, Fault>::new(self, span));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let text: StrDeserializer<Fault> = (&**self.0.get_ref()).into_deserializer();
        visitor.visit_enum(text)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Fault> for Key<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}
