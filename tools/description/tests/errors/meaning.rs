//! Texts that can be read and do not fit together.

use super::{Case, Kind};

pub(super) const CASES: &[Case] = &[
    (
        "[component.a]\npassive = true\npriority = 2\nserves.x = { protocol = \"my-crate::sums\" }\n\
         [component.b]\nslice = \"1 ms\"\npriority = 1\ncalls = [\"a\"]",
        &[(
            Kind::BadValue,
            "s:4:25: error: `my-crate::sums` is no path of a protocol; write the crate, with `_` for `-`, and the module: `CRATE::MODULE`",
        )],
    ),
    (
        "root = \"r\"\n[component.a]\nslice = \"1 ms\"\npriority = 1\nasks-supervisor = true",
        &[(
            Kind::Conflict,
            "s:5:19: error: the supervisor would do this, but the root task `r` is in its place; write `{ handler = \"COMPONENT.ENDPOINT\" }`, or remove `root`",
        )],
    ),
    (
        "[component.a]\nprogram = \"p\"\nslice = \"1 ms\"\npriority = 1\narguments.rate = -1\n\
         [component.b]\nprogram = \"p\"\nslice = \"1 ms\"\npriority = 1\narguments.rate = 3_000_000_000",
        &[(
            Kind::OutOfRange,
            "s:10:11: error: on small: the argument `rate` is 3000000000, no word of 32 bits; write a smaller number, or another one in `[platform.small]`",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ndevices = { a-port-for-the-thermometer = \"serial\" }\n\
         [component.the-component-of-which-there-is]\nslice = \"1 ms\"\ninstances = 1",
        &[
            (
                Kind::BadName,
                "s:3:13: error: `a-port-for-the-thermometer-interrupt`, which is made of this name, has more than 32 letters; use a shorter name",
            ),
            (
                Kind::BadName,
                "s:4:12: error: `the-component-of-which-there-is-0`, which is made of this name, has more than 32 letters; use a shorter name",
            ),
        ],
    ),
    (
        "memory.code = { size = \"4 KiB\", cacheable = false }\n\
         [component.a]\nslice = \"1 ms\"\nmemory.code = \"read-write\"\n\
         [component.b]\nslice = \"1 ms\"\nmemory.code = \"read-execute\"",
        &[(
            Kind::Rights,
            "s:7:8: error: `code` is not cacheable, and programs are not executed there; let it be cacheable, or ask for `read`",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\narguments = { \"9x\" = 1, large = 5_000_000_000, small = -1 }",
        &[
            (
                Kind::BadName,
                "s:3:15: error: `9x` is no name of a value for a program; begin with a letter, and use letters, digits, `-` and `_`, 32 at the most",
            ),
            (
                Kind::OutOfRange,
                "s:3:25: error: on small: the argument `large` is 5000000000, no word of 32 bits; write a smaller number, or another one in `[platform.small]`",
            ),
        ],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nbudget = \"1 ms\"\nperiod = \"2 ms\"",
        &[(
            Kind::Conflict,
            "s:2:9: error: a component has either a slice or a budget; remove `slice`, or `budget` and `period`",
        )],
    ),
    (
        "root = \"r\"\n[component.a]\npriority = 1\npassive = true\nslice = \"1 ms\"",
        &[(
            Kind::Conflict,
            "s:4:11: error: a passive component has no time of its own; remove `passive`, or its budget or slice",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nstartup = { budget = \"1 ms\", period = \"2 ms\" }\nidling = true",
        &[
            (
                Kind::Conflict,
                "s:3:22: error: only a passive component has startup time; remove `startup`, or add `passive = true`",
            ),
            (
                Kind::Conflict,
                "s:4:10: error: `idling` has no effect without a budget; remove it, or add `budget` and `period`",
            ),
        ],
    ),
    (
        "supervisor.priority = 9\n[component.a]\nprogram = \"a\"\npriority = 9\nslice = \"1 ms\"\n[component.b]\nprogram = \"a\"\npriority = 10\nslice = \"1 ms\"",
        &[(
            Kind::CoreOverfull,
            "s:9:9: error: the slice of `b`, with priority 10, leaves no time to the supervisor, which has 9; give it `budget` and `period`, or a priority of at most 9",
        )],
    ),
    (
        "root = \"r\"\nsupervisor.priority = 9",
        &[(
            Kind::Conflict,
            "s:2:23: error: the supervisor is part of the generic root task, but the root task is `r`; remove `supervisor`, or `root`",
        )],
    ),
    (
        "root = \"r\"\n[component.a]\npriority = 1\nslice = \"1 ms\"\non-fault = \"restart\"",
        &[(
            Kind::Conflict,
            r#"s:5:12: error: the supervisor would do this, but the root task `r` is in its place; write `{ handler = "COMPONENT.ENDPOINT" }`, or remove `root`"#,
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nrestarts = { most = 3, within = \"1 s\" }",
        &[(
            Kind::Conflict,
            r#"s:3:21: error: `a` is never restarted; remove `restarts`, or add `on-fault = "restart"`"#,
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ninstances = 3\ncore = [0, 0]",
        &[(
            Kind::Conflict,
            "s:4:8: error: there are 2 cores for 3 instances; write one core for each instance, or one for all",
        )],
    ),
    (
        "[component.a]\nprogram = \"a\"\npriority = 1\nslice = \"1 ms\"\n[component.b]\npriority = 1\nslice = \"1 ms\"",
        &[(
            Kind::NoProgram,
            r#"s:5:12: error: component `b` has no program, but others have; add `program = "..."`, the name of its crate"#,
        )],
    ),
    (
        "[component.a]",
        &[(
            Kind::NoTime,
            "s:1:12: error: component `a` has no time; add `budget` and `period`, or `slice`, or `passive = true`",
        )],
    ),
    (
        "[component.a]\nbudget = \"10 us\"\nperiod = \"400 min\"\npriority = -1",
        &[
            (
                Kind::OutOfRange,
                "s:2:10: error: the budget 10 us is too short; write at least 20 us, which entering and leaving the kernel takes",
            ),
            (
                Kind::OutOfRange,
                "s:4:12: error: -1 is no priority; write a number from 0 to 255",
            ),
        ],
    ),
    (
        "[component.a]\nbudget = \"20.5 us\"\nperiod = \"9999999 min\"",
        &[
            (
                Kind::OutOfRange,
                "s:2:10: error: the budget 20.5 us is no whole number of microseconds; the kernel counts in us",
            ),
            (
                Kind::OutOfRange,
                "s:3:10: error: the period 599999940 s is too long; write at most a year",
            ),
        ],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncore = 1",
        &[(
            Kind::OutOfRange,
            "s:3:8: error: on small: there is no core 1; the only core is 0",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncriticality = 8\nstack = \"5000 B\"",
        &[
            (
                Kind::OutOfRange,
                "s:3:15: error: 8 is no criticality; write a number from 0 to 7",
            ),
            (
                Kind::OutOfRange,
                "s:4:9: error: a stack of 5000 B is no whole number of pages; write a multiple of 4 KiB",
            ),
        ],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncalls.b = { to = \"b\", badge = 268435456, times = -1 }\n\
         [component.b]\nslice = \"1 ms\"\nserves = [\"e\"]",
        &[
            (
                Kind::OutOfRange,
                "s:3:31: error: on small: 268435456 is no badge; write a number from 1 to 268435455",
            ),
            (
                Kind::OutOfRange,
                "s:3:50: error: -1 is no number of calls; write a number from 0 to 1000000",
            ),
        ],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ninstances = 1000000",
        &[(
            Kind::OutOfRange,
            "s:3:13: error: 1000000 is no number of instances; write a number from 1 to 64",
        )],
    ),
    (
        "[component.a]\nbudget = \"20 ms\"\nperiod = \"10 ms\"",
        &[(
            Kind::BudgetOverPeriod,
            "s:2:10: error: the budget 20 ms is above the period 10 ms; reduce the budget, or lengthen the period",
        )],
    ),
    (
        "[component.a]\nbudget = \"10 ms\"\nperiod = \"10 ms\"",
        &[(
            Kind::WholePeriod,
            r#"s:2:10: error: a budget that equals its period means round robin, without a bound; write `slice = "10 ms"` if that is meant, or reduce the budget"#,
        )],
    ),
    (
        "[component.a]\nbudget = \"6 ms\"\nperiod = \"10 ms\"\n[component.b]\nbudget = \"8 ms\"\nperiod = \"19 ms\"",
        &[(
            Kind::CoreOverfull,
            "s:5:10: error: core 0 is promised 102.2 % of itself: a 60 %, b 42.2 %; reduce budgets, lengthen periods, or use another core",
        )],
    ),
    (
        "supervisor = { budget = \"9 ms\", period = \"10 ms\" }\n\
         [component.a]\nprogram = \"a\"\npriority = 1\nbudget = \"1 ms\"\nperiod = \"10 ms\"\n\
         on-timeout = { emergency = { budget = \"1 ms\", period = \"10 ms\" } }",
        &[(
            Kind::CoreOverfull,
            "s:1:25: error: core 0 is promised 110 % of itself: supervisor 90 %, a 10 %, a (emergency) 10 %; reduce budgets, lengthen periods, or use another core",
        )],
    ),
    (
        r#"schedule = [
            { domain = "x", duration = "3 ms" },
            { domain = "y", duration = "7 ms" },
        ]
        [component.a]
        budget = "4 ms"
        period = "10 ms"
        domain = "x""#,
        &[(
            Kind::DomainOverfull,
            "s:6:18: error: domain `x` is promised 40 % of core 0, and its turns are 30 %: a 40 %; lengthen its turns, or reduce budgets",
        )],
    ),
    (
        "[component.a]\nbudget = \"2 ms\"\nperiod = \"10 ms\"\njob = { cost = \"3 ms\" }",
        &[(
            Kind::JobTooLong,
            "s:4:16: error: the job takes 3 ms in every 10 ms, and the budget is 2 ms in every 10 ms; enlarge the budget, or reduce the cost",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\njob = { cost = [\"3 ms\", \"2 ms\"], deadline = \"1 ms\" }",
        &[
            (
                Kind::JobTooLong,
                "s:3:17: error: the job takes 3 ms, and its deadline is 1 ms; lengthen the deadline, or reduce the cost",
            ),
            (
                Kind::JobTooLong,
                "s:3:25: error: the cost of a higher criticality is less than that of a lower one; order the costs from the lowest criticality to the highest",
            ),
        ],
    ),
    (
        r#"[component.a]
        slice = "1 ms"
        priority = 9
        calls = ["b", "c"]
        [component.b]
        passive = true
        priority = 8
        serves = ["e"]
        [component.c]
        slice = "1 ms"
        priority = 7
        serves = ["f"]"#,
        &[
            (
                Kind::CeilingBroken,
                "s:4:18: error: `b` has priority 8, below the 9 of its caller `a`; raise the priority of `b` to at least 9",
            ),
            (
                Kind::CeilingBroken,
                "s:4:23: warning: `c` has priority 7, below the 9 of its caller `a`; raise the priority of `c` to at least 9",
            ),
        ],
    ),
    (
        r#"[component.a]
        slice = "1 ms"
        serves = ["e"]
        calls = ["b"]
        [component.b]
        slice = "1 ms"
        serves = ["e"]
        calls.c = "c"
        [component.c]
        slice = "1 ms"
        serves = ["e"]
        calls = ["a"]"#,
        &[(
            Kind::CallCycle,
            "s:12:18: error: these components wait for each other: a -> b -> c -> a; replace one of the calls by a signal",
        )],
    ),
    (
        "[component.a]\npassive = true\nserves = [\"e\"]",
        &[(
            Kind::PassiveUncalled,
            "s:2:11: error: no component calls `a`, so it never runs; let a component call it, or give it `budget` and `period`",
        )],
    ),
    (
        r#"[component.a]
        budget = "2 ms"
        period = "10 ms"
        calls = ["b"]
        [component.b]
        passive = true
        serves.e = { threshold = "2 ms", cost = "1.99 ms" }"#,
        &[
            (
                Kind::BadThreshold,
                "s:4:18: error: `a` can never call `b.e`: its budget is 2 ms, and the threshold needs 2.02 ms; enlarge the budget, or lower the threshold",
            ),
            (
                Kind::BadThreshold,
                r#"s:7:34: error: the threshold 2 ms does not cover the request: 1.99 ms and 20 us for the kernel; write at least `threshold = "2.01 ms"`"#,
            ),
        ],
    ),
    (
        r#"[component.a]
        budget = "1 ms"
        period = "10 ms"
        calls = ["b"]
        [component.b]
        passive = true
        serves = ["e"]
        calls = ["c"]
        [component.c]
        passive = true
        serves.f.threshold = "3 ms""#,
        &[(
            Kind::BadThreshold,
            "s:8:18: error: `a` can never call `c.f`: its budget is 1 ms, and the threshold needs 3.02 ms; enlarge the budget, or lower the threshold",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nserves.e.limit = true\nserves.f.donation-required = true\n\
         serves.g.threshold = \"1 ms\"\nserves.h.tell-budget = true",
        &[
            (
                Kind::BadThreshold,
                r#"s:3:8: error: the limit of `a.e` has no amount; add `threshold = "..."`"#,
            ),
            (
                Kind::BadThreshold,
                "s:4:8: error: no caller can lend its time to `a`, which has time of its own; make it `passive = true`, or remove the condition",
            ),
            (
                Kind::BadThreshold,
                "s:5:22: error: no caller can lend its time to `a`, which has time of its own; make it `passive = true`, or remove the condition",
            ),
            (
                Kind::BadThreshold,
                "s:6:8: error: no caller can lend its time to `a`, which has time of its own; make it `passive = true`, or remove the condition",
            ),
        ],
    ),
    (
        r#"[component.a]
        slice = "9 ms"
        calls = ["b"]
        [component.b]
        passive = true
        serves.e = { threshold = "2 ms", limit = true }
        calls = ["c.f", "c.g"]
        on-timeout = "restart"
        [component.c]
        passive = true
        serves.f = {}
        serves.g = { threshold = "3 ms", limit = true }"#,
        &[
            (
                Kind::LimitNesting,
                "s:7:18: error: `c.f` has no limit, and `b` runs under one; give it `limit = true` and a threshold of at most 2 ms",
            ),
            (
                Kind::LimitNesting,
                "s:7:25: error: the limit 3 ms of `c.g` exceeds the 2 ms under which `b` runs; give it `limit = true` and a threshold of at most 2 ms",
            ),
            (
                Kind::BadThreshold,
                r#"s:12:16: error: the limit of `c.g` ends a request, and after that `c` would never receive again; add `on-timeout = "restart"`, `"stop"` or a handler"#,
            ),
        ],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncalls.b = { to = \"b\", grant = true }\n\
         [component.b]\nslice = \"1 ms\"\nserves = [\"e\"]",
        &[(
            Kind::Rights,
            "s:3:31: error: `b.e` accepts no capabilities; remove `grant`, or add `accepts-capabilities = true` to the endpoint",
        )],
    ),
    (
        "memory.m = { size = \"4 KiB\", rights = \"read\" }\n[component.a]\nslice = \"1 ms\"\nmemory.m = \"read-write\"",
        &[(
            Kind::Rights,
            "s:4:8: error: no component may write `m`; ask for less, or change `rights` of the memory",
        )],
    ),
    (
        "memory.m.size = \"4 KiB\"\n[component.a]\nslice = \"1 ms\"\nmemory.m = \"read\"",
        &[(
            Kind::Rights,
            "s:1:8: error: all components only read the memory `m`, which stays empty; let one of them have `read-write`",
        )],
    ),
    (
        "memory.m.size = \"16 MiB\"\n[component.a]\nslice = \"1 ms\"\nmemory.m = \"read-write\"",
        &[(
            Kind::MemoryTooLarge,
            "s:1:17: error: on small: stacks, heaps and shared memory take 17 MiB, and the platform has 16 MiB; reduce this, the largest part, or others",
        )],
    ),
    (
        r#"[component.a]
        slice = "1 ms"
        priority = 9
        on-timeout = { handler = "b" }
        on-fault.handler = "a"
        serves = ["e"]
        [component.b]
        passive = true
        priority = 8
        serves = ["f"]"#,
        &[
            (
                Kind::BadHandler,
                "s:4:34: error: the handler `b` has priority 8, below the 9 of `a`; raise its priority to at least 9",
            ),
            (
                Kind::BadHandler,
                "s:4:34: error: `b` is passive and gets no time with a timeout, as there is none left; give it `budget` and `period`",
            ),
            (
                Kind::BadHandler,
                "s:5:28: error: `a` cannot handle its own faults and timeouts; name another component, or an action of the supervisor",
            ),
        ],
    ),
    (
        r#"[component.server]
        passive = true
        priority = 9
        on-timeout = { handler = "doctor" }
        on-fault = { handler = "doctor" }
        serves = ["r"]
        [component.doctor]
        slice = "1 ms"
        priority = 9
        serves = ["e"]
        [component.client]
        slice = "1 ms"
        calls = ["server"]"#,
        &[(
            Kind::BadHandler,
            "s:4:34: error: the handler `doctor` has priority 9, not above the 9 of `server`; raise its priority above 9, so that it preempts all callers",
        )],
    ),
    (
        "supervisor.priority = 8\n[component.server]\nprogram = \"s\"\npassive = true\npriority = 9\non-timeout = \"restart\"\n\
         serves = [\"r\"]\n[component.client]\nprogram = \"c\"\nslice = \"1 ms\"\n\
         priority = 2\ncalls = [\"server\"]",
        &[(
            Kind::BadHandler,
            "s:6:14: error: the handler `supervisor` has priority 8, not above the 9 of `server`; raise its priority above 9, so that it preempts all callers",
        )],
    ),
    (
        "memory.m.size = \"4 KiB\"",
        &[(
            Kind::Unused,
            r#"s:1:8: warning: no component uses the memory `m`; add `memory.NAME = "read-write"` to components, or remove it"#,
        )],
    ),
    (
        "[component.a]\npassive = true\nwaits = [\"x\"]\n[component.b]\nslice = \"1 ms\"\nserves.e = {}\nwaits = [\"tick\"]",
        &[
            (
                Kind::PassiveUncalled,
                "s:2:11: error: no component calls `a`, so it never runs; let a component call it, or give it `budget` and `period`",
            ),
            (
                Kind::Unused,
                "s:3:10: warning: no component sends the signal `x`; add it to the `signals` of a component, or remove it",
            ),
            (
                Kind::Unused,
                "s:7:10: warning: no component sends the signal `tick`; add it to the `signals` of a component, or remove it",
            ),
        ],
    ),
    (
        "platforms = []",
        &[(
            Kind::MissingKey,
            "s:1:13: error: the list of platforms is empty, so the system runs on none; name platforms, or remove `platforms` for all",
        )],
    ),
    (
        r#"[component.a]
        slice = "1 ms"
        criticality = 2
        calls = ["b"]
        [component.b]
        slice = "1 ms"
        criticality = 1
        serves = ["e"]"#,
        &[(
            Kind::CeilingBroken,
            "s:4:18: warning: `b` has criticality 1, below the 2 of its caller `a`; raise its criticality, or make it `passive = true`",
        )],
    ),
    (
        r#"root = "r"
        [component.a]
        slice = "1 ms"
        priority = 1
        ends-run = true"#,
        &[(
            Kind::Conflict,
            "s:5:20: error: the supervisor would do this, but the root task `r` is in its place; write `{ handler = \"COMPONENT.ENDPOINT\" }`, or remove `root`",
        )],
    ),
    (
        r#"[component.a]
        slice = "1 ms"
        calls = ["b"]
        ends-run = true
        on-fault.handler = "c"
        watches = ["b", "c", "c", "d"]
        [component.b]
        passive = true
        serves = ["e"]
        [component.c]
        slice = "1 ms"
        serves = ["e"]"#,
        &[
            (
                Kind::Conflict,
                "s:4:20: error: the end of `a` goes to its handler; remove `ends-run` or `on-fault`",
            ),
            (
                Kind::Conflict,
                "s:6:20: error: `b` is passive and has no time to read; name the components that call it",
            ),
            (
                Kind::Duplicate,
                "s:6:30: error: the name `c` is used twice; remove it",
            ),
            (
                Kind::UnknownName,
                "s:6:35: error: there is no component `d`; there are `a`, `b`, `c`",
            ),
        ],
    ),
];
