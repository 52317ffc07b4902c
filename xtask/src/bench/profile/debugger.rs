//! Starts the trace only where the benchmarks begin.
//!
//! Tracing each instruction makes the emulator a thousand times slower, and booting and loading programs
//! takes millions of instructions. So the emulator runs normally until a breakpoint at the first time stamp;
//! then its monitor is told to trace, and the machine continues. This takes only five packets of the GDB
//! remote protocol (GDB manual, appendix "GDB Remote Serial Protocol").

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::Result;
use crate::temporary;

/// The connection to an emulator.
pub(super) struct Debugger {
    stream: UnixStream,
}

/// The socket at which an emulator waits for its debugger.
pub(super) struct Socket {
    folder: temporary::Folder,
}

impl Socket {
    pub(super) fn new() -> Result<Self> {
        let folder = temporary::Folder::new()?;
        Ok(Self { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("gdb")
    }

    /// QEMU's arguments.
    pub(super) fn arguments(&self) -> [OsString; 3] {
        let mut socket = OsString::from("unix:");
        socket.push(self.path());
        socket.push(",server=on,wait=off");
        ["-S".into(), "-gdb".into(), socket]
    }

    /// Connects to the emulator, when it is ready.
    pub(super) fn connect(&self) -> Result<Debugger> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let begin = Instant::now();
        loop {
            match UnixStream::connect(self.path()) {
                Ok(stream) => return Ok(Debugger { stream }),
                Err(error) if begin.elapsed() > PATIENCE => {
                    return Err(error).context("the emulator accepts no debugger");
                }
                Err(_) => sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// Whether an error of [`Debugger`] is that the emulator has ended.
pub(super) fn is_end(error: &anyhow::Error) -> bool {
    const ENDS: [ErrorKind; 3] = [
        ErrorKind::UnexpectedEof,
        ErrorKind::BrokenPipe,
        ErrorKind::ConnectionReset,
    ];
    let cause = error.root_cause().downcast_ref::<io::Error>();
    cause.is_some_and(|cause| ENDS.contains(&cause.kind()))
}

impl Debugger {
    /// Lets the machine run to the first of some addresses, then sends commands to the emulator's monitor and
    /// lets the machine continue.
    pub(super) fn run_to(mut self, addresses: &[u64], commands: &[&str]) -> Result<()> {
        for address in addresses {
            self.expect_ok(&format!("Z0,{address:x},4"))?;
        }
        self.send("c")?;
        self.receive()?;
        for command in commands {
            let hex: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
            self.expect_ok(&format!("qRcmd,{hex}"))?;
        }
        for address in addresses {
            self.expect_ok(&format!("z0,{address:x},4"))?;
        }
        self.expect_ok("D")
    }

    fn expect_ok(&mut self, packet: &str) -> Result<()> {
        self.send(packet)?;
        loop {
            match &*self.receive()? {
                "OK" => return Ok(()),
                // Output of the monitor.
                output if output.starts_with('O') => {}
                answer => bail!("the emulator answers {packet} by {answer}"),
            }
        }
    }

    fn send(&mut self, packet: &str) -> Result<()> {
        let sum = packet.bytes().fold(0, u8::wrapping_add);
        write!(self.stream, "${packet}#{sum:02x}")?;
        Ok(())
    }

    /// The next packet.
    fn receive(&mut self) -> Result<String> {
        while self.byte()? != b'$' {}
        let mut packet = String::new();
        loop {
            match self.byte()? {
                b'#' => break,
                byte => packet.push(char::from(byte)),
            }
        }
        // The checksum, which is not verified: the connection is reliable.
        self.byte()?;
        self.byte()?;
        self.stream.write_all(b"+")?;
        Ok(packet)
    }

    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.stream
            .read_exact(&mut byte)
            .context("the emulator has ended")?;
        Ok(byte[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_that_ends_is_told_from_one_that_answers_something_else() {
        let answer = |bytes: &[u8]| {
            let (stream, mut emulator) = UnixStream::pair().unwrap();
            emulator.write_all(bytes).unwrap();
            // Of what is sent to it, nothing is read.
            let mut debugger = Debugger { stream };
            if bytes.is_empty() {
                drop(emulator);
            }
            debugger.expect_ok("D").unwrap_err()
        };
        assert!(is_end(&answer(b"")));
        assert!(!is_end(&answer(b"$E22#a9")));
    }
}
