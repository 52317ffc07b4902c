//! Functions, files and lines of addresses in a program, for the tool.
//!
//! It reads from stdin, and writes JSON, a list of places for each address:
//!
//! - `symbols frames PROGRAM` reads addresses, and prints the innermost inlined function first. The list is empty for
//!   what is not in the program.
//! - `symbols at PROGRAM` reads addresses, and prints the innermost one only, or the symbol before the address.
//! - `symbols callers PROGRAM` reads two lines, the registers and the words of the stack of a thread, as the userlib
//!   prints them, and prints the frames of each function in the chain of calls.
//!
//! If there is no result, the exit code is 2, and the reason is on stderr.

mod backtrace;
mod symbols;

use std::env;
use std::fs;
use std::io::{self, stdin, stdout};
use std::process::ExitCode;

use anyhow::{Context, bail};

use backtrace::Snapshot;
use symbols::{Place, Symbols};

type Result<T> = anyhow::Result<T>;

fn main() -> ExitCode {
    let written = answer().and_then(|places| Ok(serde_json::to_writer(stdout(), &places)?));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The places that are asked for.
fn answer() -> Result<Vec<Vec<Place>>> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [question, program] = &*arguments else {
        bail!("usage: symbols frames|at|callers PROGRAM");
    };
    let (input, program) = (io::read_to_string(stdin())?, fs::read(program)?);
    let file = object::File::parse(&*program)?;
    let symbols = Symbols::of(&file)?;
    match question.to_str() {
        Some("frames") => each(&input, |address| symbols.frames(address)),
        Some("at") => each(&input, |address| vec![symbols.at(address)]),
        Some("callers") => callers(&file, &symbols, &input),
        _ => bail!(
            "symbols prints frames, at or callers, not {}",
            question.display()
        ),
    }
}

/// What `tell` says of each address in `text`.
fn each(text: &str, tell: impl Fn(u64) -> Vec<Place>) -> Result<Vec<Vec<Place>>> {
    let places = text.split_whitespace().map(|address| {
        let address = backtrace::number(address).context("an address does not begin with 0x")?;
        Ok(tell(address))
    });
    places.collect()
}

/// The places of each function in a thread's chain of calls, the innermost first.
fn callers(program: &object::File<'_>, symbols: &Symbols, text: &str) -> Result<Vec<Vec<Place>>> {
    let (registers, stack) = text.split_once('\n').context("there is no stack")?;
    let snapshot = Snapshot::of_registers(registers).context("the registers cannot be read")?;
    let snapshot = snapshot
        .with_stack(stack)
        .context("the stack cannot be read")?;
    let chain = snapshot.addresses(program)?.into_iter().enumerate();
    // The instruction of a call is before the return address.
    Ok(chain
        .map(|(depth, address)| symbols.frames(address.saturating_sub((depth > 0).into())))
        .collect())
}
