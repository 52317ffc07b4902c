//! All checks. Names are resolved first; then the whole is checked, as far as it is known.

mod analysis;
mod calls;
mod components;
mod devices;
mod handlers;
mod links;
mod load;
mod memory;
mod time;

use std::collections::BTreeMap;

use serde_spanned::Spanned;
use toml::de::DeTable;

use crate::decode::{Gap, decode};
use crate::file::{self, At, File, Many, Typed};
use crate::platform::Platform;
use crate::report::{Diagnostic, Kind, Report, Severity, Source, Span, position};
use crate::suggest::nearest;
use crate::system::{ComponentId, System};
use crate::variants;

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// The system on each of its platforms, if there are no errors.
    pub systems: Vec<System>,
    /// What is wrong, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// Whether the description can be used.
    pub fn is_good(&self) -> bool {
        let is_error = |one: &Diagnostic| one.severity == Severity::Error;
        !self.diagnostics.iter().any(is_error)
    }
}

/// What a build needs to know of a description, on any platform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The crate of its root task, if it has one of its own.
    pub root: Option<String>,
    /// The crates of its programs, each once.
    pub programs: Vec<String>,
    /// The platforms on which it runs, if not all.
    pub platforms: Option<Vec<String>>,
    /// How many cores it uses: one more than the highest number of a core in the description.
    pub cores: u32,
    /// The same on each platform that the description names.
    pub cores_on: BTreeMap<String, u32>,
    /// Whether it has a schedule of domains.
    pub has_domains: bool,
    /// For a run that must end with failure: what it prints before.
    pub fails_after: Vec<String>,
    /// What a run must print.
    pub prints: Vec<String>,
    /// What is typed during a test run.
    pub types: Vec<Typed>,
}

/// Checks a description for those of the platforms on which it runs.
pub fn check(source: Source, platforms: &[Platform]) -> Checked {
    let mut report = Report::default();
    let Some((tree, file)) = read(source, &mut report) else {
        let diagnostics = report.finish(0);
        return Checked {
            systems: Vec::new(),
            diagnostics,
        };
    };
    check_platforms(&file, platforms, &mut report);
    let runs = |platform: &&Platform| {
        let named = file.platforms.as_ref();
        named.is_none_or(|named| named.iter().any(|name| **name == platform.name))
    };
    let platforms: Vec<_> = platforms.iter().filter(runs).collect();
    let mut systems = Vec::new();
    for platform in &platforms {
        report.on(&platform.name);
        let variant = variants::on(&tree, &platform.name);
        if let Some((file, gaps)) = decode::<File>(&variant, &mut report) {
            systems.push(Draft::check(&file, &gaps, platform, &mut report));
        }
    }
    if report.has_errors() {
        systems.clear();
    }
    let diagnostics = report.finish(platforms.len());
    Checked {
        systems,
        diagnostics,
    }
}

/// Reads what a build needs to know.
///
/// # Errors
/// What is wrong with the form of the description; [`check`] finds everything else.
pub fn outline(source: Source) -> Result<Outline, Vec<Diagnostic>> {
    let mut report = Report::default();
    let (Some((tree, file)), false) = (read(source, &mut report), report.has_errors()) else {
        return Err(report.finish(0));
    };
    let mut programs = Vec::new();
    let mut platforms: Vec<_> = file.platform.names().map(String::from).collect();
    let mut has_domains = false;
    let variants = file.platform.0.iter().map(|(_, variant)| variant);
    for file in std::iter::once(&file).chain(variants) {
        programs.extend(programs_of(file));
        platforms.extend(platforms_of(file).map(|name| name.value.clone()));
        has_domains |= !file.schedule.is_empty();
    }
    let cores_on = each_once(platforms).into_iter().map(|platform| {
        let variant = variants::on(&tree, &platform);
        // What is wrong with a variant only as a part of the whole is for `check` to refuse.
        let variant = decode::<File>(&variant, &mut Report::default());
        let cores = cores_of(
            variant.as_ref().map_or(&file, |(it, _)| it),
            Some(&platform),
        );
        (platform, cores)
    });
    Ok(Outline {
        cores: cores_of(&file, None),
        cores_on: cores_on.collect(),
        has_domains,
        root: file.root.map(|root| root.value),
        programs: each_once(programs),
        platforms: file
            .platforms
            .map(|names| names.value.into_iter().map(|name| name.value).collect()),
        fails_after: file.test.fails_after,
        prints: file.test.prints,
        types: file.test.types,
    })
}

/// The line and the column, counted from 1, of a component's name, for complaints about it that are not made here. An
/// instance has the place of all of its kind.
pub fn place(source: Source, component: &str) -> Option<(usize, usize)> {
    let (_, file) = read(source, &mut Report::default())?;
    let all = &file.component.0;
    let find = |wanted: &str| all.iter().find(|(name, _)| name.value == wanted);
    let group = component.rsplit_once('-').map(|(group, _)| group);
    let (name, _) = find(component).or_else(|| find(group?))?;
    Some(position(source.text, name.span.start))
}

/// Parses and decodes everything, the variants included.
fn read<'a>(source: Source<'a>, report: &mut Report) -> Option<(Spanned<DeTable<'a>>, File)> {
    let (tree, errors) = DeTable::parse_recoverable(source.text);
    for error in &errors {
        let span = error.span().unwrap_or_default();
        let message = format!("this is no TOML: {}", error.message());
        report.add(Diagnostic::error(Kind::Syntax, &span, message));
    }
    if !errors.is_empty() {
        return None;
    }
    let (file, _) = decode(&tree, report)?;
    Some((tree, file))
}

/// The crates that a description names.
fn programs_of(file: &File) -> impl Iterator<Item = String> {
    let programs = file
        .component
        .0
        .iter()
        .filter_map(|(_, one)| one.program.as_ref());
    programs
        .chain(&file.programs)
        .map(|program| program.value.clone())
}

/// The platforms that are named for components.
fn platforms_of(file: &File) -> impl Iterator<Item = &At<String>> {
    let components = file.component.0.iter();
    let lists = components.filter_map(|(_, one)| one.platforms.as_ref());
    lists.flat_map(|list| &list.value)
}

/// One more than the highest number of a core on a platform, or on one that the description does not name.
fn cores_of(file: &File, platform: Option<&str>) -> u32 {
    let exists = |one: &file::Component| {
        one.platforms.as_ref().is_none_or(|platforms| {
            let mut names = platforms.iter().map(|name| name.as_str());
            names.any(|name| Some(name) == platform)
        })
    };
    let components = file.component.0.iter().filter(|(_, one)| exists(one));
    let of_components = components.filter_map(|(_, one)| one.core.as_ref());
    let of_components = of_components.flat_map(|core| match &core.value {
        Many::One(core) => vec![*core],
        Many::List(cores) => cores.iter().map(|core| core.value).collect(),
    });
    let schedulers = file.scheduler.0.iter();
    let of_schedulers = schedulers.filter_map(|(_, one)| one.cores.as_ref());
    let of_schedulers = of_schedulers.flat_map(|cores| cores.iter().map(|core| core.value));
    let of_supervisor = file.supervisor.core.iter().map(|core| core.value);
    let all = of_components.chain(of_schedulers).chain(of_supervisor);
    // A number that is none of a core is for `check` to refuse.
    u32::try_from(all.fold(0, i64::max))
        .unwrap_or(0)
        .saturating_add(1)
}

fn each_once(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

/// Names of platforms are those of platforms.
fn check_platforms(file: &File, platforms: &[Platform], report: &mut Report) {
    let known: Vec<_> = platforms.iter().map(|platform| &*platform.name).collect();
    let variants = file.platform.0.iter().map(|(_, variant)| variant);
    let of_components = std::iter::once(file).chain(variants).flat_map(platforms_of);
    let of_all = file.platforms.iter().flat_map(|list| &list.value);
    let named = of_all.chain(of_components);
    for name in named.chain(file.platform.0.iter().map(|(name, _)| name)) {
        if !known.contains(&&***name) {
            report.add(unknown("platform", name, "", &known));
        }
    }
    if let Some(list) = file.platforms.as_ref().filter(|list| list.is_empty()) {
        let message = "the list of platforms is empty, so the system runs on none";
        let one = Diagnostic::error(Kind::MissingKey, &list.span, message);
        report.add(one.help("name platforms, or remove `platforms` for all"));
    }
    for (platform, variant) in &file.platform.0 {
        for (name, _) in &variant.platform.0 {
            let message = "a variant has no variants";
            let one = Diagnostic::error(Kind::UnknownKey, &name.span, message);
            report.add(one.help("write the platform's keys into its own table"));
        }
        let file::Test {
            fails_after,
            prints,
            types,
        } = &variant.test;
        let has_test = !(fails_after.is_empty() && prints.is_empty() && types.is_empty());
        let common = [
            (
                "platforms",
                variant.platforms.as_ref().map(|list| &list.span),
            ),
            ("root", variant.root.as_ref().map(|root| &root.span)),
            ("test", has_test.then_some(&platform.span)),
        ];
        for (key, span) in common {
            if let Some(span) = span {
                let message = format!("`{key}` is the same on all platforms");
                let one = Diagnostic::error(Kind::UnknownKey, span, message);
                report.add(one.help("write it outside of the platform's table"));
            }
        }
    }
}

/// A name that refers to nothing; `place` is where it was looked for, if that is not the description.
fn unknown(what: &str, name: &At<String>, place: &str, known: &[&str]) -> Diagnostic {
    let one = Diagnostic::error(
        Kind::UnknownName,
        &name.span,
        format!("there is no {what} `{}`{place}", **name),
    );
    match nearest(name, known.iter().copied()) {
        Some(meant) => one.help(format!("did you mean `{meant}`?")),
        None if known.is_empty() => one.help("there is none"),
        None => one.help(format!("there are {}", quoted(known))),
    }
}

/// Names as a list for people.
fn quoted<T: std::fmt::Display>(names: &[T]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// A system in the making, beside what the file says about it.
struct Draft<'f> {
    file: &'f File,
    platform: &'f Platform,
    system: System,
    /// For each component its table and the place of its name.
    sources: Vec<(&'f file::Component, Span)>,
    /// What could not be read.
    gaps: &'f [Gap],
    /// Whether something could not be read or resolved, so that what looks unused may be used.
    has_gaps: bool,
}

impl<'f> Draft<'f> {
    fn check(
        file: &'f File,
        gaps: &'f [Gap],
        platform: &'f Platform,
        report: &mut Report,
    ) -> System {
        let mut draft = Self {
            file,
            platform,
            system: System {
                title: file.title.clone(),
                platform: platform.name.clone(),
                root: file.root.as_ref().map(|root| root.value.clone()),
                ..System::default()
            },
            sources: Vec::new(),
            gaps,
            has_gaps: !gaps.is_empty(),
        };
        time::schedule(&mut draft, report);
        analysis::schedulers(&mut draft, report);
        components::all(&mut draft, report);
        time::supervisor(&mut draft, report);
        links::all(&mut draft, report);
        handlers::all(&mut draft, report);
        devices::all(&mut draft, report);
        memory::all(&mut draft, report);
        calls::all(&draft, report);
        analysis::all(&mut draft, report);
        load::all(&draft, report);
        draft.system
    }

    /// Whether the description is only about time: nothing is built from it.
    fn is_task_set(&self) -> bool {
        self.file.root.is_none() && programs_of(self.file).next().is_none()
    }

    /// Whether a component's table could be read completely, so that what it does not say is missing.
    fn is_complete(&self, component: &str) -> bool {
        let concerns = |gap: &Gap| match &**gap {
            [] => true,
            [table, rest @ ..] if table == "component" => {
                rest.first().is_none_or(|name| name == component)
            }
            _ => false,
        };
        !self.gaps.iter().any(concerns)
    }

    fn source(&self, id: ComponentId) -> &'f file::Component {
        self.sources[id.0].0
    }

    /// The place of a component's name.
    fn place(&self, id: ComponentId) -> &Span {
        &self.sources[id.0].1
    }

    /// The component with this name; reports that there is none.
    fn component(&mut self, name: &At<String>, report: &mut Report) -> Option<ComponentId> {
        let found = self
            .system
            .components
            .iter()
            .position(|one| one.name == **name);
        if found.is_none() {
            self.has_gaps = true;
            report.add(self.unknown_component(name));
        }
        found.map(ComponentId)
    }

    fn unknown_component(&self, name: &At<String>) -> Diagnostic {
        let instances: Vec<_> = self
            .system
            .components
            .iter()
            .zip(&self.sources)
            .filter(|(one, _)| {
                one.instance.is_some()
                    && one
                        .name
                        .rsplit_once('-')
                        .is_some_and(|(base, _)| base == **name)
            })
            .collect();
        if let Some((first, _)) = instances.first() {
            let message = format!("`{}` has {} instances", **name, instances.len());
            return Diagnostic::error(Kind::Ambiguous, &name.span, message)
                .help(format!("name one of them, such as `{}`", first.name));
        }
        let known: Vec<_> = self
            .system
            .components
            .iter()
            .map(|one| &*one.name)
            .collect();
        unknown("component", name, "", &known)
    }
}
