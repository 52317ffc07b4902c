//! `cargo xtask sim`: runs a scenario and shows the execution of its threads.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use simulator::scenarios::{ALL, find};
use simulator::{History, Options, Simulation, Window, chart, chrome, csv, table};

/// Runs a scenario against the kernel on the host, in virtual time.
#[derive(Parser)]
#[command(name = "cargo xtask sim", max_term_width = 100)]
struct Arguments {
    /// The scenario; without one, all are listed.
    scenario: Option<String>,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How long to run, in milliseconds of virtual time.
    #[arg(long, value_name = "MS")]
    time: Option<u64>,
    /// Start of the chart, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    from: f64,
    /// End of the chart, in milliseconds; by default at most 100 ms after its start.
    #[arg(long, value_name = "MS")]
    to: Option<f64>,
    /// Columns of the chart.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(10..))]
    width: u16,
    /// Cost of a kernel entry, in microseconds.
    #[arg(long, value_name = "US", default_value_t = 1)]
    kernel_time: u64,
    /// Check the invariants after every kernel entry; slow.
    #[arg(long)]
    check: bool,
    /// Print the notes of threads and the interrupts in the range of the chart.
    #[arg(long)]
    notes: bool,
    /// Write the kernel's events to this file, for `cargo xtask trace`.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The number of events that the trace has room for. When there are more, the trace ends, and says how many.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    trace_events: u32,
    /// Folder for the record of the run, which is written in any case.
    #[arg(long, value_name = "FOLDER", default_value = "target/sim")]
    out: PathBuf,
}

fn list() -> String {
    let lines = ALL.iter();
    lines
        .map(|scenario| format!("{:18} {}\n", scenario.name, scenario.about))
        .collect()
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let Some(name) = &arguments.scenario else {
        return print(&list());
    };
    let scenario = find(name);
    let scenario = scenario.ok_or_else(|| {
        format!(
            "there is no scenario `{name}`; there are:\n{}",
            list().trim_end()
        )
    })?;
    let options = Options {
        cores: 1,
        seed: arguments.seed,
        kernel_time: arguments.kernel_time,
        check: arguments.check,
        trace: match arguments.trace {
            Some(_) => arguments.trace_events as usize,
            None => 0,
        },
        fast_paths: true,
    };
    let begin = Instant::now();
    let mut simulation = Simulation::new(scenario.setup, options);
    simulation.run_until(arguments.time.unwrap_or(scenario.duration) * 1000);
    let taken = begin.elapsed();
    let history = simulation.history();

    let from = ((arguments.from * 1000.0) as u64).min(history.end);
    let to = arguments
        .to
        .map_or(from + 100_000, |to| (to * 1000.0) as u64);
    let window = Window {
        from,
        to: to.clamp(from + 1, history.end.max(from + 1)),
        width: arguments.width.into(),
    };
    let notes = match arguments.notes {
        true => notes(history, window),
        false => String::new(),
    };
    print(&format!(
        "{}{notes}\n{}\n{:.3} s of virtual time, {} kernel entries, in {:.3} s\n",
        chart(history, window),
        table(history),
        history.end as f64 / 1e6,
        history.entries,
        taken.as_secs_f64(),
    ))?;
    if let (Some(path), Some(trace)) = (&arguments.trace, simulation.trace()) {
        whole_file::write(path, trace.to_bytes())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let record = arguments.out.join(name);
    fs::create_dir_all(&arguments.out)
        .and_then(|()| {
            whole_file::write(record.with_extension("json"), chrome(history, name))?;
            whole_file::write(record.with_extension("csv"), csv(history))
        })
        .map_err(|error| format!("cannot write the record {}: {error}", record.display()))?;
    print(&format!(
        "trace: {}\n",
        record.with_extension("json").display()
    ))
}

/// The notes of threads and the interrupts in a window, a line each.
fn notes(history: &History, window: Window) -> String {
    let mut text = "\n".to_string();
    for mark in &history.marks {
        if (window.from..window.to).contains(&mark.time) {
            let actor = mark
                .actor
                .map_or("device", |actor| &history.actors[actor].name);
            text.push_str(&format!(
                "{:10.3} ms  {actor}: {}\n",
                mark.time as f64 / 1000.0,
                mark.text
            ));
        }
    }
    text
}

fn print(text: &str) -> Result<(), String> {
    whole_file::print(text).map_err(|error| error.to_string())
}
