//! The display: in place on a terminal, line by line otherwise.
//!
//! Only the tool knows whether there is a terminal; it sets this at build time.

use crate::members::{COUNT, Member, Members};
use core::fmt;
use userlib::{Microseconds, print, println};

const TERMINAL: bool = option_env!("ESCAPEMENT_TERMINAL").is_some();

/// Refreshes per line, because lines are printed less often than a terminal is refreshed.
const LOOKS_PER_LINE: usize = 2;

/// The live display.
pub struct Screen {
    looks: usize,
    in_place: bool,
}

/// A share of the processor, in thousandths.
struct Share(u64);

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{:2}.{} %", self.0 / 10, self.0 % 10)
    }
}

/// A share as a bar, with one character for two percent.
struct Bar(u64);

impl fmt::Display for Bar {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for _ in 0..(self.0 + 10) / 20 {
            out.write_str("#")?;
        }
        Ok(())
    }
}

/// A time, in tenths of a millisecond.
struct Tenths(u64);

impl fmt::Display for Tenths {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{:4}.{} ms", self.0 / 1000, self.0 / 100 % 10)
    }
}

impl Screen {
    /// The display before the first output.
    pub fn new() -> Self {
        Self {
            looks: 0,
            in_place: TERMINAL,
        }
    }

    /// The display of lines, between which the supervisor prints its reports.
    pub fn with_reports() -> Self {
        Self {
            looks: 0,
            in_place: false,
        }
    }

    /// Shows the promised and received share of each component.
    pub fn show(&mut self, members: &Members) {
        if self.in_place {
            self.show_in_place(members);
        } else if self.looks.is_multiple_of(LOOKS_PER_LINE) {
            show_line(members);
        }
        self.looks += 1;
    }

    fn show_in_place(&self, members: &Members) {
        if self.looks > 0 {
            // Moves the cursor to the first line.
            print!("\x1b[{}A", COUNT + 1);
        }
        println!("\r{}\x1b[K", Elapsed(members.time()));
        for member in members.iter() {
            let received = member.received(members.time());
            println!(
                "  {:9} promised {}   received {}  {}\x1b[K",
                member.name,
                Share(member.promised()),
                Share(received),
                Bar(received)
            );
        }
    }
}

fn show_line(members: &Members) {
    print!("{}", Elapsed(members.time()));
    for member in members.iter() {
        let received = Share(member.received(members.time()));
        print!(
            "   {} {} of {}",
            member.name,
            received,
            Share(member.promised())
        );
    }
    println!();
}

struct Elapsed(Microseconds);

impl fmt::Display for Elapsed {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let tenths = self.0.as_millis() / 100;
        write!(out, "{:2}.{} s", tenths / 10, tenths % 10)
    }
}

/// Prints the introduction.
pub fn introduce(members: &Members) {
    println!("Escapement: processor time is handed out in budgets.");
    println!();
    for member in members.iter() {
        println!(
            "  {:9} may use {:2} ms in every {:3} ms{}",
            member.name,
            member.time.budget.as_millis(),
            member.time.period.as_millis(),
            role(member, members)
        );
    }
    println!(
        "  {:9} has no time of its own: it works on its callers'",
        "server"
    );
    println!();
    println!("All of them want the whole processor. The shares they get:");
    println!();
}

fn role(member: &Member, members: &Members) -> &'static str {
    if core::ptr::eq(member, members.hog()) {
        ", and comes before the clients"
    } else {
        ""
    }
}

/// Prints what happens next.
pub fn announce_attack() {
    println!();
    println!(
        "Now the hog asks the server for work without an end. The hog's budget pays for it; when"
    );
    println!("that is used up, the supervisor answers the hog with an error and starts the server");
    println!("again, so that the clients need not wait until the hog has time again.");
    println!();
}

/// Prints the final table and its meaning.
pub fn summarise(members: &Members) {
    println!();
    println!("  component  promised  received  overruns contained  worst blackout");
    for member in members.iter() {
        println!(
            "  {:9}    {}    {}  {:18}      {}",
            member.name,
            Share(member.promised()),
            Share(member.received(members.time())),
            member.overruns(),
            Tenths(member.report.longest_blackout())
        );
    }
    println!();
    println!(
        "An overrun is a request during which the time of the caller ended. It may happen to a"
    );
    println!(
        "client, too; the client then asks again. A blackout is the longest time that a component"
    );
    println!("was without the processor: its budget was used up, or others came first.");
    println!();
}
