//! What is wrong with a description, where, and what to do about it.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A place in the file: a range of bytes.
pub type Span = Range<usize>;

/// A description's text and the name of its file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's name, for messages.
    pub path: &'a str,
    /// Its contents.
    pub text: &'a str,
}

/// Whether a description can be used in spite of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but is probably not what is meant.
    Warning,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// The kinds of diagnostics.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])* $name,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

kinds! {
    /// The file is no TOML.
    Syntax,
    /// A key that has no meaning here.
    UnknownKey,
    /// A key is missing.
    MissingKey,
    /// A value of the wrong type, without a unit, or otherwise unreadable.
    BadValue,
    /// A name that cannot be a name.
    BadName,
    /// Two things of one name, or with one badge.
    Duplicate,
    /// A reference to something that the description or the platform does not have.
    UnknownName,
    /// A reference that may mean several things.
    Ambiguous,
    /// Two keys that exclude each other.
    Conflict,
    /// A component without a program in a system of programs.
    NoProgram,
    /// A component without time and without `passive`.
    NoTime,
    /// A value that the kernel or the platform refuses.
    OutOfRange,
    /// A budget above its period.
    BudgetOverPeriod,
    /// A budget equal to its period, which the kernel takes for round robin.
    WholePeriod,
    /// The budgets of a core exceed the core, or a slice leaves nothing to the supervisor.
    CoreOverfull,
    /// The budgets of a domain exceed its turns.
    DomainOverfull,
    /// A job that does not fit into its deadline, or its budget.
    JobTooLong,
    /// A server with a lower priority than a caller.
    CeilingBroken,
    /// Components that call each other in a circle.
    CallCycle,
    /// A passive component that no component calls.
    PassiveUncalled,
    /// A threshold that a caller cannot reach, or that does not cover the request.
    BadThreshold,
    /// A call from under a limit to an endpoint without one, or with a larger one.
    LimitNesting,
    /// Rights that do not fit each other.
    Rights,
    /// A device, an interrupt or an I/O port with two owners.
    TwoOwners,
    /// A device that consists of registers of a core, and that is used on another one.
    OtherCore,
    /// More memory than the platform has.
    MemoryTooLarge,
    /// A handler that cannot handle: it is passive, of too low a priority, or the component itself.
    BadHandler,
    /// Something that is described and not used.
    Unused,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub kind: Kind,
    /// Whether the description can be used nevertheless.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
    /// Where.
    pub span: Span,
    /// A further place that is involved, and what it is.
    pub related: Option<(Span, String)>,
    /// The platforms on which it is wrong; none if on all that were checked.
    pub platforms: Vec<String>,
}

impl Diagnostic {
    pub(crate) fn error(kind: Kind, span: &Span, message: impl Into<String>) -> Self {
        Self {
            kind,
            severity: Severity::Error,
            message: in_one_line(message.into()),
            help: String::new(),
            span: span.clone(),
            related: None,
            platforms: Vec::new(),
        }
    }

    pub(crate) fn warning(kind: Kind, span: &Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(kind, span, message)
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = in_one_line(help.into());
        self
    }

    pub(crate) fn related(mut self, span: &Span, what: impl Into<String>) -> Self {
        self.related = Some((span.clone(), what.into()));
        self
    }

    /// Line and column of its beginning in `text`, counted from 1; columns count characters.
    pub fn position(&self, text: &str) -> (usize, usize) {
        position(text, self.span.start)
    }

    /// In one line: `FILE:LINE:COLUMN: error: MESSAGE; HELP`.
    pub fn line<'a>(&'a self, source: Source<'a>) -> impl fmt::Display + 'a {
        fmt::from_fn(move |out| {
            let (line, column) = self.position(source.text);
            let severity = match self.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let path = source.path;
            write!(out, "{path}:{line}:{column}: {severity}: {}", self.title())?;
            if !self.help.is_empty() {
                write!(out, "; {}", self.help)?;
            }
            Ok(())
        })
    }

    /// With the lines of the file that it concerns; in colour for a terminal.
    pub fn render(&self, source: Source, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = self.title();
        let mut snippet = Snippet::source(source.text)
            .path(source.path)
            .annotation(AnnotationKind::Primary.span(within(&self.span, source.text)));
        if let Some((span, what)) = &self.related {
            let span = within(span, source.text);
            snippet = snippet.annotation(AnnotationKind::Context.span(span).label(what));
        }
        let mut group = level.primary_title(&*title).element(snippet);
        if !self.help.is_empty() {
            group = group.element(Level::HELP.message(&*self.help));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&[group])
    }

    /// The message, with the platforms if it does not concern all.
    fn title(&self) -> String {
        if self.platforms.is_empty() {
            return self.message.clone();
        }
        format!("on {}: {}", self.platforms.join(", "), self.message)
    }
}

/// The text with its control characters, which names in quotes may have, written out.
fn in_one_line(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    let written = |letter: char| match letter.is_control() {
        true => letter.escape_debug().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(written).collect()
}

/// `span` between characters of `text`.
fn within(span: &Span, text: &str) -> Span {
    let start = text.floor_char_boundary(span.start);
    start..text.ceil_char_boundary(span.end).max(start)
}

/// Line and column of a byte of `text`, counted from 1.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[start..].chars().count() + 1)
}

/// The diagnostics of a description, found on some platforms.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Each with the number of checks that found it.
    found: Vec<(Diagnostic, Vec<String>)>,
    platform: Option<String>,
}

impl Report {
    /// Attributes what follows to a platform.
    pub(crate) fn on(&mut self, platform: &str) {
        self.platform = Some(platform.to_string());
    }

    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        let platform = self.platform.clone();
        let known = self
            .found
            .iter_mut()
            .find(|(known, _)| *known == diagnostic);
        match known {
            Some((_, platforms)) => {
                if let Some(platform) = platform
                    && !platforms.contains(&platform)
                {
                    platforms.push(platform);
                }
            }
            None => self
                .found
                .push((diagnostic, platform.into_iter().collect())),
        }
    }

    /// Whether there is an error among them.
    pub(crate) fn has_errors(&self) -> bool {
        let severity = |found: &(Diagnostic, _)| found.0.severity;
        self.found
            .iter()
            .map(severity)
            .any(|it| it == Severity::Error)
    }

    /// All diagnostics, in the order of the file. `checked` is the number of platforms.
    pub(crate) fn finish(self, checked: usize) -> Vec<Diagnostic> {
        let mut list: Vec<_> = self.found.into_iter().collect();
        list.sort_by_key(|(one, _)| (one.span.start, one.kind));
        let settle = |(mut one, platforms): (Diagnostic, Vec<String>)| {
            if platforms.len() < checked {
                one.platforms = platforms;
            }
            one
        };
        list.into_iter().map(settle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        assert_eq!(position("a\nµs x", 6), (2, 4));
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("a", 99), (1, 2));
    }

    #[test]
    fn a_diagnostic_shows_its_place() {
        let text = "a = 1\nname = 2\n";
        let source = Source {
            path: "x.toml",
            text,
        };
        let one = Diagnostic::error(Kind::BadValue, &(13..14), "2 is no name")
            .help("write a text")
            .related(&(4..5), "as here");
        assert_eq!(
            one.line(source).to_string(),
            "x.toml:2:8: error: 2 is no name; write a text"
        );
        let shown = one.render(source, false);
        assert!(shown.contains("x.toml:2:8"), "{shown}");
        assert!(
            shown.contains("name = 2") && shown.contains("as here"),
            "{shown}"
        );
        assert!(shown.contains("help: write a text"), "{shown}");
    }

    #[test]
    fn a_message_is_one_line() {
        let source = Source {
            path: "x",
            text: "",
        };
        let one = Diagnostic::error(Kind::UnknownName, &(0..0), "there is no `a\nb`");
        assert_eq!(
            one.help("did you mean `\u{1b}[2J`?")
                .line(source)
                .to_string(),
            "x:1:1: error: there is no `a\\nb`; did you mean `\\u{1b}[2J`?"
        );
    }

    #[test]
    fn what_is_wrong_on_some_platforms_names_them() {
        let one = Diagnostic::error(Kind::BadValue, &(0..0), "bad");
        let mut report = Report::default();
        report.on("kzm");
        report.add(one.clone());
        report.on("sabre");
        assert_eq!(report.finish(2)[0].platforms, ["kzm"]);
        let mut report = Report::default();
        for platform in ["kzm", "sabre"] {
            report.on(platform);
            report.add(one.clone());
        }
        assert_eq!(report.finish(2), [one]);
    }
}
