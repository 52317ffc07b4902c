//! The requests that the page may make. All others are refused.

use std::collections::HashMap;

/// A request of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The page itself.
    Page,
    /// What is found in a trace as a whole.
    Findings { trace: usize },
    /// The lanes in a part of a trace, at a level of detail.
    Tile {
        trace: usize,
        level: u32,
        index: u64,
    },
    /// The sums over a part of a trace, from one time to another.
    Sums { trace: usize, from: u64, to: u64 },
    /// A span from one time to another, without the cost of its events.
    Corrected { trace: usize, from: u64, to: u64 },
    /// The next target of a kind after a time.
    Next {
        trace: usize,
        target: usize,
        time: u64,
    },
    /// The last target of a kind before a time.
    Previous {
        trace: usize,
        target: usize,
        time: u64,
    },
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is no HTTP, or too long.
    Malformed,
    /// It is not for this machine by its own name, as when another site's name leads here.
    OtherHost,
    /// It is no GET.
    Method,
    /// There is nothing of that name.
    NotFound,
    /// A parameter is missing, or is no number.
    Parameter(&'static str),
}

impl Refusal {
    /// Its status in HTTP.
    pub(super) const fn status(self) -> &'static str {
        match self {
            Self::Malformed | Self::OtherHost | Self::Parameter(_) => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::Method => "405 Method Not Allowed",
        }
    }

    /// A sentence about it.
    pub(super) fn sentence(self) -> String {
        match self {
            Self::Malformed => {
                "this is no request in HTTP/1.1, or one that is too long".to_string()
            }
            Self::OtherHost => "this page is only for 127.0.0.1 and localhost".to_string(),
            Self::Method => "only GET is answered".to_string(),
            Self::NotFound => "there is nothing here".to_string(),
            Self::Parameter(name) => {
                format!("the parameter `{name}` is missing, or no whole number from 0 on")
            }
        }
    }
}

impl Request {
    /// The request with a method, for a host and its port, and for a path with parameters.
    pub(super) fn parse(method: &str, host: &str, url: &str) -> Result<Self, Refusal> {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if !["127.0.0.1", "localhost"].contains(&name) {
            return Err(Refusal::OtherHost);
        }
        if method != "GET" {
            return Err(Refusal::Method);
        }
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let parameters: HashMap<_, _> = query
            .split('&')
            .filter_map(|one| one.split_once('='))
            .collect();
        let number = |name| {
            let value = parameters.get(name);
            value
                .and_then(|value| value.parse::<u64>().ok())
                .ok_or(Refusal::Parameter(name))
        };
        let index = |name| usize::try_from(number(name)?).map_err(|_| Refusal::Parameter(name));
        let trace = index("trace");
        Ok(match path {
            "/" => Self::Page,
            "/findings" => Self::Findings { trace: trace? },
            "/tile" => Self::Tile {
                trace: trace?,
                level: u32::try_from(number("level")?).map_err(|_| Refusal::Parameter("level"))?,
                index: number("index")?,
            },
            "/sums" => Self::Sums {
                trace: trace?,
                from: number("from")?,
                to: number("to")?,
            },
            "/corrected" => Self::Corrected {
                trace: trace?,
                from: number("from")?,
                to: number("to")?,
            },
            "/next" => Self::Next {
                trace: trace?,
                target: index("target")?,
                time: number("time")?,
            },
            "/previous" => Self::Previous {
                trace: trace?,
                target: index("target")?,
                time: number("time")?,
            },
            _ => return Err(Refusal::NotFound),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Refusal, Request};

    fn get(url: &str) -> Result<Request, Refusal> {
        Request::parse("GET", "127.0.0.1:4000", url)
    }

    #[test]
    fn the_page_asks() {
        assert_eq!(get("/"), Ok(Request::Page));
        assert_eq!(get("/findings?trace=1"), Ok(Request::Findings { trace: 1 }));
        let tile = Request::Tile {
            trace: 0,
            level: 3,
            index: 5,
        };
        assert_eq!(get("/tile?trace=0&level=3&index=5"), Ok(tile));
        let sums = Request::Sums {
            trace: 0,
            from: 7,
            to: 9,
        };
        assert_eq!(
            Request::parse("GET", "localhost:1", "/sums?to=9&from=7&trace=0"),
            Ok(sums)
        );
        let corrected = Request::Corrected {
            trace: 1,
            from: 7,
            to: 9,
        };
        assert_eq!(get("/corrected?trace=1&from=7&to=9"), Ok(corrected));
        let (trace, target, time) = (0, 2, 8);
        let next = Request::Next {
            trace,
            target,
            time,
        };
        assert_eq!(get("/next?trace=0&target=2&time=8"), Ok(next));
        let previous = Request::Previous {
            trace,
            target,
            time,
        };
        assert_eq!(get("/previous?trace=0&target=2&time=8"), Ok(previous));
    }

    #[test]
    fn all_else_is_refused() {
        for url in [
            "/page.js",
            "/../Cargo.toml",
            "//",
            "",
            "/tile/",
            "/%2e%2e/",
            "http://127.0.0.1/",
        ] {
            assert_eq!(get(url), Err(Refusal::NotFound), "{url}");
        }
        let missing = [
            ("/tile?trace=0&level=3", "index"),
            ("/tile?level=3&index=1", "trace"),
            ("/tile?trace=0&level=-1&index=1", "level"),
            ("/tile?trace=0&level=4294967296&index=1", "level"),
            ("/sums?trace=0&from=x&to=9", "from"),
            ("/sums?trace=0&from=1", "to"),
            ("/next?trace=0&target=1&time=99999999999999999999", "time"),
        ];
        for (url, name) in missing {
            assert_eq!(get(url), Err(Refusal::Parameter(name)), "{url}");
        }
        assert_eq!(
            Request::parse("POST", "localhost", "/"),
            Err(Refusal::Method)
        );
        for host in [
            "example.org:4000",
            "",
            "127.0.0.1.example.org",
            "localhost.:1",
        ] {
            assert_eq!(
                Request::parse("GET", host, "/"),
                Err(Refusal::OtherHost),
                "{host}"
            );
        }
    }
}
