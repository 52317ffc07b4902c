//! What only an analysis needs.

use super::{Case, Kind};

pub(super) const CASES: &[Case] = &[
    (
        r#"[component.a]
        slice = "1 s"
        job = { cost = "1 ms", period = "9 ms", arrivals = ["9 ms"] }
        [component.b]
        slice = "1 s"
        job = { cost = "1 ms", arrivals = [] }
        [component.c]
        slice = "1 s"
        job = { cost = "1 ms", arrivals = ["0 ms", "9 ms"] }
        [component.d]
        slice = "1 s"
        job = { cost = "1 ms", arrivals = ["3 ms", "2 ms"] }
        [component.e]
        budget = "2 ms"
        period = "10 ms"
        job = { cost = "1 ms", deadline = "9 ms", arrivals = ["1 ms", "2 ms", "14 ms"] }"#,
        &[
            (
                Kind::Conflict,
                "s:3:41: error: a job has either a period or a list of arrivals; remove `period`; the first of `arrivals` is the shortest time between two jobs",
            ),
            (
                Kind::MissingKey,
                "s:6:43: error: no arrivals are listed; write the shortest windows in which two, three, and more jobs arrive",
            ),
            (
                Kind::OutOfRange,
                "s:9:44: error: two jobs cannot arrive at once; write the shortest time between two jobs, or make them one job",
            ),
            (
                Kind::OutOfRange,
                "s:12:52: error: more jobs do not arrive in a shorter window; order the windows from the shortest to the longest",
            ),
            (
                Kind::JobTooLong,
                "s:16:24: error: 3 jobs take each 1 ms in every 14 ms, and the budget is 2 ms in every 10 ms; enlarge the budget, or reduce the cost",
            ),
        ],
    ),
    (
        r#"[scheduler.s]
        policy = "rms"
        decision = "1 us"
        [component.a]
        slice = "1 s"
        job.cost = "1 ms"
        job.period = "9 ms"
        scheduler = "t""#,
        &[
            (
                Kind::BadValue,
                "s:2:18: error: `rms` is none of the values of this key; there are `edf`, `edf-vd`",
            ),
            (
                Kind::UnknownName,
                "s:8:21: error: there is no scheduler `t`; there is none",
            ),
        ],
    ),
    (
        r#"[scheduler.s]
        policy = "edf"
        decision = "1 us"
        cores = [0, 9]
        [scheduler.t]
        policy = "edf"
        decision = "1 us"
        [component.a]
        slice = "1 s"
        job.cost = "1 ms"
        scheduler = "s""#,
        &[
            (
                Kind::OutOfRange,
                "s:4:21: error: on large: 9 is no core of this platform; write a number from 0 to 1",
            ),
            (
                Kind::OutOfRange,
                "s:4:21: error: on small: 9 is no core of this platform; write a number from 0 to 0",
            ),
            (
                Kind::Duplicate,
                "s:5:20: error: core 0 belongs to scheduler `s` already; add `cores = [...]`, or put its components under that one",
            ),
            (
                Kind::Unused,
                "s:5:20: warning: scheduler `t` runs no component; add `scheduler = \"...\"` to its components, or remove it",
            ),
            (
                Kind::MissingKey,
                "s:11:21: error: scheduler `s` runs jobs, and `a` has none; add `job = { cost = \"...\", period = \"...\" }`",
            ),
        ],
    ),
    (
        r#"[component.a]
        passive = true
        serves = ["e"]
        [component.a.guest]
        policy = "edf"
        task.b = { cost = "5 ms", period = "3 ms" }
        task.c = { cost = "0 ms", period = "3 ms" }
        [component.d]
        slice = "1 ms"
        job.cost = "1 ms"
        calls = ["a"]
        guest = { policy = "edf", task = {} }"#,
        &[
            (
                Kind::Conflict,
                "s:4:9: error: a guest needs time of its own; remove `passive`, and add `budget` and `period`",
            ),
            (
                Kind::JobTooLong,
                "s:6:27: error: the job takes 5 ms, and its deadline is 3 ms; lengthen the deadline, or reduce the cost",
            ),
            (
                Kind::OutOfRange,
                "s:7:27: error: the cost is zero; write how long it is at least or at most",
            ),
            (
                Kind::Conflict,
                "s:12:17: error: a component has either a job or a guest; make the job a task of the guest",
            ),
            (
                Kind::Conflict,
                "s:12:17: error: the guest has no tasks; add `task.NAME = { cost = \"...\", period = \"...\" }`",
            ),
        ],
    ),
    (
        r#"[component.a]
        slice = "1 ms"
        [component.a.guest]
        policy = "time-table"
        phase = "1 ms"
        task.b = { cost = "1 ms", period = "5 ms", offset = "2 ms" }
        task.c = { cost = "1 ms", period = "5 ms", offset = "2 ms", deadline = "4 ms" }
        task.d = { cost = "1 ms", period = "5 ms", deadline = "6 ms" }
        task.e = { cost = "4 ms", period = "5 ms", offset = "2 ms" }
        [component.f]
        slice = "1 ms"
        [component.f.guest]
        policy = "edf"
        phase = "1 ms"
        task.b = { cost = "1 ms", period = "5 ms", offset = "2 ms" }"#,
        &[
            (
                Kind::Conflict,
                "s:7:61: error: the job is due 6 ms after the start of its period of 5 ms; in a time table, a job is released and due within one period; shorten the offset or the deadline",
            ),
            (
                Kind::Conflict,
                "s:8:63: error: the job is due 6 ms after the start of its period of 5 ms; in a time table, a job is released and due within one period; shorten the offset or the deadline",
            ),
            (
                Kind::JobTooLong,
                "s:9:27: error: the job takes 4 ms, and its deadline is 3 ms; lengthen the deadline, or reduce the cost",
            ),
            (
                Kind::Conflict,
                "s:14:17: error: `phase` is for guests with a time table; remove `phase`, or write `policy = \"time-table\"`",
            ),
            (
                Kind::Conflict,
                "s:15:61: error: `offset` is for guests with a time table; remove `offset`, or write `policy = \"time-table\"`",
            ),
        ],
    ),
    (
        r#"[component.a]
        program = "a"
        slice = "1 ms"
        priority = 3
        devices = ["serial"]
        calls = ["b"]
        [component.b]
        program = "b"
        passive = true
        priority = 4
        serves.e.service = "2 ms"
        [interrupt.seril]
        gap = "1 ms""#,
        &[
            (
                Kind::Conflict,
                "s:11:28: error: `b` works on the time of its callers; write `cost` instead of `service`",
            ),
            (
                Kind::UnknownName,
                "s:12:20: error: there is no interrupt of a device `seril` that a component uses; did you mean `serial`?",
            ),
        ],
    ),
    (
        r#"[interrupt.anything]
        gap = "0 ms"
        core = 7
        [component.a]
        slice = "1 ms"
        [scheduler.s]
        policy = "edf"
        cores = []
        decision = "1 us""#,
        &[
            (
                Kind::OutOfRange,
                "s:2:15: error: the gap is zero; write how long it is at least or at most",
            ),
            (
                Kind::OutOfRange,
                "s:3:16: error: on large: 7 is no core of this platform; write a number from 0 to 1",
            ),
            (
                Kind::OutOfRange,
                "s:3:16: error: on small: 7 is no core of this platform; write a number from 0 to 0",
            ),
            (
                Kind::Unused,
                "s:6:20: warning: scheduler `s` runs no component; add `scheduler = \"...\"` to its components, or remove it",
            ),
            (
                Kind::MissingKey,
                "s:8:17: error: scheduler `s` has no core; name its cores, or remove `cores` for core 0",
            ),
        ],
    ),
];
