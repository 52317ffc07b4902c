//! The modules of the kernel crate are layers: none uses a higher one. Methods of `Kernel` can be called
//! everywhere without an import, so calls are checked, too.

use std::collections::{BTreeMap, BTreeSet};

use super::Repository;

/// The layers, from the lowest one. A module that is not listed is beside them: every module may use it, and
/// it may use every module.
const LAYERS: &[&str] = &[
    "error",
    "time",
    "token",
    "collections",
    "sync",
    "budget",
    "cap",
    "object",
    "cores",
    "sched",
    "ipc",
    "entry",
    "invoke",
    "fastpath",
    "syscall",
    "boot",
];

/// What lower modules still use of higher ones. This list only gets shorter.
const EXCEPTIONS: &[(&str, &str, &[&str])] = &[
    // A capability names the type of its object.
    (
        "cap",
        "object",
        &[
            "Endpoint",
            "Notification",
            "Reply",
            "SchedContext",
            "THREAD_SLOTS",
            "Thread",
        ],
    ),
    ("object", "cores", &["CORES"]),
    // In kernels of kind `bench`, a thread has a counter.
    ("object", "sched", &["Usage"]),
    // A remote access charges and schedules on another core.
    (
        "cores",
        "sched",
        &[
            "Core",
            "Decision",
            "charge_slice",
            "choose_again",
            "detach_current_context",
            "min_budget",
            "possible_switch_to",
            "update_time",
        ],
    ),
    // The state of a core includes that of the messages of the current entry.
    ("sched", "ipc", &["ResolvedCapTransfers"]),
];

/// The names by which code has a `Kernel`.
const KERNELS: &[&str] = &["self", "kernel", "owner", "other", "Self", "Kernel"];

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let mut complaints = check(repository, LAYERS, EXCEPTIONS);
    let names: Vec<_> = LAYERS.iter().map(|layer| format!("`{layer}`")).collect();
    let list = names.join(", ");
    let pages = repository.texts(&["house.md"]);
    complaints.extend(
        pages
            .filter(|(_, text)| !text.contains(&list))
            .map(|(path, _)| format!("{}: the layers are {list}", path.display())),
    );
    complaints
}

fn check(
    repository: &Repository,
    layers: &[&str],
    exceptions: &[(&str, &str, &[&str])],
) -> Vec<String> {
    let sources = sources(repository);
    let methods = Methods::of(&sources);
    let height = |module: &str| layers.iter().position(|layer| *layer == module);
    let mut unused: BTreeSet<_> = exceptions
        .iter()
        .flat_map(|(user, used, names)| names.iter().map(|name| (*user, *used, *name)))
        .collect();
    let accepted = unused.clone();
    let mut complaints = Vec::new();
    for source in &sources {
        let Some(floor) = height(source.module) else {
            continue;
        };
        for (line, used, name) in uses(&source.code, &methods) {
            if height(used).is_none_or(|height| height <= floor) {
                continue;
            }
            let arrow = (source.module, used, name);
            if accepted.contains(&arrow) {
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
        complaints.extend(unused.iter().map(|(user, used, name)| {
            format!(
                "xtask/src/rules/layers.rs: `{user}` no longer uses `{name}` of `{used}`; \
                 remove the exception"
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

/// The methods of `Kernel`.
struct Methods<'a> {
    /// The module of each method; names that several modules define are left out.
    modules: BTreeMap<&'a str, &'a str>,
    /// The names of all other functions.
    others: BTreeSet<&'a str>,
}

impl<'a> Methods<'a> {
    fn of(sources: &'a [Source<'_>]) -> Self {
        let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for source in sources {
            let mut is_kernel = false;
            for line in source.code.lines() {
                if line.starts_with("impl") && line.contains("Kernel<A>") {
                    is_kernel = true;
                } else if line.starts_with('}') {
                    is_kernel = false;
                }
                let Some((_, rest)) = line.split_once("fn ") else {
                    continue;
                };
                let name = word(rest);
                if is_kernel {
                    found.entry(name).or_default().insert(source.module);
                } else {
                    others.insert(name);
                }
            }
        }
        let one = |(name, modules): (_, BTreeSet<_>)| {
            (modules.len() == 1).then_some((name, *modules.first()?))
        };
        Self {
            modules: found.into_iter().filter_map(one).collect(),
            others,
        }
    }

    /// The module of the method that is called as `name` on `receiver`.
    fn called(&self, receiver: &str, name: &str) -> Option<&'a str> {
        let is_certain = KERNELS.contains(&receiver) || !self.others.contains(name);
        self.modules.get(name).copied().filter(|_| is_certain)
    }
}

/// What a file uses of other modules: line, module and name of each use.
fn uses<'a>(code: &'a str, methods: &Methods<'a>) -> Vec<(usize, &'a str, &'a str)> {
    let line = |offset| code[..offset].matches('\n').count() + 1;
    let mut found = Vec::new();
    for (offset, _) in code.match_indices("crate::") {
        let path = &code[offset + "crate::".len()..];
        let module = word(path);
        let items = path[module.len()..].strip_prefix("::").unwrap_or("");
        for item in names(items) {
            found.push((line(offset), module, item));
        }
    }
    for (offset, mark) in code.match_indices(['.', ':']) {
        let (before, after) = (&code[..offset], &code[offset + 1..]);
        let name = word(after);
        let is_call = after[name.len()..].starts_with('(');
        let receiver = last_word(before.strip_suffix(':').unwrap_or(before));
        let is_method = match mark {
            "." => is_call,
            // A method of `Kernel` may also be passed on by its name.
            _ => before.ends_with(':') && matches!(receiver, "Self" | "Kernel"),
        };
        if is_method && let Some(module) = methods.called(receiver, name) {
            found.push((line(offset), module, name));
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

/// The word at the end of a text.
fn last_word(text: &str) -> &str {
    &text[text.trim_end_matches(is_part).len()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: &str = "kernel/src/low.rs";
    const HIGH: &str = "
        impl Other { fn both() {} }
impl<A: Arch> Kernel<A> {
    pub(crate) fn raise(&mut self) {}
    fn both(&self) {}
}
";

    /// What the module `low` is accused of, with this text: `line name`.
    fn found(text: &str, exceptions: &[(&str, &str, &[&str])]) -> Vec<String> {
        let files = [(LOW, text), ("kernel/src/high/mod.rs", HIGH)];
        let complaints = check(&Repository::of(&files), &["low", "high"], exceptions);
        complaints
            .iter()
            .map(|complaint| {
                let line = complaint.split(':').nth(1).unwrap_or_default();
                let name = complaint.split('`').nth(5).unwrap_or_default();
                format!("{line} {name}")
            })
            .collect()
    }

    #[test]
    fn imports_of_higher_modules_are_found() {
        let text = "use crate::high::{\n  A, b::{C, D},\n  E as F,\n};\nlet x = crate::high::G;\n";
        assert_eq!(found(text, &[]), ["1 A", "1 b", "1 E", "5 G"]);
        assert!(found("use crate::{Kernel};\nuse crate::low::A;", &[]).is_empty());
        assert!(found("// crate::high::A", &[]).is_empty());
    }

    #[test]
    fn calls_of_higher_methods_are_found() {
        for call in [
            "self.raise()",
            "kernel.raise()",
            "self.kernel_of(1).raise()",
            "Self::raise(self)",
            "f(Kernel::raise)",
            "owner\n.both()",
        ] {
            let name = if call.contains("both") {
                "both"
            } else {
                "raise"
            };
            let complaints = found(call, &[]);
            let is_found = complaints.len() == 1 && complaints[0].ends_with(name);
            // Which type has a method of this name is clear only from the receiver before it.
            assert_eq!(is_found, name == "raise", "{call}: {complaints:?}");
        }
        assert_eq!(found("owner.both()", &[]), ["1 both"]);
        assert!(found("object.both(); self.raised(); self.raise;", &[]).is_empty());
    }

    #[test]
    fn higher_modules_use_lower_ones() {
        let files = [
            ("kernel/src/low/a.rs", "impl Kernel<A> {\n fn lend() {}\n}"),
            (LOW, "fn f() {}"),
            ("kernel/src/high.rs", "use crate::low::f; self.lend()"),
            ("kernel/src/beside.rs", "use crate::high::g;"),
        ];
        let complaints = check(&Repository::of(&files), &["low", "high"], &[]);
        assert!(complaints.is_empty(), "{complaints:?}");
    }

    #[test]
    fn the_book_lists_the_layers() {
        let page = |text| complaints(&Repository::of(&[("docs/house.md", text)]));
        let expected = page("").concat();
        let list = expected.split(" are ").nth(1).unwrap();
        assert!(list.starts_with("`error`, `time`, ") && page(list).is_empty());
    }

    #[test]
    fn exceptions_must_occur() {
        let exceptions: &[(&str, &str, &[&str])] = &[("low", "high", &["raise"])];
        assert!(found("self.raise()", exceptions).is_empty());
        let complaints = check(
            &Repository::of(&[(LOW, ""), ("kernel/src/high/mod.rs", HIGH)]),
            &["low", "high"],
            exceptions,
        );
        assert_eq!(
            complaints,
            [
                "xtask/src/rules/layers.rs: `low` no longer uses `raise` of `high`; remove the exception"
            ]
        );
    }
}
