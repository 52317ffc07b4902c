//! Texts in which the time for overruns, or for the operations of a protocol, does not fit.

use super::{Case, Kind};

pub(super) const CASES: &[Case] = &[
    (
        "[component.a]\nbudget = \"7 ms\"\nperiod = \"10 ms\"\non-timeout = { extend = \"2 ms\" }\n\
         [component.b]\nbudget = \"2 ms\"\nperiod = \"10 ms\"",
        &[(
            Kind::CoreOverfull,
            "s:6:10: error: core 0 is promised 110 % of itself: a 70 %, a (extension) 20 %, b 20 %; reduce budgets, lengthen periods, or use another core",
        )],
    ),
    (
        "[component.a]\nbudget = \"7 ms\"\nperiod = \"10 ms\"\non-timeout = { extend = \"4 ms\" }",
        &[(
            Kind::BudgetOverPeriod,
            "s:4:25: error: the budget 7 ms of `a` and the extension 4 ms are above the period 10 ms; reduce one of them, or lengthen the period",
        )],
    ),
    (
        "[component.a]\nslice = \"7 ms\"\non-timeout = { extend = \"4 ms\" }\n\
         [component.b]\nslice = \"7 ms\"\non-timeout = { emergency = { budget = \"1 ms\", period = \"10 ms\" } }",
        &[
            (
                Kind::Conflict,
                "s:3:25: error: `a` has slices, and its time is never used up; remove `on-timeout`, or give it `budget` and `period`",
            ),
            (
                Kind::Conflict,
                "s:6:39: error: `b` has slices, and its time is never used up; remove `on-timeout`, or give it `budget` and `period`",
            ),
        ],
    ),
    (
        "[component.a]\nbudget = \"2 ms\"\nperiod = \"10 ms\"\ncalls = [\"b\"]\non-timeout = { extend = \"200 us\" }\n\
         [component.b]\npassive = true\nserves.x.threshold = \"1 ms\"\non-timeout = { extend = \"1 ms\" }",
        &[
            (
                Kind::BadThreshold,
                "s:4:10: error: `a` cannot call `b.x` in its extension time: that is 200 us, and the threshold needs 1.02 ms; lengthen it, or lower the threshold",
            ),
            (
                Kind::Conflict,
                "s:9:25: error: `b` is passive and has no budget that could be extended; write `{ emergency = { budget = \"...\", period = \"...\" } }`",
            ),
        ],
    ),
    (
        "[component.a]\nbudget = \"2 ms\"\nperiod = \"10 ms\"\ncalls = [\"b\"]\n\
         [component.b]\npassive = true\nserves = [\"x\"]\ncalls = [\"c\"]\non-timeout = { emergency = { budget = \"1 ms\", period = \"10 ms\" } }\n\
         [component.c]\npassive = true\nserves.y.threshold = \"1 ms\"",
        &[(
            Kind::BadThreshold,
            "s:8:10: error: `b` cannot call `c.y` in its emergency time: that is 1 ms, and the threshold needs 1.02 ms; lengthen it, or lower the threshold",
        )],
    ),
    (
        r#"[component.a]
        budget = "1 ms"
        period = "10 ms"
        calls = ["b"]
        on-fault = { handler = "c.x" }
        [component.b]
        passive = true
        serves.e = { threshold = "500 us", limit = true }
        on-timeout = "restart"
        on-fault = { handler = "c.y" }
        [component.c]
        passive = true
        serves.x.threshold = "2 ms"
        serves.y = {}"#,
        &[
            (
                Kind::BadThreshold,
                "s:5:32: error: `a` can never call `c.x`: its budget is 1 ms, and the threshold needs 2.02 ms; enlarge the budget, or lower the threshold",
            ),
            (
                Kind::LimitNesting,
                "s:10:32: error: `c.y` has no limit, and `b` runs under one; give it `limit = true` and a threshold of at most 500 us",
            ),
        ],
    ),
    (
        r#"[component.a]
        budget = "5 ms"
        period = "10 ms"
        calls.b = { to = "b.e", operations = ["put", "pop"], cost = "1 ms" }
        [component.b]
        passive = true
        serves.e = { protocol = "p::e", threshold = "2 ms", cost = { get = "1 ms", put = "2 ms", 9 = "1 ms" } }
        serves.f.cost = { get = "1 ms" }"#,
        &[
            (
                Kind::UnknownName,
                "s:4:54: error: there is no operation `pop` with a cost at `b.e`; there are `get`, `put`, `9`",
            ),
            (
                Kind::Conflict,
                "s:4:69: error: the cost of a request is that of its operations; remove `cost` or `operations`",
            ),
            (
                Kind::BadThreshold,
                r#"s:7:53: error: the threshold 2 ms does not cover the operation `put`: 2 ms and 20 us for the kernel; write at least `threshold = "2.02 ms"`"#,
            ),
            (
                Kind::BadName,
                "s:7:98: error: `9` is no name of an operation; write the name of the function in the protocol",
            ),
            (
                Kind::Conflict,
                r#"s:8:25: error: operations without a protocol have no costs; add `protocol = "CRATE::MODULE"`, or write one duration"#,
            ),
        ],
    ),
];
