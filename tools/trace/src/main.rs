//! `cargo xtask trace`: says what is in a trace, checks it, and exports it.

mod view;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fs, io, thread};

use clap::{Parser, Subcommand, ValueEnum};
use serde_json::{Value, json};
use trace::{
    Comparison, Count, Entries, File, Follower, Trace, calls, check, collect, configured, entries,
    export, jobs, requests, summary, used_budgets,
};
use trace_format::Cost;

/// Reads a trace of the kernel.
#[derive(Parser)]
#[command(name = "cargo xtask trace", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says what happened, in a table.
    Info {
        /// The trace.
        file: PathBuf,
    },
    /// Writes the trace that a kernel has left in its machine's RAM.
    Collect {
        /// A copy of the RAM.
        ram: PathBuf,
        /// The name of the platform.
        #[arg(long, value_name = "P")]
        platform: String,
        /// The file to write.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// The machine runs, and has its RAM in this file: take events before they are overwritten, until standard input
        /// ends.
        #[arg(long)]
        follow: bool,
    },
    /// Checks the trace against rules that every trace keeps.
    Check {
        /// The trace.
        file: PathBuf,
    },
    /// Compares the events of two traces of one deterministic run, without their times. Exit code 1: they differ.
    Compare {
        /// A trace.
        one: PathBuf,
        /// Another one, perhaps of another machine.
        other: PathBuf,
        /// Compare what follows the first mark with this text of up to eight bytes.
        #[arg(long, value_name = "TEXT")]
        from: Option<String>,
        /// Compare what comes before the first mark with this text.
        #[arg(long, value_name = "TEXT")]
        to: Option<String>,
    },
    /// Says how long calls that donate a context took, as they were and without the cost of the events.
    Calls {
        /// The trace.
        file: PathBuf,
    },
    /// Says how long the requests of each server took on callers' contexts, without the cost of the events.
    Requests {
        /// The trace.
        file: PathBuf,
    },
    /// Prints how many events entries wrote, and what these cost, in ticks, as JSON.
    Entries {
        /// The trace.
        file: PathBuf,
    },
    /// Prints the response times in a trace, as JSON: of jobs that programs have marked, and of budgets that were used up.
    /// Each is a pair of its begin and its length, in nanoseconds. And the budgets that contexts have got.
    Responses {
        /// The trace.
        file: PathBuf,
    },
    /// Shows a trace in a browser, or two below each other.
    View {
        /// The traces.
        #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Write the page into this file, which needs no network, and start no browser.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Serve the page on 127.0.0.1 until Ctrl-C, as is done with more than a million events.
        #[arg(long, conflicts_with = "html")]
        serve: bool,
    },
    /// Writes the trace in the format of another tool.
    Export {
        /// The trace.
        file: PathBuf,
        /// The format.
        #[arg(long, value_enum)]
        format: Format,
        /// The file to write; with CTF, the folder.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Start of the picture, in milliseconds; of SVG only.
        #[arg(long, value_name = "MS", default_value_t = 0.0)]
        from: f64,
        /// End of the picture, in milliseconds; by default the end of the trace.
        #[arg(long, value_name = "MS")]
        to: Option<f64>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Perfetto's protocol buffers.
    Perfetto,
    /// Chrome's JSON.
    Chrome,
    /// Comma-separated values, one line for each event.
    Csv,
    /// The Common Trace Format 1.8, for Babeltrace 2 and Trace Compass: a folder.
    Ctf,
    /// A picture.
    Svg,
}

/// The time between two looks at the rings of a machine that runs.
const TURN: Duration = Duration::from_millis(10);
/// New rings are searched in each of so many turns.
const SEARCH: u64 = 10;

/// What a link to a complaint shows before it and after it, in milliseconds.
const AROUND_MS: f64 = 5.0;

/// The most complaints that are printed.
const MOST: usize = 20;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Info { file } => read(&file).and_then(|trace| print(summary(&trace))),
        Command::Collect {
            ram,
            platform,
            output,
            follow,
        } => {
            let collected = if follow {
                follow_until_end_of_input(&ram, platform)
            } else {
                collect(&ram, platform)
            };
            collected.and_then(|(file, damage)| {
                warn(&ram, damage);
                let written = whole_file::write(&output, file.to_bytes());
                written.map_err(|error| format!("cannot write {}: {error}", output.display()))?;
                Ok(true)
            })
        }
        Command::Check { file } => read(&file).and_then(|trace| report(&file, &trace)),
        Command::Compare {
            one,
            other,
            from,
            to,
        } => read(&one)
            .and_then(|one| Ok([one, read(&other)?]))
            .and_then(|[one, other]| is_same(&one, &other, from.as_deref(), to.as_deref())),
        Command::Calls { file } => read(&file).and_then(|trace| print(calls(&trace))),
        Command::Requests { file } => read(&file).and_then(|trace| print(requests(&trace))),
        Command::Entries { file } => {
            read(&file).and_then(|trace| print_line(kinds_of_entries(&trace)))
        }
        Command::Responses { file } => read(&file).and_then(|trace| print_line(responses(&trace))),
        Command::View { files, html, serve } => view::view(&files, html, serve),
        Command::Export {
            file,
            format,
            output,
            from,
            to,
        } => read(&file).and_then(|trace| {
            let ticks = |ms: f64| (ms.max(0.0) * trace.frequency as f64 / 1000.0) as u64;
            let bytes = match format {
                Format::Perfetto => export::perfetto(&trace),
                Format::Chrome => export::chrome(&trace).into_bytes(),
                Format::Csv => export::csv(&trace).into_bytes(),
                Format::Ctf => {
                    return export::write_folder(&output, &export::ctf(&trace)).map(|()| true);
                }
                Format::Svg => {
                    export::svg(&trace, ticks(from), to.map_or(trace.end, ticks)).into_bytes()
                }
            };
            let written = whole_file::write(&output, bytes);
            written.map_err(|error| format!("cannot write {}: {error}", output.display()))?;
            Ok(true)
        }),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints a result, or a part of one.
fn print(text: impl Display) -> Result<bool, String> {
    whole_file::print(text.to_string()).map_err(|error| error.to_string())?;
    Ok(true)
}

fn print_line(text: impl Display) -> Result<bool, String> {
    print(format_args!("{text}\n"))
}

fn read(path: &Path) -> Result<Trace, String> {
    let bytes =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let (trace, damage) =
        Trace::read(&bytes).map_err(|reason| format!("{}: {reason}", path.display()))?;
    warn(path, damage);
    Ok(trace)
}

/// Says whether two traces have the same events.
fn is_same(
    one: &Trace,
    other: &Trace,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<bool, String> {
    let traces = [one, other];
    let compared = Comparison { traces, from, to }.run();
    match &compared {
        Ok(count) => print_line(format_args!("{count} events are the same"))?,
        Err(difference) => print_line(difference)?,
    };
    Ok(compared.is_ok())
}

/// The trace of a machine that runs until standard input ends.
fn follow_until_end_of_input(ram: &Path, platform: String) -> Result<(File, Vec<String>), String> {
    let mut follower = Follower::new(ram)?;
    let (end, is_over) = mpsc::channel::<()>();
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(end);
    });
    for turn in 0u64.. {
        if turn.is_multiple_of(SEARCH) {
            follower.search();
        }
        follower.take();
        if is_over.recv_timeout(TURN) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    follower.search();
    follower.finish(ram, platform)
}

fn warn(path: &Path, damage: Vec<String>) {
    for sentence in damage {
        eprintln!("warning: {}: {sentence}", path.display());
    }
}

/// The kinds of entries, and what the events of each cost, on average and in ticks, with how far that may be from the truth.
fn kinds_of_entries(trace: &Trace) -> Value {
    let entries = entries(trace);
    let entries = entries.iter().map(|(kind, &Count { count, cost })| {
        let cost = cost.map(|parts| Cost::ticks(parts) / count as f64);
        let Entries { reason, number, label, has_switched, events } = kind;
        json!({
            "reason": reason, "number": number, "label": label, "switched": has_switched, "events": events,
            "count": count, "cost": cost,
        })
    });
    json!({ "frequency": trace.frequency, "entries": entries.collect::<Vec<_>>() })
}

/// Jobs and budgets, with times in nanoseconds.
fn responses(trace: &Trace) -> Value {
    let nanoseconds = |ticks| trace.nanoseconds(ticks);
    let all = |responses: &[(u64, u64)]| -> Vec<_> {
        let all = responses.iter();
        all.map(|(begin, end)| [nanoseconds(*begin), nanoseconds(end - begin)])
            .collect()
    };
    let jobs = jobs(trace);
    let jobs = jobs.iter().map(|one| {
        json!({
            "thread": one.thread, "task": one.task, "done": one.done, "missed": one.missed,
            "responses": all(&one.responses),
        })
    });
    let budgets = used_budgets(trace);
    let budgets = budgets
        .iter()
        .map(|one| json!({ "thread": one.thread, "responses": all(&one.responses) }));
    let configured = configured(trace);
    let configured = configured.iter().map(|one| {
        json!({
            "thread": one.thread, "context": one.context.0, "time": nanoseconds(one.time),
            "budget": nanoseconds(one.budget), "period": nanoseconds(one.period),
        })
    });
    json!({
        "jobs": jobs.collect::<Vec<_>>(), "budgets": budgets.collect::<Vec<_>>(),
        "configured": configured.collect::<Vec<_>>(),
    })
}

/// Prints the complaints about the trace of a file, each with its place in the page of that file. Returns whether there
/// are none.
fn report(file: &Path, trace: &Trace) -> Result<bool, String> {
    let complaints = check(trace);
    let page = file.with_extension("html");
    let mut lines = Vec::new();
    for complaint in complaints.iter().take(MOST) {
        let time = trace.microseconds(complaint.time) / 1000.0;
        lines.push(format!("{time:12.3} ms  {}", complaint.text));
        let (from, to) = ((time - AROUND_MS).max(0.0), time + AROUND_MS);
        lines.push(format!("{:17}{}#{from:.3}-{to:.3}", "", page.display()));
    }
    if !complaints.is_empty() {
        let (file, page) = (file.display(), page.display());
        lines.push(format!("`cargo xtask trace view {file}` writes {page}"));
    }
    if complaints.len() > MOST {
        lines.push(format!("and {} more", complaints.len() - MOST));
    }
    if !trace.is_full {
        let words =
            "not checked: budgets and deadlines, as the trace does not have events of all kinds";
        lines.push(words.to_string());
    }
    let lost = trace.lost_events();
    lines.push(format!(
        "{} events checked, {lost} missing, {} complaints",
        trace.events.len(),
        complaints.len()
    ));
    print_line(lines.join("\n"))?;
    Ok(complaints.is_empty())
}
