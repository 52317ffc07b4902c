//! As much of HTTP/1.1 as a browser on this machine needs: each connection has one request and its answer.
//!
//! There is no library for it, because this is less than what is left to do with one. (With tiny-http 0.12, requests
//! waited for minutes behind idle connections of the browser, which occupy the threads of its pool.)

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::request::{Refusal, Request};

/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 16 * 1024;
/// How long a client may take to send its request, and to read a part of the answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a request.
pub(super) fn receive(mut stream: &TcpStream) -> io::Result<Result<Request, Refusal>> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let end = Instant::now() + TIMEOUT;
    let (mut head, mut part) = (Vec::new(), [0; 2048]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = end.saturating_duration_since(Instant::now());
        // A timeout of zero would be none.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let count = stream.read(&mut part)?;
        head.extend_from_slice(&part[..count]);
        if count == 0 || left.is_zero() || head.len() > LONGEST_HEAD {
            return Ok(Err(Refusal::Malformed));
        }
    }
    Ok(parse(&head))
}

fn parse(head: &[u8]) -> Result<Request, Refusal> {
    let head = str::from_utf8(head).map_err(|_| Refusal::Malformed)?;
    let mut lines = head.split("\r\n");
    let first: Vec<_> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, url, "HTTP/1.1" | "HTTP/1.0"] = first[..] else {
        return Err(Refusal::Malformed);
    };
    let fields: Vec<_> = lines.filter_map(|line| line.split_once(':')).collect();
    let field = |wanted: &str| {
        let is_it = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(wanted);
        fields
            .iter()
            .find(is_it)
            .map_or("", |(_, value)| value.trim())
    };
    // A page of another site makes its reader's browser ask.
    if field("sec-fetch-site") == "cross-site" {
        return Err(Refusal::OtherHost);
    }
    Request::parse(method, field("host"), url)
}

/// Sends an answer: its type and text.
pub(super) fn send(
    mut stream: &TcpStream,
    answer: &Result<(&str, String), Refusal>,
) -> io::Result<()> {
    let (status, kind, text) = match answer {
        Ok((kind, text)) => ("200 OK", *kind, text),
        Err(refusal) => (refusal.status(), "text/plain", &(refusal.sentence() + "\n")),
    };
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         Allow: GET\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{Refusal, Request, parse};

    #[test]
    fn heads_are_read() {
        let page = b"GET / HTTP/1.1\r\nAccept: */*\r\nhost:  localhost:80 \r\n\r\n";
        assert_eq!(parse(page), Ok(Request::Page));
        assert_eq!(parse(b"GET / HTTP/1.1\r\n\r\n"), Err(Refusal::OtherHost));
        let from_elsewhere =
            b"GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n";
        assert_eq!(parse(from_elsewhere), Err(Refusal::OtherHost));
        for bad in [
            &b"GET /\r\n\r\n"[..],
            b"GET / HTTP/2\r\n\r\n",
            b"GET  / HTTP/1.1\r\n\r\n",
            b"\r\n\r\n",
            b"GET /\xff HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(parse(bad), Err(Refusal::Malformed));
        }
    }
}
