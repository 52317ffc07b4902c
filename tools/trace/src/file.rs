//! Trace files: sections with the rings of the cores and what else a reader wants to know.

use std::fmt;

use trace_format::ObjectId;

const MAGIC: [u8; 8] = *b"ESCTRFIL";
const VERSION: u32 = 1;

// The tags of sections.
const RING: u32 = 1;
const PLATFORM: u32 = 2;
const END: u32 = 3;
const NAME: u32 = 4;
const ANSWER: u32 = 5;

/// What the kernel would answer at the time of the last event, if it were asked how much a context has consumed since
/// it was asked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The context.
    pub context: ObjectId,
    /// The time consumed, in ticks.
    pub consumed: u64,
}

/// The content of a trace file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Where the trace comes from.
    pub platform: String,
    /// The memory of the ring of each core.
    pub rings: Vec<Vec<u8>>,
    /// The time at which the trace ends, in ticks; without it, that is the time of the last event.
    pub end: Option<u64>,
    /// Names of threads and contexts.
    pub names: Vec<(ObjectId, String)>,
    /// What the kernel answers at the end.
    pub answers: Vec<Answer>,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It does not begin as a trace file does.
    NoTrace,
    /// A later version of the format has written it.
    TooNew(u32),
    /// It has no section with the ring of a core.
    NoRing,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTrace => write!(formatter, "this is no trace file"),
            Self::TooNew(version) => write!(
                formatter,
                "the file has version {version} of the format, and this tool reads up to {VERSION}"
            ),
            Self::NoRing => write!(formatter, "the file has no events of any core"),
        }
    }
}

impl std::error::Error for Unreadable {}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn section(bytes: &mut Vec<u8>, tag: u32, parts: &[&[u8]]) {
    let length = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
    bytes.extend(tag.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    for part in parts {
        bytes.extend(*part);
    }
}

impl File {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        section(&mut bytes, PLATFORM, &[self.platform.as_bytes()]);
        if let Some(end) = self.end {
            section(&mut bytes, END, &[&end.to_le_bytes()]);
        }
        for (id, name) in &self.names {
            section(&mut bytes, NAME, &[&id.0.to_le_bytes(), name.as_bytes()]);
        }
        for Answer { context, consumed } in &self.answers {
            let parts: [&[u8]; 2] = [&context.0.to_le_bytes(), &consumed.to_le_bytes()];
            section(&mut bytes, ANSWER, &parts);
        }
        for ring in &self.rings {
            section(&mut bytes, RING, &[ring]);
        }
        bytes
    }

    /// The file with these bytes, and sentences about what is damaged in it. What can be read is read.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Vec<String>), Unreadable> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(Unreadable::NoTrace)?;
        let (version, mut rest) = rest.split_at_checked(4).ok_or(Unreadable::NoTrace)?;
        match number(version) {
            Some(version) if version > VERSION => return Err(Unreadable::TooNew(version)),
            _ => {}
        }
        let mut file = Self::default();
        let mut damage = Vec::new();
        while !rest.is_empty() {
            let (Some(tag), Some(length)) = (number(rest), rest.get(4..).and_then(number)) else {
                damage.push("the file ends within the header of a section".to_string());
                break;
            };
            let body = &rest[8..];
            let content = &body[..body.len().min(length as usize)];
            if content.len() < length as usize {
                let (here, all) = (content.len(), length);
                damage.push(format!(
                    "the file ends after {here} of {all} bytes of a section"
                ));
            }
            rest = &body[content.len()..];
            file.add(tag, content);
        }
        if file.rings.is_empty() {
            return Err(Unreadable::NoRing);
        }
        Ok((file, damage))
    }

    /// Adds a section. Unknown ones, and those that are too short, are skipped.
    fn add(&mut self, tag: u32, content: &[u8]) {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match (tag, content.split_at_checked(4)) {
            (RING, _) => self.rings.push(content.to_vec()),
            (PLATFORM, _) => self.platform = text(content),
            (END, _) => self.end = long(content),
            (NAME, Some((id, name))) => {
                self.names
                    .extend(number(id).map(|id| (ObjectId(id), text(name))));
            }
            (ANSWER, Some((id, consumed))) => {
                let both = number(id).zip(long(consumed));
                self.answers.extend(both.map(|(id, consumed)| Answer {
                    context: ObjectId(id),
                    consumed,
                }));
            }
            _ => {}
        }
    }
}
