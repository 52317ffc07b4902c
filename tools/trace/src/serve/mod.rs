//! The page of long traces, on this machine only: the traces stay in this process, and the page requests what is in view.

mod http;
mod request;

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Trace;
use crate::export::viewer::{Findings, Shown, Tile, lanes, page, sums};
use request::{Refusal, Request};

/// The most connections that are answered at once; a browser has some for each page.
const MOST_CONNECTIONS: usize = 64;
/// How long the server waits after a connection that it did not get.
const PAUSE: Duration = Duration::from_millis(100);

/// Traces with their page.
pub struct Site {
    /// The page, which asks for the rest.
    pub page: String,
    served: Vec<Served>,
    /// Until they are analysed.
    traces: Vec<Trace>,
}

struct Served {
    shown: Shown,
    /// Known later than the lanes.
    findings: OnceLock<Findings>,
}

impl Site {
    /// The page of traces, each with its name.
    pub fn new(traces: Vec<(String, Trace)>) -> Self {
        let (names, traces): (Vec<_>, Vec<_>) = traces.into_iter().unzip();
        let served = names.iter().zip(&traces).map(|(name, trace)| Served {
            shown: Shown::new(name, trace),
            findings: OnceLock::new(),
        });
        let served: Vec<_> = served.collect();
        let data: Value = served.iter().map(|one| one.shown.to_json()).collect();
        Self {
            page: page(&data),
            served,
            traces,
        }
    }

    /// Analyses traces. The page waits for that before it says what is wrong with them.
    fn analyse(&self, traces: Vec<Trace>) {
        for (served, trace) in self.served.iter().zip(traces) {
            let timeline = &served.shown.timeline;
            served
                .findings
                .get_or_init(|| Findings::of(&trace, timeline));
        }
    }

    /// The type and the text of the answer to a request.
    fn answer(&self, request: Result<Request, Refusal>) -> Result<(&'static str, String), Refusal> {
        let served = |trace: usize| self.served.get(trace).ok_or(Refusal::NotFound);
        let next = |trace, target, time, is_backwards| {
            let found = served(trace)?
                .findings
                .wait()
                .next(target, time, is_backwards);
            Ok(json!({ "time": found }))
        };
        let data = match request? {
            Request::Page => return Ok(("text/html; charset=utf-8", self.page.clone())),
            Request::Findings { trace } => served(trace)?.findings.wait().to_json(),
            Request::Tile {
                trace,
                level,
                index,
            } => {
                let Served { shown, findings } = served(trace)?;
                let tile = Tile::new(&shown.timeline, level, index).ok_or(Refusal::NotFound)?;
                lanes(tile, shown, findings.get())
            }
            Request::Sums { trace, from, to } => {
                let Served { shown, findings } = served(trace)?;
                sums(shown, findings.get(), from, to)
            }
            Request::Corrected { trace, from, to } => served(trace)?.shown.corrected(from, to),
            Request::Next {
                trace,
                target,
                time,
            } => next(trace, target, time, false)?,
            Request::Previous {
                trace,
                target,
                time,
            } => next(trace, target, time, true)?,
        };
        Ok(("application/json", data.to_string()))
    }

    /// Answers the request of a connection. The browser may have gone.
    fn respond(&self, stream: &TcpStream) -> io::Result<()> {
        let request = http::receive(stream)?;
        http::send(stream, &self.answer(request))
    }
}

/// A server for the browser of this machine.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

impl Server {
    /// Takes a free port, and begins to analyse the traces.
    ///
    /// # Errors
    /// If there is no port.
    pub fn bind(mut site: Site) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let traces = mem::take(&mut site.traces);
        let site = Arc::new(site);
        let analysed = Arc::clone(&site);
        thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| analysed.analyse(traces)));
            if result.is_err() {
                // The page would wait for what never comes.
                process::exit(101);
            }
        });
        Ok(Self {
            listener,
            address,
            site,
        })
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers requests, several at once, as long as this process runs.
    pub fn run(&self) {
        for stream in self.listener.incoming() {
            let site = Arc::clone(&self.site);
            // Beside the one that the site itself holds.
            let answered = Arc::strong_count(&self.site) - 1;
            let Ok(stream) = stream else {
                // There may be too many open files, of other programs.
                thread::sleep(PAUSE);
                continue;
            };
            if answered <= MOST_CONNECTIONS {
                let answer = thread::Builder::new().spawn(move || site.respond(&stream));
                // Without a thread for it, the connection ends.
                drop(answer);
            }
        }
    }
}
