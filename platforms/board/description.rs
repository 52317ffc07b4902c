//! Reads `platform.toml`, for the tool and for the simulator.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

/// The section `[board]`: what differs between the kernel images of Arm boards. Addresses are physical.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    pub ram: Ram,
    /// Where the image begins, if not at the start of RAM.
    pub load: Option<u64>,
    /// Where the loader's device tree is if the loader passes no address.
    pub device_tree: Option<u64>,
    /// The device tree that users get if the loader passes none: nodes and their properties.
    pub tree: Option<toml::Table>,
    /// The blocks of device registers that the kernel maps.
    pub blocks: Vec<u64>,
    /// The registers that users do not get.
    pub reserved: Vec<Registers>,
    /// The same in a kernel for benchmarks, if it differs.
    pub reserved_in_benchmarks: Option<Vec<Registers>>,
    /// Addresses by name, for the platform's functions.
    pub registers: BTreeMap<String, u64>,
    pub timer_interrupt: u32,
    pub console: Console,
    pub controller: Option<Controller>,
    pub psci: Option<Psci>,
    /// Where secondary cores start, if not in the kernel.
    pub core_entry: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ram {
    pub start: u64,
    /// In bytes.
    pub size: u64,
}

/// The registers of a device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    pub address: u64,
    /// In bytes.
    pub size: u64,
}

/// The port that the kernel prints to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Console {
    pub driver: PortDriver,
    pub address: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortDriver {
    Pl011,
    CadenceUart,
    ImxUart,
}

/// A generic interrupt controller.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    pub driver: ControllerDriver,
    /// The number of its lines.
    pub lines: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControllerDriver {
    GicV2,
    GicV3,
    AnyGic,
}

/// How firmware is called.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Psci {
    Monitor,
    /// By the exception level at which the kernel is entered.
    ByLevel,
}

/// The file of the platform called `name`, completed by the file that its key `base` names. `base` is relative to the folder
/// `platforms`.
///
/// # Errors
/// A message: which file cannot be read; or file, line, column and what is wrong there.
pub fn read<T: DeserializeOwned>(platforms: &Path, name: &str) -> Result<T, String> {
    /// The only key that this function itself needs.
    #[derive(Deserialize)]
    struct Completed {
        base: Option<String>,
    }
    let mut sources = Vec::new();
    let mut file = Some(format!("{name}/platform.toml"));
    while let Some(name) = file {
        let path = platforms.join(&name);
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| format!("cannot read platforms/{name}: {error}"))?;
        sources.push(Source::new(name, &text, sources.last()));
        file = match &sources[..] {
            [own] => {
                let completed = toml::from_str::<Completed>(&own.text);
                completed.map_err(|error| say(&error, &sources))?.base
            }
            _ => None,
        };
    }
    decode(&sources).map_err(|error| say(&error, &sources))
}

/// A file of a description.
pub struct Source {
    /// Relative to the folder `platforms`.
    name: String,
    /// Its text, after as many spaces as the files before it have bytes: so positions differ among files.
    text: String,
    start: usize,
}

impl Source {
    pub fn new(name: String, text: &str, before: Option<&Self>) -> Self {
        let start = before.map_or(0, |source| source.text.len() + 1);
        let text = " ".repeat(start) + text;
        Self { name, text, start }
    }
}

/// The value of the first file, completed by the others.
pub fn decode<T: DeserializeOwned>(sources: &[Source]) -> Result<T, Error> {
    let (own, bases) = sources.split_first().expect("a platform has a file");
    let mut table = DeTable::parse(&own.text)?;
    table.get_mut().remove("base");
    for base in bases {
        complete(table.get_mut(), DeTable::parse(&base.text)?.into_inner());
    }
    T::deserialize(Deserializer::from(table))
}

/// An error of [`decode`] with its place: `FILE:LINE:COLUMN: MESSAGE`.
pub fn say(error: &Error, sources: &[Source]) -> String {
    let place = error.span().map_or(0, |span| span.start);
    let is_there = |source: &&Source| place >= source.start;
    let source = sources
        .iter()
        .rfind(is_there)
        .expect("the first begins at 0");
    let before = &source.text[source.start..place.min(source.text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(0, |line| line.chars().count())
        + 1;
    let (name, message) = (&source.name, error.message());
    format!("platforms/{name}:{line}:{column}: {message}")
}

/// Adds the keys of `base` that a table lacks, recursively.
fn complete<'a>(table: &mut DeTable<'a>, base: DeTable<'a>) {
    for (key, value) in base {
        match table.get_mut(&**key.get_ref()) {
            Some(own) => {
                if let (DeValue::Table(own), DeValue::Table(base)) =
                    (own.get_mut(), value.into_inner())
                {
                    complete(own, base);
                }
            }
            None => {
                table.insert(key, value);
            }
        }
    }
}
