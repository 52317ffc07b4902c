//! A shell: shows the components of the system with the time that they were promised and that they use, shows how they
//! have failed, and starts them again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::fmt::{self, Write};
use shell_messages::{Words, terminal};
use userlib::Microseconds;
use userlib::supervision::{End, NotAgain, Report, requests};
use userlib::time::Clock;

userlib::component!(main);

/// As many components as a system has at the most.
const MOST: usize = 40;

struct Shell {
    terminal: terminal::Client,
    supervisor: requests::Client,
    clock: Clock,
    /// What each component had used at that time.
    used: [Microseconds; MOST],
    at: Microseconds,
}

fn main(given: Given) {
    let mut shell = Shell {
        terminal: given.terminal,
        supervisor: given.supervisor,
        clock: given.clock,
        used: [Microseconds(0); MOST],
        at: Microseconds(0),
    };
    shell.say(format_args!("`help` lists the commands\n"));
    loop {
        shell.say(format_args!("> "));
        let line = loop {
            given.signals.wait();
            if let Ok(Some(line)) = given.terminal.read() {
                break line;
            }
        };
        let mut words = line.as_str().split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (None, _, _) => {}
            (Some("help"), None, _) => shell.say(format_args!(
                "top, memory, faults, restart COMPONENT, help, exit\n"
            )),
            (Some("top"), None, _) => shell.top(),
            (Some("memory"), None, _) => shell.memory(),
            (Some("faults"), None, _) => shell.faults(),
            (Some("restart"), Some(name), None) => shell.restart(name),
            (Some("exit"), None, _) => return,
            _ => shell.say(format_args!("there is no such command\n")),
        }
    }
}

/// A share of the processor, in tenths of a percent.
struct Share(u64);

impl Share {
    fn of(part: Microseconds, whole: Microseconds) -> Self {
        Self(1000 * part.0 / whole.0.max(1))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{:3}.{} %", self.0 / 10, self.0 % 10)
    }
}

impl Shell {
    /// Writes a line, or a part of one. What does not fit into a message is cut.
    fn say(&self, what: fmt::Arguments) {
        let mut words = Words::default();
        let _ = words.write_fmt(what);
        // If the terminal fails, the supervisor reports that.
        let _ = self.terminal.write(words);
    }

    fn reports(&self) -> impl Iterator<Item = Report> + use<> {
        let supervisor = self.supervisor;
        (0..MOST).map_while(move |index| supervisor.report(index).ok().flatten())
    }

    /// What was promised, and what was used since the last time.
    fn top(&mut self) {
        let now = self.clock.now();
        let passed = Microseconds(now.0 - self.at.0);
        self.say(format_args!(
            "{:<16}{:>8}{:>9}  state\n",
            "component", "promised", "used"
        ));
        for (place, report) in self.reports().enumerate() {
            let used = Microseconds(report.used.0 - self.used[place].0);
            self.used[place] = report.used;
            let state = if report.has_stopped {
                "stopped"
            } else {
                "runs"
            };
            let name = report.name.as_str();
            let used = Share::of(used, passed);
            match report.is_passive {
                true => self.say(format_args!(
                    "{name:<16}{:>8}{used:>9}  passive, {state}\n",
                    ""
                )),
                false => {
                    let promised = Share::of(report.budget, report.period);
                    self.say(format_args!("{name:<16}{promised:>8}{used:>9}  {state}\n"));
                }
            }
        }
        self.at = now;
    }

    /// How much of stacks and heaps was used at the most, in bytes.
    fn memory(&self) {
        self.say(format_args!(
            "{:<16}{:>16}{:>18}\n",
            "component", "stack", "heap"
        ));
        for (place, report) in self.reports().enumerate() {
            let name = report.name.as_str();
            match self.supervisor.memory(place) {
                Ok(Some(memory)) => self.say(format_args!(
                    "{name:<16}{:>7} of {:>5}{:>9} of {:>5}\n",
                    memory.stack_used, memory.stack, memory.heap_used, memory.heap
                )),
                _ => self.say(format_args!("{name:<16} unknown\n")),
            }
        }
    }

    /// What has failed.
    fn faults(&self) {
        let mut failed = self.reports().filter(|one| one.failures > 0).peekable();
        if failed.peek().is_none() {
            self.say(format_args!("nothing has failed\n"));
        }
        for report in failed {
            let last = match report.last {
                End::None => "nothing",
                End::Fault => "a fault",
                End::Panic => "a panic",
                End::Timeout => "the end of its time",
                End::Done => "its normal end",
            };
            let state = if report.has_stopped {
                "stopped"
            } else {
                "runs"
            };
            let (name, count) = (report.name.as_str(), report.failures);
            self.say(format_args!(
                "{name}: {count} failures, the last one {last}; {state}\n"
            ));
        }
    }

    fn restart(&self, name: &str) {
        let answer = match self.supervisor.restart(userlib::protocol::Text::new(name)) {
            Ok(Ok(())) => "it starts again",
            Ok(Err(NotAgain::Unknown)) => "there is no such component",
            Ok(Err(NotAgain::Stopped)) => "it has stopped for good",
            Ok(Err(NotAgain::Unprepared)) => "its description has no restart",
            Err(_) => "the supervisor does not answer",
        };
        self.say(format_args!("{name}: {answer}\n"));
    }
}
