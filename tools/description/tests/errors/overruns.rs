//! Texts in which the time for overruns does not fit.

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
];
