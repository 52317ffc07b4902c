//! The modules of the kernel crate are layers: none uses a higher one. Of methods the compiler sees to that, because
//! each layer with state has a type of its own (see the kernel's `lib.rs`); this rule checks the imports.

use std::collections::BTreeSet;

use super::Repository;

/// The layers, from the lowest one. A module that is not listed is beside them: every module may use it, and
/// it may use every module.
const LAYERS: &[&str] = &[
    "error",
    "time",
    "token",
    "collections",
    "sync",
    "config",
    "budget",
    "slot",
    "object",
    "cap",
    "cores",
    "sched",
    "ipc",
    "entry",
    "invoke",
    "fastpath",
    "syscall",
    "boot",
];

/// The lowest layer that may name `Kernel`, which is in the root of the crate.
const LOWEST_WITH_KERNEL: &str = "entry";

/// What lower modules still use of higher ones: module, and name. This list only gets shorter.
const EXCEPTIONS: &[(&str, &str)] = &[
    // It stores the kernels of the cores.
    ("cores", "Kernel"),
];

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let mut complaints = check(repository, LAYERS, LOWEST_WITH_KERNEL, EXCEPTIONS);
    let names: Vec<_> = LAYERS.iter().map(|layer| format!("`{layer}`")).collect();
    let list = names.join(", ");
    let pages = repository.texts(&["structure.md"]);
    complaints.extend(
        pages
            .filter(|(_, text)| !text.contains(&list))
            .map(|(path, _)| format!("{}: the layers are {list}", path.display())),
    );
    complaints.extend(check_pictures(repository));
    complaints
}

/// Pictures of the layers have them in their rows, and name the modules beside them.
fn check_pictures(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, picture) in repository.texts(&["layers.svg"]) {
        let path = path.display();
        if !rows(picture).eq(LAYERS.iter().copied()) {
            complaints.push(format!("{path}: the rows are not the layers"));
        }
        let modules: BTreeSet<_> = sources(repository).iter().map(|it| it.module).collect();
        let beside = modules
            .iter()
            .filter(|it| **it != "lib" && !LAYERS.contains(it));
        let missing = beside.filter(|module| !picture.contains(&format!(">{module}<")));
        complaints.extend(missing.map(|module| format!("{path}: no module `{module}`")));
    }
    complaints
}

/// The modules in the rows of a picture of layers, from the lowest row, which is the last.
fn rows(picture: &str) -> impl Iterator<Item = &str> {
    let rows = picture.lines().rev().filter_map(|line| {
        let (_, row) = line.split_once("<text class=\"mono\" ")?;
        row.split(['>', '<']).nth(1)
    });
    rows.flat_map(str::split_whitespace)
}

fn check(
    repository: &Repository,
    layers: &[&str],
    lowest_with_kernel: &str,
    exceptions: &[(&str, &str)],
) -> Vec<String> {
    let sources = sources(repository);
    let height = |module: &str| layers.iter().position(|layer| *layer == module);
    let mut unused: BTreeSet<_> = exceptions.iter().copied().collect();
    let mut complaints = Vec::new();
    for source in &sources {
        let Some(own) = height(source.module) else {
            continue;
        };
        for (line, name) in uses(&source.code) {
            let used = if name == "Kernel" {
                lowest_with_kernel
            } else {
                name
            };
            if height(used).is_none_or(|height| height <= own) {
                continue;
            }
            let arrow = (source.module, name);
            if exceptions.contains(&arrow) {
                unused.remove(&arrow);
            } else {
                complaints.push(format!(
                    "{}:{line}: `{}` is below `{used}` and may not use `{name}`; \
                     the layers are in xtask/src/rules/layers.rs",
                    source.path, source.module,
                ));
            }
        }
    }
    // A repository without the kernel, as in tests of other rules, has no arrows.
    if !sources.is_empty() {
        complaints.extend(unused.iter().map(|(user, name)| {
            format!(
                "xtask/src/rules/layers.rs: `{user}` no longer uses `{name}`; remove the exception"
            )
        }));
    }
    complaints
}

/// A file of the kernel crate.
struct Source<'a> {
    path: String,
    /// The module at the top level of the crate to which it belongs.
    module: &'a str,
    /// Its text, with the comments blanked out.
    code: String,
}

fn sources(repository: &Repository) -> Vec<Source<'_>> {
    let texts = repository.texts(&[".rs"]);
    texts
        .filter_map(|(path, text)| {
            let inside = path.strip_prefix("kernel/src").ok()?;
            let module = inside.iter().next()?.to_str()?;
            let lines = text
                .lines()
                .map(|line| line.split("//").next().unwrap_or(line));
            Some(Source {
                path: path.display().to_string(),
                module: module.strip_suffix(".rs").unwrap_or(module),
                code: lines.collect::<Vec<_>>().join("\n"),
            })
        })
        .collect()
}

/// What a file uses of the root of its crate, which has the modules: line and name of each use.
fn uses(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (offset, prefix) in code.match_indices("crate::") {
        let line = code[..offset].matches('\n').count() + 1;
        for name in names(&code[offset + prefix.len()..]) {
            found.push((line, name));
        }
    }
    found
}

/// The names at the beginning of the rest of a path: one, or those in braces, each without what follows it.
fn names(path: &str) -> Vec<&str> {
    let Some(list) = path.strip_prefix('{') else {
        return Some(word(path))
            .filter(|name| !name.is_empty())
            .into_iter()
            .collect();
    };
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (offset, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(word(list[start..offset].trim_start()));
                start = offset + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The word at the beginning of a text.
fn word(text: &str) -> &str {
    &text[..text.find(|letter| !is_part(letter)).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: &str = "kernel/src/high/mod.rs";

    /// The complaints about a module `low` with this text.
    fn found(text: &str, exceptions: &[(&str, &str)]) -> Vec<String> {
        let files = [
            ("kernel/src/low.rs", text),
            (HIGH, "use crate::{Kernel, low::F};"),
        ];
        check(
            &Repository::of(&files),
            &["low", "high"],
            "high",
            exceptions,
        )
    }

    #[test]
    fn imports_of_higher_modules_are_found() {
        let text = "use crate::high::{A, B};\nuse crate::{Kernel, low::A, high::C};\nlet x = crate::high::G;\n";
        let complaints = found(text, &[]);
        let lines: Vec<_> = complaints
            .iter()
            .map(|line| line.split(':').nth(1))
            .collect();
        assert_eq!(lines, [Some("1"), Some("2"), Some("2"), Some("3")]);
        assert!(
            complaints[1].contains("may not use `Kernel`"),
            "{complaints:?}"
        );
        assert!(found("// crate::high::A\nuse crate::low::A;", &[]).is_empty());
    }

    #[test]
    fn modules_beside_the_layers_use_all() {
        let files = [
            ("kernel/src/low.rs", "use crate::beside::f;"),
            ("kernel/src/beside.rs", "use crate::high::g;"),
        ];
        let complaints = check(&Repository::of(&files), &["low", "high"], "high", &[]);
        assert!(complaints.is_empty(), "{complaints:?}");
    }

    #[test]
    fn the_book_lists_the_layers() {
        let page = |text| complaints(&Repository::of(&[("docs/structure.md", text)]));
        let expected = page("").concat();
        let list = expected.split(" are ").nth(1).unwrap();
        assert!(list.starts_with("`error`, `time`, ") && page(list).is_empty());
    }

    #[test]
    fn pictures_show_the_layers() {
        let row = |layers: &[&str]| {
            format!(
                "<text class=\"mono\" x=\"1\">{}</text>\n",
                layers.join("  ")
            )
        };
        let (low, high) = LAYERS.split_at(5);
        let found = |rows: [&[&str]; 2], module| {
            let picture = rows.map(row).concat() + "<text>beside</text>";
            let files = [("docs/layers.svg", &*picture), (module, "")];
            check_pictures(&Repository::of(&files)).len()
        };
        assert_eq!(found([high, low], "kernel/src/beside.rs"), 0);
        assert_eq!(found([low, high], "kernel/src/beside.rs"), 1);
        assert_eq!(found([high, low], "kernel/src/another.rs"), 1);
    }

    #[test]
    fn exceptions_must_occur() {
        let exceptions = &[("low", "Kernel")];
        assert!(found("use crate::Kernel;", exceptions).is_empty());
        assert_eq!(
            found("", exceptions),
            ["xtask/src/rules/layers.rs: `low` no longer uses `Kernel`; remove the exception"]
        );
    }
}
