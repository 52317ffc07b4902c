//! `cargo xtask sim`: runs a scenario and shows the execution of its threads.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use simulator::scenarios::{ALL, find};
use simulator::{Options, Simulation, Window, chart, chrome, csv, table};

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

fn list() {
    for scenario in ALL {
        println!("{:18} {}", scenario.name, scenario.about);
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Some(name) = &arguments.scenario else {
        list();
        return ExitCode::SUCCESS;
    };
    let Some(scenario) = find(name) else {
        eprintln!("error: there is no scenario `{name}`; there are:");
        list();
        return ExitCode::from(2);
    };
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
    print!("{}", chart(history, window));
    if arguments.notes {
        println!();
        for mark in &history.marks {
            if (window.from..window.to).contains(&mark.time) {
                let actor = mark
                    .actor
                    .map_or("device", |actor| &history.actors[actor].name);
                println!(
                    "{:10.3} ms  {actor}: {}",
                    mark.time as f64 / 1000.0,
                    mark.text
                );
            }
        }
    }
    println!("\n{}", table(history));
    println!(
        "{:.3} s of virtual time, {} kernel entries, in {:.3} s",
        history.end as f64 / 1e6,
        history.entries,
        taken.as_secs_f64(),
    );
    if let (Some(path), Some(trace)) = (&arguments.trace, simulation.trace())
        && let Err(error) = whole_file::write(path, trace.to_bytes())
    {
        eprintln!("error: cannot write {}: {error}", path.display());
        return ExitCode::from(2);
    }
    let written = fs::create_dir_all(&arguments.out).and_then(|()| {
        let path = arguments.out.join(name);
        whole_file::write(path.with_extension("json"), chrome(history, name))?;
        whole_file::write(path.with_extension("csv"), csv(history))
    });
    match written {
        Ok(()) => println!(
            "trace: {}",
            arguments.out.join(name).with_extension("json").display()
        ),
        Err(error) => {
            eprintln!("error: cannot write the trace: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
