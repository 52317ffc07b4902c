//! Only `tests/`, which compare the analyses with the crate `response-time-analysis`.
