//! The items of the interface, read from the sources of the crate `abi`.

use super::Repository;

/// A table of the page, and the source of its rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) heading: &'static str,
    pub(super) file: &'static str,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// The variants of an enumeration.
    Enum(&'static str),
    /// The fields of a structure.
    Struct(&'static str),
    /// The constants of a file.
    Constants,
}

const fn table(heading: &'static str, file: &'static str, kind: Kind) -> Table {
    Table {
        heading,
        file,
        kind,
    }
}

/// All tables, in the page's order.
pub(super) const TABLES: &[Table] = &[
    table("Methods", "kernel/abi/src/method.rs", Kind::Enum("Method")),
    table(
        "System calls",
        "kernel/abi/src/syscall.rs",
        Kind::Enum("Syscall"),
    ),
    table(
        "Object types",
        "kernel/abi/src/object_type.rs",
        Kind::Enum("ObjectType"),
    ),
    table("Errors", "kernel/abi/src/error.rs", Kind::Enum("ErrorCode")),
    table(
        "Lookup failures",
        "kernel/abi/src/error.rs",
        Kind::Enum("LookupFailure"),
    ),
    table(
        "Faults",
        "kernel/abi/src/fault.rs",
        Kind::Enum("FaultLabel"),
    ),
    table(
        "Boot information",
        "kernel/abi/src/boot_info.rs",
        Kind::Struct("BootInfo"),
    ),
    table(
        "Records of extra boot information",
        "kernel/abi/src/boot_info.rs",
        Kind::Enum("BootInfoRecord"),
    ),
    table("Initial slots", "kernel/abi/src/slots.rs", Kind::Constants),
];

/// An item of the interface.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) name: String,
    /// The condition of its row, if the numbers depend on the build.
    condition: String,
}

impl Item {
    /// Whether it exists on an architecture, possibly only with a build option.
    pub(super) fn exists_on(&self, architecture: &str) -> bool {
        let names: &[_] = match architecture {
            "x86_64" => &["X86_64", "IOMMU", "VTX"],
            "arm" => &["ARM", "AARCH32"],
            "aarch64" => &["ARM", "AARCH64"],
            _ => &[],
        };
        let words = || {
            let word = |letter: char| !letter.is_alphanumeric() && letter != '_';
            self.condition.split(word)
        };
        let of_all = |word: &str| matches!(word, "true" | "HARDWARE_DEBUG" | "");
        words().any(|word| names.contains(&word)) || words().all(of_all)
    }
}

impl Table {
    /// The items in the source.
    pub(super) fn items(&self, repository: &Repository) -> Vec<Item> {
        let text = repository.text(self.file).unwrap_or_default();
        match self.kind {
            Kind::Enum(name) => block(text, &format!("pub enum {name} {{"))
                // Escapement's own methods, which are numbered separately.
                .chain(block(text, "additions from ADDITIONS {"))
                .filter_map(variant)
                .collect(),
            Kind::Struct(name) => block(text, &format!("pub struct {name} {{"))
                .filter_map(|line| item(line.strip_prefix("pub ")?.split_once(':')?.0, ""))
                .collect(),
            Kind::Constants => text
                .lines()
                .filter_map(|line| item(line.strip_prefix("pub const ")?.split_once(':')?.0, ""))
                .collect(),
        }
    }
}

/// The lines at the first level of the block that starts with `head`, without their indentation.
fn block<'a>(text: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text
        .lines()
        .skip_while(move |line| line.trim_start() != head);
    let outer = lines.next().map_or(0, indentation);
    lines
        .take_while(move |line| line.is_empty() || indentation(line) > outer)
        .filter(move |line| indentation(line) == outer + 4)
        .map(str::trim_start)
}

/// `Name,`, `Name = 1,`, `Name {` or `Name if CONDITION,`.
fn variant(line: &str) -> Option<Item> {
    let end = line.find(|letter: char| !letter.is_alphanumeric())?;
    let (name, rest) = line.split_at(end);
    match rest.trim_start().strip_prefix("if ") {
        Some(condition) => item(name, condition.trim_end_matches(',')),
        None if matches!(rest.trim_start().chars().next(), Some(',' | '=' | '{')) => item(name, ""),
        None => None,
    }
}

fn item(name: &str, condition: &str) -> Option<Item> {
    let is_name = name.starts_with(char::is_alphabetic);
    is_name.then(|| Item {
        name: name.into(),
        condition: condition.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_and_fields_are_read() {
        let text = "pub enum E {\n    /// A.\n    A,\n    B = -2,\n    C {\n        d: u8,\n    },\n}\npub enum F {\n    G,\n}\n";
        let names = |head| block(text, head).filter_map(variant).map(|item| item.name);
        assert_eq!(names("pub enum E {").collect::<Vec<_>>(), ["A", "B", "C"]);
        assert_eq!(names("pub enum F {").collect::<Vec<_>>(), ["G"]);
    }

    #[test]
    fn conditions_tell_architectures() {
        let on = |condition, architecture| {
            let item = variant(&format!("A if {condition},")).unwrap();
            item.exists_on(architecture)
        };
        assert!(on("true", "arm") && on("HARDWARE_DEBUG", "aarch64") && on("IOMMU", "x86_64"));
        assert!(on("ARM && !SMP", "arm") && on("AARCH32", "arm") && on("ARM", "aarch64"));
        assert!(!on("AARCH64", "arm") && !on("X86_64", "arm") && !on("ARM", "x86_64"));
    }
}
