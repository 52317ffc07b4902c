//! The emulator's trace of instructions.
//!
//! QEMU executes blocks of instructions; in single-step mode a block is one instruction, and it can write a
//! line for each block to stderr.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;

use anyhow::Context;
use object::{Object, ObjectSymbol};

use super::debugger::{Socket, is_end};
use crate::Result;
use crate::build::Built;
use crate::image::elf::Executable;

/// The functions of the benchmarks that take time stamps, by a part of their names.
const STAMPS: [&str; 3] = ["system_call", "nothing", "undefined"];
/// The maximum length of a path; a longer one is not useful to read.
const LONGEST: usize = 100_000;

/// The address ranges to trace, and the socket of the emulator's monitor.
pub(in crate::bench) struct Trace {
    kernel: Vec<Range<u64>>,
    stamps: Vec<Range<u64>>,
    socket: Socket,
}

/// The paths through the kernel from one time stamp to the next, and how often each was taken.
#[derive(Debug, Default)]
pub(in crate::bench) struct Runs(HashMap<Vec<u64>, usize>);

impl Trace {
    /// The trace for the boot image `built`.
    pub(super) fn of(built: &Built) -> Result<Self> {
        let kernel = Executable::parse(&fs::read(&built.kernel)?)?
            .segments
            .iter()
            // Segments that are not relocated run at boot only, at addresses that users have later.
            .filter(|segment| segment.virtual_address != segment.physical_address)
            .map(|segment| segment.virtual_address..segment.virtual_end())
            .collect();
        let program = built
            .components
            .first()
            .context("there are no benchmarks")?;
        let bytes = fs::read(program)?;
        let file = object::File::parse(&*bytes)?;
        let stamps = file
            .symbols()
            .filter(|symbol| {
                let name = symbol.name().unwrap_or_default();
                symbol.size() > 0
                    && name.contains("measure")
                    && STAMPS.iter().any(|stamp| name.contains(stamp))
            })
            .map(|symbol| symbol.address()..symbol.address() + symbol.size())
            .collect();
        Ok(Self {
            kernel,
            stamps,
            socket: Socket::new()?,
        })
    }

    /// QEMU's arguments.
    pub(in crate::bench) fn arguments(&self) -> Vec<OsString> {
        let ranges = self.kernel.iter().chain(&self.stamps);
        let ranges: Vec<_> = ranges
            .map(|range| format!("{:#x}..{:#x}", range.start, range.end - 1))
            .collect();
        let filter = ["-dfilter".into(), ranges.join(",").into()];
        filter.into_iter().chain(self.socket.arguments()).collect()
    }

    /// Lets the emulator, which has just been started, run to the first time stamp, and trace from there on. If it ends
    /// before, there is nothing to trace, and the guest has said why.
    pub(in crate::bench) fn begin(&self) -> Result<()> {
        let stamps: Vec<_> = self.stamps.iter().map(|stamp| stamp.start).collect();
        let orders = ["singlestep on", "log exec,nochain"];
        match self.socket.connect()?.run_to(&stamps, &orders) {
            Err(error) if is_end(&error) => Ok(()),
            result => result,
        }
    }

    /// Reads QEMU's trace. Cores take turns in it, between any two instructions.
    pub(in crate::bench) fn read(&self, trace: impl Read) -> Runs {
        let mut runs = Runs::default();
        let mut ways: HashMap<u32, Vec<u64>> = HashMap::new();
        for line in BufReader::new(trace)
            .split(b'\n')
            .map_while(|line| line.ok())
        {
            let Some((core, address)) = executed(&line) else {
                continue;
            };
            let way = ways.entry(core).or_default();
            if self.stamps.iter().any(|range| range.contains(&address)) {
                if !way.is_empty() && way.len() < LONGEST {
                    *runs.0.entry(std::mem::take(way)).or_default() += 1;
                }
                way.clear();
            } else if way.len() < LONGEST {
                way.push(address);
            }
        }
        runs
    }
}

impl Runs {
    /// The path with the length `measured`: the instruction that enters the kernel is counted, but is not
    /// part of the kernel. Of several paths, the most frequent one. An instruction that accesses a device may
    /// be in the trace twice, because the emulator restarts it.
    pub(super) fn path(&self, measured: f64) -> Option<&[u64]> {
        const TWICE: f64 = 16.0;
        #[expect(clippy::cast_precision_loss, reason = "no path is that long")]
        let more = |way: &Vec<u64>| way.len() as f64 + 1.0 - measured;
        let fitting = self
            .0
            .iter()
            .filter(|(way, _)| (0.0..=TWICE).contains(&more(way)));
        fitting
            .min_by(|(a, often), (b, oftener)| more(a).total_cmp(&more(b)).then(oftener.cmp(often)))
            .map(|(way, _)| &**way)
    }
}

/// The core and the address in a line like `Trace 0: 0x7f0 [00000000/ffffffff80001234/...] name`.
fn executed(line: &[u8]) -> Option<(u32, u64)> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix("Trace ")?;
    let (core, rest) = line.split_once(':')?;
    let address = rest.split_once('[')?.1.split('/').nth(1)?;
    Some((core.parse().ok()?, u64::from_str_radix(address, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        Trace {
            kernel: Vec::new(),
            stamps: vec![0x10..0x12, 0x12..0x20],
            socket: Socket::new().unwrap(),
        }
    }

    /// QEMU's line about an instruction on a core.
    fn line((core, address): (u32, u64)) -> String {
        format!("Trace {core}: 0x7f [00000000/{address:08x}/00/ff] name\n")
    }

    #[test]
    fn ways_lie_between_stamps() {
        let addresses = [
            0x1ff0, 0x10, 0x11, 0x1000, 0x1004, 0x12, 0x10, 0x11, 0x1000, 0x1004, 0x12,
        ];
        let text = addresses.map(|address| line((0, address))).concat() + "something else\n";
        let runs = trace().read(text.as_bytes());
        assert_eq!(runs.path(3.0), Some(&[0x1000, 0x1004][..]));
        assert_eq!(runs.path(2.0), Some(&[0x1ff0][..]));
        assert_eq!(runs.path(90.0), None);
        assert_eq!(runs.path(4.0), None);
    }

    #[test]
    fn each_core_has_its_ways() {
        let steps = [
            (0, 0x10),
            (1, 0x10),
            (0, 0x1000),
            (1, 0x2000),
            (0, 0x1004),
            (1, 0x12),
            (0, 0x12),
        ];
        let runs = trace().read(steps.map(line).concat().as_bytes());
        assert_eq!(runs.path(3.0), Some(&[0x1000, 0x1004][..]));
        assert_eq!(runs.path(2.0), Some(&[0x2000][..]));
    }
}
