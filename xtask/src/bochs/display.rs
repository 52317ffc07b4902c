//! The screen of Bochs without a window: a client of the remote framebuffer protocol (RFC 6143) that ignores
//! all output. Bochs does not start without a client.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bochs listens on the first of these ports that is free.
const PORTS: std::ops::Range<u16> = 5900..5910;
const PAUSE: Duration = Duration::from_millis(100);
/// The protocol's version that Bochs speaks.
const VERSION: &[u8; 12] = b"RFB 003.003\n";
/// Other clients may connect, too.
const SHARED: &[u8] = &[1];

/// A connection.
pub(super) struct Display<'a> {
    stream: TcpStream,
    ended: &'a AtomicBool,
}

impl<'a> Display<'a> {
    /// Connects; `None` if Bochs has ended before.
    pub(super) fn connect(ended: &'a AtomicBool) -> Option<Self> {
        while !ended.load(Ordering::Relaxed) {
            for port in PORTS {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                if let Ok(stream) = TcpStream::connect_timeout(&address, PAUSE)
                    && let Some(display) = Self::greet(stream, ended)
                {
                    return Some(display);
                }
            }
            std::thread::sleep(PAUSE);
        }
        None
    }

    /// The handshake: versions, security (none), and whether the connection is shared.
    fn greet(mut stream: TcpStream, ended: &'a AtomicBool) -> Option<Self> {
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let mut version = [0; 12];
        stream.read_exact(&mut version).ok()?;
        if !version.starts_with(b"RFB ") {
            return None;
        }
        stream.write_all(VERSION).ok()?;
        let mut security = [0; 4];
        stream.read_exact(&mut security).ok()?;
        stream.write_all(SHARED).ok()?;
        stream.set_read_timeout(Some(PAUSE)).ok()?;
        Some(Self { stream, ended })
    }

    /// Reads all output, until the end.
    pub(super) fn watch(mut self) {
        let mut bytes = [0; 4096];
        while !self.ended.load(Ordering::Relaxed) {
            // A timeout is an error, but does not end the connection.
            if let Ok(0) = self.stream.read(&mut bytes) {
                return;
            }
        }
    }
}
