//! The book's tutorial as a test: its commands are typed, its files are written, and the lines that it shows are looked
//! for in the output. It begins in this checkout, and in full runs also in an SDK that is made for it.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::{Session, filter::Filter, plan, tally::Tally, this_tool, verdict::tell};
use crate::Result;
use crate::cli::Emulator;
use crate::platform::Platform;
use crate::project;
use crate::qemu::Ending;
use crate::temporary;
use crate::toolchain::MISLEADING;
use crate::workspace::empty_folder;

/// The page.
const PAGE: &str = "docs/src/ten-minutes.md";
/// The platform on which its commands run, as they choose none.
const USUAL: &str = "pc99";
/// Those on which a run of everything does what the page says from an SDK.
const IN_SDK: [&str; 4] = [USUAL, "hikey", "sabre", "kzm"];

/// The folder of cargo beside an SDK.
const CARGO_HOME: &str = "cargo-home";

/// Where the page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Checkout,
    Sdk,
}

impl Base {
    pub(super) const ALL: [Self; 2] = [Self::Checkout, Self::Sdk];

    /// The name of the test.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Checkout => "ten-minutes",
            Self::Sdk => "ten-minutes-in-an-sdk",
        }
    }

    /// Its name in the list of parts.
    pub(super) const fn part(self) -> &'static str {
        match self {
            Self::Checkout => "the tutorial",
            Self::Sdk => "the tutorial in an SDK",
        }
    }
}

/// What a part of the page asks for.
#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    /// Type this command.
    Type(&'a str),
    /// Find these lines in the output of the last command, in this order.
    See(Vec<&'a str>),
    /// The file holds the text.
    Holds(&'a str, String),
    /// Write the file.
    Write(&'a str, String),
    /// Add the text to the file.
    Add(&'a str, String),
    /// Replace the first text in the file by the second one.
    Replace(&'a str, &'a str, String),
}

/// The steps of a page, in their order: commands are indented, and the line before a block says what it is.
fn steps(page: &str) -> Result<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    let (mut lines, mut intent) = (page.lines(), "");
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("    ") {
            let command = command.split('#').next().unwrap_or_default();
            steps.push(Step::Type(command.trim()));
        } else if let Some(kind) = line.strip_prefix("```") {
            let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            steps.push(if kind == "text" {
                Step::See(block)
            } else {
                of_block(intent, block.join("\n"))
                    .with_context(|| format!("what to do with a block after `{intent}`?"))?
            });
        } else if !line.is_empty() {
            intent = line;
        }
    }
    Ok(steps)
}

/// The step for a block after a line of text, whose last words, and the names in them, say what to do.
fn of_block(intent: &str, mut text: String) -> Option<Step<'_>> {
    let parts: Vec<_> = intent.split('`').collect();
    let end = |from: usize| &parts[parts.len() - from..];
    if parts.len() < 3 {
        return None;
    }
    if let &[verb, file, ":"] = end(3) {
        text.push('\n');
        let verbs = [
            ("Write ", Step::Write as fn(_, _) -> _),
            ("Add to ", Step::Add),
        ];
        let step = verbs.iter().find(|(name, _)| verb.ends_with(name));
        return step.map(|(_, step)| step(file, text));
    }
    if let &[_, file, " contains:"] = end(3) {
        return Some(Step::Holds(file, text));
    }
    match end(5.min(parts.len())) {
        &[verb, file, " replace ", from, " by this:"] if verb.ends_with("In ") => {
            Some(Step::Replace(file, from, text))
        }
        _ => None,
    }
}

/// Whether the test is among the wanted ones. With an SDK it is in a run of everything, or if a filter is its name; only
/// then does it run on other platforms than the page's.
pub(super) fn is_wanted(session: &Session<'_>, platform: &Platform, base: Base) -> bool {
    let arguments = session.arguments;
    let filter = Filter::new(arguments.filter.as_deref());
    let is_named = filter.names(&plan::example(base.name()));
    let is_usual = match base {
        Base::Checkout => platform.name == USUAL,
        Base::Sdk => IN_SDK.contains(&&*platform.name),
    };
    (is_usual && filter.wants(&plan::example(base.name())) || is_named)
        && (base == Base::Checkout || is_usual && arguments.all || is_named)
        && project::folder().is_none()
        && arguments.emulator == Emulator::Qemu
        && arguments.abi.is_empty()
        && !arguments.cores.are_several()
        && !arguments.hardening.is_wanted()
}

/// Does what the page says, on a platform.
pub(super) fn run(session: &Session<'_>, base: Base, platform: &Platform) -> Result<Tally> {
    let page = fs::read_to_string(session.workspace.path(PAGE));
    let page = page.with_context(|| format!("cannot read {PAGE}"))?;
    let page = on_platform(&page, &platform.name);
    let steps = steps(&page)?;
    let follow = || -> Result<()> {
        // Another run of the tests types in the same folder.
        let _alone = match base {
            Base::Checkout => Some(session.workspace.lock(base.name())?),
            Base::Sdk => None,
        };
        let mut typist = Typist::begin(session, base, platform)?;
        steps.into_iter().try_for_each(|step| typist.perform(step))
    };
    tell(&plan::example(base.name()), follow())
}

/// The page with commands for a platform.
fn on_platform(page: &str, platform: &str) -> String {
    let line = |line: &str| {
        let command = line.split('#').next().unwrap_or_default().trim_end();
        let verb = command.strip_prefix("    cargo escapement ");
        match verb.is_some_and(|verb| !verb.contains("--platform")) {
            true => format!("{command} --platform {platform}\n"),
            // A line of the output.
            false => format!(
                "{}\n",
                line.replace(&format!(", on {USUAL}"), &format!(", on {platform}"))
            ),
        }
    };
    page.lines().map(line).collect()
}

/// Follows the page.
struct Typist<'a> {
    session: &'a Session<'a>,
    platform: &'a str,
    /// The folder of an SDK. It is not in the repository, whose files would stand in for those that are missing.
    outside: Option<temporary::Folder>,
    folder: PathBuf,
    command: String,
    output: Vec<u8>,
}

impl<'a> Typist<'a> {
    /// Begins in an empty folder, which stands for the checkout, or in an SDK.
    fn begin(session: &'a Session<'a>, base: Base, platform: &'a Platform) -> Result<Self> {
        let mut typist = Self {
            session,
            platform: &platform.name,
            outside: None,
            folder: PathBuf::new(),
            command: String::new(),
            output: Vec::new(),
        };
        match base {
            Base::Checkout => typist.enter_empty_folder()?,
            Base::Sdk => typist.enter_sdk(temporary::Folder::new()?)?,
        }
        Ok(typist)
    }

    fn enter_empty_folder(&mut self) -> Result<()> {
        let book = self.session.workspace.target().join("book-test");
        empty_folder(&book)?;
        self.folder = book.join("checkout");
        Ok(fs::create_dir(&self.folder)?)
    }

    /// Makes an SDK, and unpacks it. Cargo's settings there name another target folder, as those of a user may.
    fn enter_sdk(&mut self, outside: temporary::Folder) -> Result<()> {
        self.folder = outside.path().to_path_buf();
        let home = self.folder.join(CARGO_HOME);
        fs::create_dir(&home)?;
        fs::write(home.join("config.toml"), "build.target-dir = 'elsewhere'\n")?;
        let [archive, unpacked] = ["sdk.tar", "unpacked"].map(|name| self.folder.join(name));
        self.outside = Some(outside);
        let mut make = this_tool();
        make.args([
            "sdk",
            "--platform",
            self.platform,
            "--kernel",
            "debug",
            "-o",
        ]);
        self.command = "cargo xtask sdk".to_string();
        self.watch(make.arg(&archive))?;
        tar::Archive::new(File::open(archive)?).unpack(&unpacked)?;
        let mut folders = fs::read_dir(unpacked)?;
        self.folder = folders.next().context("the SDK is empty")??.path();
        Ok(())
    }

    fn perform(&mut self, step: Step<'_>) -> Result<()> {
        let path = |file: &str| self.folder.join(file);
        let read = |file: &str| {
            fs::read_to_string(path(file)).with_context(|| format!("there is no {file}"))
        };
        match step {
            Step::Type(command) => self.enter(command)?,
            Step::See(lines) => self.look_for(&lines)?,
            Step::Holds(file, text) => {
                ensure!(read(file)?.contains(&text), "{file} differs from the page");
            }
            Step::Write(file, text) => {
                let path = path(file);
                fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
                fs::write(path, text)?;
            }
            Step::Add(file, text) => fs::write(path(file), format!("{}\n{text}", read(file)?))?,
            Step::Replace(file, from, to) => {
                let text = read(file)?;
                ensure!(text.matches(from).count() == 1, "{file} has no `{from}`");
                fs::write(path(file), text.replace(from, &to))?;
            }
        }
        Ok(())
    }

    /// Types a command, which must succeed.
    fn enter(&mut self, command: &str) -> Result<()> {
        let words: Vec<_> = command.split_whitespace().collect();
        match &*words {
            ["cd", folder] => {
                let folder = self.folder.join(folder).canonicalize();
                self.folder = folder.with_context(|| format!("`{command}` fails"))?;
                Ok(())
            }
            ["cargo", tool @ ("xtask" | "escapement"), arguments @ ..] => {
                let mut call = match self.outside {
                    None => self.tool(*tool == "escapement"),
                    Some(_) => self.cargo(tool),
                };
                self.command = command.to_string();
                self.watch(call.args(arguments))
            }
            ["cargo", "test"] => {
                self.command = command.to_string();
                let mut call = self.cargo("test");
                self.watch(&mut call)
            }
            _ => bail!("`{command}` is no command of the tool"),
        }
    }

    /// This tool, which knows its workspace by a variable, in a project by another one.
    fn tool(&self, in_project: bool) -> Command {
        let mut call = this_tool();
        call.envs(in_project.then_some((project::FOLDER, &self.folder)));
        call
    }

    /// Cargo as a user calls it, without the variables by which it tells this tool where it is and how it was built. With an
    /// SDK it has neither a network nor anything that another build has downloaded.
    fn cargo(&self, command: &str) -> Command {
        let mut call = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        call.arg(command);
        let by_cargo = |name: &str| {
            let kinds = [
                "CARGO_MANIFEST_",
                "CARGO_PKG_",
                "CARGO_BIN_",
                "CARGO_CRATE_",
            ];
            kinds.iter().any(|kind| name.starts_with(kind))
        };
        let names = env::vars_os().map(|(name, _)| name);
        let others = names.filter(|name| name.to_str().is_some_and(by_cargo));
        let own = [
            "CARGO",
            "CARGO_PRIMARY_PACKAGE",
            "CARGO_TARGET_DIR",
            project::FOLDER,
        ];
        let own = own.iter().chain(&MISLEADING).map(OsString::from);
        for name in others.chain(own) {
            call.env_remove(name);
        }
        if let Some(outside) = &self.outside {
            call.env("CARGO_HOME", outside.path().join(CARGO_HOME));
            call.env("CARGO_NET_OFFLINE", "true");
        }
        call
    }

    /// Runs a command, which must succeed.
    fn watch(&mut self, command: &mut Command) -> Result<()> {
        self.output.clear();
        let mut child = command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let timeout = Duration::from_secs(self.session.arguments.timeout);
        let show = |bytes: &[u8]| self.output.extend_from_slice(bytes);
        let supervisor = self.session.supervisor;
        match supervisor.watch(&mut child, Some(timeout), show)? {
            Ending::Exited(status) if status.success() => Ok(()),
            _ => bail!("`{}` fails: {}", self.command, self.shown()),
        }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.output).replace('\r', "")
    }

    fn look_for(&self, wanted: &[&str]) -> Result<()> {
        let output = self.shown();
        let mut lines = output.lines().map(str::trim_end);
        match wanted
            .iter()
            .find(|wanted| !lines.any(|line| line == **wanted))
        {
            None => Ok(()),
            Some(line) => bail!("`{}` does not print `{line}` there: {output}", self.command),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn commands_and_blocks_are_steps() {
        let page = "# A\n\nText.\n\n    cargo xtask new ../a   # makes it\n\n```text\nok\n```\n\nDo it. Write `b.rs`:\n\n\
                    ```rust,ignore\nx\n```\n\n`c` contains:\n\n```toml\ny\n```\n\nIn `b.rs` replace `x` by this:\n\n\
                    ```rust\nz\n```\n\nAdd to `c`:\n\n```toml\nw\n```\n";
        let text = |text: &str| text.to_string();
        assert_eq!(
            steps(page).unwrap(),
            [
                Step::Type("cargo xtask new ../a"),
                Step::See(vec!["ok"]),
                Step::Write("b.rs", text("x\n")),
                Step::Holds("c", text("y")),
                Step::Replace("b.rs", "x", text("z")),
                Step::Add("c", text("w\n")),
            ]
        );
        let error = steps("Look at `c`:\n\n```toml\n```\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "what to do with a block after `Look at `c`:`?"
        );
    }

    #[test]
    fn commands_are_those_of_the_platform() {
        let page =
            "    cargo xtask new a\n    cargo escapement qemu  # go\n\n```text\nA, on pc99\n```\n";
        assert_eq!(
            on_platform(page, "kzm"),
            "    cargo xtask new a\n    cargo escapement qemu --platform kzm\n\n```text\nA, on kzm\n```\n"
        );
    }

    #[test]
    fn every_block_of_the_tutorial_is_a_step() {
        let page = fs::read_to_string(Workspace::find().unwrap().path(PAGE)).unwrap();
        let steps = steps(&page).unwrap();
        let commands = steps.iter().filter(|step| matches!(step, Step::Type(_)));
        assert!(commands.count() > 7, "{steps:?}");
        assert_eq!(page.matches("\n```").count() % 2, 0);
    }

    /// Each block of the chapter about schedulers is a part of the example, but for indentation.
    #[test]
    fn the_chapter_about_schedulers_shows_the_example() {
        let lines = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.trim().to_string()).collect()
        };
        let example = lines(include_str!("../../../systems/weights/root/src/main.rs"));
        let page = include_str!("../../../docs/src/concepts/own-scheduler.md");
        let blocks = page.split("```rust,ignore\n").skip(1);
        let blocks: Vec<_> = blocks
            .map(|block| lines(block.split("```").next().unwrap()))
            .collect();
        assert!(blocks.len() >= 4);
        for block in blocks {
            let shown = example.windows(block.len()).any(|lines| lines == block);
            assert!(shown, "the example does not have {block:#?}");
        }
    }
}
